"""Tokenizers over atoms beside Hugging Face `tokenizers`, at one vocabulary size and at sixty; then swap refinement.

The text is the English Bible (built-in sentences without the mirror) in a random code of N = 2 and the smallest K, a
sequence a verse. To the peer an atom is a private-use character and a verse one word. A process reads the atoms from
files that another has written, so what encoding takes is not hidden in its baseline of memory.
"""

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tokenizers import Tokenizer, models, trainers

from benchmarks.corpora import source_of_verses, verses
from benchmarks.measure import CORES, Bench, Facts, Measurement, Task, agree, digest, merge_facts
from tokenlab.codes.baselines import random_codebook
from tokenlab.codes.codebook import Codebook
from tokenlab.codes.corpus import CharacterCorpus, character_corpus
from tokenlab.codes.interface import atom_numbers, atoms
from tokenlab.codes.latom.learn import refine_codebook
from tokenlab.codes.latom.refine import refine_codes
from tokenlab.tokenizers.bpe import bpe_tokenizer
from tokenlab.tokenizers.merges import bpe_sweep, tokenize
from tokenlab.tokenizers.unigram import UnigramSweep, unigram_sweep

TITLE = "Tokenizers over atoms"
TEXTS = ()
_SIZES = 60
_TOLERANCE = 0.05  # of the token counts of two unigram models
_SAMPLE = 100  # verses


class Atoms(NamedTuple):
    """Sequences of atoms as `bpe_sweep` takes them."""

    symbols: np.ndarray
    offsets: np.ndarray
    alphabet: int


class Encoded(NamedTuple):
    """A text whose atoms lie in files."""

    path: str
    """Without ending: `.npz` for tokenlab, `.txt` for the peer."""
    vocabulary: str
    """Entries of the tokenizers."""
    written: Measurement
    """Facts: `characters`, `atoms`, `alphabet`."""


class Row(NamedTuple):
    """A measurement under its name, with the one of ours that does the same."""

    name: str
    threads: int
    found: Measurement
    ours: Measurement | None = None


def table(bench: Bench) -> list[str]:
    size, part, vocabulary = (20_000, 20_000, 1_200) if bench.quick else (0, 100_000, 3_000)  # characters; 0: all
    whole, short = _encoded(bench, "whole", size, vocabulary), _encoded(bench, "short", part, vocabulary)
    training, encoding, unigram = _training(bench, whole), _encoding(bench, whole), _unigram(bench, short)
    annealing, refining = (bench.measure(f"atoms:{name}", str(size)) for name in ("annealing", "refining"))
    compiling = (whole.written.warm_up, unigram[0].found.warm_up, annealing.warm_up)
    ratios = " and ".join(f"{row.found.facts['tokens'] / row.ours.facts['tokens']:.3f}" for row in unigram if row.ours)
    facts = whole.written.facts
    return [
        f"English {source_of_verses()}, {facts['characters']:,} characters in a code of {facts['alphabet']} atoms; "
        f"{vocabulary:,} entries; tokenizers {version('tokenizers')}:",
        "",
        "| | | threads | atoms | seconds | tokenlab is faster | peak bytes/atom |",
        "| --- | --- | --: | --: | --: | --: | --: |",
        *_rows("BPE", whole, training),
        *_rows("encoding", whole, encoding),
        *_rows("unigram", short, unigram),
        "",
        f"Merges and tokens of BPE are equal. By the peer's unigram models the text has {ratios} times as many tokens.",
        "tokenlab compiles for {:.1f} s (BPE), {:.1f} s (unigram) and {:.1f} s (refinement) ".format(*compiling)
        + "once after installing.",
        "",
        f"Swap refinement of the random codebook on all {facts['characters']:,} characters, one thread:",
        "",
        "| | seconds |",
        "| --- | --: |",
        f"| one annealing | {annealing.time()} |",
        f"| `refine_codebook` | {refining.time()} |",
    ]


def _encoded(bench: Bench, name: str, characters: int, vocabulary: int) -> Encoded:
    arguments = str(bench.folder / f"atoms-{name}"), str(vocabulary)
    return Encoded(*arguments, bench.measure("atoms:write", *arguments, str(characters), runs=1))


def _training(bench: Bench, text: Encoded) -> list[Row]:
    ours, several = (bench.measure("atoms:bpe", text.path, text.vocabulary, str(sizes)) for sizes in (1, _SIZES))
    peers = _on_one_thread_and_all(bench, "BpeTrainer", text, ours)
    agree(ours, several, *(row.found for row in peers))
    return [Row("`bpe_sweep`, 1 size", 1, ours), Row(f"`bpe_sweep`, {_SIZES} sizes", 1, several), *peers]


def _on_one_thread_and_all(bench: Bench, trainer: str, text: Encoded, ours: Measurement) -> list[Row]:
    task = f"atoms:{trainer}", text.path, text.vocabulary
    return [Row(f"`{trainer}`", threads, bench.measure(*task, threads=threads), ours) for threads in (1, CORES)]


def _encoding(bench: Bench, text: Encoded) -> list[Row]:
    ours = bench.measure("atoms:tokenize", text.path)
    peers = (("encode_batch", 1), ("encode_batch_fast", 1), ("encode_batch_fast", CORES))
    rows = [
        Row(f"`{name}`", threads, bench.measure(f"atoms:{name}", text.path, threads=threads), ours)
        for name, threads in peers
    ]
    agree(ours, *(row.found for row in rows))
    return [Row("`tokenize`", 1, ours), *rows]


def _unigram(bench: Bench, text: Encoded) -> list[Row]:
    ours, several = (bench.measure("atoms:unigram", text.path, text.vocabulary, str(sizes)) for sizes in (1, _SIZES))
    peers = _on_one_thread_and_all(bench, "UnigramTrainer", text, ours)
    for peer in peers:
        _check_alike(ours, peer.found)
    return [Row("`unigram_sweep`, 1 size", 1, ours), Row(f"`unigram_sweep`, {_SIZES} sizes", 1, several), *peers]


def _check_alike(ours: Measurement, theirs: Measurement) -> None:
    """Stop the benchmark where two unigram models have not the same size, or one cuts the text much finer."""
    (pieces, tokens), (their_pieces, their_tokens) = ((m.facts["pieces"], m.facts["tokens"]) for m in (ours, theirs))
    if pieces != their_pieces or abs(their_tokens / tokens - 1) > _TOLERANCE:
        raise RuntimeError(
            f"the unigram models differ, so no time is printed: {pieces} and {their_pieces} pieces, "
            f"{tokens} and {their_tokens} tokens"
        )


def _rows(task: str, text: Encoded, rows: list[Row]) -> list[str]:
    size = text.written.facts["atoms"]
    return [
        f"| {task} | {row.name} | {row.threads} | {size:,} | {row.found.time()} "
        f"| {f'{row.found.median / row.ours.median:.1f} times' if row.ours else ''} | {row.found.peak / size:.0f} |"
        for row in rows
    ]


def _write(path: str, vocabulary: str, characters: str) -> Task:
    """Encode a text of so many characters (0: all) into the files of `Encoded`, with the merges that BPE learns."""

    def run(texts: list[str]) -> Facts:
        corpus = character_corpus(texts)
        code = random_codebook(corpus)
        encoded = [code.encode(text) for text in corpus.texts()]
        symbols, alphabet = atom_numbers("".join(encoded)).astype(np.int32), len(code.alphabet)
        offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        merges = bpe_sweep(symbols, offsets, alphabet, [int(vocabulary)]).merges
        np.savez(f"{path}.npz", symbols=symbols, offsets=offsets, alphabet=alphabet, merges=merges)
        Path(f"{path}.txt").write_text("\n".join(encoded), encoding="utf-8")
        return {"characters": corpus.symbols.size, "atoms": symbols.size, "alphabet": alphabet}

    texts = verses("en", int(characters))
    return Task(run, texts[:_SAMPLE], texts, dict)


def _read(path: str) -> tuple[Atoms, np.ndarray]:
    """The atoms of tokenlab, and the merges."""
    with np.load(f"{path}.npz") as arrays:
        return Atoms(arrays["symbols"], arrays["offsets"], int(arrays["alphabet"])), arrays["merges"]


def _read_peer(path: str) -> tuple[list[str], list[str], np.ndarray]:
    """The sequences of the peer, its alphabet, and the merges."""
    with np.load(f"{path}.npz") as arrays:
        alphabet, merges = list(atoms(int(arrays["alphabet"]))), arrays["merges"]
    with Path(f"{path}.txt").open(encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file], alphabet, merges


def _beginning(text: Atoms) -> Atoms:
    offsets = text.offsets[: _SAMPLE + 1]
    return Atoms(text.symbols[: offsets[-1]], offsets, text.alphabet)


def _sizes(vocabulary: str, several: str) -> list[int]:
    """So many vocabulary sizes, evenly up to the largest."""
    return [int(vocabulary) * i // int(several) for i in range(1, int(several) + 1)]


def _bpe(path: str, vocabulary: str, several: str) -> Task:
    text, sizes = _read(path)[0], _sizes(vocabulary, several)
    return Task(lambda part: bpe_sweep(*part, sizes), _beginning(text), text, lambda sweep: merge_facts(sweep.merges))


def _bpe_trainer(path: str, vocabulary: str) -> Task:
    texts, alphabet, _ = _read_peer(path)

    def run(part: list[str]) -> Tokenizer:
        tokenizer = Tokenizer(models.BPE())
        trainer = trainers.BpeTrainer(vocab_size=int(vocabulary), initial_alphabet=alphabet, show_progress=False)
        tokenizer.train_from_iterator(part, trainer)
        return tokenizer

    return Task(run, texts[:_SAMPLE], texts, merge_facts)


def _tokenize(path: str) -> Task:
    text, merges = _read(path)
    return Task(lambda part: tokenize(*part, merges)[0], _beginning(text), text, _token_facts)


def _token_facts(ids: Any) -> Facts:
    return {"tokens": len(ids), "digest": digest(ids)}


def _encode_batch(method: str) -> Callable[[str], Task]:
    """A new tokenizer every time: it remembers words that it has encoded."""

    def prepare(path: str) -> Task:
        texts, alphabet, merges = _read_peer(path)

        def run(part: list[str]) -> list[Any]:
            return getattr(bpe_tokenizer(merges, alphabet), method)(part)

        return Task(run, texts[:_SAMPLE], texts, lambda found: _token_facts([i for one in found for i in one.ids]))

    return prepare


def _unigram_sweep(path: str, vocabulary: str, several: str) -> Task:
    text, sizes = _read(path)[0], _sizes(vocabulary, several)

    def facts(sweep: UnigramSweep) -> Facts:
        return {"pieces": int(sweep.sizes[-1]), "tokens": int(sweep.tokens[-1])}

    sample = (*_beginning(text), [2 * text.alphabet])
    return Task(lambda given: unigram_sweep(*given), sample, (*text, sizes), facts)


def _unigram_trainer(path: str, vocabulary: str) -> Task:
    texts, alphabet, _ = _read_peer(path)

    def run(part: list[str]) -> Tokenizer:
        tokenizer = Tokenizer(models.Unigram())
        trainer = trainers.UnigramTrainer(
            vocab_size=int(vocabulary) + 1,
            initial_alphabet=alphabet,
            unk_token="[UNK]",
            special_tokens=["[UNK]"],
            show_progress=False,
        )
        tokenizer.train_from_iterator(part, trainer)
        return tokenizer

    def facts(tokenizer: Tokenizer) -> Facts:
        tokens = sum(len(encoding.ids) for encoding in tokenizer.encode_batch(texts))
        return {"pieces": tokenizer.get_vocab_size() - 1, "tokens": tokens}

    return Task(run, texts[:10], texts, facts)


def _refinement(run: Callable[[tuple[Codebook, CharacterCorpus]], Any]) -> Callable[[str], Task]:
    """A task on a random codebook of the text and its corpus."""

    def prepare(characters: str) -> Task:
        texts = verses("en", int(characters))
        small, whole = character_corpus(texts[:_SAMPLE]), character_corpus(texts)
        return Task(run, (random_codebook(small), small), (random_codebook(whole), whole), lambda result: {})

    return prepare


def _anneal(task: tuple[Codebook, CharacterCorpus]) -> Any:
    code, corpus = task
    return refine_codes(corpus, code.assigned, code.N, code.K)


TASKS = {
    "write": _write,
    "bpe": _bpe,
    "BpeTrainer": _bpe_trainer,
    "tokenize": _tokenize,
    "encode_batch": _encode_batch("encode_batch"),
    "encode_batch_fast": _encode_batch("encode_batch_fast"),
    "unigram": _unigram_sweep,
    "UnigramTrainer": _unigram_trainer,
    "annealing": _refinement(_anneal),
    "refining": _refinement(lambda task: refine_codebook(*task)),
}
