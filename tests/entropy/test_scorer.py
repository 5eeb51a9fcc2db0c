"""Entropies against one plain float32 pass per prefix, whatever the batch, the window and the kind of tokenizer."""

from functools import cache

import numpy as np
import pytest
import torch
from tiny_models import TEXT, byte_level, edit_json, save_bert, save_bytes, save_characters
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    BertConfig,
    BertLMHeadModel,
    CohereConfig,
    CohereForCausalLM,
    Gemma2Config,
    Gemma2ForCausalLM,
)
from transformers.convert_slow_tokenizer import bytes_to_unicode

from tokenlab.core.errors import InputError, ParameterError, SourceError
from tokenlab.entropy import scorer as scorer_module
from tokenlab.entropy.options import ScoringOptions
from tokenlab.entropy.scorer import load_scorer

TEXTS = [TEXT, "", "的", "  ", "美好的", TEXT * 4, "新世纪，" * 9, "共同", "世纪" * 30]


@pytest.fixture(scope="module")
def characters(tmp_path_factory):
    folder = tmp_path_factory.mktemp("characters")
    save_characters(folder)
    return folder


@pytest.fixture(scope="module")
def whole_bytes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bytes")
    save_bytes(folder, positions=256)
    return folder


def plain_entropies(folder, ids, prefix=(), context=None, stride=None):
    """The entropy of each token, by one pass over each prefix: for token t, the window that begins at the smallest
    multiple of the stride and still reaches t. float64[tokens], in nats."""
    model = plain_model(folder)
    context = context or model.config.n_positions
    stride = stride or context // 2
    room = context - len(prefix)
    found = []
    for t in range(len(ids)):
        first = next(start for start in range(0, len(ids), stride) if t <= start + room)
        seen = [*prefix, *ids[first:t]]
        if not seen:
            found.append(np.nan)
            continue
        with torch.no_grad():
            log = torch.log_softmax(model(torch.tensor([seen])).logits[0, -1], -1)
        found.append(float(-(log.exp() * log).sum()))
    return np.array(found)


@cache
def plain_model(folder):
    return AutoModelForCausalLM.from_pretrained(folder).eval()


def character_ids(text):
    known = {c: i for i, c in enumerate(["<unk>", *sorted(set(TEXT))])}
    return [known.get(c, 0) for c in text]


@pytest.mark.parametrize(("context", "stride"), [(None, None), (16, None), (16, 1), (16, 16), (7, 3), (2, 1)])
def test_equals_one_pass_per_prefix(characters, context, stride):
    scorer = load_scorer(characters, "cpu")
    expected = [plain_entropies(characters, character_ids(text), (), context, stride) for text in TEXTS]
    for batch_tokens in (1, 40, None):
        scores = scorer.score(TEXTS, ScoringOptions(context, stride, batch_tokens))
        for text, score, wanted in zip(TEXTS, scores, expected, strict=True):
            assert score.dtype == np.float32 and score.shape == (len(text),)
            np.testing.assert_allclose(score, wanted, atol=1e-5, rtol=0)
    assert np.nanstd(np.concatenate(scores)) > 0.03  # A model that says the same everywhere would show nothing.


@pytest.mark.parametrize("padding_side", ["left", "right"])
@pytest.mark.parametrize(("context", "stride"), [(None, None), (9, 4)])
def test_character_vocabulary_of_bert(tmp_path, padding_side, context, stride):
    save_bert(tmp_path, padding_side, positions=40)
    vocabulary = {token: id for id, token in enumerate((tmp_path / "vocab.txt").read_text(encoding="utf-8").split())}
    text = "共 同Hello2025年é\u3000😀[SEP]a" + "的新" * 12
    # "hello2025" is one word that the vocabulary cannot spell: one [UNK] at its first character.
    pieces = ["共", "同", "[UNK]", "年", *["[UNK]"] * 5, "a", *"的新" * 12]
    starts = [0, 2, 3, 12, 13, 15, 16, 17, 20, 21, *range(22, 46)]
    assert [text[s] for s in starts[:10]] == list("共同H年é😀[S]a")
    (score,) = load_scorer(tmp_path, "cpu").score([text], ScoringOptions(context, stride))
    expected = plain_entropies(tmp_path, [vocabulary[p] for p in pieces], (vocabulary["[CLS]"],), context, stride)
    np.testing.assert_allclose(score[starts], expected, atol=1e-5, rtol=0)
    assert np.isnan(np.delete(score, starts)).all()


def test_every_byte_of_a_byte_level_model(whole_bytes):
    scorer = load_scorer(whole_bytes, "cpu")
    tokenizer = Tokenizer.from_file(str(whole_bytes / "tokenizer.json"))
    text = "共 é😀x<|endoftext|>"
    in_bytes, in_characters = (scorer.score([text], ScoringOptions(unit=unit))[0] for unit in ("bytes", "characters"))
    alphabet = bytes_to_unicode()
    ids = [tokenizer.token_to_id(alphabet[byte]) for byte in text.encode()]
    expected = plain_entropies(whole_bytes, ids, (tokenizer.token_to_id("<|endoftext|>"),))
    np.testing.assert_allclose(in_bytes, expected, atol=1e-5, rtol=0)
    starts = [len(text[:i].encode()) for i in range(len(text))]
    assert np.array_equal(in_characters, in_bytes[starts])


def test_tokens_of_bpe_stand_where_their_bytes_begin(tmp_path):
    save_bytes(tmp_path, size=300, positions=128)
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    text = "共同创造 hello😀 world 界美好"
    encoding = tokenizer.encode(text, add_special_tokens=False)
    assert any(len(token) > 1 for token in encoding.tokens)
    starts = np.cumsum([0, *map(len, encoding.tokens)])  # a character of the token is a byte
    assert starts[-1] == len(text.encode())
    expected = np.full(len(text.encode()), np.nan)
    bos = tokenizer.token_to_id("<|endoftext|>")
    expected[starts[:-1]] = plain_entropies(tmp_path, encoding.ids, (bos,))
    scorer = load_scorer(tmp_path, "cpu")
    np.testing.assert_allclose(scorer.score([text], ScoringOptions(unit="bytes"))[0], expected, atol=1e-5, rtol=0)
    of_character = expected[[len(text[:i].encode()) for i in range(len(text))]]
    np.testing.assert_allclose(scorer.score([text])[0], of_character, atol=1e-5, rtol=0)


def test_without_bos_the_first_position_has_no_value(tmp_path):
    save_bytes(tmp_path, with_bos=False)
    scores = load_scorer(tmp_path, "cpu").score(["ab", "a", ""])
    assert [np.isnan(score).tolist() for score in scores] == [[True, False], [True], []]


def test_several_devices_give_the_same(characters):
    options = ScoringOptions(16, 5, 40)
    one, three = (load_scorer(characters, devices).score(TEXTS, options) for devices in ("cpu", ["cpu"] * 3))
    for ours, theirs in zip(one, three, strict=True):
        assert np.array_equal(ours, theirs, equal_nan=True)


def test_chunks_of_positions_change_nothing(characters, monkeypatch):
    whole = load_scorer(characters, "cpu").score(TEXTS)
    monkeypatch.setitem(scorer_module._LOGITS, "cpu", 1)
    for ours, theirs in zip(load_scorer(characters, "cpu").score(TEXTS), whole, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5, rtol=0)


def test_stream_is_the_same_as_at_once(characters):
    scorer, options = load_scorer(characters, "cpu"), ScoringOptions(batch_tokens=2)
    streamed = list(scorer.score_stream(iter(TEXTS * 3), options))
    assert [text for text, _ in streamed] == TEXTS * 3
    for (_, ours), theirs in zip(streamed, scorer.score(TEXTS * 3, options), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5, rtol=0)


def test_bfloat16_is_near(characters):
    exact, near = (load_scorer(characters, "cpu", dtype).score([TEXT])[0] for dtype in ("float32", "bfloat16"))
    assert not np.array_equal(exact, near, equal_nan=True)
    np.testing.assert_allclose(near, exact, atol=0.3)


def test_entropy_of_known_distributions():
    logits = torch.tensor([[0.0] * 8, [1e4] + [0.0] * 7, [5.0, 5.0] + [-torch.inf] * 6, [300.0, 299.0] + [0.0] * 6])
    p = 1 / (1 + np.exp(-1))
    expected = [np.log(8), 0.0, np.log(2), -p * np.log(p) - (1 - p) * np.log(1 - p)]
    np.testing.assert_allclose(scorer_module._entropy(logits).numpy(), expected, atol=1e-6)


SMALL = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}


@pytest.mark.parametrize(
    ("kind", "config", "change"),
    [
        (Gemma2ForCausalLM, Gemma2Config, {"head_dim": 8, "num_key_value_heads": 2, "final_logit_softcapping": 2.0}),
        (CohereForCausalLM, CohereConfig, {"num_key_value_heads": 2, "logit_scale": 3.0}),
    ],
)
def test_heads_that_do_more_than_multiply(tmp_path, characters, kind, config, change):
    tokenizer = Tokenizer.from_file(str(characters / "tokenizer.json"))
    torch.manual_seed(0)
    special = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    model = kind(config(**SMALL, **change, **special, vocab_size=tokenizer.get_vocab_size()))
    torch.nn.init.normal_(model.get_input_embeddings().weight)
    model.save_pretrained(tmp_path)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    scorer = load_scorer(tmp_path, "cpu")
    assert not scorer.loaded.has_plain_head and load_scorer(characters, "cpu").loaded.has_plain_head
    for text, score in zip(TEXTS, scorer.score(TEXTS, ScoringOptions(context=32)), strict=True):
        np.testing.assert_allclose(score, plain_entropies(tmp_path, character_ids(text), (), 32), atol=1e-5, rtol=0)


def changed(characters, tmp_path):
    """A copy of a model to spoil."""
    for path in characters.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def pickle_weights(folder):
    """Replace safetensors by pickled weights that create a file when they are unpickled."""
    (folder / "model.safetensors").unlink()
    mark = str(folder / "unpickled")
    (folder / "pytorch_model.bin").write_bytes(f"cbuiltins\nopen\n(V{mark}\nVw\ntR.".encode())


def test_folders_that_hold_no_model(tmp_path):
    for name in (tmp_path / "nowhere", str(tmp_path / "nowhere"), "./nowhere", "a/b/c"):
        with pytest.raises(InputError, match="no such folder"):
            load_scorer(name, "cpu")
    with pytest.raises(InputError, match=r"no config\.json"):
        load_scorer(tmp_path, "cpu")
    (tmp_path / "model.words").touch()
    with pytest.raises(InputError, match="a file; name the folder"):
        load_scorer(str(tmp_path / "model.words"), "cpu")


def test_a_name_that_the_hub_does_not_give(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(SourceError, match=r"nobody/no-such-model: .* hub"):
        load_scorer("nobody/no-such-model", "cpu")
    with pytest.raises(InputError, match="not a valid name of a model"):
        load_scorer("two words", "cpu")


def test_pickled_weights_are_refused_unread(characters, tmp_path):
    folder = changed(characters, tmp_path)
    pickle_weights(folder)
    with pytest.raises(InputError, match=r"pytorch_model\.bin"):
        load_scorer(folder, "cpu")
    assert not (folder / "unpickled").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / "config.json").write_text("{"), "no causal language model"),
        (lambda folder: edit_json(folder / "config.json", model_type="no-such-type"), "no causal language model"),
        (lambda folder: edit_json(folder / "config.json", n_layer=3), r"weights lack transformer\.h\.2"),
        (lambda folder: edit_json(folder / "config.json", n_embd=32), "no causal language model"),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), "no causal language model"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "no tokenizer"),
        (lambda folder: byte_level(300).save(str(folder / "tokenizer.json")), "300 tokens .* embeds 24"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"\x08" + bytes(20)), "no causal language model"),
        (lambda folder: (folder / "model.safetensors").unlink(), "no weights"),
    ],
)
def test_damaged_folders(characters, tmp_path, change, message):
    folder = changed(characters, tmp_path)
    change(folder)
    with pytest.raises(InputError, match=message):
        load_scorer(folder, "cpu")


def test_a_model_that_looks_ahead_is_refused(characters, tmp_path):
    tokenizer = Tokenizer.from_file(str(characters / "tokenizer.json"))
    torch.manual_seed(0)
    model = BertLMHeadModel(BertConfig(**SMALL, vocab_size=tokenizer.get_vocab_size(), initializer_range=0.5))
    model.save_pretrained(tmp_path)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(InputError, match="attends to later positions"):
        load_scorer(tmp_path, "cpu")


def test_options_that_the_model_cannot_have(characters):
    with pytest.raises(ParameterError, match="dtype is 'int8'"):
        load_scorer(characters, "cpu", "int8")
    scorer = load_scorer(characters, "cpu")
    for options, message in [
        (ScoringOptions(context=65), "context is 65, .* 64 positions"),
        (ScoringOptions(context=8, stride=9), "stride is 9; it must be from 1 to 8"),
    ]:
        with pytest.raises(ParameterError, match=message):
            scorer.score([TEXT], options)


def test_texts_that_cannot_be_encoded(characters, tmp_path):
    with pytest.raises(InputError, match="surrogate"):
        load_scorer(characters, "cpu").score(["a\ud800"])
    folder = changed(characters, tmp_path)
    tokenizer = Tokenizer(models.WordLevel({"a": 0}, "<none>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.save(str(folder / "tokenizer.json"))
    with pytest.raises(InputError, match="cannot encode"):
        load_scorer(folder, "cpu").score(["ab"])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU on this machine")
def test_gpu_agrees_with_cpu(characters):
    on_cpu = load_scorer(characters, "cpu").score(TEXTS)
    for ours, theirs in zip(load_scorer(characters, "cuda", "float32").score(TEXTS), on_cpu, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4, rtol=0)
