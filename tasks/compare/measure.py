"""Stage `measure`: tokenizers and codes of all families, and published tokenizers, by the same measures.

An entry of `compare.measured` is a text with the tokenizers and codes made for it, or a published tokenizer, which is
measured on every text. Beside those made for a text stand the codes that encode all of Unicode, without merges, and the
reference tokenizer.
"""

from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer

from tasks.codes.variants import read_variants
from tasks.compare.entries import Comparison, Measured, read_texts
from tasks.compare.rows import Candidate, score_rows, write_scores
from tasks.runtime.stage import Stage, run
from tokenlab.codes.baselines import ByteCode
from tokenlab.codes.bits.bit_code import BitCode
from tokenlab.codes.measured import CodeAsTokenizer, TokenizerOfAtoms
from tokenlab.codes.registry import read_code
from tokenlab.codes.script import ScriptCode
from tokenlab.core.errors import InputError
from tokenlab.tokenizers.measured import read_text_tokenizer

_FILE = "tokenizer.json"


def measure(stage: Stage) -> None:
    """Write the scores, a row for each tokenizer and corpus, and the same as metrics."""
    comparison = stage.parameters("compare", Comparison)
    measured = comparison.measured[stage.variant]
    reference = Candidate("reference", Path(comparison.reference).name, read_text_tokenizer(comparison.reference))
    if measured.kind == "published":
        texts = comparison.texts()
        candidates = [Candidate("published", stage.variant, read_text_tokenizer(measured.tokenizers))]
    else:
        texts = {stage.variant: measured}
        candidates = [*_for_any_text(), reference, *_made(measured)]
    rows = [
        row
        for name, entry in texts.items()
        for row in score_rows(name, entry, read_texts(stage, name, entry, comparison.sample), candidates, reference)
    ]
    write_scores(stage, rows, comparison.reference)


def _for_any_text() -> Iterator[Candidate]:
    """The codes that encode every text, without merges."""
    for code in (ByteCode(), BitCode(), ScriptCode()):
        yield Candidate("code", code.kind, CodeAsTokenizer(code))


def _made(measured: Measured) -> Iterator[Candidate]:
    """The tokenizers and codes made for a text."""
    tokenizers, also = Path(measured.tokenizers), Path(measured.also)
    if measured.kind == "segmented":
        yield from tokenizers_below("BPE in segments", tokenizers / "full")
        yield from tokenizers_below("exported", also)
    elif measured.kind == "encoded":
        yield from codes_below(also, tokenizers)


def tokenizers_below(family: str, folder: Path) -> Iterator[Candidate]:
    """Every tokenizer.json below a folder, named by its place. Raises InputError where there is none."""
    found = sorted(folder.rglob(_FILE))
    if not found:
        raise InputError(f"{folder}: no {_FILE} below it; run the stages tokenizer and export first")
    for path in found:
        yield Candidate(family, str(path.parent.relative_to(folder)), read_text_tokenizer(path))


def codes_below(codes: Path, tokenizers: Path) -> Iterator[Candidate]:
    """The codes learned from the whole corpus with the first seed, without merges, and their tokenizers, which have the
    largest vocabulary. Codes that encode every text are left out, their tokenizers are not."""
    for variant in read_variants(codes).learned:
        if variant.split != "all" or variant.seed not in (None, 0):
            continue
        code = read_code(codes / f"{variant.name}.json")
        if code.kind not in ("byte", "bits", "script"):
            yield Candidate("code", variant.name, CodeAsTokenizer(code))
        for path in sorted((tokenizers / variant.name).glob(f"*/{_FILE}")):
            tokenizer = TokenizerOfAtoms(code, Tokenizer.from_file(str(path)))
            yield Candidate("tokenizer of atoms", f"{variant.name}/{path.parent.name}", tokenizer)


if __name__ == "__main__":
    run(measure)
