"""Bits per byte of small language models over the cuts of `tokenlab train`, all trained with equal operations.

The texts are those of `cuts`. Tokenizers are learned from all of a text, so each knows the documents that
`tokenlab compare` holds out for the models.
"""

from benchmarks.answers import behind_best, compared, tokenlab
from benchmarks.cuts import texts_of
from benchmarks.measure import Bench, table_of

TITLE = "Small models by cut"
TEXTS = ()
_SIZES = {False: (8000, 3e11, 5), True: (1500, 3e10, 2)}
"""Entries, operations of a training, and seeds."""
_WAYS = {
    "byte-level": ("gpt2", "level"),
    "uncut": ("none", "fallback"),
    "auto": ("auto", "level"),
    "auto-fallback": ("auto", "fallback"),
}


def table(bench: Bench) -> list[str]:
    entries, flops, seeds = _SIZES[bench.quick]
    rows = []
    for language, lines in texts_of(bench.quick):
        text = bench.folder / f"models-{language}.txt"
        text.write_text("\n".join(lines) + "\n", encoding="utf-8")
        folders = [bench.folder / language / name for name in _WAYS]
        for folder, (cut, spelling) in zip(folders, _WAYS.values(), strict=True):
            tokenlab("train", text, "-o", folder, "--cut", cut, "--bytes", spelling, "--vocabulary", entries)
        result = compared(bench.folder, text, flops, *folders, seeds=seeds)
        found = {row["name"]: row for row in result["candidates"]}
        cells = [f"{found[name]['bits_per_byte']:.3f} ± {found[name]['deviation']:.3f}" for name in _WAYS]
        rows.append([language, f"{text.stat().st_size:,}", *cells, behind_best(found["auto"])])
    return [
        f"{entries:,} entries, {flops:.0e} operations a training, {seeds} seeds: bits per byte, ± deviation. "
        "Byte-level is `--cut gpt2`, uncut is `--cut none --bytes fallback`. `auto` behind: what `--cut auto`, over "
        "bytes, has more than the best, with the interval of `tokenlab compare`.",
        "",
        *table_of(["text", "bytes", "byte-level", "uncut", "`auto`", "`auto`, `fallback`", "`auto` behind"], rows),
    ]
