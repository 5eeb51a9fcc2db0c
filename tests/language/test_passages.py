"""Passages of documents: cuts, stores, and a random order that depends on bytes alone."""

import tracemalloc
from collections import Counter
from itertools import islice, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from interrupted import files

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.language import passages as module
from tokenlab.language.passages import PassageBlock, cut_passages, open_passages, shuffled_batches, write_passages


def random_block(number, seed, most=40, least=1):
    """Passages of random bytes, each with two random ways to cut it."""
    random = np.random.default_rng(seed)
    data = [random.bytes(int(random.integers(least, most + 1))) for _ in range(number)]
    starts = {
        name: [
            np.flatnonzero(np.append(True, random.random(len(passage) - 1) < share)).astype(np.int32)
            for passage in data
        ]
        for name, share in (("fine", 0.5), ("coarse-1", 0.2))
    }
    ids = [f"{seed}:{passage}" for passage in range(number)]
    return PassageBlock(ids, data, random.integers(0, 9, number).astype(np.int32), starts)


def written(folder, *blocks, **options):
    write_passages(blocks, folder, ["fine", "coarse-1"], **options)
    return folder


@given(st.text(max_size=60), st.integers(4, 20))
def test_cuts_are_as_long_as_whole_characters_allow(document, context):
    data = document.encode()
    cut = cut_passages(data, context)
    assert b"".join(cut) == data and all(0 < len(passage) <= context for passage in cut)
    decoded = [passage.decode() for passage in cut]
    assert all(len((one + next[0]).encode()) > context for one, next in pairwise(decoded))


def test_a_context_without_room_for_a_character_is_an_error():
    with pytest.raises(ParameterError, match="context is 3"):
        cut_passages(b"abcd", 3)


def test_what_is_read_is_what_was_written(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_GROUP_BYTES", 200)
    block = random_block(100, 0)
    summary = write_passages([block], tmp_path / "passages", ["fine", "coarse-1"], shard_bytes=900)
    total = sum(map(len, block.data))
    patches = {name: sum(map(len, starts)) for name, starts in block.starts.items()}
    assert summary == (100, total, block.words.sum(), patches)
    for patcher in ("fine", "coarse-1", None):
        passages = open_passages(tmp_path / "passages", patcher)
        assert (passages.count, passages.bytes, passages.patchers) == (100, total, ("fine", "coarse-1"))
        assert len({group.path for group in passages.groups}) > 1 and len(passages.groups) > 4
        found = list(passages.blocks())
        assert [id for part in found for id in part.ids] == block.ids
        assert [passage for part in found for passage in part.data] == block.data
        np.testing.assert_array_equal(np.concatenate([part.words for part in found]), block.words)
        if patcher:
            read = [starts for part in found for starts in part.starts[patcher]]
            assert [starts.tolist() for starts in read] == [starts.tolist() for starts in block.starts[patcher]]
        else:
            assert all(part.starts == {} for part in found)


def test_the_files_do_not_depend_on_the_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_GROUP_BYTES", 200)
    one, other = random_block(30, 0), random_block(20, 1)
    joined = PassageBlock(
        one.ids + other.ids,
        one.data + other.data,
        np.append(one.words, other.words),
        {name: one.starts[name] + other.starts[name] for name in one.starts},
    )
    first, second = written(tmp_path / "a", one, other), written(tmp_path / "b", joined)
    assert files(first) == files(second)
    assert open_passages(first).identity == open_passages(second, "fine").identity
    assert open_passages(written(tmp_path / "c", one)).identity != open_passages(first).identity


def test_another_identity_for_another_text_of_the_same_sizes_and_statistics(tmp_path):
    block = random_block(3, 0, least=40)
    least, between, greatest = np.argsort(block.data)
    data = list(block.data)
    data[between] = data[between][:-1] + bytes([data[between][-1] ^ 1])
    assert data[least] < data[between] < data[greatest] and data != block.data
    folders = written(tmp_path / "a", block), written(tmp_path / "b", block._replace(data=data))
    one, other = (folder / "part-00000.parquet" for folder in folders)
    assert pq.read_metadata(one).to_dict() == pq.read_metadata(other).to_dict()
    assert open_passages(folders[0]).identity != open_passages(folders[1]).identity


@pytest.fixture
def small_buffers(monkeypatch):
    """Several row groups, several of which are shuffled together."""
    monkeypatch.setattr(module, "_GROUP_BYTES", 150)
    monkeypatch.setattr(module, "_SHUFFLED_BYTES", 500)


def test_every_epoch_has_every_passage_once(tmp_path, small_buffers):
    block = random_block(200, 3)
    passages = open_passages(written(tmp_path / "passages", block), "fine")
    batches = islice(shuffled_batches(passages, 40, 3, seed=5), 300)
    stream = [passage for rows in batches for row in rows for passage in row]
    first, second = stream[:200], stream[200:400]
    assert (
        Counter(passage.data for passage in first) == Counter(block.data) == Counter(passage.data for passage in second)
    )
    assert [passage.data for passage in first] != [passage.data for passage in second]
    assert [passage.data for passage in first] != block.data
    starts = dict(zip(block.data, block.starts["fine"], strict=True))
    assert all((passage.starts == starts[passage.data]).all() for passage in first)


def test_rows_hold_whole_passages_and_batches_all_their_rows(tmp_path, small_buffers):
    passages = open_passages(written(tmp_path / "passages", random_block(150, 3)))
    batches = list(islice(shuffled_batches(passages, 64, 4, seed=5), 100))
    assert all(len(rows) == 4 and all(rows) for rows in batches)
    sizes = [sum(len(passage.data) for passage in row) for rows in batches for row in rows]
    assert max(sizes) <= 64 and np.mean(sizes) > 0.85 * 64


def test_the_order_depends_on_the_seed_alone_and_batches_can_be_skipped(tmp_path, small_buffers):
    folder = written(tmp_path / "passages", random_block(80, 3))

    def batches(number, patcher=None, seed=1, skip=0):
        found = islice(shuffled_batches(open_passages(folder, patcher), 50, 4, seed, skip), number)
        return [[[passage.data for passage in row] for row in rows] for rows in found]

    everything = batches(40)
    assert batches(40, "fine") == batches(40, "coarse-1") == everything != batches(40, seed=2)
    for skip in (0, 1, 7, 8, 20, 35):
        assert batches(5, skip=skip) == everything[skip : skip + 5]


def best_fit(sizes, context):
    """The plain twin: rooms in a list, searched from its beginning."""
    rows, room = [], []
    for number, size in enumerate(sizes):
        fitting = [(left, row) for row, left in enumerate(room) if left >= size]
        if fitting:
            _, row = min(fitting)
            rows[row].append(number)
            room[row] -= size
        else:
            rows.append([number])
            room.append(context - size)
    return rows


@given(st.lists(st.integers(1, 30), max_size=60))
def test_rows_are_filled_by_best_fit(sizes):
    found = module._filled_rows(np.arange(len(sizes)), np.array(sizes, np.int32), 30)
    assert found == best_fit(sizes, 30)


def test_memory_does_not_grow_with_the_store(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_GROUP_BYTES", 1 << 14)
    monkeypatch.setattr(module, "_SHUFFLED_BYTES", 1 << 16)

    def peak(blocks):
        folder = written(tmp_path / str(blocks), *(random_block(250, seed, 512, 256) for seed in range(blocks)))
        passages = open_passages(folder, "fine")
        tracemalloc.start()
        arrow, most, seen = pa.total_allocated_bytes(), 0, 0
        for rows in shuffled_batches(passages, 512, 8, 0):
            seen += sum(len(passage.data) for row in rows for passage in row)
            most = max(most, pa.total_allocated_bytes() - arrow)
            if seen >= 1.5 * passages.bytes:
                break
        found = tracemalloc.get_traced_memory()[1] + most
        tracemalloc.stop()
        return found

    small, large = peak(3), peak(15)  # 0.3 and 1.4 MB of text
    assert large < 1.3 * small


def test_nothing_to_write_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no passage to write"):
        written(tmp_path / "passages")
    with pytest.raises(InputError, match="passage 'a' is empty"):
        write_passages([PassageBlock(["a"], [b""], np.zeros(1, np.int32), {})], tmp_path / "passages", [])
    with pytest.raises(ParameterError, match="shard_bytes is 0"):
        written(tmp_path / "passages", random_block(1, 0), shard_bytes=0)
    assert not (tmp_path / "passages").exists()


def test_what_a_store_does_not_have_is_an_error(tmp_path):
    folder = written(tmp_path / "passages", random_block(30, 0))
    with pytest.raises(InputError, match=r"passage of 40 bytes, a row has 20"):
        next(shuffled_batches(open_passages(folder), 20, 4, 0))
    with pytest.raises(ParameterError, match=r"patcher is 'space'; .*fine, coarse-1"):
        open_passages(folder, "space")


def test_damaged_stores_are_errors(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_GROUP_BYTES", 1000)
    folder = written(tmp_path / "passages", random_block(200, 0), shard_bytes=2000)
    shard = folder / "part-00000.parquet"
    whole = shard.read_bytes()
    # Random bytes do not get shorter by compression: the file has them as they are.
    place = whole.index(random_block(200, 0).data[1]) + 3

    shard.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"part-00000.parquet: damaged"):
        open_passages(folder)

    shard.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    with pytest.raises(InputError, match=r"part-00000.parquet: damaged"):
        list(open_passages(folder).blocks())

    shard.write_bytes(whole)
    (folder / "part-00001.parquet").rename(folder / "part-00009.parquet")
    with pytest.raises(InputError, match=r"part-00001.parquet is missing"):
        open_passages(folder)
    with pytest.raises(InputError, match=r"\(no part-00000.parquet in it\)"):
        open_passages(tmp_path)


def test_an_empty_shard_and_other_columns_are_errors(tmp_path):
    folder = written(tmp_path / "passages", random_block(3, 0))
    shard = folder / "part-00000.parquet"
    table = pq.read_table(shard)
    pq.write_table(table.slice(0, 0), shard)
    with pytest.raises(InputError, match="no passage in this shard"):
        open_passages(folder)
    pq.write_table(pa.table({"text": ["a"]}), shard)
    with pytest.raises(InputError, match="no passages, but the columns text"):
        open_passages(folder)
    pq.write_table(table, shard)
    pq.write_table(table.drop(["starts_fine"]), folder / "part-00001.parquet")
    with pytest.raises(InputError, match=r"part-00001.parquet: other patchers"):
        open_passages(folder)
