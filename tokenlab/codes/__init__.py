"""Character codes behind one interface: text to atoms and back (Latom and its baselines).

`character_corpus` reads text, and `learn_code` (or `learn_latom`, ...) learns a code from it. `encode`, `decode` and
`check` of a code work on any text; `write_code` and `read_code` store it as JSON.
"""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(
    __name__,
    {
        "baselines": ["ByteCode", "ComponentCode", "character_codebook", "learn_components", "random_codebook"],
        "bits.bit_code": ["BitCode", "CharacterBits"],
        "bits.decoding": ["DecodeError", "Decoded"],
        "bits.options": ["BitOptions"],
        "bits.over.bases": ["Base", "base_of", "read_base"],
        "bits.over.hugging_face": ["BitLevelTokenizer"],
        "bits.over.tokenizer": ["BitTokenizer"],
        "bits.over.training": ["train_byte_fallback"],
        "codebook": ["Codebook"],
        "constrained": ["Constrained", "constrain"],
        "corpus": ["CharacterCorpus", "character_corpus"],
        "generation": ["ConstrainedLogits", "constrained_nats", "decode_errors", "generate_tokens"],
        "interface": ["Code", "Violation", "names_of", "parse_atoms", "print_atoms", "write_code"],
        "measured": ["CodeAsTokenizer", "TokenizerOfAtoms"],
        "latom.learn": ["learn_latom", "refine_codebook"],
        "myte": ["MyteCode", "read_myte"],
        "options": ["CodeShape", "LatomOptions", "SelectionOptions"],
        "registry": ["learn_code", "read_code"],
        "script": ["ScriptCode"],
    },
)
