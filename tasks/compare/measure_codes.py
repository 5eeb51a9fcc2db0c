"""Stage `measure_codes`: the codes of an encoded corpus and the tokenizers over their atoms, by all measures."""

from collections.abc import Iterator

from tokenizers import Tokenizer

from tasks.codes.variants import read_variants
from tasks.compare.candidates import Candidate, for_any_text, read_reference
from tasks.compare.entries import Comparison, read_texts
from tasks.compare.rows import score_rows, write_scores
from tasks.runtime.stage import Stage, run
from tokenlab.codes.measured import CodeAsTokenizer, TokenizerOfAtoms
from tokenlab.codes.registry import read_code


def measure_codes(stage: Stage) -> None:
    """Write the scores, a row for each code and tokenizer, and the same as metrics."""
    comparison = stage.parameters("compare", Comparison)
    entry, reference = comparison.entry(stage.variant), read_reference(comparison)
    candidates = [*for_any_text(reference), *codes_of_corpus(stage)]
    texts = read_texts(stage, entry, comparison.sample)
    write_scores(stage, score_rows(entry, texts, candidates, reference), comparison.reference)


def codes_of_corpus(stage: Stage) -> Iterator[Candidate]:
    """The codes learned from the whole corpus with the first seed, without merges, and their tokenizers, which have the
    largest vocabulary. Codes that `for_any_text` has are left out, their tokenizers are not."""
    folder = stage.models("codes", stage.variant)
    for variant in read_variants(folder).learned:
        if variant.split != "all" or variant.seed not in (None, 0):
            continue
        code = read_code(folder / f"{variant.name}.json")
        if code.kind not in ("byte", "bits", "script"):
            yield Candidate("code", variant.name, CodeAsTokenizer(code))
        tokenizers = stage.models("code_tokenizers", stage.variant, variant.name)
        for path in sorted(tokenizers.glob("*/tokenizer.json")):
            tokenizer = TokenizerOfAtoms(code, Tokenizer.from_file(str(path)))
            yield Candidate("tokenizer of atoms", f"{variant.name}/{path.parent.name}", tokenizer)


if __name__ == "__main__":
    run(measure_codes)
