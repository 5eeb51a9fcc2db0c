"""The result of a comparison as a document of plain values, and as a table: what its page and its files hold."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tokenlab.comparison.measures import MEASURES, measured, units_of
from tokenlab.comparison.texts import Parts
from tokenlab.comparison.trials import Score
from tokenlab.comparison.verdict import compare_scores
from tokenlab.language.coding import Coder
from tokenlab.language.ngrams import fewest_nats
from tokenlab.language.passages import cut_passages
from tokenlab.text import documents as text_documents

Document = dict[str, Any]

_SAMPLES, _SHORTEST, _LONGEST = 5, 16, 56
"""Sample sentences, and their characters."""
_COUNTED = 8_000_000
"""Bytes of which n-grams are counted at most; each takes 60 bytes of memory."""
COLUMNS = (
    "name",
    "standing",
    "bits_per_byte",
    "deviation",
    "behind",
    "interval",
    "entries",
    *MEASURES,
    "flops_per_byte",
    "parameters",
    "training_bytes",
    "training_flops",
)


def result_of(
    scores: Mapping[str, Sequence[Score]],
    coders: Mapping[str, Coder],
    parts: Parts,
    settings: Mapping[str, Any],
    about: Mapping[str, Mapping[str, str]],
) -> Document:
    """The result: verdict, a row for each candidate, the best first, and the cuts of sample sentences.

    Args:
        scores: by candidate, as of `compare_scores`.
        coders: of the same candidates.
        parts: the documents that were read and scored.
        settings: what decided the result, for its readers; its `context_bytes` is the longest passage.
        about: of each candidate, how it was `made` where that was here, and the expression that would `load` it in the
            folder of the result.
    """
    found = compare_scores(scores)
    coders = {one.name: coders[one.name] for one in found.standings}
    rows, documents = [], [text_documents.Document("", text) for text in parts.held_out]
    for one in found.standings:
        runs = scores[one.name]
        rows.append(
            {
                **one._asdict(),
                "standing": one.standing,
                **measured(coders[one.name], documents),
                "entries": runs[0].entries,
                "flops_per_byte": runs[0].documents.flops_per_byte,
                "parameters": runs[0].parameters,
                "training_bytes": sum(run.training_bytes for run in runs) / len(runs),
                "training_flops": sum(run.training_flops for run in runs) / len(runs),
                **about[one.name],
                "runs": [run.documents.bits_per_byte for run in runs],
                "curves": [run.curve for run in runs],
            }
        )
    return {
        "answer": found.answer,
        "ngrams": _ngrams(parts, rows, settings["context_bytes"]),
        "use": found.use,
        "separable": found.separable,
        "detectable": found.detectable,
        "settings": dict(settings),
        "candidates": rows,
        "samples": [{"text": line[:_LONGEST], "cuts": _cuts(line, coders)} for line in samples_of(parts.held_out)],
    }


def _ngrams(parts: Parts, rows: Sequence[Document], context: int) -> Document:
    """Bits per byte of n-grams of bytes of as much text as the models of the best candidate read, of the order that
    suits the held-out text best; and the candidates that need more."""
    passages, held_out = _passages(parts.training, context), _passages(parts.held_out, context)
    share = min(1.0, min(rows[0]["training_bytes"], _COUNTED) / sum(map(len, passages)))
    count = max(1, round(share * len(passages)))
    counted = [passages[number * len(passages) // count] for number in range(count)]  # evenly over the text
    nats = fewest_nats([text.decode() for text in counted], [text.decode() for text in held_out])
    bits = nats / math.log(2) / sum(map(len, held_out))
    size = sum(map(len, counted))
    beaten = [row["name"] for row in rows if row["bits_per_byte"] > bits]
    said = f"N-grams of bytes of {size / 1e6:.2f} MB of the text need {bits:.4f} bits per byte, "
    if len(beaten) == len(rows):
        said += "fewer than every candidate: the budget is small, and the order may change with a larger one."
    else:
        said += f"fewer than the models over: {', '.join(beaten)}." if beaten else "more than any candidate."
    return {"bits_per_byte": bits, "counted_bytes": size, "better_than": beaten, "said": said}


def _passages(texts: Iterable[str], context: int) -> list[bytes]:
    return [passage for text in texts for passage in cut_passages(text.encode(), context)]


def samples_of(documents: Sequence[str]) -> list[str]:
    """Lines of some documents, evenly over all; of long ones more than is shown."""
    lines = [max(document.split("\n"), key=len).strip() for document in documents]
    fitting = [line for line in lines if len(line) >= _SHORTEST] or [line for line in lines if line]
    step = max(1, len(fitting) // _SAMPLES)
    return [line[: 10 * _LONGEST] for line in fitting[::step][:_SAMPLES]]


def _cuts(text: str, coders: Mapping[str, Coder]) -> dict[str, list[list[int]] | None]:
    """By candidate the spans of its units that are shown, in characters; None where they have no places."""
    found: dict[str, list[list[int]] | None] = {}
    for name, coder in coders.items():
        (tokens,) = units_of(coder).encode_batch([text])
        found[name] = None if tokens.spans is None else tokens.spans[tokens.spans[:, 1] <= _LONGEST].tolist()
    return found


def table_of(result: Document) -> str:
    """A row for each candidate, tab-separated, with a header; an undefined value is empty."""
    lines = [COLUMNS, *([_cell(row[column]) for column in COLUMNS] for row in result["candidates"])]
    return "".join("\t".join(line) + "\n" for line in lines)


def _cell(value: object) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def text_of(result: Document) -> str:
    """The main columns for a terminal, n-grams and the answer."""
    header = ["", "bits/byte", "behind", "±", "bytes/token", "entries", "Mops/byte", ""]
    rows = [header]
    for row in result["candidates"]:
        best = row["standing"] == "best"
        rows.append(
            [
                row["name"],
                f"{row['bits_per_byte']:.4f}",
                "" if best else f"{row['behind']:.4f}",
                "" if best else f"{row['interval']:.4f}",
                f"{row['bytes_per_token']:.2f}",
                f"{row['entries']:,}",
                f"{row['flops_per_byte'] / 1e6:.3f}",
                row["standing"],
            ]
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for name, *cells in rows:
        shown = [cell.rjust(width) for cell, width in zip(cells[:-1], widths[1:-1], strict=True)]
        lines.append("  ".join([name.ljust(widths[0]), *shown, cells[-1]]).rstrip() + "\n")
    return f"{''.join(lines)}\n{result['ngrams']['said']}\n{result['answer']}\n"
