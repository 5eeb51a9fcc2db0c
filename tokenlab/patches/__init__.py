"""Patchers behind one interface: text as patches of bytes.

SpacePatcher(SpaceOptions(cap=6)).starts([b"a text", b"another"])  # the offsets of their patches' first bytes
text = SpacePatcher().stream()  # the same boundaries of a text that arrives in parts
text.feed(b"a te"), text.feed(b"xt"), text.finish()
"""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(
    __name__,
    {
        "interface": ["CausalPatcher", "CausalStream", "Patcher", "Starts"],
        "options": ["EntropyOptions", "FixedOptions", "SpaceOptions"],
        "by_bytes": [
            "CharacterPatcher",
            "FixedPatcher",
            "SpacePatcher",
            "capped",
            "character_starts",
            "entropy_starts",
            "fixed_starts",
            "space_starts",
        ],
        "entropy_patcher": [
            "EntropyPatcher",
            "calibrated",
            "mean_length",
            "text_entropies",
        ],
        "bpe": ["BpePatcher", "read_bpe_patcher", "read_tokenizer_patcher"],
        "learned": ["LearnedPatcher"],
        "registry": ["PATCHERS", "read_patcher", "save_patcher"],
    },
)
