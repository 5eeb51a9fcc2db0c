"""Stage `codebook`: the codebooks that Latom learns from a corpus, the log-likelihoods of their HMMs, and codes made
from published tables of components, strokes or morphemes."""

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import polars as pl

from tasks.codes.parameters import CodebookParameters, HeldOut
from tasks.codes.splits import held_out_split, read_characters
from tasks.codes.variants import BEST, LATOM, REFINED, Kinds, Split, Variant, all_variants
from tasks.runtime.pool import pooled
from tasks.runtime.stage import Stage, run
from tokenlab.codes.codebook import Codebook
from tokenlab.codes.corpus import CharacterCorpus
from tokenlab.codes.interface import write_code
from tokenlab.codes.latom.learn import learn_latom, refine_codebook
from tokenlab.codes.options import CodeShape, LatomOptions, SelectionOptions
from tokenlab.codes.registry import KINDS, learn_code
from tokenlab.core.files import atomic_file, atomic_folder


def learn_codebooks(stage: Stage) -> None:
    """Write a code for each of Latom's variants and each table that could be downloaded, and the log-likelihood after
    every iteration of EM."""
    codebooks = stage.parameters(f"codes.corpora.{stage.variant}.codebooks", CodebookParameters)
    training = stage.parameters("codes.latom", LatomOptions)
    held_out = stage.parameters("codes.held_out", HeldOut)
    tables = Path(stage.parameters("codes.tables", str))
    corpora: dict[Split, CharacterCorpus] = {"all": read_characters(stage.data("corpora", stage.variant))}
    if codebooks.held_out:
        corpora["train"], _ = held_out_split(corpora["all"], held_out.share, held_out.seed)
    characters = {split: len(corpus.characters) for split, corpus in corpora.items()}
    variants = all_variants(codebooks, characters, held_out.lengths, Kinds())
    learn = partial(learn_pair, corpora=corpora, training=training, restarts=codebooks.restarts)
    pairs = pooled(learn, [variant for variant in variants if not variant.refined], "learning codebooks")
    learned = {variant: code for pair in pairs for variant, code in pair.items()}
    with atomic_folder(stage.models("codebooks", stage.variant)) as folder:
        for variant, code in learned.items():
            write_code(code, folder / f"{variant.name}.json")
        for kind in codebooks.tables:
            if (table := tables / str(KINDS[kind].table)).exists():
                write_code(learn_code(kind, corpora["all"], tables=table.parent), folder / f"{kind}.json")
            else:
                print(f"{kind}: left out, there is no {table}", file=sys.stderr)
    with atomic_file(stage.reports("codebooks", stage.variant, "likelihood.csv")) as path:
        likelihoods(learned).write_csv(path)


def learn_pair(
    variant: Variant, corpora: Mapping[Split, CharacterCorpus], training: LatomOptions, restarts: int
) -> dict[Variant, Codebook]:
    """Learn the codebook of a variant, and refine it. restarts: the number for the variants `latom-best`."""
    assert variant.N is not None and variant.seed is not None
    corpus, shape = corpora[variant.split], CodeShape(variant.N, variant.K, variant.seed)
    selection = SelectionOptions(restarts=restarts if variant.code == BEST else 1)
    code = learn_latom(corpus, shape, training, selection)
    return {variant: code, variant._replace(code=variant.code + REFINED): refine_codebook(code, corpus)}


def likelihoods(learned: Mapping[Variant, Codebook]) -> pl.DataFrame:
    """Log-likelihood of every HMM without restarts before each M-step and after the last; a row for each iteration.

    Columns: N, K, seed, iteration, log_likelihood of the whole text, and objective and random_objective of the
    assignment; all three in nats.
    """
    rows = [
        (variant.N, variant.K, variant.seed, iteration, value, code.facts["objective"], code.facts["random_objective"])
        for variant, code in learned.items()
        if variant.code == LATOM and variant.split == "all"
        for iteration, value in enumerate(code.facts["log_likelihood"])
    ]
    columns = ["N", "K", "seed", "iteration", "log_likelihood", "objective", "random_objective"]
    return pl.DataFrame(rows, schema=columns, orient="row")


if __name__ == "__main__":
    run(learn_codebooks)
