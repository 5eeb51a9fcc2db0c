"""Stage `word_model`: word models of every training split, each fitted to the unsegmented sentences of that split."""

from tasks.runtime.pool import pooled
from tasks.runtime.stage import Stage, run
from tasks.segmentation.splits import Splitting, read_splits
from tokenlab.core.files import atomic_folder
from tokenlab.segment.words.model import WordModel
from tokenlab.segment.words.options import WordOptions


def fit(stage: Stage) -> None:
    """Write NAME/SPLIT.safetensors for each set of options in `segmentation.word_models`."""
    models = stage.parameters("segmentation.word_models", dict[str, WordOptions])
    splitting = stage.parameters("segmentation", Splitting)
    corpus = read_splits(stage.data("corpora", stage.variant), splitting)
    splits = corpus.trainings
    with atomic_folder(stage.models("word_models", stage.variant)) as folder:

        def work(job: tuple[str, str]) -> None:
            name, split = job
            sentences = [document.text for document in corpus.select(splits[split])]
            WordModel.fit(sentences, models[name]).save(folder / name / f"{split}.safetensors")

        for name in models:
            (folder / name).mkdir()
        pooled(work, [(name, split) for name in models for split in splits], "fitting word models")


if __name__ == "__main__":
    run(fit)
