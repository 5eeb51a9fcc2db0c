"""Bits per byte of small language models over the cuts of `tokenlab train`, all trained with equal operations.

The texts are those of `cuts` that are long enough. Tokenizers are learned from all of a text, so each knows the
documents that `tokenlab compare` holds out for the models.
"""

from benchmarks.answers import behind_best, compared, tokenlab
from benchmarks.cuts import SPACED, texts_of
from benchmarks.measure import Bench, table_of

TITLE = "Small models by cut"
TEXTS = ()
_SIZES = {False: (8000, 3e11, 5, 500_000), True: (1500, 3e10, 2, 0)}
"""Entries, operations of a training, seeds, and the least characters of a text. In Thai Universal Dependencies, with a
fifth of that, nothing is left to merge at 6,500 entries."""
_WAYS: dict[str, tuple[str, ...]] = {
    "byte-level": ("--cut", "gpt2", "--bytes", "level"),
    "uncut": ("--cut", "none", "--bytes", "fallback"),
    "bytes": ("--bytes", "level"),
    "characters": ("--bytes", "fallback"),
    "unigram": ("--model", "unigram", "--bytes", "fallback"),
}
_WORDS: dict[str, tuple[str, ...]] = {
    "words": ("--cut", "words", "--bytes", "fallback"),
    "words-unigram": ("--cut", "words", "--model", "unigram", "--bytes", "fallback"),
}
_HEADS = ("byte-level", "uncut", "`auto`, bytes", "`auto`, characters", "unigram", "`words`", "`words`, unigram")


def table(bench: Bench) -> list[str]:
    entries, flops, seeds, least = _SIZES[bench.quick]
    rows = []
    for language, lines in texts_of(bench.quick):
        if sum(map(len, lines)) < least:
            continue
        text = bench.folder / f"models-{language}.txt"
        text.write_text("\n".join(lines) + "\n", encoding="utf-8")
        ways = _WAYS if language in SPACED else _WAYS | _WORDS
        folders = {name: bench.folder / language / name for name in (*ways, "default")}
        for name, folder in folders.items():
            tokenlab("train", text, "-o", folder, "--vocabulary", entries, *ways.get(name, ()))
        files = {name: (folder / "tokenizer.json").read_bytes() for name, folder in folders.items()}
        default = next(name for name in ("bytes", "characters") if files[name] == files["default"])
        result = compared(bench.folder, text, flops, *(folders[name] for name in ways), seeds=seeds)
        found = {row["name"]: row for row in result["candidates"]}
        cells = [
            f"{found[name]['bits_per_byte']:.3f} ± {found[name]['deviation']:.3f}" if name in found else ""
            for name in (*_WAYS, *_WORDS)
        ]
        cells += [f"{result['ngrams']['bits_per_byte']:.3f}", default, behind_best(found[default])]
        rows.append([language, f"{text.stat().st_size:,}", *cells])
    return [
        f"{entries:,} entries, {flops:.0e} operations a training, {seeds} seeds: bits per byte, ± deviation. "
        "Byte-level is `--cut gpt2 --bytes level`, uncut is `--cut none --bytes fallback`; the others have the cut "
        "`auto` or `words`, and characters as alphabet where none is named. N-grams: of bytes, of as much text as the "
        "best model read, without its tokenizer. Default: the alphabet of `tokenlab train` without options; behind: "
        "what that tokenizer has more than the best, with the interval of `tokenlab compare`.",
        "",
        *table_of(["text", "bytes", *_HEADS, "n-grams", "default", "behind"], rows),
    ]
