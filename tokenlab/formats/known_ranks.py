"""The expressions and special tokens of published rank files, which the files themselves lack.

They stand in the code of the packages from which the catalogue takes the files. Special tokens spell no text, so only
their number counts, and which of them begin and end a text.
"""

from typing import NamedTuple

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_SPACES}"
QWEN = rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_SPACES}"
LLAMA4 = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTIONS}?|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTIONS}?"
    rf"|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACES}"
)


class RankSettings(NamedTuple):
    """What a rank file lacks."""

    name: str
    pattern: str
    """the regular expression whose matches are the words"""
    special: int = 0
    """number of special tokens, whose ids follow those of the file"""
    bos: int | None = None
    eos: int | None = None


KNOWN = {
    "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55": RankSettings(
        "Llama 3", LLAMA3, 256, 128000, 128001
    ),
    "d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed": RankSettings(
        "Llama 4", LLAMA4, 2048, 200000, 200001
    ),
    "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186": RankSettings("Qwen", QWEN, 208, None, 151643),
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": RankSettings(
        "Whisper, English", GPT2, 1608, 50257, 50256
    ),
    "b34b360dbb493e781e479794586d661700670d65564001f23024971d1f2fa126": RankSettings(
        "Whisper, many languages", GPT2, 1608, 50258, 50257
    ),
}
"""By the SHA-256 of the file."""
