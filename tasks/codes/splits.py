"""The text of a corpus as characters, and its split into training and held-out text."""

from pathlib import Path

import numpy as np

from tokenlab.codes.corpus import CharacterCorpus, character_corpus
from tokenlab.text.store import corpus_batches


def read_characters(folder: Path) -> CharacterCorpus:
    """Read the corpus that the stage `prepare` or `concatenate` wrote."""
    return character_corpus(text for batch in corpus_batches(folder, ["text"]) for text in batch.column(0).to_pylist())


def held_out_split(corpus: CharacterCorpus, share: float, seed: int) -> tuple[CharacterCorpus, list[str]]:
    """The training sequences as a corpus, and the held-out sequences without characters missing from training."""
    texts = list(corpus.texts())
    held_out = set(np.random.default_rng(seed).permutation(len(texts))[: round(share * len(texts))].tolist())
    training = character_corpus(text for number, text in enumerate(texts) if number not in held_out)
    lost = dict.fromkeys(map(ord, set(corpus.characters) - set(training.characters)))
    return training, [texts[number].translate(lost) for number in sorted(held_out)]
