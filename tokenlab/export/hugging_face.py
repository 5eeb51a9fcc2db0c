"""Tokenizers in the format of Hugging Face: one `tokenizer.json` without code, read by every program that knows it."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from tokenlab.core.errors import InputError
from tokenlab.core.files import atomic_folder
from tokenlab.export.options import BPE_SIZE, ExportOptions, check_expressible
from tokenlab.export.special_tokens import SpecialTokens, parse_special_tokens
from tokenlab.export.split import split_pattern
from tokenlab.export.vocabulary import (
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
from tokenlab.ngrams.counting import NgramStatistics
from tokenlab.segment.by_statistics import Segmenter
from tokenlab.segment.options import SegmentOptions
from tokenlab.segment.segmentation import Segmentation


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
    config: dict[str, object] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_bos_token": False,
        "add_eos_token": False,
        "clean_up_tokenization_spaces": False,
    }
    config |= {f"{role}_token": token for role, token in special.roles.items()}
    config |= {"unk_token": special.tokens[0]}
    if special.without_role:
        config |= {"additional_special_tokens": special.without_role}
    with atomic_folder(folder) as temporary:
        tokenizer.save(str(temporary / "tokenizer.json"))
        text = json.dumps(config, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
        (temporary / "tokenizer_config.json").write_text(text, encoding="utf-8")


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
