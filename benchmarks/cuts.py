"""Tokens of held-out text by the tokenizers of `tokenlab train`: every cut, and byte-level BPE of the same size.

Each tenth text is held out, and the tokenizers are learned from the others. The texts are those of the mirror, or
built-in sentences without it, and NAME.txt in the folder that TOKENLAB_TEXTS names, a text a line, where there are any:
docs/languages says where to get them. A tokenizer is used as it is written: without the learned words, which are in no
`tokenizer.json`.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer

from benchmarks.corpora import verses
from benchmarks.measure import Bench, Facts, Task, lines_of, on_lines
from tokenlab.text.readers import read_documents
from tokenlab.tokenizers.cuts import make_cut
from tokenlab.tokenizers.options import Bytes, TrainOptions
from tokenlab.tokenizers.piece_counts import count_pieces
from tokenlab.tokenizers.trained import train_tokenizers

TITLE = "Held-out tokens by cut"
TEXTS = ()
_OWN = {"Finnish": "finnish.txt", "Thai": "thai.txt", "Burmese": "burmese.txt"}
_THAI = "segmentation/ud_th.utf8.gz"
_SIZES = {False: ("8000", "32000"), True: ("1500", "3000")}
_Way = tuple[str, Bytes]
_BASELINE: _Way = ("gpt2", "level")
_UNCUT: _Way = ("none", "fallback")
_WAYS: tuple[_Way, ...] = (
    _BASELINE,
    _UNCUT,
    ("none", "level"),
    ("llama3", "level"),
    ("whitespace", "level"),
    ("auto", "level"),
    ("auto", "fallback"),
    (r"\p{P}+", "fallback"),  # Punctuation alone stands apart.
)
_LEARNED: tuple[_Way, ...] = (("words", "fallback"), ("statistics", "fallback"))
SPACED = ("English", "Finnish")
"""There learned words are those of `auto`."""


def table(bench: Bench) -> list[str]:
    sizes = _SIZES[bench.quick]
    heads = [f"{int(size):,} entries | × byte-level | × uncut" for size in sizes]
    lines = [
        "Tokens of the held-out tenth. Byte-level is `--cut gpt2`, uncut is `--cut none --bytes fallback`; a number in "
        "brackets is the size of a vocabulary for which the text has too few repeated pairs.",
        "",
        f"| text | characters | `--cut` | `--bytes` | {' | '.join(heads)} | CPU, s |",
        f"| --- | --: | --- | --- |{' --: |' * (3 * len(sizes) + 1)}",
    ]
    for name, texts in texts_of(bench.quick):
        parts = {"train": [text for i, text in enumerate(texts) if i % 10 < 9], "held_out": texts[9::10]}
        paths = [bench.folder / f"cuts-{part}.txt" for part in parts]
        for path, of_part in zip(paths, parts.values(), strict=True):
            path.write_text("\n".join(of_part) + "\n", encoding="utf-8")
        found = {
            way: bench.measure("cuts:train", *map(str, paths), *way, *sizes, runs=1)
            for way in (*_WAYS, *(() if name in SPACED else _LEARNED))
        }
        characters = sum(map(len, parts["train"]))
        facts = {way: one.facts for way, one in found.items()}
        for way, one in found.items():
            cells = " | ".join(_cells(facts, way, size) for size in sizes)
            lines.append(f"| {name} | {characters:,} | {way[0]} | {way[1]} | {cells} | {one.cpu_seconds[0]:.0f} |")
    return lines


def _cells(facts: dict[_Way, Facts], way: _Way, size: str) -> str:
    """Tokens of a way at a size, and their ratios to those of byte-level BPE and of uncut characters."""
    tokens, entries = (facts[way][f"{name}_{size}"] for name in ("tokens", "entries"))
    few = "" if entries == int(size) else f" ({entries:,})"
    ratios = [f"{tokens / facts[peer][f'tokens_{size}']:.3f}" for peer in (_BASELINE, _UNCUT)]
    return f"{tokens:,}{few} | {' | '.join(ratios)}"


def texts_of(quick: bool) -> Iterator[tuple[str, list[str]]]:
    """The name of each text, and its lines."""
    size = 20_000 if quick else 0
    yield "English", verses("en", size)
    own, mirror = (os.environ.get(f"TOKENLAB_{name}") for name in ("TEXTS", "MIRROR"))
    for name, file in _OWN.items() if own else ():
        if (path := Path(own or "") / file).exists():
            yield name, [document.text for document in read_documents(path, "text")]
    if mirror:
        yield "Thai (UD)", [document.text for document in read_documents(Path(mirror) / _THAI, "sighan")]
    yield "Chinese", verses("zh", size)
    yield "Japanese", verses("ja", size)


def _train(train: str, held_out: str, cut: str, byte_tokens: Bytes, *sizes: str) -> Task:
    options = TrainOptions(tuple(map(int, sizes)), byte_tokens=byte_tokens)

    def run(texts: list[str]) -> list[Tokenizer]:
        (counts,) = count_pieces(texts, [make_cut(cut, texts)])
        return train_tokenizers(counts, options)

    def facts(tokenizers: list[Tokenizer]) -> Facts:
        found: Facts = {}
        for size, tokenizer in zip(sizes, tokenizers, strict=True):
            found[f"entries_{size}"] = tokenizer.get_vocab_size()
            found[f"tokens_{size}"] = sum(map(len, tokenizer.encode_batch(lines_of(held_out))))
        return found

    return on_lines(run, train, facts)


TASKS = {"train": _train}
