"""Tokenizers trained for language models, their texts with ends, and held-out sentences."""

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tasks.exact.held_out import HeldOut, held_out_texts, is_held_out, training_texts
from tasks.exact.train_lm import END, encode_with_end, save_language_model, train_tokenizer
from tokenlab.core.errors import InputError
from tokenlab.exact.loading import load
from tokenlab.generated import generate
from tokenlab.networks.gpt import GptShape, build_gpt
from tokenlab.networks.products import use_openblas
from tokenlab.text.documents import Document
from tokenlab.text.store import write_corpus

TEXTS = [document.text for document in generate("en", sentences=200, seed=0)]
ALPHABET = train_tokenizer(TEXTS, 300)


def test_only_the_last_piece_of_a_long_text_ends_with_it():
    text = TEXTS[0]
    ids = ALPHABET.tokenizer.encode(text).ids
    for context in (2, 3, 5, len(ids), len(ids) + 1, len(ids) + 2):
        sequences = encode_with_end(ALPHABET, [text], context)
        pieces = [sequences.ids[a:b].tolist() for a, b in zip(sequences.starts, sequences.starts[1:], strict=False)]
        assert all(len(piece) <= context and piece[0] == 0 for piece in pieces)
        assert [id for piece in pieces for id in piece[1:]] == [*ids, 0]


def test_text_that_looks_like_the_end_is_text():
    assert 0 not in ALPHABET.tokenizer.encode(f"so {END} on").ids
    with pytest.raises(InputError, match=r"2\d\d tokens; .*vocabulary_size.* 400"):
        train_tokenizer(["ab ab"], 400)


def test_the_saved_model_is_read_by_transformers_and_by_tokenlab(tmp_path):
    model = build_gpt(GptShape(layers=1, width=16, heads=2, context=32), ALPHABET.size, 0)
    save_language_model(model, ALPHABET, tmp_path)
    read, tokenizer = AutoModelForCausalLM.from_pretrained(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    assert (tokenizer.bos_token, tokenizer.eos_token_id, read.config.eos_token_id) == (END, 0, 0)
    ids = tokenizer(TEXTS[0], return_tensors="pt").input_ids[:, :32]
    use_openblas(read)  # as in our model: by other products the last digits differ
    assert torch.equal(read(ids).logits, model.eval()(ids).logits)
    token_model, real = load(tmp_path, device="cpu")
    assert (token_model.start, token_model.end) == ((0,), 0)
    assert real.automaton.encode(TEXTS[0].encode()) == ALPHABET.tokenizer.encode(TEXTS[0]).ids


def test_equal_sentences_are_on_the_same_side(tmp_path):
    write_corpus((Document(str(n), text) for n, text in enumerate(TEXTS * 2)), tmp_path / "corpus")
    held_out = HeldOut(share=0.25, seed=0)
    training, kept = list(training_texts(tmp_path / "corpus", held_out)), held_out_texts(tmp_path / "corpus", held_out)
    assert set(training) | set(kept) == set(TEXTS) and not set(training) & set(kept)
    assert len(set(kept)) == len(kept) and 0.15 < len(kept) / len(set(TEXTS)) < 0.35
    other = {text for text in set(TEXTS) if is_held_out(text, HeldOut(share=0.25, seed=1))}
    assert other != set(kept)
