"""Character codes behind one interface: text to atoms and back (Latom and its baselines).

`character_corpus` reads text, and `learn_code` (or `learn_latom`, ...) learns a code from it. `encode`, `decode` and
`check` of a code work on any text; `write_code` and `read_code` store it as JSON.
"""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(
    __name__,
    {
        "base.codebook": ["Codebook"],
        "base.corpus": ["CharacterCorpus", "character_corpus"],
        "base.document": ["write_code"],
        "base.interface": ["Code", "Violation", "names_of", "parse_atoms", "print_atoms"],
        "baselines.byte": ["ByteCode"],
        "baselines.codebooks": ["character_codebook", "random_codebook"],
        "baselines.components": ["ComponentCode", "learn_components"],
        "baselines.myte": ["MyteCode", "read_myte"],
        "bits.characters": ["CharacterBits"],
        "bits.bit_code": ["BitCode"],
        "bits.decoding": ["DecodeError", "Decoded"],
        "bits.options": ["BitOptions"],
        "bits.over.bases": ["Base", "base_of", "read_base"],
        "bits.over.hugging_face": ["BitLevelTokenizer"],
        "bits.over.tokenizer": ["BitTokenizer"],
        "bits.over.training": ["train_byte_fallback"],
        "measured": ["CodeAsTokenizer", "TokenizerOfAtoms"],
        "latom.learn": ["learn_latom", "refine_codebook"],
        "learn": ["learn_code"],
        "options": ["CodeShape", "LatomOptions", "SelectionOptions"],
        "saved": ["read_code"],
        "script.script_code": ["ScriptCode"],
    },
)
