"""Stage `codebook`: every code of a corpus, learned; likelihoods and objectives."""

from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from matplotlib.figure import Figure

from tasks.codes import (
    CorpusCodes,
    LatomParameters,
    Unseen,
    Variant,
    corpus_codes,
    held_out_split,
    pooled,
    read_characters,
    variants,
)
from tasks.figures import ACCENT, SECOND, save
from tasks.stage import Stage, run, write_json
from tokenlab.codes.code import Code
from tokenlab.codes.codebook import Codebook
from tokenlab.codes.components import TABLES
from tokenlab.codes.corpus import CharacterCorpus
from tokenlab.codes.learn import learn_code, learn_latom, refine_codebook
from tokenlab.codes.saved import write_code
from tokenlab.files import atomic_file, atomic_folder

_REFINED = "-refined"
_TABLES = {"radical": Path("ids", TABLES["radical"]), "stroke": Path("ids", TABLES["stroke"])} | {
    "myte": Path("myte", "decompose_map.json")
}
"""The file that each fixed code needs, below the folder of the tables."""


class Learner(NamedTuple):
    """What codes of a corpus are learned from."""

    corpora: dict[str, CharacterCorpus]
    """By part."""
    codes: CorpusCodes
    latom: LatomParameters

    def learn(self, variant: Variant) -> Code:
        """The code of a variant that is not refined."""
        corpus = self.corpora[variant.part]
        shape: dict[str, Any] = {"N": variant.N, "K": variant.K, "seed": variant.seed}
        match variant.code:
            case "latom":
                return learn_latom(corpus, **shape, **self.latom.model_dump())
            case "latom-best":
                return learn_latom(corpus, **shape, **self.latom.model_dump(), restarts=self.codes.restarts)
            case "random":
                return learn_code("random", corpus, **shape)
            case "radical" | "stroke" | "myte" as kind:
                return learn_code(kind, corpus, tables=Path(self.codes.tables, _TABLES[kind].parent))
            case "character" | "byte" as kind:
                return learn_code(kind, corpus)
        raise ValueError(variant.code)


def learn_codes(stage: Stage) -> None:
    """Write a codebook for each variant, the list of them, and the likelihoods of the HMMs."""
    learner = _learner(stage)
    whole, train = learner.corpora["whole"], learner.corpora.get("train")
    in_training = len(train.characters) if train else None
    wanted = variants(stage, len(whole.characters), in_training)
    missing = [kind for kind in learner.codes.fixed if not Path(learner.codes.tables, _TABLES[kind]).exists()]
    learned = [variant for variant in wanted if variant.code not in missing]
    refused = [f"{kind}: left out, {learner.codes.tables}/{_TABLES[kind]} could not be had" for kind in missing]

    def work(variant: Variant) -> list[tuple[Variant, Code]]:
        code = learner.learn(variant)
        found: list[tuple[Variant, Code]] = [(variant, code)]
        refined = variant._replace(code=variant.code + _REFINED)
        if refined in learned:
            assert isinstance(code, Codebook)
            found.append((refined, refine_codebook(code, learner.corpora[variant.part])))
        for named, made in found:
            write_code(made, folder / f"{named.name}.json")
        return found

    with atomic_folder(stage.models("codes", stage.variant)) as folder:
        plain = [variant for variant in learned if not variant.code.endswith(_REFINED)]
        codes = [pair for pairs in pooled(work, plain, f"codebook {stage.variant}") for pair in pairs]
    reports = stage.reports("codebooks", stage.variant)
    _write_likelihoods([pair for pair in codes if pair[0].code == "latom"], len(whole.symbols), reports)
    facts = {
        "characters": len(whole.characters),
        "training_characters": in_training,
        "refused": refused,
        "learned": [variant._asdict() for variant in learned],
    }
    write_json(reports / "variants.json", facts)


def _learner(stage: Stage) -> Learner:
    codes, latom = corpus_codes(stage), stage.parameters("codes.latom", LatomParameters)
    whole = read_characters(stage)
    corpora = {"whole": whole}
    if codes.unseen:
        corpora["train"], _ = held_out_split(whole, stage.parameters("codes.unseen", Unseen))
    return Learner(corpora, codes, latom)


def _write_likelihoods(codes: list[tuple[Variant, Code]], characters: int, folder: Path) -> None:
    """Before every M-step and after the last, in nats, and what the assignments were worth; a row an iteration."""
    rows = [
        (variant.N, variant.K, variant.seed, iteration, value, code.facts["objective"], code.facts["random_objective"])
        for variant, code in codes
        if variant.part == "whole" and isinstance(code, Codebook)
        for iteration, value in enumerate(code.facts["log_likelihood"])
    ]
    columns = ["N", "K", "seed", "iteration", "log_likelihood", "objective", "random_objective"]
    table = pl.DataFrame(rows, schema=columns, orient="row")
    with atomic_file(folder / "likelihood.csv") as path:
        table.write_csv(path)
    _draw_likelihood(table, characters, folder / "likelihood")


def _draw_likelihood(table: pl.DataFrame, characters: int, path: Path) -> None:
    """Log-likelihood of the HMM before every iteration and after the last, in nats per character: a line a seed.

    Columns: N, K, seed, iteration, log_likelihood (nats, of all `characters`).
    """
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.subplots()
    lengths = table["N"].unique().sort().to_list()
    colours = dict(zip(lengths, (ACCENT, SECOND, "#2f7d4f", "#b58900", "#7a1f5c"), strict=False))
    for N in lengths:
        for number, (_, line) in enumerate(table.filter(N=N).group_by("K", "seed", maintain_order=True)):
            mean = line["log_likelihood"] / characters
            label = None if number else f"N = {N}"
            axes.plot(line["iteration"], mean, color=colours[N], linewidth=0.9, label=label)
    axes.set(xlabel="iteration of EM", ylabel="log-likelihood, nats per character")
    if len(table):
        axes.legend(frameon=False, fontsize=8)
    save(figure, path)


if __name__ == "__main__":
    run(learn_codes)
