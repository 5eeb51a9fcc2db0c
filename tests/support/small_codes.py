"""Labelled built-in sentences and their codes, as the stages write them; for tests of what reads them."""

from typing import Any

from workspace import SMALL_DOWNSTREAM

from tasks.codes.encode import encode_texts
from tasks.codes.encoded import read_sequences, write_sequences
from tasks.codes.parameters import VocabularySizes
from tasks.codes.tokenizer import Plan, train_variant
from tasks.codes.variants import CorpusVariants, Variant, write_variants
from tasks.downstream.cuts import folders_of
from tasks.runtime.stage import Stage
from tokenlab.codes.corpus import character_corpus
from tokenlab.codes.interface import write_code
from tokenlab.codes.registry import learn_code

LABELLED = "data/sample/labelled/topics/english"
"""The parts of a language, below the working directory."""


def stage(variant: str = "en", **changes: Any) -> Stage:
    """A stage with `SMALL_DOWNSTREAM`; `changes` replace its sections."""
    return Stage("params.yaml", "sample", variant, {"downstream": SMALL_DOWNSTREAM | changes})


def write_codes(texts: list[str]) -> None:
    """Characters, bytes and random codes of a text, with their tokenizers, as the stages of the codes write them."""
    characters = character_corpus(texts)
    size = len(characters.characters)
    random = [Variant("random", 2, 9, seed) for seed in range(2)]
    made = CorpusVariants([Variant("character"), Variant("byte"), *random], size, sum(map(len, texts)))
    plan = Plan(VocabularySizes(largest=200, step=200, reported=(), held_out=()), (), size, None)
    folders = folders_of(stage(), "en")
    for folder in folders:
        folder.mkdir(parents=True)
    for variant in made.learned:
        shape: dict[str, Any] = {} if variant.N is None else {"N": 2, "K": 9, "seed": variant.seed}
        code = learn_code(variant.code, characters, **shape)
        write_code(code, folders.codes / f"{variant.name}.json")
        found = encode_texts(variant.name, code, texts)
        path = folders.encoded / f"{variant.name}.parquet"
        write_sequences(path, found.numbers, found.lengths)
        train_variant(variant, plan, read_sequences(path), folders.tokenizers / variant.name)
    write_variants(folders.codes, made)
