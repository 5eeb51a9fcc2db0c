"""Trials: a language model trained over a candidate to a budget, and its nats on held-out documents.

All trials of a comparison have one body and read the same bytes in the same rows, in an order that the seed decides.
The budget is spent on the batches as they are: their operations are counted one by one (`tokenlab.networks.cost`), so
trials of equal FLOPs differ by less than a batch. Weights are drawn anew for each name and seed: two names of one
tokenizer are two draws.
"""

import json
import math
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from tokenlab.comparison.candidates import read_candidate
from tokenlab.comparison.chunk_coder import ChunkCoder
from tokenlab.core.devices import check_device_name, computing
from tokenlab.core.errors import InputError, ParameterError, one_line
from tokenlab.core.files import atomic_folder, write_text
from tokenlab.language.coding import Coder
from tokenlab.language.evaluation import passage_nats
from tokenlab.language.options import LanguageTraining
from tokenlab.language.passages import Passages, open_passages, shuffled_batches
from tokenlab.language.stored import LanguageModel
from tokenlab.language.training import train
from tokenlab.networks.cost import TRAINING, forward_flops, parameter_count
from tokenlab.networks.interface import CodedPassage
from tokenlab.networks.options import ChunkShape, PatchShape, Shape, StackShape, TokenShape
from tokenlab.networks.stored import build_network, save_network

_FEWEST = 20
"""Updates of a training, at least: with fewer, the rounding to whole batches is more than 2 %."""
_BATCHES = 64
"""Batches whose operations are counted at once."""


@dataclass(frozen=True)
class Body:
    """The model that is the same for all candidates, and its training.

    latent, local: the stacks; models over tokens have the latent one alone. batch: rows of `context` bytes in an
    update. warmup: share of the updates. evaluations: on `evaluate_bytes` of held-out text, evenly over the training.
    device: of the training; documents are scored on the CPU.

    Raises ParameterError for another device than cpu, cuda and cuda:N.
    """

    latent: StackShape
    local: StackShape
    context: int = 512
    batch: int = 2
    learning_rate: float = 4e-3
    warmup: float = 0.1
    evaluations: int = 4
    evaluate_bytes: int = 1 << 14
    threads: int = 1
    device: str = "cpu"

    def __post_init__(self) -> None:
        check_device_name(self.device)

    def training(self, steps: int, seed: int) -> LanguageTraining:
        """The options of a training of so many updates."""
        return LanguageTraining(
            steps=steps,
            batch=self.batch,
            context=self.context,
            learning_rate=self.learning_rate,
            warmup=min(round(self.warmup * steps), steps - 1),
            evaluate_every=-(-steps // self.evaluations),
            evaluate_bytes=self.evaluate_bytes,
            seed=seed,
            threads=self.threads,
            device=self.device,
        )


class Budget(NamedTuple):
    """What each training may use: operations, forward and backward, or bytes of text."""

    unit: Literal["flops", "bytes"]
    amount: float


class Trial(NamedTuple):
    """A candidate and a seed. candidate: its folder or file. training, held_out: folders of passages."""

    name: str
    candidate: Path
    seed: int
    body: Body
    budget: Budget
    training: Path
    held_out: Path


class DocumentScores(NamedTuple):
    """A model on held-out text."""

    nats: list[float]
    """Of each document."""
    bytes: list[int]
    """Of each document."""
    symbols: int
    """Of all documents."""
    flops_per_byte: float
    """Of a forward pass: what reading a byte costs."""

    @property
    def bits_per_byte(self) -> float:
        """Of all documents."""
        return sum(self.nats) / math.log(2) / sum(self.bytes)


class Score(NamedTuple):
    """What became of a trial."""

    documents: DocumentScores
    steps: int
    training_bytes: int
    training_flops: float
    parameters: int
    entries: int
    """Of the vocabulary."""
    curve: list[tuple[int, float]]
    """Bytes trained on, and bits per byte of the beginning of the held-out text."""


class Plan(NamedTuple):
    """How long a trial trains."""

    steps: int
    bytes: int
    flops: float


class Speed(NamedTuple):
    """Of training. flops_per_byte: forward and backward."""

    flops_per_second: float
    flops_per_byte: float


def shape_over(coder: Coder, body: Body) -> Shape:
    """The shape of the network over the symbols of a coder."""
    symbols = len(coder.spellings)
    if isinstance(coder, ChunkCoder):
        return ChunkShape(body.latent, body.local, coder.ratio)
    if coder.patcher is not None:
        return PatchShape(symbols, coder.hierarchical is not None, body.latent, body.local)
    return TokenShape(symbols, body.latent)


def passage_flops(shape: Shape, passage: CodedPassage) -> float:
    """Operations of a forward pass over a passage; learned chunks are as long as their loss aims at."""
    symbols, patches = len(passage.ids), len(passage.starts)
    if isinstance(shape, ChunkShape):
        return forward_flops(shape, passage.size, patches=1 / shape.ratio).total if symbols else 0.0
    if not symbols:
        return 0.0
    per_byte = symbols / passage.size, (patches or passage.size) / passage.size
    return forward_flops(shape, passage.size, *per_byte).total


def plan(coder: Coder, passages: Passages, body: Body, budget: Budget, seed: int) -> Plan:
    """The updates whose batches come nearest to the budget.

    Raises ParameterError for a budget that is too small to be spent evenly.
    """
    shape, done, last = shape_over(coder, body), Plan(0, 0, 0.0), Plan(0, 0, 0.0)
    for size, flops in _costs(coder, shape, passages, body, seed):
        last, done = done, Plan(done.steps + 1, done.bytes + size, done.flops + flops)
        if getattr(done, budget.unit) >= budget.amount:
            break
    spent, before = (getattr(one, budget.unit) for one in (done, last))
    found = done if spent - budget.amount <= budget.amount - before else last
    if found.steps < _FEWEST:
        needed = 1.1 * _FEWEST * spent / done.steps
        raise ParameterError(
            f"{budget.unit} is {budget.amount:.3g}, enough for {found.steps} updates; {_FEWEST} need {needed:.2g}"
        )
    return found


def fewest_flops(coder: Coder, passages: Passages, body: Body, seed: int) -> float:
    """The operations of the fewest updates that a training must have."""
    costs = _costs(coder, shape_over(coder, body), passages, body, seed)
    return sum(flops for _, flops in islice(costs, _FEWEST))


def _costs(coder: Coder, shape: Shape, passages: Passages, body: Body, seed: int) -> Iterator[tuple[int, float]]:
    """Bytes and training operations of each batch, in the order in which the seed has them."""
    batches = shuffled_batches(passages, body.context, body.batch, seed)
    while True:
        some = [[passage.data for row in next(batches) for passage in row] for _ in range(_BATCHES)]
        coded = iter(coder.code([text for batch in some for text in batch]))
        for batch in some:
            flops = sum(passage_flops(shape, next(coded)) for _ in batch)
            yield sum(map(len, batch)), TRAINING * flops


def run_trial(
    trial: Trial, folder: Path, progress: Callable[[float], None] | None = None, networks: Path | None = None
) -> Score:
    """Train and score; the score is kept in FOLDER/NAME-SEED.json, and what was interrupted resumes.

    Args:
        trial: its budget, text, body and candidate determine the score; `folder` is for one set of these.
        folder: of scores and checkpoints.
        progress: called with the operations of each update.
        networks: the trained network is kept in NETWORKS/NAME-SEED, for `read_network`.

    Raises InputError for damage and text without a code, ParameterError as `plan`.
    """
    file = folder / f"{trial.name}-{trial.seed}.json"
    if file.exists():
        return read_score(file)
    coder = read_candidate(trial.candidate)
    training, held_out = open_passages(trial.training), open_passages(trial.held_out)
    planned = plan(coder, training, trial.body, trial.budget, trial.seed)
    model = _new_model(trial, coder)
    if progress is not None:
        per_step, told = planned.flops / planned.steps, progress
        model.network.register_forward_pre_hook(lambda *_: told(per_step))
    checkpoint = file.with_suffix(".safetensors")
    options = trial.body.training(planned.steps, trial.seed)
    curve = train(model, training, held_out, options, checkpoint, f"{trial.name} {trial.seed}")
    with computing(next(model.network.parameters()).device, options.threads):
        documents = score_documents(model, held_out)
    if networks is not None:
        with atomic_folder(networks / file.stem) as place:
            save_network(model.network, place)
    score = Score(
        documents=documents,
        steps=planned.steps,
        training_bytes=planned.bytes,
        training_flops=planned.flops,
        parameters=parameter_count(model.network.shape),
        entries=len(coder.spellings),
        curve=[(one.size, one.held_out) for one in curve],
    )
    write_text(file, json.dumps(score._asdict() | {"documents": documents._asdict()}) + "\n")
    checkpoint.unlink(missing_ok=True)
    return score


def read_score(file: Path) -> Score:
    """A score that `run_trial` kept. Raises InputError where it is damaged."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        curve = [(size, bits) for size, bits in document["curve"]]
        return Score(**document | {"documents": DocumentScores(**document["documents"]), "curve": curve})
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{file}: damaged ({one_line(error)}); remove it to score again") from None


def _new_model(trial: Trial, coder: Coder) -> LanguageModel:
    """A network whose weights the name and the seed determine."""
    drawn = np.random.SeedSequence([trial.seed, zlib.crc32(trial.name.encode())]).generate_state(1)
    return LanguageModel(build_network(shape_over(coder, trial.body), int(drawn[0])), coder, trial.body.context)


def score_documents(model: LanguageModel, passages: Passages) -> DocumentScores:
    """Score stored passages, each by itself; those of a document are added up."""
    nats: dict[str, float] = {}
    sizes: dict[str, int] = {}
    symbols, flops = 0, 0.0
    for block in passages.blocks():
        coded = model.coder.code(block.data)
        symbols += sum(len(passage.ids) for passage in coded)
        flops += sum(passage_flops(model.network.shape, passage) for passage in coded)
        for id, text, found in zip(block.ids, block.data, passage_nats(model, block.data).tolist(), strict=True):
            document = id.rpartition(":")[0]
            nats[document] = nats.get(document, 0.0) + found
            sizes[document] = sizes.get(document, 0) + len(text)
    return DocumentScores([*nats.values()], [*sizes.values()], symbols, flops / sum(sizes.values()))


def measured_speed(trial: Trial, seconds: float) -> Speed:
    """The speed of this process, from a training of about so many seconds that is thrown away."""
    coder, training = read_candidate(trial.candidate), open_passages(trial.training)
    shape, body, steps = shape_over(coder, trial.body), replace(trial.body, evaluations=1, evaluate_bytes=1), 4
    while True:
        sizes, flops = map(sum, zip(*islice(_costs(coder, shape, training, body, trial.seed), steps), strict=True))
        began = time.monotonic()
        train(_new_model(trial, coder), training, training, body.training(steps, trial.seed))
        taken = time.monotonic() - began
        if taken >= seconds / 2 and steps > 4:  # The first training is slow: it loads kernels.
            return Speed(flops / taken, flops / sizes)
        steps *= 2
