"""The alphabet of a language model, characters or bytes, as a tokenizer of the `tokenizers` library.

Every token is one character (or byte) of the text, so offsets are exact, and text that looks like a special token is
ordinary text: "[UNK]" in a text is five characters. The tokenizer puts the start token before every text.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors

from tokenlab.core.errors import InputError
from tokenlab.core.options import check_choice, check_least, option
from tokenlab.formats.byte_level import byte_characters

Level = Literal["character", "byte"]
"""The kind of token: a character (Unicode code point), or a byte of the text in UTF-8."""

START = "[START]"
START_ID = 0
UNKNOWN = "[UNK]"


@dataclass(frozen=True)
class AlphabetOptions:
    """The tokens of a language model. Raises ParameterError for an unknown level or a `min_count` below 1."""

    level: Level = option("tokens are characters, or bytes of UTF-8", "character")
    min_count: int = option("characters that occur fewer times than this are [UNK]; ignored for bytes", 1, metavar="N")

    def __post_init__(self) -> None:
        check_choice("level", self.level, Level)
        check_least("min_count", self.min_count, 1)


DEFAULT = AlphabetOptions()


class Alphabet(NamedTuple):
    """A tokenizer of single characters or bytes."""

    tokenizer: Tokenizer
    begins_character: NDArray[np.bool_]
    """By token id: whether the token is a character or its first byte. Used to count characters."""

    @property
    def size(self) -> int:
        """Number of tokens, including [START] and, for characters, [UNK]."""
        return len(self.begins_character)


def learn_alphabet(texts: Iterable[str], options: AlphabetOptions = DEFAULT) -> Alphabet:
    """The alphabet of `texts`: the characters that occur at least `min_count` times, in the order of their code points,
    or all 256 bytes, whatever the texts.

    Raises:
        InputError: no text; no character that occurs `min_count` times.
    """
    if options.level == "byte":
        return _bytes()
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    if not counts:
        raise InputError("there is no text to take an alphabet from")
    characters = sorted(character for character, count in counts.items() if count >= options.min_count)
    if not characters:
        raise InputError(
            f"no character occurs {options.min_count} times, the most frequent {max(counts.values())}; lower min_count"
        )
    return _characters(characters)


def _characters(characters: list[str]) -> Alphabet:
    vocabulary = {token: number for number, token in enumerate([START, UNKNOWN, *characters])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")  # "." would not match line ends
    tokenizer.decoder = decoders.Fuse()
    begins_character = np.ones(len(vocabulary), dtype=bool)
    begins_character[START_ID] = False
    return _with_start(tokenizer, begins_character)


def _bytes() -> Alphabet:
    """Bytes under their GPT-2 names, in numerical order: byte b has the id b + 1."""
    vocabulary = {START: START_ID} | {name: byte + 1 for byte, name in enumerate(byte_characters())}
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    continues = [0x80 <= byte < 0xC0 for byte in range(256)]
    return _with_start(tokenizer, ~np.array([True, *continues]))


def _with_start(tokenizer: Tokenizer, begins_character: NDArray[np.bool_]) -> Alphabet:
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{START} $A", special_tokens=[(START, START_ID)])
    return Alphabet(tokenizer, begins_character)


def save_alphabet(alphabet: Alphabet, folder: Path) -> None:
    """Write tokenizer.json and tokenizer_config.json, which `transformers.AutoTokenizer` reads, into a folder."""
    # Split, or "[UNK]" in a text would be one token instead of five.
    config: dict[str, object] = {"bos_token": START, "split_special_tokens": True}
    if alphabet.tokenizer.token_to_id(UNKNOWN) is not None:
        config["unk_token"] = UNKNOWN
    write_tokenizer(alphabet.tokenizer, folder, config)


def write_tokenizer(tokenizer: Tokenizer, folder: Path, config: Mapping[str, object]) -> None:
    """Write tokenizer.json and tokenizer_config.json, which `transformers.AutoTokenizer` reads, into a folder.

    config: what tokenizer_config.json has beside the class of the tokenizer, such as the special tokens.
    """
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False, **config}
    tokenizer.save(str(folder / "tokenizer.json"))
    text = json.dumps(config, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")
