"""Zero-shot tasks of lm-evaluation-harness over local files, and language models behind its interface.

All tests that import `lm_eval` are here: the import takes seconds.
"""

import gzip
import json
import math

import datasets
import numpy as np
import pytest
import torch
from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from tiny_language_models import TEXT, language_model

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.language.coding import ByteCoder
from tokenlab.language.evaluation import passage_nats
from tokenlab.language.generation import generate
from tokenlab.language.harness.adapter import HarnessModel, score_continuations
from tokenlab.language.harness.tasks import TASKS, evaluate_tasks, read_items
from tokenlab.language.options import GenerationOptions
from tokenlab.language.passages import cut_passages
from tokenlab.language.stored import LanguageModel

ITEMS = {
    "hellaswag": [
        {"ind": 1, "activity_label": "Mooping floor", "ctx": "A man", "endings": ["is.", "mops.", "", "no"], "label": 1}
    ],
    "piqa": [{"goal": "Wrap up.", "sol1": "Hand.", "sol2": "A knee.", "label": 0}],
    "winogrande": [
        {"sentence": "The _ was too big.", "option1": "plant", "option2": "oven", "answer": "1"},
        {"sentence": "So _ won.", "option1": "Sarah", "option2": "Maria", "answer": "2"},
    ],
    "arc_easy": [
        {"question": "Why?", "choices": {"text": ["a", "bb", "ccc"], "label": ["A", "B", "C"]}, "answerKey": "B"}
    ],
    "arc_challenge": [
        {"question": "How?", "choices": {"text": ["x", "yy"], "label": ["1", "2"]}, "answerKey": "2"},
        {"question": "Who?", "choices": {"text": ["x", "yy"], "label": ["1", "2"]}, "answerKey": "1"},
    ],
    "lambada_openai": [{"text": "The dog sees the dog"}, {"text": "A “B”"}],
    "mmlu": [
        {"question": "1+1? ", "subject": "abstract_algebra", "choices": ["1", "2", "3", "4"], "answer": 1},
        {"question": "1+2?", "subject": "abstract_algebra", "choices": ["1", "2", "3", "4"], "answer": 2},
        {"question": "Bone?", "subject": "anatomy", "choices": ["w", "x", "y", "z"], "answer": 3},
    ],
}
ITEMS["hellaswag"][0]["endings"][2] = "is longest."
MMLU = "The following are multiple choice questions (with answers) about {}.\n\n"

REQUESTS = {
    "hellaswag": [("Mooping floor: A man", f" {ending}") for ending in ("is.", "mops.", "is longest.", "no")],
    "piqa": [("Question: Wrap up.\nAnswer:", " Hand."), ("Question: Wrap up.\nAnswer:", " A knee.")],
    "winogrande": [
        ("The plant", " was too big."),
        ("The oven", " was too big."),
        ("So Sarah", " won."),
        ("So Maria", " won."),
    ],
    "arc_easy": [("Question: Why?\nAnswer:", f" {choice}") for choice in ("a", "bb", "ccc")],
    "arc_challenge": [
        (f"Question: {word}?\nAnswer:", f" {choice}") for word in ("How", "Who") for choice in ("x", "yy")
    ],
    "lambada_openai": [("The dog sees the", " dog"), ("A", " “B”")],
    "mmlu": [
        *[(f"{MMLU.format('abstract algebra')}1+1?\nA. 1\nB. 2\nC. 3\nD. 4\nAnswer:", f" {c}") for c in "ABCD"],
        *[(f"{MMLU.format('abstract algebra')}1+2?\nA. 1\nB. 2\nC. 3\nD. 4\nAnswer:", f" {c}") for c in "ABCD"],
        *[(f"{MMLU.format('anatomy')}Bone?\nA. w\nB. x\nC. y\nD. z\nAnswer:", f" {c}") for c in "ABCD"],
    ],
}
"""What a model is asked: the prompts of lm-evaluation-harness 0.4.13, written down by hand."""


class Recording(LM):
    """Prefers the continuation with the largest product of its length in characters and a weight."""

    def __init__(self, weight=1.0):
        super().__init__()
        self.weight, self.asked = weight, []

    def loglikelihood(self, requests):
        self.asked += [request.args for request in requests]
        return [(self.weight * len(text), text.endswith("g")) for _, text in self.asked[-len(requests) :]]

    def loglikelihood_rolling(self, requests):
        raise AssertionError

    def generate_until(self, requests):
        raise AssertionError


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    for task, rows in ITEMS.items():
        data = "".join(json.dumps(row) + "\n" for row in rows).encode()
        (folder / f"{task}.jsonl").write_bytes(gzip.compress(data) if task == "piqa" else data + b"\n")
    return {task: folder / f"{task}.jsonl" for task in TASKS}


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a data set is fetched")

    monkeypatch.setattr(datasets, "load_dataset", refuse)


class TestTasks:
    def test_the_model_is_asked_what_everybody_asks(self, files, capfd):
        model = Recording()
        evaluate_tasks(model, files)
        assert model.asked == [request for task in TASKS for request in REQUESTS[task]]
        assert capfd.readouterr() == ("", "")

    def test_scores(self, files):
        # The longest continuation wins, or the first of equals. By character, the space before it counts but its
        # length does not, so the shortest wins.
        found = {(s.task, s.metric): s for s in evaluate_tasks(Recording(), files)}
        assert [key for key in found if key[0] == "lambada_openai"] == [
            ("lambada_openai", "perplexity"),
            ("lambada_openai", "acc"),
        ]
        values = {key: (score.value, score.items) for key, score in found.items() if key[1] != "perplexity"}
        assert values == {
            ("hellaswag", "acc"): (0.0, 1),
            ("hellaswag", "acc_norm"): (0.0, 1),
            ("piqa", "acc"): (0.0, 1),
            ("piqa", "acc_norm"): (1.0, 1),
            ("winogrande", "acc"): (0.5, 2),
            ("arc_easy", "acc"): (0.0, 1),
            ("arc_easy", "acc_norm"): (0.0, 1),
            ("arc_challenge", "acc"): (0.5, 2),
            ("arc_challenge", "acc_norm"): (0.5, 2),
            ("lambada_openai", "acc"): (0.5, 2),
            ("mmlu", "acc"): (0.0, 3),
        }
        assert found["hellaswag", "acc"].stderr is None
        assert found["winogrande", "acc"].stderr == pytest.approx(math.sqrt(0.5 / 2))
        perplexity = found["lambada_openai", "perplexity"]
        assert perplexity.value == pytest.approx(math.exp(-4))  # Both continuations have 4 characters.
        assert perplexity.stderr == pytest.approx(0)

    def test_a_limit_counts_items_of_each_task_and_subject(self, files):
        model = Recording()
        found = evaluate_tasks(model, {"mmlu": files["mmlu"], "arc_challenge": files["arc_challenge"]}, limit=1)
        assert [(score.task, score.metric, score.items) for score in found] == [
            ("mmlu", "acc", 2),
            ("arc_challenge", "acc", 1),
            ("arc_challenge", "acc_norm", 1),
        ]
        assert model.asked == [*REQUESTS["mmlu"][:4], *REQUESTS["mmlu"][8:], *REQUESTS["arc_challenge"][:2]]


class TestBadInput:
    @pytest.mark.parametrize(
        ("task", "line", "said"),
        [
            ("piqa", '{"goal": "a"', "line 1: not JSON"),
            ("piqa", '{"goal": "a", "sol1": "b", "label": 0}', "no field 'sol2'"),
            ("piqa", '{"goal": "a", "sol1": "b", "sol2": "c", "label": 2}', "the answer is none of 2"),
            ("winogrande", '{"sentence": "a", "option1": "b", "option2": "c", "answer": "1"}', "has no _"),
            (
                "arc_easy",
                '{"question": "a", "choices": {"text": ["b"], "label": ["A"]}, "answerKey": "B"}',
                "'B' is none of the choices",
            ),
            ("lambada_openai", '{"text": "word"}', "no last word"),
            ("mmlu", '{"question": "a", "subject": "b", "choices": ["1", "2", "3", 4], "answer": 0}', "4 is no text"),
            ("mmlu", "", "no items"),
        ],
    )
    def test_lines(self, task, line, said, tmp_path):
        path = tmp_path / "items.jsonl"
        path.write_text(line + "\n")
        with pytest.raises(InputError, match=said):
            read_items(task, path)

    def test_unknown_subject(self, tmp_path):
        path = tmp_path / "items.jsonl"
        path.write_text(json.dumps(ITEMS["mmlu"][0] | {"subject": "alchemy"}))
        with pytest.raises(InputError, match="no task 'mmlu_alchemy'"):
            evaluate_tasks(Recording(), {"mmlu": path})

    def test_unknown_task(self, files):
        with pytest.raises(ParameterError, match="task 'boolq' is unknown"):
            evaluate_tasks(Recording(), {"boolq": files["piqa"]})

    def test_limit(self, files):
        with pytest.raises(ParameterError, match="limit is 0"):
            evaluate_tasks(Recording(), files, limit=0)


@pytest.fixture(scope="module", params=["tokens", "spaced", "bpe", "space", "chunks"])
def model(request, tmp_path_factory):
    return language_model(request.param, tmp_path_factory.mktemp("tokenizer"), context=80)


class TestAdapter:
    def test_continuations_have_the_models_own_scores(self, model):
        pairs = [("the thing", " that they"), ("", "the thing"), ("你", "好吗"), ("then", ": 你好"), ("the thing", "s")]
        pairs += [("äöü" * 20, "ü then"), ("the " * 20, "the " * 25), ("", ""), ("the", "")]
        found = HarnessModel(model, row_bytes=40).loglikelihood(_requests("loglikelihood", pairs))
        assert found == [(pytest.approx(-nats, abs=1e-4), greedy) for nats, greedy in (_own(model, *p) for p in pairs)]

    def test_texts_have_the_models_own_scores(self, model):
        texts = [TEXT, TEXT * 3, "the"]
        found = HarnessModel(model).loglikelihood_rolling(
            _requests("loglikelihood_rolling", [(text,) for text in texts])
        )
        for text, value in zip(texts, found, strict=True):
            passages = cut_passages(text.encode(), 80)
            assert value == pytest.approx(-passage_nats(model, passages).sum(), abs=1e-4)

    def test_tasks_that_generate_are_not_supported(self, model):
        with pytest.raises(NotImplementedError, match="only log-likelihood tasks are supported"):
            HarnessModel(model).generate_until(_requests("generate_until", [("a", {})]))


@pytest.mark.parametrize("kind", ["space", "chunks"])
def test_greedy_continuations_are_greedy(kind, tmp_path):
    model = language_model(kind, tmp_path, context=80)
    (text,) = generate(model, [b"the thing"], GenerationOptions(8, temperature=0))
    other = text[:-1] + bytes([text[-1] ^ 1])
    found = score_continuations(model, [(b"the thing", text), (b"the thing", other), (b"the thing", other[:-1])])
    assert [score.greedy for score in found] == [True, False, True]


def _requests(kind, arguments):
    return [Instance(kind, {}, arguments=given, idx=0) for given in arguments]


def _own(model, context, continuation):
    """Nats of a continuation from the scores of the whole text alone, and whether each symbol is the best.

    The context loses its beginning, whole characters, where both are longer than the model's 80 bytes.
    """
    if not continuation:
        return 0.0, True
    while context and len((context + continuation).encode()) > 80:
        context = context[1:]
    text = (context + continuation).encode()
    (passage,) = model.coder.code([text])
    scores = model.network.symbol_scores(model.network.collate([[passage]]))
    ends = np.cumsum([len(model.coder.spellings[id]) for id in passage.ids])
    before = len(context.encode()) + int(ends[-1]) - len(text)  # with the space that some tokenizers put first
    counts = torch.from_numpy(ends > before) if context else slice(None)
    return float(scores.nats.double()[counts].sum()), bool(scores.best[counts].all())


def test_a_coder_that_changes_texts(tmp_path):
    network = language_model("bytes", tmp_path).network

    class Lower(ByteCoder):
        def code(self, texts, starts=None):
            return super().code([text.replace(b"  ", b" ") for text in texts])

    with pytest.raises(InputError, match="spell 3 bytes of a text of 4"):
        score_continuations(LanguageModel(network, Lower(), 80), [(b"a ", b" b")])
