"""Small stores of passages of generated text."""

from pathlib import Path

import numpy as np

from tokenlab.language.passages import PassageBlock, Passages, cut_passages, open_passages, write_passages

WORDS = ("the", "cat", "saw", "a", "dog", "你好", "naïve", "on", "mats")


def documents(number: int, seed: int, words: int = 20) -> list[bytes]:
    """Sentences of random words."""
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, random.integers(1, words + 1))).encode() for _ in range(number)]


def word_starts(data: bytes) -> np.ndarray:
    """Patches that begin with a space, and the first: int32[patches]."""
    found = np.frombuffer(data, np.uint8) == ord(" ")
    found[:1] = True
    return np.flatnonzero(found).astype(np.int32)


def store(folder: Path, texts: list[bytes], context: int, patcher: str | None = None) -> Passages:
    """A store of the texts, opened; its patchers are `words` and `fixed`."""
    passages = [passage for text in texts for passage in cut_passages(text, context)]
    starts = {
        "words": [word_starts(passage) for passage in passages],
        "fixed": [np.arange(0, len(passage), 3, dtype=np.int32) for passage in passages],
    }
    block = PassageBlock(
        [str(number) for number in range(len(passages))], passages, np.ones(len(passages), np.int32), starts
    )
    write_passages([block], folder, ["words", "fixed"])
    return open_passages(folder, patcher)
