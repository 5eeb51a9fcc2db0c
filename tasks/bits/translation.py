"""What the stages of the translation pilot share: its parameters and models, pairs of verses, and both codes over one
base vocabulary."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from tokenizers import Tokenizer

from tasks.runtime.stage import Parameters, Stage
from tokenlab.codes.bits.decoding import Decoded
from tokenlab.codes.bits.options import BitOptions
from tokenlab.codes.bits.over.bases import Base, base_of
from tokenlab.codes.bits.over.tokenizer import BitTokenizer
from tokenlab.codes.bits.over.training import END, PADDING, SPECIAL, train_byte_fallback
from tokenlab.codes.bits.symbols import LONG, OTHER, PREFIX, RESET
from tokenlab.core.errors import InputError
from tokenlab.text.store import read_corpus
from tokenlab.translation.model import MEAN
from tokenlab.translation.options import GenerationOptions, TranslationShape, TranslationTraining
from tokenlab.translation.pairs import Pairs, sentences

BYTES, BITS = "bytes", "bits"
"""The two codes: plain byte fallback, and the bit-level code over the same base vocabulary."""

SCRATCH = "scratch"
"""Random weights at the start."""

Initialisation = Literal["mean", "copy"]
"""New rows of a fine-tuned model: the mean of all rows, or copies of the rows of the bytes that share their bits."""


class TranslationPair(Parameters):
    """Two corpora with the same ids. bleu: the tokenizer of sacrebleu for the target, by words for Chinese (`zh`) or by
    characters."""

    source: str
    target: str
    bleu: Literal["zh", "char"]


class PairSplit(Parameters):
    """Numbers of pairs. training: at most so many; null takes all that validation and test leave."""

    training: int | None = Field(ge=1)
    validation: int = Field(ge=1)
    test: int = Field(ge=1)
    seed: int = Field(ge=0)


class BaseVocabulary(Parameters):
    """The base vocabulary of both languages. characters: so many of the most frequent ones are tokens, all others fall
    back to bytes."""

    size: int = Field(ge=261, le=1 << 20)
    characters: int = Field(ge=0)


class FineTuning(Parameters):
    """Fine-tuning of byte-fallback models on the bit-level code, from each seed by each initialisation; what is not
    said is as in `training`."""

    initialisations: list[Initialisation]
    seeds: list[int]
    steps: int = Field(ge=1)
    learning_rate: float = Field(gt=0)
    warmup: int = Field(ge=0)

    def options(self, training: TranslationTraining) -> TranslationTraining:
        """The settings of a fine-tuning."""
        return replace(training, steps=self.steps, learning_rate=self.learning_rate, warmup=self.warmup)


class Pilot(Parameters):
    """Settings of all pairs. longest: pairs with more tokens in a sentence, in either code, are left out. The seed of
    `training` is replaced by each of `seeds`. workers: models that are trained, or translate, at once; 1 on GPUs.
    examples: translations shown on the page."""

    split: PairSplit
    longest: int = Field(ge=2)
    vocabulary: BaseVocabulary
    code: BitOptions
    seeds: list[int] = Field(min_length=1)
    shape: TranslationShape
    training: TranslationTraining
    fine_tuning: FineTuning
    generation: GenerationOptions
    workers: int = Field(ge=1)
    examples: int = Field(ge=0)

    @model_validator(mode="after")
    def _consistent(self) -> "Pilot":
        if self.longest > self.shape.positions or self.generation.longest > self.shape.positions:
            raise ValueError(f"longest and generation.longest may be at most shape.positions, {self.shape.positions}")
        if missing := set(self.fine_tuning.seeds) - set(self.seeds):
            raise ValueError(f"fine_tuning.seeds: no model has seed {min(missing)}; take some of seeds")
        self.fine_tuning.options(self.training)  # Raises ParameterError where the values do not fit together.
        return self


class Variant(NamedTuple):
    """One model of a pair."""

    code: str
    init: str
    seed: int

    @property
    def name(self) -> str:
        """Name of its folder."""
        return f"{self.code}-{self.init}-seed{self.seed}"


def variants_of(pilot: Pilot) -> list[Variant]:
    """The models trained from random weights, then those fine-tuned on the bit-level code."""
    tuning = pilot.fine_tuning
    scratch = [Variant(code, SCRATCH, seed) for code in (BYTES, BITS) for seed in pilot.seeds]
    return scratch + [Variant(BITS, init, seed) for init in tuning.initialisations for seed in tuning.seeds]


def read_parameters(stage: Stage) -> tuple[TranslationPair, Pilot]:
    """The sections of a stage."""
    pair = stage.parameters(f"bits.translation.{stage.variant}", TranslationPair)
    return pair, stage.parameters("bits.pilot", Pilot)


class Verse(NamedTuple):
    """A text in both languages."""

    id: str
    source: str
    target: str


class Aligned(NamedTuple):
    """The texts that both corpora have, in the order of the source, and the numbers of the others."""

    verses: list[Verse]
    only_in_source: int
    only_in_target: int


class Parts(NamedTuple):
    """Disjoint verses, each part in the order of the draw. validation_in_training, test_in_training: numbers of verses
    that were drawn but left out, as the same source or the same target is in `training`."""

    training: list[Verse]
    validation: list[Verse]
    test: list[Verse]
    validation_in_training: int
    test_in_training: int


def align(source: Path, target: Path) -> Aligned:
    """The pairs of two corpora by their ids. Raises InputError for an id that a corpus has twice, and for no pair."""
    sources, targets = _by_id(source), _by_id(target)
    verses = [Verse(id, text, targets[id]) for id, text in sources.items() if id in targets]
    if not verses:
        raise InputError(f"{source.name}, {target.name}: no id is in both corpora; take two that are parallel")
    return Aligned(verses, len(sources) - len(verses), len(targets) - len(verses))


def split_verses(verses: Sequence[Verse], split: PairSplit) -> Parts:
    """Draw test, validation and training verses at random. Validation and test leave out verses whose source or target
    is in training, as a Bible repeats verses. Raises InputError where a part has no verse."""
    held_out = split.test + split.validation
    if len(verses) <= held_out:
        raise InputError(f"{len(verses)} pairs, of which {held_out} are held out; lower split.test or split.validation")
    order = np.random.default_rng(split.seed).permutation(len(verses))
    drawn = [verses[number] for number in order]
    last = None if split.training is None else held_out + split.training
    training, validation, test = drawn[held_out:last], drawn[split.test : held_out], drawn[: split.test]
    sources, targets = {verse.source for verse in training}, {verse.target for verse in training}
    new_validation, new_test = (
        [verse for verse in part if verse.source not in sources and verse.target not in targets]
        for part in (validation, test)
    )
    if not new_validation or not new_test:
        raise InputError("all verses of validation or of test are in training, too; raise split.validation, split.test")
    return Parts(training, new_validation, new_test, len(validation) - len(new_validation), len(test) - len(new_test))


def _by_id(corpus: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for document in read_corpus(corpus):
        if document.id in found:
            raise InputError(f"{corpus.name}: the id {document.id} occurs twice; pairs need ids of their own")
        found[document.id] = document.text
    return found


TOKENIZER = "tokenizer.json"
"""The base vocabulary in the folder of a pair."""

END_ID, PADDING_ID = SPECIAL.index(END), SPECIAL.index(PADDING)
NEVER = tuple(id for id in range(len(SPECIAL)) if id != END_ID)
"""Ids of tokens that no text has."""

_CONTINUATION = range(0x80, 0xC0)


class TextCode(NamedTuple):
    """Texts to ids and back. Errors of decoding are replaced by U+FFFD and listed."""

    size: int
    encode_batch: Callable[[Sequence[str]], Sequence[NDArray[np.int32]]]
    decode: Callable[[NDArray[np.int32]], Decoded]


class Encoded(NamedTuple):
    """Verses that are short enough, and their ids in each code."""

    verses: list[Verse]
    pairs: dict[str, Pairs]


def train_base(verses: Sequence[Verse], vocabulary: BaseVocabulary, folder: Path) -> None:
    """Train the base vocabulary on both languages together, and write it into a folder."""
    texts = [text for verse in verses for text in (verse.source, verse.target)]
    folder.mkdir(parents=True, exist_ok=True)
    train_byte_fallback(texts, vocabulary.size, vocabulary.characters).save(str(folder / TOKENIZER))


def read_codes(folder: Path, options: BitOptions) -> tuple[Base, dict[str, TextCode]]:
    """The base vocabulary of a folder, and both codes over it by their names."""
    base = base_of(Tokenizer.from_file(str(folder / TOKENIZER)), str(folder / TOKENIZER))
    bits = BitTokenizer(base, options)

    def decode(ids: NDArray[np.int32]) -> Decoded:
        return bits.decode(ids, "replace")

    # Ids of the base vocabulary alone are a stream of the bit-level code, too, in which every byte is a raw one.
    return base, {
        BYTES: TextCode(base.size, base.encode_batch, decode),
        BITS: TextCode(bits.size, bits.encode_batch, decode),
    }


def encode_verses(verses: Sequence[Verse], codes: Mapping[str, TextCode], longest: int) -> Encoded:
    """The ids of verses, the end token behind each sentence; verses with more than `longest` tokens in a sentence, in
    either code, are left out."""
    encoded = {
        name: [code.encode_batch([verse[side] for verse in verses]) for side in (1, 2)] for name, code in codes.items()
    }
    kept = [
        number
        for number in range(len(verses))
        if all(len(side[number]) < longest for sides in encoded.values() for side in sides)
    ]
    pairs = {}
    for name, sides in encoded.items():
        source, target = (sentences([side[number] for number in kept], END_ID) for side in sides)
        pairs[name] = Pairs(source, target, PADDING_ID)
    return Encoded([verses[number] for number in kept], pairs)


def fallback_ratio(base: Base, texts: Sequence[str]) -> float:
    """Share of the characters of texts that the base vocabulary spells by bytes."""
    begins = [base.byte_ids[byte] for byte in range(256) if byte not in _CONTINUATION]
    fallen_back = sum(int(np.isin(ids, begins).sum()) for ids in base.encode_batch(texts))
    return fallen_back / max(1, sum(map(len, texts)))


def copied_rows(base: Base) -> list[int]:
    """For each id that the bit-level code adds, in order: the id of the byte whose embedding it copies.

    The paper's appendix does not say which rows it copied. Here a payload copies the byte of its low eight bits, which
    is the id that it would have without the ninth; a prefix copies the smallest lead byte that it stands for (E0, E4,
    E8, EC), and the reset the mean.
    """
    payloads = [int(base.byte_ids[payload]) for payload in range(PREFIX - LONG)]
    prefixes = [int(base.byte_ids[0xE0 + 4 * prefix]) for prefix in range(RESET - PREFIX)]
    return [MEAN if row < 0 else row for row in [*payloads, *prefixes, *[MEAN] * (OTHER - RESET)]]
