"""Training byte-level BPE from a file of English, by tokenlab and by the trainers that learn the same merges.

The cut is that of GPT-2, and the first merges of all are compared. SentencePiece has rules of its own; gigabpe is
measured where it is installed.
"""

from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from benchmarks.corpora import english
from benchmarks.measure import CORES, Bench, Facts, Task, agree, digest, merges_of, output_of, table_of
from benchmarks.resampled import drawn

TITLE = "Training BPE on English"
TEXTS = ()
RUNS = 3
_CHARACTERS = {False: 160_000_000, True: 100_000}
_CONTEXT = 5
_ENTRIES = {False: 32_000, True: 500}
_BYTES = 256


def table(bench: Bench) -> list[str]:
    """Every trainer in a process of its own; Markdown."""
    source, text = bench.folder / "source.txt", bench.folder / "english.txt"
    source.write_text("\n".join(english()) + "\n", encoding="utf-8")
    command = drawn(str(source), _CHARACTERS[bench.quick], _CONTEXT)
    with output_of(command) as lines, text.open("wb") as file:
        # Peers read line ends, too, and would have a piece of a space and a line end.
        file.writelines(line.rstrip() + b"\n" for line in lines)
    peers = ["hugging_face", "sentencepiece"] + ["gigabpe"] * bool(find_spec("gigabpe"))
    size, entries = text.stat().st_size / 1e6, _ENTRIES[bench.quick]
    found, rows = [], []
    for name, threads in (("tokenlab", 1), *((peer, threads) for peer in peers for threads in (1, CORES))):
        arguments = (str(source), str(text), str(entries), str(threads))
        one = bench.measure(f"bpe_english:{name}", *arguments, threads=threads, runs=RUNS)
        found.append(one)
        speed = (f"{one.median:.1f}", f"{one.cpu:.1f}", f"{size / one.cpu:.1f}", f"{one.peak / 1e6:,.0f}")
        rows.append((_label(name), threads, *speed))
    agree(*found)
    heads = ["trainer", "threads", "seconds", "seconds of CPU", "MB / second of CPU", "peak memory, MB"]
    missing = [] if find_spec("gigabpe") else ["", "gigabpe is not installed, so it has no row."]
    return [f"{entries:,} entries from {size:,.0f} MB.", "", *table_of(heads, rows), *missing]


def _label(name: str) -> str:
    package = {"hugging_face": "tokenizers"}.get(name, name)
    return f"{package} {version(package)}"


def _task(run: Any, sample: str, whole: str, entries: int) -> Task:
    def facts(merges: list[Any]) -> Facts:
        # Peers begin with the bytes of the text, tokenlab with all, so that it learns fewer merges.
        sides = [side for merge in merges[: entries - _BYTES] for side in merge]
        return {"merges": digest("\n".join(sides))} if merges else {}

    return Task(run, sample, whole, facts)


def _tokenlab(sample: str, whole: str, entries: str, threads: str) -> Task:
    from tokenlab.text.lines import read_lines
    from tokenlab.tokenizers.cuts import gpt2_cut
    from tokenlab.tokenizers.options import TrainOptions
    from tokenlab.tokenizers.piece_counts import count_pieces
    from tokenlab.tokenizers.trained import train_tokenizers

    def run(path: str) -> list[Any]:
        (counts,) = count_pieces(read_lines(path), [gpt2_cut()])
        options = TrainOptions((int(entries),), byte_tokens="level", special_tokens=())
        return merges_of(train_tokenizers(counts, options)[0])

    return _task(run, sample, whole, int(entries))


def _hugging_face(sample: str, whole: str, entries: str, threads: str) -> Task:
    def run(path: str) -> list[Any]:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.train([path], trainers.BpeTrainer(vocab_size=int(entries), show_progress=False))
        return merges_of(tokenizer)

    return _task(run, sample, whole, int(entries))


def _gigabpe(sample: str, whole: str, entries: str, threads: str) -> Task:
    gigabpe = import_module("gigabpe")

    def run(path: str) -> list[Any]:
        _, merges = gigabpe.train_bpe([path], vocab_size=int(entries), pretokenizer="bytelevel", threads=int(threads))
        return list(merges)

    return _task(run, sample, whole, int(entries))


def _sentencepiece(sample: str, whole: str, entries: str, threads: str) -> Task:
    from sentencepiece import SentencePieceTrainer

    def run(path: str) -> list[Any]:
        SentencePieceTrainer.train(
            input=path, model_prefix=str(Path(whole).with_name("sentencepiece")), model_type="bpe",
            vocab_size=int(entries), max_sentence_length=1 << 20, num_threads=int(threads), minloglevel=2,
            hard_vocab_limit=False,  # the warm-up has fewer
        )  # fmt: skip
        return []

    return _task(run, sample, whole, int(entries))


TASKS = {
    "tokenlab": _tokenlab,
    "hugging_face": _hugging_face,
    "gigabpe": _gigabpe,
    "sentencepiece": _sentencepiece,
}
