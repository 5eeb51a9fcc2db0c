"""Stage `measure_parallel`: codes that encode every text, and the reference, on parallel corpora: parity and Gini."""

from tasks.compare.candidates import for_any_text, read_reference
from tasks.compare.entries import Comparison, read_texts
from tasks.compare.rows import score_rows, write_scores
from tasks.runtime.stage import Stage, run


def measure_parallel(stage: Stage) -> None:
    """Write the scores, a row for each tokenizer and corpus, and the same as metrics."""
    comparison = stage.parameters("compare", Comparison)
    entry, reference = comparison.entry(stage.variant), read_reference(comparison)
    texts = read_texts(stage, entry, comparison.sample)
    write_scores(stage, score_rows(entry, texts, for_any_text(reference), reference), comparison.reference)


if __name__ == "__main__":
    run(measure_parallel)
