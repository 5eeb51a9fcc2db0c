"""Tokenizers in the format of Hugging Face: one `tokenizer.json` without code, read by every program that knows it.

`split_pattern` is the regular expression that keeps apart what the segmenter's isolation keeps apart. It is made from
the segmenter's own tables, code point by code point: there is one definition, with the segmenter's version of Unicode,
whatever program reads the tokenizer. It has sets, groups and repetition, but no properties, so that Oniguruma, Rust and
JavaScript read it alike.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from tokenlab.core.errors import InputError
from tokenlab.ngrams.clusters import PropertyTable, cluster_starts
from tokenlab.ngrams.counting import NgramStatistics
from tokenlab.segment.by_statistics import Segmenter
from tokenlab.segment.isolation import ALONE, DIGITS, SIGNS, SPACE, WHOLE, CharacterClasses
from tokenlab.segment.options import Isolate, SegmentOptions
from tokenlab.segment.segmentation import Segmentation
from tokenlab.tokenizers.bpe import save_with_special_tokens
from tokenlab.tokenizers.export.options import (
    BPE_SIZE,
    ExportOptions,
    SpecialTokens,
    check_expressible,
    parse_special_tokens,
)
from tokenlab.tokenizers.export.vocabulary import (
    BYTES,
    COVERED,
    ISOLATION,
    NOTHING,
    WHITESPACE,
    Vocabulary,
    check_room,
    learn_vocabulary,
    vocabulary_of_words,
)

Members = NDArray[np.bool_]
"""bool[0x110000]: which code points are in a set; no surrogate is in any."""

_LINE_FEED, _LETTER, _ACCENT, _REGIONAL, _PICTOGRAPH, _JOINER = 0x0A, 0x61, 0x301, 0x1F1E6, 0x1F468, 0x200D
_HAN = 0x4E00


@cache
def split_pattern(isolate: Isolate, split_kana: bool = False) -> str:
    """A regular expression whose matches follow each other without gaps in every text.

    A match is a run of whitespace, a run that the segmenter cuts, a run that it keeps whole, or a cluster that
    is a segment by itself. Clusters are recognised by rules GB9 and GB11 to GB13 of Unicode Standard Annex #29, since
    all others join letters of one kind of run, and small kana after Han. Exceptions, all of them outside of ordinary
    text: conjuncts of consonants of two scripts, a letter that joins whatever follows (such as a preposed vowel of Thai
    or the Malayalam dot reph) before punctuation or another script, and a joiner (U+200C, U+200D) without a character
    before it.
    """
    points = np.arange(0x110000, dtype=np.uint32)
    alone = np.ones(len(points), bool)
    classes = CharacterClasses(isolate, split_kana)(points, alone)
    classes[0xD800:0xE000] = SPACE - 1
    space = classes == SPACE
    kinds = {kind: classes == kind for kind in np.unique(classes[classes > ALONE]).tolist()}
    if isolate == "none":
        return "|".join(f"{_set(members)}+" for members in [space, *kinds.values()])
    return "|".join([f"{_set(space)}+", *_clusters(kinds, (classes == ALONE) & ~space)])


def _clusters(kinds: dict[int, Members], alone: Members) -> list[str]:
    joining = _joins([_LETTER])
    control = ~_joins([], [_ACCENT]) & alone
    prepended = _joins([], [_LETTER]) & alone
    prefix = f"{_set(prepended)}*" if prepended.any() else ""
    marks = f"{_set(joining)}*"
    patterns = [
        _words(members, joining, prefix)
        if kind == WHOLE
        else _run(members, _joins([_HAN]) if members[_HAN] else joining, prefix)
        for kind, members in kinds.items()
    ]
    flag, picture = _set(_joins([_REGIONAL]) & ~joining), _set(_joins([_PICTOGRAPH, _JOINER]) & ~joining)
    pictures = f"{picture}(?:{marks}{chr(_JOINER)}{picture})*"
    others = _set(alone & ~control)
    patterns.append(f"{prefix}(?:{flag}{flag}|{pictures}|{others}){marks}")
    return [*patterns, _set(control)] if control.any() else patterns


def _run(members: Members, joining: Members, prefix: str) -> str:
    """A maximal run of clusters of one kind."""
    if not prefix and not (joining & ~members).any():
        return f"{_set(members)}+"
    return f"(?:{prefix}{_set(members)}{_set(members | joining)}*)+"


def _words(members: Members, joining: Members, prefix: str) -> str:
    """Letters and digits with a sign between two of them, or a comma between two digits."""
    digits = PropertyTable([(DIGITS, 1)], 0)(np.arange(0x110000, dtype=np.uint32)) == 1
    marks, digit = f"{_set(joining)}*", f"{prefix}{_set(members & digits)}{_set(joining)}*"
    letters = f"{prefix}{_set(members & ~digits)}{_set(joining | (members & ~digits))}*"
    word = f"(?:{letters}|{digit}(?:,{marks}{digit})*)+"
    return f"{word}(?:[{SIGNS}]{marks}{word})*"


def _joins(before: list[int], after: list[int] | None = None) -> Members:
    """The code points that share a cluster with the one before, or, where `after` is given, with the one after."""
    points = np.arange(0x110000, dtype=np.uint32)
    points[0xD800:0xE000] = _LINE_FEED
    rows = [_LINE_FEED, *before], [*(after or [])]
    columns = [np.full(len(points), point, np.uint32) for point in rows[0]]
    columns += [points, *(np.full(len(points), point, np.uint32) for point in rows[1])]
    starts = cluster_starts(np.stack(columns, axis=1).ravel()).reshape(len(points), -1)
    return ~starts[:, len(rows[0]) + (after is not None)]


def _set(members: Members) -> str:
    """The set in the brackets of a regular expression."""
    edges = np.flatnonzero(np.diff(members.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
    ranges = [(_escaped(first), _escaped(end - 1), end - first) for first, end in edges.tolist()]
    spelled = (first if size == 1 else first + ("-" if size > 2 else "") + last for first, last, size in ranges)
    return f"[{''.join(spelled)}]"


def _escaped(point: int) -> str:
    character = chr(point)
    return f"\\{character}" if character in r"\[]^-" else character


def export_tokenizer(
    sentences: Iterable[str], statistics: NgramStatistics, segment_options: SegmentOptions, options: ExportOptions
) -> Tokenizer:
    """The tokenizer of the model that the options name, learned from the training text, which is read once.

    Raises:
        InputError: no character in the training text, or a lone surrogate.
        ParameterError: options that a tokenizer cannot express; a vocabulary smaller than the alphabet.
    """
    if options.model == "unigram":
        return unigram_tokenizer(learn_vocabulary(sentences, statistics, segment_options, options))
    check_expressible(segment_options)
    return word_tokenizer(Segmenter(statistics, segment_options).segment(sentences), options, segment_options)


def word_tokenizer(
    cut: Iterable[Segmentation], options: ExportOptions, isolation: SegmentOptions = ISOLATION
) -> Tokenizer:
    """The tokenizer over the words of any segmenter: see `vocabulary_of_words` and `bpe_tokenizer`.

    Raises as these.
    """
    if options.model == "unigram":
        return unigram_tokenizer(vocabulary_of_words(cut, options, isolation))
    return bpe_tokenizer((batch.text() for batch in cut), isolation, options)


def unigram_tokenizer(vocabulary: Vocabulary) -> Tokenizer:
    """The tokenizer that segments as the segmenter.

    Every text is decoded to itself. Text is not normalised and no special token is added. Special tokens in a text
    are found before everything else and exactly as they are spelled; with `encode_special_tokens` (`transformers`:
    `split_special_tokens`) they are text like any other.
    """
    pieces = list(zip(vocabulary.pieces, vocabulary.scores.tolist(), strict=True))
    model = models.Unigram(pieces, unk_id=0, byte_fallback=True)
    return _complete(Tokenizer(model), vocabulary.special, vocabulary.segmenter)


def bpe_tokenizer(cut_texts: Iterable[str], segmenter: SegmentOptions, options: ExportOptions) -> Tokenizer:
    """BPE trained on the segmenter's words: no merge was learned across a boundary. It is applied to raw text.

    Args:
        cut_texts: the training text with whitespace at each boundary, as `Segmentation.text` gives it.
        segmenter: the options of the segmenter, for the splits between scripts.

    Raises:
        InputError: no character in the training text.
        ParameterError: the vocabulary is smaller than the alphabet.
    """
    special = parse_special_tokens(options.special_tokens)
    size = options.vocabulary_size or BPE_SIZE
    reserved = [*special.tokens, *BYTES, *WHITESPACE]
    trained, merges = _train(_not_empty(cut_texts), {*COVERED, *"".join(special.tokens)}, size - len(reserved))
    check_room(size, len(reserved), len({character for token in trained for character in token}))
    vocabulary = {token: number for number, token in enumerate((*reserved, *trained))}
    # Whitespace: a run of n by merging halves; \r\n is the only other one.
    spaces = [(run[: len(run) // 2], run[len(run) // 2 :]) for run in WHITESPACE if len(run) > 1]
    model = models.BPE(vocabulary, [*spaces, *merges], unk_token=special.tokens[0], byte_fallback=True)
    return _complete(Tokenizer(model), special, segmenter)


def save_tokenizer_folder(tokenizer: Tokenizer, special: SpecialTokens, folder: str | Path) -> None:
    """Write a folder that `transformers.AutoTokenizer.from_pretrained` reads without this library, atomically."""
    save_with_special_tokens(tokenizer, special.tokens, {**special.roles, "unk": special.tokens[0]}, folder)


def _complete(tokenizer: Tokenizer, special: SpecialTokens, segmenter: SegmentOptions) -> Tokenizer:
    """The tokenizer with everything but its model."""
    pattern = split_pattern(segmenter.isolate, segmenter.split_kana)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), "isolated")
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in special.tokens])
    return tokenizer


def _not_empty(texts: Iterable[str]) -> Iterator[str]:
    """The texts; raises InputError at their end if all were whitespace."""
    empty = True
    for text in texts:
        empty = empty and (not text or text.isspace())
        yield text
    if empty:
        raise InputError(NOTHING)


def _train(cut_texts: Iterable[str], alphabet: set[str], size: int) -> tuple[list[str], list[tuple[str, str]]]:
    """The tokens in the order of their ids, at most `size` unless the alphabet is larger, and the merges."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    initial = sorted(character for character in alphabet if not character.isspace())
    trainer = trainers.BpeTrainer(vocab_size=max(size, 0), initial_alphabet=initial, show_progress=False)
    tokenizer.train_from_iterator(cut_texts, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    tokens: Sequence[str] = sorted(model["vocab"], key=model["vocab"].__getitem__)
    return list(tokens), [(left, right) for left, right in model["merges"]]
