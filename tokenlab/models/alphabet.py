"""The alphabet of a language model, characters or bytes, as a tokenizer of the `tokenizers` library.

Every token is one character (or byte) of the text, so that offsets are exact and no two tokens can be confused with
one: "[UNK]" in a text is five characters. The tokenizer puts the start token before every text.
"""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors

from tokenlab.errors import InputError, ParameterError

Level = Literal["character", "byte"]
"""What a token is: a character (Unicode code point), or a byte of the text in UTF-8."""

START = "[START]"
START_ID = 0
UNKNOWN = "[UNK]"


class Alphabet(NamedTuple):
    """A tokenizer of single characters or bytes."""

    tokenizer: Tokenizer
    begins_character: NDArray[np.bool_]
    """By token id: whether it is, or begins, a character. Counts characters among tokens."""

    @property
    def size(self) -> int:
        """Tokens, [START] and, at the level of characters, [UNK] among them."""
        return len(self.begins_character)


def learn_alphabet(texts: Iterable[str], level: Level, min_count: int = 1) -> Alphabet:
    """The alphabet of `texts`: their characters seen at least `min_count` times in the order of their code points, or
    all 256 bytes, whatever the texts.

    Raises:
        ParameterError: an unknown level, `min_count` below 1.
        InputError: no text; no character that is seen `min_count` times.
    """
    if level not in get_args(Level):
        raise ParameterError(f"level: {level!r} is none of {', '.join(get_args(Level))}")
    if min_count < 1:
        raise ParameterError(f"min_count: {min_count} must be at least 1")
    if level == "byte":
        return _bytes()
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    if not counts:
        raise InputError("there is no text to take an alphabet from")
    characters = sorted(character for character, count in counts.items() if count >= min_count)
    if not characters:
        raise InputError(
            f"no character occurs {min_count} times, the most frequent {max(counts.values())}; lower min_count"
        )
    return _characters(characters)


def _characters(characters: list[str]) -> Alphabet:
    vocabulary = {token: number for number, token in enumerate([START, UNKNOWN, *characters])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")  # "." leaves line ends together
    tokenizer.decoder = decoders.Fuse()
    begins_character = np.ones(len(vocabulary), dtype=bool)
    begins_character[START_ID] = False
    return _with_start(tokenizer, begins_character)


def _bytes() -> Alphabet:
    """Bytes under the names that GPT-2 gives them, in their own order: byte b has the id b + 1."""
    vocabulary = {START: START_ID} | {name: byte + 1 for byte, name in enumerate(_byte_names())}
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    continues = [0x80 <= byte < 0xC0 for byte in range(256)]
    return _with_start(tokenizer, ~np.array([True, *continues]))


def _byte_names() -> list[str]:
    """GPT-2's printable character for each byte: its own in Latin-1, or the next of those from U+0100 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def _with_start(tokenizer: Tokenizer, begins_character: NDArray[np.bool_]) -> Alphabet:
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{START} $A", special_tokens=[(START, START_ID)])
    return Alphabet(tokenizer, begins_character)


def save_alphabet(alphabet: Alphabet, folder: Path) -> None:
    """Write the tokenizer.json and tokenizer_config.json that `transformers.AutoTokenizer` reads into a folder."""
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": START,
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": True,  # or "[UNK]" in a text would be one token and not five
    }
    if alphabet.tokenizer.token_to_id(UNKNOWN) is not None:
        config["unk_token"] = UNKNOWN
    alphabet.tokenizer.save(str(folder / "tokenizer.json"))
    text = json.dumps(config, indent=2, sort_keys=True) + "\n"
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")
