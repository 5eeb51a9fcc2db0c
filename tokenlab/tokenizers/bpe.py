"""BPE of characters on text that may have been cut before (Entropy-driven pre-tokenization, section 4.2).

Hugging Face `tokenizers` trains it. Where the training text was pre-segmented, a space stands at each boundary and no
merge crosses it; the tokenizer is then used on raw text.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, get_args

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from tokenlab.errors import InputError, ParameterError
from tokenlab.files import atomic_folder

PreTokenizer = Literal["whitespace", "punctuation"]
"""`whitespace` splits at whitespace alone; `punctuation` splits punctuation off too."""

UNKNOWN = "[UNK]"
_WHITESPACE = [chr(point) for point in range(0x3001) if chr(point).isspace()]
_LARGEST_VOCABULARY = 10_000_000


def train_bpe(texts: Iterable[str], vocabulary_size: int, pre_tokenizer: PreTokenizer = "whitespace") -> Tokenizer:
    """Train BPE on texts in which spaces, if any, are the boundaries that no merge may cross.

    vocabulary_size: entries, alphabet and [UNK] included; fewer come out where nothing is left to merge.
    Whitespace characters are added behind them as tokens of their own, so that decoding gives back all of a text whose
    characters are known.

    Raises ParameterError where the vocabulary is smaller than the alphabet or larger than ten million, InputError where
    there is no text.
    """
    splitters = {"whitespace": pre_tokenizers.WhitespaceSplit, "punctuation": pre_tokenizers.Whitespace}
    if pre_tokenizer not in splitters:
        raise ParameterError(f"pre_tokenizer is {pre_tokenizer!r}; use one of {', '.join(get_args(PreTokenizer))}")
    if not 2 <= vocabulary_size <= _LARGEST_VOCABULARY:
        raise ParameterError(f"vocabulary_size is {vocabulary_size}; it must be from 2 to {_LARGEST_VOCABULARY:,}")
    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = splitters[pre_tokenizer]()
    tokenizer.decoder = decoders.Fuse()
    trainer = trainers.BpeTrainer(vocab_size=vocabulary_size, special_tokens=[UNKNOWN], show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    smallest = len({character for token in tokenizer.get_vocab() if token != UNKNOWN for character in token}) + 1
    if smallest == 1:
        raise InputError("there is no text to train BPE on")
    if vocabulary_size < smallest:
        raise ParameterError(
            f"vocabulary_size is {vocabulary_size}, smaller than the alphabet with [UNK], {smallest}; use at least that"
        )
    tokenizer.add_tokens([AddedToken(character, normalized=False) for character in _WHITESPACE])
    return tokenizer


def token_spans(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    """For each text the character offsets [start, end) of its tokens, those of whitespace left out.

    An unknown character keeps its span, so no character is lost.
    """
    return [
        [(start, end) for start, end in encoding.offsets if not text[start:end].isspace()]
        for text, encoding in zip(texts, tokenizer.encode_batch(list(texts), add_special_tokens=False), strict=True)
    ]


def save_tokenizer(tokenizer: Tokenizer, folder: str | Path) -> None:
    """Write `tokenizer.json` and what `transformers.AutoTokenizer.from_pretrained(folder)` needs, atomically."""
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": UNKNOWN, "clean_up_tokenization_spaces": False}
    with atomic_folder(folder) as temporary:
        tokenizer.save(str(temporary / "tokenizer.json"))
        text = json.dumps(config, indent=2, sort_keys=True) + "\n"
        (temporary / "tokenizer_config.json").write_text(text, encoding="utf-8")
