"""Generation with caches against models without: logits of every symbol, and whole texts drawn from plain scores."""

import numpy as np
import pytest
import torch
from tiny_language_models import KINDS, TEXT, S, language_model

from tokenlab.core.errors import ParameterError
from tokenlab.language.generation import begin, draw, generate, uniforms
from tokenlab.language.options import GenerationOptions
from tokenlab.language.patch_generation import patch_spellings
from tokenlab.networks.interface import CodedPassage

MARKER = 256
DATA = TEXT.encode()[:47]  # Behind 吗 comes another word.


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tokenizer")


@pytest.fixture(scope="module", params=KINDS)
def model(request, folder):
    return language_model(request.param, folder)


class TestCaches:
    def test_every_symbol_of_texts_that_grow_together(self, model):
        places = [0, 3, 9, 14]  # Where words end, and tokens do.
        if not _marked(model) and len(model.coder.spellings) <= 257:
            places += [1, 17, DATA.index("好".encode()), DATA.index("好".encode()) + 1]
        (whole,) = model.coder.code([DATA])
        wanted = _nats(model, whole)
        rows = begin(model, [DATA[:place] for place in places], 80)
        done = [_symbols_in(model, whole, place) for place in places]
        steps = 0
        while done:
            logged = torch.log_softmax(rows.logits.double(), -1)
            drawn = [int(whole.ids[here]) for here in done]
            found = [-float(logged[row, symbol]) for row, symbol in enumerate(drawn)]
            assert found == pytest.approx([wanted[here] for here in done], abs=2e-4)
            going = [row for row, here in enumerate(done) if here + 1 < len(whole.ids)]
            if going and len(going) < len(done):
                rows.keep(going)
            if going:
                rows.append([drawn[row] for row in going])
            done = [done[row] + 1 for row in going]
            steps += 1
        assert steps == len(whole.ids)

    def test_texts(self, model):
        prompts, options = [b"", "the 你".encode()], GenerationOptions(9, 0.9, 50, seed=1)
        assert generate(model, prompts, options) == [
            _plain(model, prompt, options, number) for number, prompt in enumerate(prompts)
        ]


def _plain(model, prompt, options, number):
    """A continuation without caches: each symbol is drawn from the scores of all symbols at the end of the text."""
    (passage,) = (
        model.coder.code([prompt]) if prompt else [CodedPassage(np.empty(0, np.int32), np.empty(0, np.int32), 0)]
    )
    ids, starts, text = passage.ids.tolist(), passage.starts.tolist(), b""
    symbols = range(len(model.coder.spellings))
    for position in range(1000):
        if len(text) >= options.length:
            return text[: options.length]
        opens = _marked(model) and (not ids or ids[-1] == MARKER)
        candidates = []
        if model.coder.patcher is not None and not _marked(model):
            cut = model.coder.patcher.starts([prompt + text + bytes([symbol]) for symbol in symbols])
        for symbol in symbols:
            begins = [*starts, len(ids)] if opens else starts
            if model.coder.patcher is not None and not _marked(model):
                begins = cut[symbol]
            candidates.append(CodedPassage(np.array([*ids, symbol], np.int32), np.array(begins, np.int32), 1))
        # All candidates have equally many symbols.
        logits = -torch.tensor(_nats(model, *candidates)).view(1, len(symbols), -1)[:, :, -1]
        allowed = torch.ones(1, len(symbols), dtype=torch.bool)
        if _marked(model):
            length = 0 if opens else len(ids) - starts[-1]
            allowed[0, MARKER] = length > 0
            if length == S - 1:
                allowed[0] = torch.arange(len(symbols)) == MARKER
        uniform = uniforms(options.seed, np.array([number]), np.array([position]))
        symbol = draw(logits, uniform, options.temperature, options.top_k, allowed).item()
        ids, starts = candidates[symbol].ids.tolist(), candidates[symbol].starts.tolist()
        text += model.coder.spellings[symbol]
    raise AssertionError("the text does not grow")


@pytest.fixture(scope="module", params=["bpe", "space-hash", "chunks"])
def some(request, folder):
    return language_model(request.param, folder)


class TestSampling:
    def test_a_continuation_does_not_depend_on_its_batch(self, some):
        prompts = [b"the thing", b"", "你好".encode(), b"then "]
        whole = generate(some, prompts, GenerationOptions(20, seed=5))
        assert generate(some, prompts, GenerationOptions(20, seed=5, batch=3)) == whole
        assert generate(some, prompts, GenerationOptions(20, seed=5, batch=1)) == whole
        assert [text[:11] for text in whole] == generate(some, prompts, GenerationOptions(11, seed=5))

    def test_temperature_0_needs_no_seed(self, some):
        first = generate(some, [b"the "], GenerationOptions(20, temperature=0, seed=1))
        assert first == generate(some, [b"the "], GenerationOptions(20, temperature=0, seed=2))
        assert first == generate(some, [b"the "], GenerationOptions(20, top_k=1))


class TestEnds:
    def test_a_text_stops_before_the_first_end(self, some):
        (whole,) = generate(some, [b"the "], GenerationOptions(36))
        ends = [whole[28:31], whole[17:20], b"never to be found"]
        stop = min(whole.find(end) for end in ends[:2])
        other = generate(some, [b"the ", b"then"], GenerationOptions(36), ends)
        assert other[0] == whole[:stop]
        assert generate(some, [b"the ", b"then"], GenerationOptions(36))[1].startswith(other[1])

    def test_the_length_is_kept_in_bytes(self, some):
        for length in (0, 1, 5):
            assert [len(text) for text in generate(some, [b"the ", b""], GenerationOptions(length))] == [length] * 2

    def test_an_empty_end(self, some):
        with pytest.raises(ParameterError, match="ends has an empty one"):
            generate(some, [b"the "], GenerationOptions(10), [b"x", b""])


class TestSpellings:
    def test_only_tokens(self, folder):
        model = language_model("bpe", folder)
        tokens = {token for token in model.coder.patcher.tokens if token}
        options = GenerationOptions(60, seed=4)
        assert not _patches_drawn(model, options) <= tokens
        assert _patches_drawn(model, GenerationOptions(60, seed=4, spellings=True)) <= tokens

    def test_rows_that_end_at_different_symbols(self, folder):
        model = language_model("bpe", folder)
        prompts, options = [b"the ", b"then", b"", b"of "], GenerationOptions(20, seed=2, spellings=True)
        whole = generate(model, prompts, options)
        ends = [whole[1][5:8], whole[2][11:13]]
        alone = generate(model, prompts, GenerationOptions(20, seed=2, spellings=True, batch=1), ends)
        assert len(set(map(len, alone))) >= 3
        assert generate(model, prompts, options, ends) == alone

    @pytest.mark.parametrize("kind", ["tokens", "space"])
    def test_other_models_have_none(self, kind, folder):
        with pytest.raises(ParameterError, match="spellings is for"):
            generate(language_model(kind, folder), [b""], GenerationOptions(spellings=True))


def test_a_model_without_its_patcher(folder):
    model = language_model("space", folder)
    model.coder.patcher = None
    with pytest.raises(ParameterError, match="save it with its patcher"):
        generate(model, [b"the"])


def _marked(model):
    return model.coder.hierarchical is not None


def _nats(model, *passages):
    return model.network.symbol_nats(model.network.collate([[passage] for passage in passages])).tolist()


def _symbols_in(model, whole, place):
    """Symbols of the text before a place between symbols, markers included."""
    ends = np.cumsum([len(model.coder.spellings[id]) for id in whole.ids])
    return int((ends <= place).sum())


def _patches_drawn(model, options):
    """The spellings of the patches of a continuation, read from the symbols that generation appends."""
    rows = begin(model, [b"the "], 100, patch_spellings(model.coder) if options.spellings else None)
    patches, open_ = set(), b""
    for position in range(options.length):
        uniform = uniforms(options.seed, np.array([0]), np.array([position]))
        symbol = draw(rows.logits, uniform, options.temperature, options.top_k, rows.allowed()).item()
        rows.append([symbol])
        open_ += model.coder.spellings[symbol]
        if symbol == MARKER:
            patches.add(open_)
            open_ = b""
    return patches


def test_generation_leaves_a_network_trainable(model):
    """What generation keeps for later must not be tensors of inference mode."""
    generate(model, [b"the"], GenerationOptions(length=4))
    model.network(model.network.collate([model.coder.code([DATA])])).nats.backward()
    assert all(one.grad is not None for one in model.network.parameters() if one.requires_grad and one.ndim == 2)
    model.network.zero_grad()
