"""BPE with byte fallback in the manner of SentencePiece and LLaMA, with an alphabet of a chosen size.

1. The alphabet is the most frequent characters of the training texts. All others are spelled by 256 byte pieces.
2. Merges are learned inside words. A word begins at a space (written U+2581), at a character outside the alphabet, at
   each digit, and where letters and other characters meet; SentencePiece splits alike by whitespace, script and digit.
3. Encoding looks at no words, because no merge crosses their borders: as in LLaMA's tokenizer.json, a text gets a space
   before it and is merged as a whole.

Deviation from SentencePiece: texts are not normalised, so encoding is lossless for texts without U+2581.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator

import regex
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.formats.pieces import BYTE_PIECES, SPACE

UNKNOWN, BEGIN, END, PADDING = SPECIAL = ("<unk>", "<s>", "</s>", "<pad>")
"""Special tokens; their ids are 0, 1, 2 and 3. The pieces of the bytes follow with ids 4 to 259, then the alphabet."""

_LONGEST_PIECE = 16  # characters; SentencePiece's default
_WORD = regex.compile(rf"{SPACE}?(?:[\p{{L}}\p{{M}}]+|\p{{N}}|[^\p{{L}}\p{{M}}\p{{N}}\s{SPACE}]+)")


def train_byte_fallback(texts: Iterable[str], vocabulary_size: int, characters: int) -> Tokenizer:
    """Train BPE with byte fallback. The same texts give the same tokenizer everywhere.

    Args:
        texts: they are read twice, so an iterator is kept in memory.
        vocabulary_size: with the special tokens, the bytes and the alphabet; the vocabulary is smaller where no pair
            is left to merge.
        characters: size of the alphabet without U+2581: the most frequent characters, of equally frequent ones those
            of lower code point. Fewer where the texts have fewer.

    Raises ParameterError for a vocabulary without room for the alphabet, InputError where there is no text.
    """
    if isinstance(texts, Iterator):
        texts = list(texts)
    alphabet = most_frequent(texts, characters)
    fixed = [*SPECIAL, *BYTE_PIECES]
    smallest = len(fixed) + len(alphabet) + 1
    if vocabulary_size < smallest:
        raise ParameterError(
            f"vocabulary_size is {vocabulary_size}; {len(SPECIAL)} special tokens, 256 bytes and "
            f"{len(alphabet) + 1} characters need at least {smallest}: raise it or lower characters"
        )
    vocabulary, merges = _merges(texts, [*alphabet, SPACE], vocabulary_size - len(fixed))
    ids = {token: id for id, token in enumerate([*fixed, *vocabulary])}
    tokenizer = Tokenizer(models.BPE(ids, merges, unk_token=UNKNOWN, fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in SPECIAL])
    return tokenizer


def most_frequent(texts: Iterable[str], characters: int) -> list[str]:
    """The most frequent characters of texts, without the space and U+2581, in order of code points.

    Raises ParameterError for a negative number, InputError where the texts have no character.
    """
    if characters < 0:
        raise ParameterError(f"characters is {characters}; it must be 0 or more")
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    if not counts:
        raise InputError("there is no text to train a tokenizer on; give at least one character")
    ranked = sorted(counts.keys() - {" ", SPACE}, key=lambda character: (-counts[character], character))
    return sorted(ranked[:characters])


def _merges(texts: Iterable[str], alphabet: list[str], size: int) -> tuple[list[str], list[tuple[str, str]]]:
    """The vocabulary in order of ids, and the merges.

    The library's trainer breaks ties between pairs by their ids, so its result does not depend on the order of words;
    ties at the end of the alphabet it breaks at random, which is why the alphabet is chosen here.
    """
    learned = Tokenizer(models.BPE())
    learned.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        max_token_length=_LONGEST_PIECE,
        show_progress=False,
    )
    learned.train_from_iterator(_words(texts, alphabet), trainer)
    model = json.loads(learned.to_str())["model"]
    merges = [(left, right) for left, right in model["merges"]]
    return sorted(model["vocab"], key=model["vocab"].__getitem__), merges


def _words(texts: Iterable[str], alphabet: list[str]) -> Iterator[str]:
    """The words of each text, separated by spaces."""
    foreign = regex.compile(f"[^{regex.escape(''.join(alphabet), literal_spaces=True)}]+")
    for text in texts:
        marked = SPACE + text.replace(SPACE, "\n").replace(" ", SPACE)
        yield " ".join(_WORD.findall(foreign.sub("\n", marked)))
