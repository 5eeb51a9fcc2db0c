"""Trials: bits per byte against brute force, budgets by the counter and by PyTorch's, interruptions."""

import math

import pytest
import torch
from plain_networks import unseen_flops
from torch.nn.functional import log_softmax
from torch.utils.flop_counter import FlopCounterMode

from tokenlab.comparison import trials
from tokenlab.comparison.candidates import CodeRecipe, PatchRecipe, read_candidate, token_recipe, train_candidates
from tokenlab.comparison.chunk_coder import ChunkCoder
from tokenlab.comparison.code_patches import CodePatchCoder
from tokenlab.comparison.texts import divide, write_documents
from tokenlab.comparison.trials import (
    Body,
    Budget,
    Trial,
    measured_speed,
    plan,
    read_score,
    run_trial,
    score_documents,
    shape_over,
)
from tokenlab.core.errors import ParameterError
from tokenlab.generated import generate
from tokenlab.language.passages import open_passages, shuffled_batches
from tokenlab.language.stored import LanguageModel
from tokenlab.networks import products
from tokenlab.networks.options import PatchShape, StackShape
from tokenlab.networks.stored import build_network, read_network
from tokenlab.patches.by_bytes import SpacePatcher
from tokenlab.training import loop

LATENT, LOCAL = StackShape(1, 16, 2, 24), StackShape(1, 8, 1, 16)
BODY = Body(LATENT, LOCAL, context=64, evaluate_bytes=256)
RECIPES = [
    token_recipe("bpe", "gpt2", 300),
    token_recipe("unigram", "auto", 400, model="unigram", byte_tokens="fallback"),
    PatchRecipe("patches", token_recipe("bpe", "gpt2", 300), 4),
    CodeRecipe("random", "random", 400),
]
NAMES = [recipe.name for recipe in RECIPES]
MADE = ("chunks", "code-patches")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the passages and the candidates."""
    folder = tmp_path_factory.mktemp("comparison")
    texts = [document.text for document in generate("en", sentences=300, seed=1)]
    parts = divide(texts)
    write_documents(parts.training, BODY.context, folder / "training")
    write_documents(parts.held_out, BODY.context, folder / "held-out")
    train_candidates(RECIPES, parts.training, folder / "candidates")
    code = read_candidate(folder / "candidates/random").character_code
    for name, coder in zip(MADE, (ChunkCoder(3.0), CodePatchCoder(code, SpacePatcher())), strict=True):
        (folder / "candidates" / name).mkdir()
        coder.save(folder / "candidates" / name)
    return folder


def trial(folder, name, flops=2e8, seed=0, **others):
    candidate, budget = folder / "candidates" / name, Budget("flops", flops)
    given = {"name": name, "candidate": candidate, "seed": seed, "body": BODY, "budget": budget}
    return Trial(**given | others, training=folder / "training", held_out=folder / "held-out")


def test_bits_per_byte_are_those_of_brute_force(folder):
    coder, passages = read_candidate(folder / "candidates/bpe"), open_passages(folder / "held-out")
    network = build_network(shape_over(coder, BODY), 0)
    with torch.no_grad():
        network.embedding.mul_(20)  # so that predictions are far from uniform
    found = score_documents(LanguageModel(network.eval(), coder, BODY.context), passages)
    nats, sizes, symbols = {}, {}, 0
    for block in passages.blocks():
        for id, text in zip(block.ids, block.data, strict=True):
            (passage,) = coder.code([text])
            logs = log_softmax(network.logits(network.collate([[passage]])).double(), -1)
            document = int(id.split(":")[0])
            symbols += len(passage.ids)
            sizes[document] = sizes.get(document, 0) + len(text)
            nats[document] = nats.get(document, 0) - sum(
                float(logs[place, symbol]) for place, symbol in enumerate(passage.ids.tolist())
            )
    assert len(sizes) > 10 and max(sizes.values()) > BODY.context
    assert found.bytes == [*sizes.values()] and found.symbols == symbols
    assert found.nats == pytest.approx([*nats.values()], rel=1e-5)
    assert found.bits_per_byte == pytest.approx(sum(nats.values()) / math.log(2) / sum(sizes.values()), rel=1e-6)


def counted(coder, steps, passages, seed):
    """Training operations of the first batches, by PyTorch's counter."""
    network, total = build_network(shape_over(coder, BODY), 0), 0.0
    batches = shuffled_batches(passages, BODY.context, BODY.batch, seed)
    for _ in range(steps):
        coded = coder.code([passage.data for row in next(batches) for passage in row])
        with FlopCounterMode(display=False) as counter:
            network.symbol_nats(network.collate([coded]))
        total += counter.get_total_flops()
        for passage in coded:
            if isinstance(network.shape, PatchShape):
                patches = len(passage.starts)
                total += unseen_flops(LATENT, patches) + 2 * patches * unseen_flops(LOCAL, len(passage.ids) / patches)
            else:
                total += unseen_flops(LATENT, len(passage.ids))
    return 3 * total


@pytest.mark.parametrize("name", NAMES)
def test_budgets_are_equal_by_the_counter_of_pytorch(folder, name, monkeypatch):
    monkeypatch.setattr(products, "PINNED", False)  # products that its counter sees
    coder, passages = read_candidate(folder / "candidates" / name), open_passages(folder / "training")
    planned = plan(coder, passages, BODY, Budget("flops", 2e8), 3)
    assert counted(coder, planned.steps, passages, 3) == pytest.approx(2e8, rel=0.02)
    assert planned.flops == pytest.approx(2e8, rel=0.02)


def test_a_budget_of_bytes_is_the_same_text_for_all(folder):
    passages = open_passages(folder / "training")
    plans = [
        plan(read_candidate(folder / "candidates" / name), passages, BODY, Budget("bytes", 5000), 0) for name in NAMES
    ]
    assert len({planned[:2] for planned in plans}) == 1
    assert plans[0].bytes == pytest.approx(5000, rel=0.02)


def test_too_small_a_budget_says_what_is_needed(folder):
    with pytest.raises(ParameterError, match=r"flops is 1e\+06, .* 20 need") as raised:
        run_trial(trial(folder, "bpe", flops=1e6), folder / "small")
    needed = float(str(raised.value).split()[-1])
    passages = open_passages(folder / "training")
    assert plan(read_candidate(folder / "candidates/bpe"), passages, BODY, Budget("flops", 1.2 * needed), 0).steps >= 20


@pytest.mark.parametrize("name", [*NAMES, *MADE])
def test_all_kinds_are_trained_and_their_networks_kept(folder, name):
    score = run_trial(trial(folder, name), folder / "trained", networks=folder / "networks")
    assert score.training_flops == pytest.approx(2e8, rel=0.02)
    assert [size for size, _ in score.curve] == sorted({size for size, _ in score.curve})
    assert score.documents.bits_per_byte < score.curve[0][1] and score.curve[-1][1] < score.curve[0][1]
    assert read_score(folder / f"trained/{name}-0.json") == score
    coder, network = read_candidate(folder / "candidates" / name), read_network(folder / f"networks/{name}-0")
    assert network.shape == shape_over(coder, BODY)
    kept = score_documents(LanguageModel(network, coder, BODY.context), open_passages(folder / "held-out"))
    assert kept == score.documents


def test_names_and_seeds_are_draws_of_their_own(folder):
    first = run_trial(trial(folder, "bpe"), folder / "scores")
    others = [
        run_trial(trial(folder, "again", candidate=folder / "candidates/bpe"), folder / "scores"),
        run_trial(trial(folder, "bpe", seed=1), folder / "scores"),
    ]
    assert len({score.documents.bits_per_byte for score in (first, *others)}) == 3
    assert first[1:4] == others[0][1:4]  # the same text in the same order


def test_a_killed_trial_resumes_to_the_same_bytes(folder, monkeypatch):
    one, done = trial(folder, "bpe"), []
    steps = run_trial(one, folder / "whole").steps
    monkeypatch.setattr(loop, "_CHECKPOINT_SHARE", math.inf)  # one after each update

    def killed(flops):
        done.append(flops)
        if len(done) == 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_trial(one, folder / "parts", killed)
    assert [path.name for path in (folder / "parts").iterdir()] == ["bpe-0.safetensors"]
    run_trial(one, folder / "parts", done.append)
    assert len(done) == steps + 1  # that of the kill twice
    assert (folder / "parts/bpe-0.json").read_bytes() == (folder / "whole/bpe-0.json").read_bytes()
    assert [path.name for path in (folder / "parts").iterdir()] == ["bpe-0.json"]
    monkeypatch.setattr(trials, "train", None)
    run_trial(one, folder / "parts")  # what is done is not done again


def test_the_measured_speed_is_that_of_the_operations_of_the_text(folder):
    one = trial(folder, "bpe")
    speed = measured_speed(one, 0.01)
    planned = plan(read_candidate(one.candidate), open_passages(one.training), BODY, one.budget, 0)
    assert speed.flops_per_byte == pytest.approx(planned.flops / planned.bytes, rel=0.2)
    assert speed.flops_per_second > 0
