"""Stage `measure_published`: a published tokenizer on every text that the pipeline's own are measured on."""

from tasks.compare.candidates import Candidate, read_reference
from tasks.compare.entries import Comparison, read_texts
from tasks.compare.rows import score_rows, write_scores
from tasks.runtime.stage import Stage, run
from tokenlab.tokenizers.measured import read_text_tokenizer


def measure_published(stage: Stage) -> None:
    """Write the scores, a row for each text and corpus, and the same as metrics."""
    comparison = stage.parameters("compare", Comparison)
    reference = read_reference(comparison)
    path = comparison.published[stage.variant]
    published = Candidate("published", stage.variant, read_text_tokenizer(path))
    rows = [
        row
        for entry in comparison.entries()
        for row in score_rows(entry, read_texts(stage, entry, comparison.sample), [published], reference)
    ]
    write_scores(stage, rows, comparison.reference)


if __name__ == "__main__":
    run(measure_published)
