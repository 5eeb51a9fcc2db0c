"""Stage `entropy_model`: a GPT-2 trained on unsegmented text, whose entropy says where words end (section 3.2 of the
entropy paper), and its loss curve.

The sentences of one corpus (which may be several joined) are learned, but none that equals one of a test or validation
part of `held_out`, the corpus that the model is to segment; the validation part measures the loss. A training that was
killed goes on from its checkpoint (`tasks.work`).
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl
from matplotlib.figure import Figure
from pydantic import Field

from tasks.figures import ACCENT, INK, save
from tasks.model_facts import ModelFacts, write_facts
from tasks.parts import parts
from tasks.stage import Parameters, Stage, run, write_json
from tasks.work import work_folder
from tokenlab.files import atomic_file, atomic_folder
from tokenlab.models import (
    Alphabet,
    Evaluation,
    GptShape,
    Level,
    TrainingOptions,
    build_gpt,
    encode,
    learn_alphabet,
    save_model,
    train,
)
from tokenlab.models.alphabet import UNKNOWN
from tokenlab.models.training import Dtype
from tokenlab.text.store import read_corpus


class AlphabetParameters(Parameters):
    """As tokenlab.models.learn_alphabet."""

    level: Level
    min_count: int = Field(ge=1)


class ShapeParameters(Parameters):
    """As tokenlab.models.GptShape."""

    layers: int
    width: int
    heads: int
    context: int
    dropout: float

    def shape(self) -> GptShape:
        """The shape as the library takes it, checked."""
        return GptShape(**self.model_dump())


class OptimizerParameters(Parameters):
    """As tokenlab.models.TrainingOptions."""

    steps: int
    batch: int
    learning_rate: float
    final_learning_rate: float
    warmup: int
    weight_decay: float
    gradient_clip: float
    evaluate_every: int
    seed: int
    threads: int
    device: str
    dtype: Dtype

    def options(self) -> TrainingOptions:
        """The options as the library takes them, checked."""
        return TrainingOptions(**self.model_dump())


class EntropyModel(Parameters):
    """One model: the corpus, prepared or joined, that it learns, and the corpus whose test and validation sentences it
    must not see; the two may be the same."""

    text: str
    held_out: str
    alphabet: AlphabetParameters
    shape: ShapeParameters
    training: OptimizerParameters


class _HeldOut(NamedTuple):
    """Sentences that measure the loss, and all those that training must not see, the former among them."""

    validation: list[str]
    unseen: set[str]


class _TrainingTexts:
    """The sentences of a corpus but those that are held out; every iteration reads them from disk."""

    def __init__(self, folder: Path, unseen: set[str]) -> None:
        self._folder, self._unseen = folder, unseen

    def __iter__(self) -> Iterator[str]:
        for document in read_corpus(self._folder):
            if document.text not in self._unseen:
                yield document.text


def train_model(stage: Stage) -> None:
    """Write the model, its loss curve and its metrics."""
    parameters = stage.parameters(f"entropy.models.{stage.variant}", EntropyModel)
    shape, options = parameters.shape.shape(), parameters.training.options()
    held_out = _held_out(stage, parameters.held_out)
    texts = _TrainingTexts(stage.data("corpora", parameters.text), held_out.unseen)
    alphabet = learn_alphabet(texts, parameters.alphabet.level, parameters.alphabet.min_count)
    training = encode(alphabet, texts, shape.context)
    validation = encode(alphabet, held_out.validation, shape.context)
    model = build_gpt(shape, alphabet, options.seed)

    used = {"model": parameters.model_dump()}
    used |= {name: stage.sections["segmentation"][name] for name in ("seeds", "draw")}
    corpora = {stage.data("corpora", name) for name in (parameters.text, parameters.held_out)}
    work = work_folder(stage, "entropy_model", used, corpora)
    curve = train(model, alphabet, training, validation, options, work / "checkpoint.safetensors")

    with atomic_folder(stage.models("entropy_models", stage.variant)) as folder:
        save_model(model, alphabet, folder)
        write_facts(folder, ModelFacts(text=parameters.text, held_out=parameters.held_out))
    reports = stage.reports("entropy_models", stage.variant)
    _write_curve(curve, reports)
    facts = {
        "training_nats_per_character": curve[-1].training,
        "held_out_nats_per_character": curve[-1].held_out,
        "held_out_unknown_share": _unknown_share(alphabet, held_out.validation),
        "vocabulary": alphabet.size,
        "parameters": model.num_parameters(),
        "training_tokens": len(training.ids),
        "epochs": round(options.steps * options.batch * shape.context / len(training.ids), 2),
    }
    write_json(reports / "metrics.json", facts)
    shutil.rmtree(work)


def _held_out(stage: Stage, name: str) -> _HeldOut:
    corpus = parts(stage._replace(variant=name))
    validation = [document.text for document in corpus.select(corpus.validation)]
    tested = {document.text for split in corpus.splits.values() for document in corpus.select(split.test)}
    return _HeldOut(validation, tested.union(validation))


def _unknown_share(alphabet: Alphabet, texts: list[str]) -> float:
    """The share of the characters that the alphabet does not have."""
    tokens = [token for text in texts for token in alphabet.tokenizer.encode(text, add_special_tokens=False).tokens]
    return tokens.count(UNKNOWN) / max(1, len(tokens))


def _write_curve(curve: list[Evaluation], folder: Path) -> None:
    """The losses as loss.csv, which `dvc plots` reads, and as a picture."""
    table = pl.DataFrame(curve, schema=Evaluation._fields, orient="row")
    with atomic_file(folder / "loss.csv") as path:
        table.write_csv(path)
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.subplots()
    for column, colour, label in (("training", INK, "training"), ("held_out", ACCENT, "held out")):
        axes.plot(table["step"], table[column], color=colour, label=label, linewidth=1.4)
    axes.set(xlabel="step", ylabel="loss (nats per character)")
    axes.legend(frameon=False)
    save(figure, folder / "loss")


if __name__ == "__main__":
    run(train_model)
