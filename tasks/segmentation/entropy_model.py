"""Stage `entropy_model`: a GPT-2 trained on unsegmented text, whose predictive entropy shows where words end (section
3.2 of the entropy paper), and its loss curve.

The training text is a corpus without all sentences that equal a test or validation sentence of `held_out`, the corpus
to segment; the validation sentences measure the loss. An interrupted training resumes from its checkpoint
(`tasks.runtime.checkpoints`).
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

from tasks.runtime.checkpoints import checkpoint_folder
from tasks.runtime.stage import Parameters, Stage, read_json, run, write_json
from tasks.runtime.tables import write_losses
from tasks.segmentation.splits import Splitting, read_splits
from tokenlab.core.files import atomic_folder
from tokenlab.entropy.packing import encode
from tokenlab.entropy.training import train
from tokenlab.networks.gpt import GptShape, build_gpt, save_gpt
from tokenlab.text.store import read_corpus
from tokenlab.tokenizers.alphabet import UNKNOWN, Alphabet, AlphabetOptions, learn_alphabet, save_alphabet
from tokenlab.training.options import TrainingOptions

_NAME = "training.json"


class EntropyModel(Parameters):
    """One model: the corpus that it is trained on, and the corpus whose test and validation sentences are held out; the
    two may be the same."""

    text: str
    held_out: str
    alphabet: AlphabetOptions
    shape: GptShape
    training: TrainingOptions


class Provenance(Parameters):
    """The corpus that a model was trained on, and the corpus whose test and validation sentences were held out."""

    text: str
    held_out: str


def train_model(stage: Stage) -> None:
    """Write the model, its loss curve and its metrics."""
    parameters = stage.parameters(f"entropy.models.{stage.variant}", EntropyModel)
    splitting = stage.parameters("segmentation", Splitting)
    corpus = read_splits(stage.data("corpora", parameters.held_out), splitting)
    validation_texts = [document.text for document in corpus.select(corpus.validation)]
    texts = TrainingTexts(stage.data("corpora", parameters.text), corpus.held_out_texts)

    context = parameters.shape.context
    alphabet = learn_alphabet(texts, parameters.alphabet)
    training, validation = (encode(alphabet, some, context) for some in (texts, validation_texts))
    model = build_gpt(parameters.shape, alphabet.size, parameters.training.seed)
    used = {"model": parameters.model_dump(), "splits": splitting.model_dump()}
    corpora = {stage.data("corpora", name) for name in (parameters.text, parameters.held_out)}
    checkpoints = checkpoint_folder(f"entropy_model.{stage.variant}", used, corpora)
    curve = train(model, alphabet, training, validation, parameters.training, checkpoints / "checkpoint.safetensors")

    with atomic_folder(stage.models("entropy_models", stage.variant)) as folder:
        save_gpt(model, folder)
        save_alphabet(alphabet, folder)
        provenance = Provenance(text=parameters.text, held_out=parameters.held_out)
        write_json(folder / _NAME, provenance.model_dump())
    reports = stage.reports("entropy_models", stage.variant)
    write_losses(reports / "loss.csv", curve)
    options, tokens = parameters.training, len(training.ids)
    metrics = {
        "training_nats_per_character": curve[-1].training,
        "held_out_nats_per_character": curve[-1].held_out,
        "held_out_unknown_share": unknown_share(alphabet, validation_texts),
        "vocabulary": alphabet.size,
        "parameters": model.num_parameters(),
        "training_tokens": tokens,
        "epochs": round(options.steps * options.batch * context / tokens, 2),
    }
    write_json(reports / "metrics.json", metrics)
    shutil.rmtree(checkpoints)


class TrainingTexts:
    """The sentences of a corpus except those that are held out; every iteration reads them from disk."""

    def __init__(self, folder: Path, held_out: set[str]) -> None:
        self._folder, self._held_out = folder, held_out

    def __iter__(self) -> Iterator[str]:
        for document in read_corpus(self._folder):
            if document.text not in self._held_out:
                yield document.text


def unknown_share(alphabet: Alphabet, texts: list[str]) -> float:
    """The share of characters missing from the alphabet."""
    tokens = [token for text in texts for token in alphabet.tokenizer.encode(text, add_special_tokens=False).tokens]
    return tokens.count(UNKNOWN) / max(1, len(tokens))


def read_provenance(folder: Path) -> Provenance | None:
    """The provenance of a model, None for a model that was not trained here."""
    path = folder / _NAME
    return Provenance.model_validate(read_json(path)) if path.exists() else None


if __name__ == "__main__":
    run(train_model)
