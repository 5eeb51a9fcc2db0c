"""Stage `measure_segmentation`: the tokenizers of a segmented corpus, exported ones too, by all measures."""

from collections.abc import Iterator
from pathlib import Path

from tasks.compare.candidates import Candidate, for_any_text, read_reference
from tasks.compare.entries import Comparison, read_texts
from tasks.compare.rows import score_rows, write_scores
from tasks.runtime.stage import Stage, run
from tokenlab.core.errors import InputError
from tokenlab.tokenizers.measured import read_text_tokenizer

_FILE = "tokenizer.json"


def measure_segmentation(stage: Stage) -> None:
    """Write the scores, a row for each tokenizer, and the same as metrics."""
    comparison = stage.parameters("compare", Comparison)
    entry, reference = comparison.entry(stage.variant), read_reference(comparison)
    candidates = [
        *for_any_text(reference),
        *tokenizers_below("BPE in segments", stage.models("tokenizers", stage.variant, "full")),
        *tokenizers_below("exported", stage.models("exported", stage.variant)),
    ]
    texts = read_texts(stage, entry, comparison.sample)
    write_scores(stage, score_rows(entry, texts, candidates, reference), comparison.reference)


def tokenizers_below(family: str, folder: Path) -> Iterator[Candidate]:
    """Every tokenizer.json below a folder, named by its place. Raises InputError where there is none."""
    found = sorted(folder.rglob(_FILE))
    if not found:
        raise InputError(f"{folder}: no {_FILE} below it; run the stages tokenizer and export first")
    for path in found:
        yield Candidate(family, str(path.parent.relative_to(folder)), read_text_tokenizer(path))


if __name__ == "__main__":
    run(measure_segmentation)
