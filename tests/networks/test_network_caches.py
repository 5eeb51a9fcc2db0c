"""Symbol by symbol with caches equals the whole at once: tokens and patches, rows that grow apart, prompts."""

import pytest
import torch
from random_pieces import BYTES, HASHED, MARKED, TOKENS, random_network, random_pieces, symbols_of

CLOSE = {"rtol": 1e-5, "atol": 1e-4}


def nats(logits, ids):
    return -logits.log_softmax(-1)[range(len(ids)), list(ids)]


@pytest.mark.parametrize("read", [0, 1, 9])
def test_tokens_one_by_one(read):
    network = random_network(TOKENS)
    pieces = random_pieces(50, (20, 13, 16))
    expected = network.symbol_nats(network.collate([pieces])).split([20, 13, 16])
    logits, cache = network.begin([piece.ids[:read].tolist() for piece in pieces], capacity=1)
    rows = torch.arange(3)
    for place in range(read, 20):
        alive = torch.tensor([row for row, piece in enumerate(pieces) if place < len(piece.ids)])
        logits = logits[torch.isin(rows, alive)]
        ids = [int(pieces[row].ids[place]) for row in alive]
        wanted = torch.stack([expected[row][place] for row in alive])
        torch.testing.assert_close(nats(logits, ids), wanted, **CLOSE)
        every = len(alive) == 3
        rows, logits = alive, network.step(torch.tensor(ids), cache, None if every else alive)
    assert cache.lengths.tolist() == [21, 14, 17]


def test_prompts_of_several_lengths_and_chosen_rows():
    network = random_network(TOKENS)
    pieces = random_pieces(50, (20, 13, 1))
    _, cache = network.begin([piece.ids[:-1].tolist() for piece in pieces], capacity=5)
    chosen = cache.select(torch.tensor([2, 0, 0]))
    assert chosen.lengths.tolist() == [1, 20, 20]
    ids = torch.tensor([int(pieces[2].ids[-1]), int(pieces[0].ids[-1]), 7])
    logits = network.step(ids, chosen)
    for row, symbols in enumerate((pieces[2].ids, pieces[0].ids, [*pieces[0].ids[:-1], 7])):
        alone, _ = network.begin([[int(id) for id in symbols]], capacity=1)
        torch.testing.assert_close(logits[row], alone[0], **CLOSE)
    assert cache.lengths.tolist() == [20, 13, 1]  # the other cache is as it was


def test_logits_of_all_positions():
    network = random_network(TOKENS)
    pieces = random_pieces(50, (20, 13))
    batch = network.collate([pieces])
    ids = [int(id) for piece in pieces for id in piece.ids]
    torch.testing.assert_close(nats(network.logits(batch), ids), network.symbol_nats(batch), **CLOSE)


def patches_of(piece):
    ends = [*piece.starts[1:].tolist(), len(piece.ids)]
    return [piece.ids[begin:end].tolist() for begin, end in zip(piece.starts.tolist(), ends, strict=True)]


@pytest.mark.parametrize("read", [0, 1, 3])
@pytest.mark.parametrize("shape", [MARKED, BYTES, HASHED])
def test_patches_one_by_one(shape, read):
    network = random_network(shape)
    pieces = random_pieces(symbols_of(shape), (40, 25), longest=20)
    expected = network.symbol_nats(network.collate([pieces])).split([40, 25])
    patches = [patches_of(piece) for piece in pieces]

    def before(row, number):
        return [id for patch in patches[row][:number] for id in patch]

    vectors = []
    for row in range(2):
        pasts = [before(row, number) for number in range(read)]
        none = torch.zeros(0, shape.latent.width)
        vectors.append(network.encode_patches(patches[row][:read], pasts) if read else none)
    opened, latent = network.begin_latent(vectors, capacity=2)
    local = network.decoder_cache(2, capacity=1)
    found = [[], []]
    for number in range(read, max(map(len, patches))):
        rows = torch.tensor([row for row in range(2) if number < len(patches[row])])
        logits = network.begin_patch(opened if len(opened) == len(rows) else opened[rows], local, rows)
        for place in range(max(len(patches[row][number]) for row in rows)):
            known = [place < len(patches[row][number]) for row in rows]
            rows_now = rows[torch.tensor(known)]
            ids = [patches[row][number][place] for row in rows_now]
            logits = logits[torch.tensor(known)] if len(logits) != len(rows_now) else logits
            for row, value in zip(rows_now.tolist(), nats(logits, ids).tolist(), strict=True):
                found[row].append(value)
            going = [place + 1 < len(patches[row][number]) for row in rows_now]
            if not any(going):
                break
            logits = network.step_symbol(torch.tensor(ids)[going], local, rows_now[torch.tensor(going)])
        rows = torch.tensor([row for row in range(2) if number + 1 < len(patches[row])])
        if len(rows):
            made = network.encode_patches(
                [patches[row][number] for row in rows], [before(row, number) for row in rows.tolist()]
            )
            opened = network.step_latent(made, latent, None if len(rows) == 2 else rows)
    for row in range(2):
        begin = len(before(row, read))
        torch.testing.assert_close(torch.tensor(found[row]), expected[row][begin:], **CLOSE)
