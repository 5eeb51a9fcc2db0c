"""The page of a comparison: one HTML file without scripts and without anything from elsewhere, light and dark."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from tokenlab.comparison.result import Document

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2933; --soft: #52606d; --rule: #d9dee3; --back: #fff; --card: #f6f7f9;
  --accent: #a53a26; --good: #1f6b3f; --a: #cfe3f1; --b: #f7dcc0; --bar: #2b6c8f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaee; --soft: #a9b4bf; --rule: #3a444e; --back: #14191e;
  --card: #1d242b; --accent: #f0937f; --good: #7fd1a0; --a: #23475f; --b: #5e4020; --bar: #7db9dc; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem 1rem 3rem; background: var(--back); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .5rem; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p { max-width: 46rem; margin: .5rem 0; }
.soft { color: var(--soft); font-size: .9rem; }
.answer { border-left: 4px solid var(--good); background: var(--card); padding: .8rem 1rem; font-size: 1.1rem;
  max-width: none; }
.answer.open { border-color: var(--accent); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .5rem; text-align: right; border-bottom: 1px solid var(--rule); white-space: nowrap; }
th { font-weight: 600; color: var(--soft); vertical-align: bottom; white-space: normal; }
th:first-child, td:first-child, td.word { text-align: left; }
tr.use td:first-child { font-weight: 700; }
td.best, td.tied { color: var(--good); font-weight: 600; }
.gap { display: grid; grid-template-columns: minmax(5rem, 17rem) 1fr; align-items: center; gap: .2rem .8rem;
  font-size: .9rem; }
.track { position: relative; height: 1.4rem; }
.track u { position: absolute; top: 0; bottom: 0; border-left: 1px solid var(--soft); }
.track i { position: absolute; top: .62rem; height: .16rem; background: var(--bar); border-radius: 1px; }
.track b { position: absolute; top: .4rem; width: .6rem; height: .6rem; margin-left: -.3rem; border-radius: 50%;
  background: var(--bar); }
.cut { display: grid; grid-template-columns: minmax(5rem, 9rem) 1fr; gap: .15rem .8rem; padding: .6rem 0;
  border-bottom: 1px solid var(--rule); align-items: baseline; }
.cut > span { font-size: .9rem; overflow-wrap: anywhere; }
.cut div { overflow-wrap: anywhere; line-height: 1.75; }
.cut small { color: var(--soft); }
.t { padding: .1rem 0; border-radius: 3px; white-space: pre-wrap; -webkit-box-decoration-break: clone;
  box-decoration-break: clone; }
.t.a { background: var(--a); } .t.b { background: var(--b); }
.x { text-decoration: underline wavy var(--accent); text-underline-offset: .2em; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; font-size: .9rem; margin: 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
code { font-size: .88em; overflow-wrap: anywhere; }
@media (max-width: 40rem) { .cut, .gap { grid-template-columns: 1fr; } .cut > span { color: var(--soft); }
  .track { margin-bottom: .3rem; } }
"""

_HEADINGS = {
    "name": ("", ""),
    "bits_per_byte": ("bits/byte", "of held-out text, ± standard deviation over the seeds"),
    "behind": ("behind the best", "bits per byte, with its interval"),
    "standing": ("", ""),
    "bytes_per_token": ("bytes/token", ""),
    "fertility": ("tokens/word", ""),
    "words_kept_whole": ("words whole", "share of words that are one token"),
    "byte_token_rate": ("parts of characters", "share of tokens that begin or end inside a character"),
    "vocabulary_used": ("used", "share of the vocabulary that occurs in held-out text"),
    "renyi_efficiency": ("Rényi", "efficiency of token frequencies at alpha = 2.5"),
    "entries": ("entries", "of the vocabulary"),
    "flops_per_byte": ("Mops/byte", "million operations of the model to read a byte"),
    "parameters": ("weights", ""),
    "training_bytes": ("MB trained", "text that the equal budget of operations was enough for"),
}
_SHARES = ("words_kept_whole", "byte_token_rate", "vocabulary_used", "renyi_efficiency")


def page_of(result: Document) -> str:
    """The page as HTML."""
    settings, rows = result["settings"], result["candidates"]
    title = f"How should {settings['text']} be cut?"
    columns = {name: _HEADINGS[name] for name in _HEADINGS if any(row.get(name) is not None for row in rows)}
    explained = "; ".join(f"{heading}: {note}" for heading, note in columns.values() if note)
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="answer{"" if result["separable"] else " open"}">{escape(result["answer"])}</p>',
        f"<p>{escape(result['ngrams']['said'])}</p>",
        f'<p class="soft">{escape(_design(result))}</p>',
        "<h2>Bits per byte behind the best</h2>",
        *_gaps(rows, result["detectable"]),
        '<p class="soft">Points with their intervals, made for all candidates at once; →: beyond the scale.</p>',
        "<h2>Measures</h2>",
        '<div class="wide" tabindex="0" role="region" aria-label="Measures"><table>',
        *_table(rows, columns, result["use"]),
        "</table></div>",
        f'<p class="soft">{escape(explained)}. Tokens are patches where the model reads patches.</p>',
        "<h2>Cuts of held-out sentences</h2>",
        '<p class="soft">Of long ones the beginning. Colours change where a token ends; '
        '<span class="x">underlined</span>: a character in several tokens.</p>',
        *(part for sample in result["samples"] for part in _sample(sample)),
        "<h2>How it was made</h2>",
        "<dl>",
        *(f"<dt>{escape(name.replace('_', ' '))}</dt><dd>{_value(value)}</dd>" for name, value in settings.items()),
        "</dl>",
        "<h2>Candidates</h2>",
        "<dl>",
        *map(_candidate, rows),
        "</dl>",
    ]
    head = (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
    )
    return head + "\n".join(parts) + "\n</main>\n</body>\n</html>\n"


def _candidate(row: Document) -> str:
    made = f"{escape(row['made'])}; " if row["made"] else ""
    return f"<dt>{escape(row['name'])}</dt><dd>{made}<code>{escape(row['load'])}</code></dd>"


def _design(result: Document) -> str:
    settings = result["settings"]
    return (
        f"One model of {settings['body']} over each candidate, {settings['flops']:.3g} training operations each, "
        f"{settings['seeds']} seeds, the same text in the same order; {settings['held_out_bytes']:,} bytes held out. "
        f"A difference of {result['detectable']:.4f} bits per byte between two of them would be found in about four of "
        "five such comparisons."
    )


def _gaps(rows: Sequence[Document], detectable: float) -> Iterator[str]:
    """A point and its interval for each candidate, on one scale; those far behind stand at its end."""
    near = [row["behind"] + row["interval"] for row in rows if row["standing"] != "worse"]
    most = min(max(*near, 4 * detectable), max(row["behind"] + row["interval"] for row in rows)) or 1.0
    least = min(0.0, *(row["behind"] - row["interval"] for row in rows))

    def at(value: float) -> float:
        return 100 * (min(value, most) - least) / (most - least)

    yield '<div class="gap">'
    for row in rows:
        low, high = (at(row["behind"] + sign * row["interval"]) for sign in (-1, 1))
        said = "the best" if row["standing"] == "best" else f"{row['behind']:.4f} ± {row['interval']:.4f}"
        said += " →" * (row["behind"] > most)
        bar = f'<i style="left:{low:.2f}%;width:{high - low:.2f}%"></i>' if high > low else ""
        yield f"<span>{escape(row['name'])} <small>{said}</small></span>"
        zero, point = (f'style="left:{at(value):.2f}%"' for value in (0, row["behind"]))
        yield f'<div class="track"><u {zero}></u>{bar}<b {point}></b></div>'
    yield "</div>"


def _table(rows: Sequence[Document], columns: Mapping[str, tuple[str, str]], use: str) -> Iterator[str]:
    headings = "".join(
        f'<th title="{escape(note)}">{heading.replace("/", "/<wbr>")}</th>' for heading, note in columns.values()
    )
    yield f"<thead><tr>{headings}</tr></thead><tbody>"
    for row in rows:
        cells = "".join(f'<td class="{_class(row, name)}">{_cell(row, name)}</td>' for name in columns)
        yield f"<tr{' class=use' if row['name'] == use else ''}>{cells}</tr>"
    yield "</tbody>"


def _class(row: Document, name: str) -> str:
    if name != "standing":
        return ""
    return {"best": "word best", "not separable": "word tied"}.get(row["standing"], "word")


def _cell(row: Document, name: str) -> str:
    value = row[name]
    if value is None:
        return "–"
    if name == "bits_per_byte":
        return f"{value:.4f} ± {row['deviation']:.4f}"
    if name == "behind":
        return "" if row["standing"] == "best" else f"{value:.4f} ± {row['interval']:.4f}"
    if name in _SHARES:
        return f"{100 * value:.1f} %"
    if name in ("flops_per_byte", "training_bytes"):
        return f"{value / 1e6:.{3 if name == 'flops_per_byte' else 2}f}"
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}" if isinstance(value, float) else escape(value)


def _sample(sample: Document) -> Iterator[str]:
    yield '<div class="cut">'
    for name, spans in sample["cuts"].items():
        count = f" <small>{len(spans)}</small>" if spans is not None else ""
        cut = "no places in the text" if spans is None else "".join(_pieces(sample["text"], spans))
        yield f'<span>{escape(name)}{count}</span><div dir="auto">{cut}</div>'
    yield "</div>"


def _pieces(text: str, spans: Sequence[Sequence[int]]) -> Iterator[str]:
    """The text with a colour for each token in turn; a character of several tokens has that of the first."""
    colour, place, pieces = 0, 0, [(start, end) for start, end in spans if end > start]
    for number, (_, end) in enumerate(pieces):
        shared = number + 1 < len(pieces) and pieces[number + 1][0] < end
        if end <= place:
            continue
        whole, last = text[place : end - shared], text[end - shared : end] if shared else ""
        inside = escape(whole) + (f'<span class="x">{escape(last)}</span>' if last else "")
        yield f'<span class="t {"ab"[colour % 2]}">{inside}</span>'
        colour, place = colour + 1, end


def _value(value: Any) -> str:
    if isinstance(value, str) and value.startswith("tokenlab "):
        return f"<code>{escape(value)}</code>"
    if isinstance(value, float):
        return f"{value:.3g}"
    return escape(f"{value:,}" if isinstance(value, int) else str(value))
