"""gigatoken or riptoken on texts, in an interpreter that has them; prints seconds, and seconds of CPU, of each run:

    PYTHON bits_peer.py gigatoken|riptoken TOKENIZER.JSON TEXTS.JSON IDS.NPZ RUNS

It imports nothing of tokenlab. The ids go to a file: `ids` of all texts, and `starts`, where each
begins. Both encode a batch at once, on one thread; the results become arrays of numpy.
"""

import json
import sys
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import numpy as np

Joined = tuple[np.ndarray, np.ndarray]
"""The ids of all texts, one after the other, and how many each has."""
Encode = Callable[[list[str]], Joined]
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def gigatoken(tokenizer: str) -> Encode:
    import awkward
    from gigatoken import Tokenizer

    loaded = Tokenizer(tokenizer)

    def encode(texts: list[str]) -> Joined:
        found = loaded.encode_batch(texts, parallel=False)
        return awkward.to_numpy(awkward.flatten(found)), awkward.to_numpy(awkward.num(found))

    return encode


def riptoken(tokenizer: str) -> Encode:
    from riptoken import CoreBPE

    content = json.loads(Path(tokenizer).read_text(encoding="utf-8"))
    if (content["pre_tokenizer"] or {}).get("type") != "ByteLevel":
        sys.exit("riptoken reads byte-level BPE only")
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    byte_of = {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(others)}
    special = {entry["content"] for entry in content["added_tokens"]}
    vocabulary = content["model"]["vocab"]
    ranks = {bytes(byte_of[c] for c in token): id for token, id in vocabulary.items() if token not in special}
    loaded = CoreBPE(ranks, {}, _GPT2)

    def encode(texts: list[str]) -> Joined:
        found = loaded.encode_ordinary_batch(texts)
        return np.fromiter(chain.from_iterable(found), np.int32), np.fromiter(map(len, found), np.int64)

    return encode


def _main(name: str, tokenizer: str, path: str, ids: str, runs: int) -> None:
    encode = {"gigatoken": gigatoken, "riptoken": riptoken}[name](tokenizer)
    texts = json.loads(Path(path).read_text(encoding="utf-8"))
    (found, counts), seconds, cpu_seconds = encode(texts[:3]), [], []
    for _ in range(runs):
        start, cpu_start = time.perf_counter(), time.process_time()
        found, counts = encode(texts)
        seconds.append(time.perf_counter() - start)
        cpu_seconds.append(time.process_time() - cpu_start)
    np.savez(ids, ids=found.astype(np.int32), starts=np.cumsum([0, *counts]))
    print(json.dumps({"seconds": seconds, "cpu_seconds": cpu_seconds}))


if __name__ == "__main__":
    _main(*sys.argv[1:5], int(sys.argv[5]))
