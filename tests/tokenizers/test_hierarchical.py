"""Hierarchical BPE: algorithm 1 as an independent implementation has it, encoding, decoding, files."""

import json
from collections import Counter, defaultdict
from functools import cache
from itertools import chain, pairwise

import numpy as np
import pytest
import unicode_text
from hypothesis import given
from hypothesis import strategies as st
from plain_bpe import merged
from real_tokenizers import tokenizer_folder

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.tokenizers.hierarchical import MARKER, WITHOUT_MERGES, HierarchicalBPE, learn_hierarchical, vocabulary_of

MERGES = {4: 5095, 6: 1149, 8: 466, 10: 240}
"""Of GPT-2's vocabulary."""
few_letters = st.lists(st.text("ab c", max_size=14).map(str.encode), min_size=1, max_size=12)
tokens = st.one_of(few_letters, st.lists(st.binary(max_size=12), min_size=1, max_size=12))


def learn(tokens, longest):
    """Algorithm 1 with everything counted anew before each merge: [(left, right)]."""
    active = [list(token) for token in dict.fromkeys(tokens) if len(token) + 1 > longest]
    merges = []
    while active:
        counts = Counter(pair for token in active for pair in pairwise(token))
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        merges.append(best)
        active = [merged(token, best, 256 + len(merges)) for token in active]
        active = [token for token in active if len(token) + 1 > longest]
    return merges


def learn_indexed(tokens, longest):
    """The same for large vocabularies: only tokens that have the best pair are counted anew."""
    active = {number: list(token) for number, token in enumerate(dict.fromkeys(tokens)) if len(token) + 1 > longest}
    counts, where, merges = Counter(), defaultdict(set), []
    for number, token in active.items():
        for pair in pairwise(token):
            counts[pair] += 1
            where[pair].add(number)
    while active:
        most = max(counts.values())
        best = min(pair for pair, count in counts.items() if count == most)
        merges.append(best)
        for number in where.pop(best) & active.keys():
            counts.subtract(pairwise(active[number]))
            active[number] = merged(active[number], best, 256 + len(merges))
            if len(active[number]) + 1 <= longest:
                del active[number]
                continue
            for pair in pairwise(active[number]):
                counts[pair] += 1
                where[pair].add(number)
        counts = +counts if len(merges) % 50 == 0 else counts
    return merges


def encode(patch, merges):
    """Merge after merge, each wherever it applies, and the marker."""
    token = list(patch)
    for rank, pair in enumerate(merges):
        token = merged(token, tuple(pair), 257 + rank)
    return [*token, 256]


@cache
def gpt2() -> list[bytes]:
    return vocabulary_of(tokenizer_folder("gpt2"))


@pytest.mark.parametrize("longest", [*(pytest.param(S, marks=pytest.mark.nightly) for S in (4, 6, 8)), 10])
def test_merges_of_gpt2_are_those_of_an_independent_implementation(longest):
    learned = learn_hierarchical(gpt2(), longest)
    assert list(map(tuple, learned.merges.tolist())) == learn_indexed(gpt2(), longest)


@pytest.mark.parametrize("longest", MERGES)
def test_every_token_of_gpt2_fits(longest):
    learned = learn_hierarchical(gpt2(), longest)
    assert len(learned.merges) == MERGES[longest]
    assert learned.size == 257 + MERGES[longest]
    assert learned.lengths(gpt2()).max() == longest


@given(tokens=tokens, longest=st.integers(2, 7))
def test_merges_of_any_vocabulary(tokens, longest):
    if not any(tokens):
        with pytest.raises(InputError, match="no token"):
            learn_hierarchical(tokens, longest)
        return
    learned = learn_hierarchical(tokens, longest)
    merges = learn(tokens, longest)
    assert list(map(tuple, learned.merges.tolist())) == merges == learn_indexed(tokens, longest)
    used = [token for token in tokens if token]
    lengths = learned.lengths(used)
    assert lengths.max() <= max(longest, 2)
    for token, length in zip(used, lengths.tolist(), strict=True):
        ids = learned.encode(token)
        assert ids == encode(token, learned.merges.tolist())
        assert len(ids) == length
        assert ids[-1] == MARKER and MARKER not in ids[:-1]
        assert learned.decode(ids) == token


@given(text=unicode_text.text, longest=st.integers(3, 8), seed=st.integers(0, 99))
def test_patches_of_a_text(text, longest, seed):
    data = text.encode()
    learned = learn_hierarchical([b"the cat", "中文字".encode(), data * 2 or b"a"], longest)
    cuts = np.random.default_rng(seed).random(len(data)) < 0.4
    starts = np.flatnonzero(cuts | (np.arange(len(data)) == 0))
    ids, begins = learned.encode_patches(data, starts)
    assert ids.dtype == begins.dtype == np.int32
    expected = [learned.encode(data[start:end]) for start, end in pairwise([*starts, len(data)])]
    assert ids.tolist() == list(chain(*expected))
    assert [ids[start:end].tolist() for start, end in pairwise([*begins, len(ids)])] == expected
    assert learned.decode(ids) == data


def test_without_merges_symbols_are_bytes_and_the_marker():
    assert WITHOUT_MERGES.size == 257
    assert WITHOUT_MERGES.encode(b"\x00\xff") == [0, 255, MARKER]
    assert WITHOUT_MERGES.spellings[MARKER] == b""


@pytest.mark.parametrize("starts", [[1], [0, 0], [0, 2, 1], [0, 3], []])
def test_starts_that_are_no_patches(starts):
    with pytest.raises(ParameterError, match="starts"):
        WITHOUT_MERGES.encode_patches(b"abc", starts)


def test_ids_that_are_no_symbols():
    for id in (-1, 257):
        with pytest.raises(InputError, match=f"id {id} "):
            WITHOUT_MERGES.decode([id])


@pytest.mark.parametrize("longest", [1, 0, -3])
def test_a_longest_patch_without_room(longest):
    with pytest.raises(ParameterError, match=f"longest is {longest}"):
        learn_hierarchical([b"ab"], longest)


def test_a_file(tmp_path):
    learned = HierarchicalBPE(np.array([[97, 98], [257, 97]]), 4)
    learned.save(tmp_path / "patches.json")
    read = HierarchicalBPE.read(tmp_path / "patches.json")
    assert read.merges.tolist() == learned.merges.tolist()
    assert (read.longest, read.size) == (4, 259)
    read.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "patches.json").read_bytes()
    WITHOUT_MERGES.save(tmp_path / "none.json")
    assert HierarchicalBPE.read(tmp_path / "none.json").size == 257


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "another"}, "no hierarchical BPE"),
        ({"merges": [[97, 98], [257]]}, "damaged"),
        ({"merges": [[97, 98], [300, 97]]}, "not bytes or earlier merges"),
        ({"merges": [[97, 98]]}, "damaged"),
        ({"longest": 1}, "at least 2"),
    ],
)
def test_a_damaged_file(change, message, tmp_path):
    path = tmp_path / "patches.json"
    HierarchicalBPE(np.array([[97, 98], [257, 97]]), 4).save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=message):
        HierarchicalBPE.read(path)


def test_no_file(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        HierarchicalBPE.read(tmp_path / "none.json")
    (tmp_path / "text").write_text("merges")
    with pytest.raises(InputError, match="not JSON"):
        HierarchicalBPE.read(tmp_path / "text")
