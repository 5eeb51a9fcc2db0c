"""Constrained token strings against all token strings that `check` accepts, and generation with and without."""

import json
import random
from itertools import product

import numpy as np
import pytest
import torch
from brute_probabilities import TableModel
from command import ended_here
from hashed_model import ByDefinition
from tiny_language_models import sharp_network, tokenizer_file

from tokenlab.codes.automaton import atom_automaton
from tokenlab.codes.baselines import ByteCode, ComponentCode
from tokenlab.codes.bits.bit_code import BitCode
from tokenlab.codes.bits.options import BitOptions
from tokenlab.codes.codebook import Codebook
from tokenlab.codes.constrained import Constrained, constrain
from tokenlab.codes.generation import ConstrainedLogits, constrained_nats, decode_errors, generate_tokens
from tokenlab.codes.interface import atom, atom_numbers, names_of, print_atoms, write_code
from tokenlab.codes.myte import MyteCode
from tokenlab.codes.script import ScriptCode
from tokenlab.core.errors import InputError
from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.vocabulary import Vocabulary
from tokenlab.language.options import GenerationOptions
from tokenlab.networks.gpt import GptShape, build_gpt
from tokenlab.networks.options import StackShape, TokenShape
from tokenlab.tokenizers.bpe import bpe_tokenizer, save_tokenizer

LATIN = "".join(map(chr, range(0xC0, 0x100)))  # All characters whose first byte is C3, but for U+0080 to U+00BF.
DECOMPOSE = {
    "B": "bA",
    "C": "cA",
    "É": "eA\u0301",
    "é": "e\u0301",
    "E": "eA",
    "ế": "e\u0302\u0301",
    "ề": "e\u0302\u0300",
    "\u0344": "\u0308\u0301",
}
MORPHEMES = {"e": b"\x42", "e\u0301b": b"\x43\x80", "bb": b"\x43\x81\x90", "bbab": b"\x43\x82", "A\u0301": b"\x43\x83"}


def utf8_rules(rules):
    return {key.encode(): value if isinstance(value, bytes) else value.encode() for key, value in rules.items()}


def codebook(N, K, characters, codes):
    return Codebook("latom", N, K, characters, np.array(codes), "byte")


MYTE = utf8_rules(DECOMPOSE)
TEXTS = "中ǎeé\u0301ếE\u0344\u0308bab"
CODES = {
    "byte": (ByteCode(), "aé中\U0001f600\ud7ff\uee00ࠀ"),
    "latom-2": (codebook(2, 3, "abcé", [0, 4, 5, 7]), "abcé中ā"),
    "latom-3": (codebook(3, 2, "abc", [0, 1, 6]), "abc"),
    "no escape": (codebook(2, 9, LATIN, list(range(64))), "Àÿab"),
    "character": (Codebook("character", 1, 3, "abc", np.arange(3), "byte"), "abcé"),
    "radical": (ComponentCode("radical", {"明": ("日", "月"), "日": ("日",)}, "byte"), "明日é"),
    "script": (ScriptCode(), "aα中\U0010fffd"),
    "bits": (BitCode(), "aÀ中文ࠀ\ud7ff\U0001f600A"),
    "bits-change": (BitCode(BitOptions(emission="change")), "aA中文éÀＡ"),
    "myte": (MyteCode(MYTE, {}), TEXTS),
    "myte-merged": (MyteCode(MYTE, utf8_rules(MORPHEMES)), TEXTS + "bbabé"),
}


def pool(code, text):
    """Atoms of encoded text, and some that hardly fit."""
    utf8 = bytes.fromhex("40 80 9F A0 BF C1 C3 E0 ED F4 F5 FF")  # where kinds of bytes begin and end
    odd = [0, 1, *utf8, 0x150, 0x1A0, 0x200, 0x203, 0x204]
    return list(code.encode(text)), [atom(number) for number in odd]


def small(code, text, seed, tokens=6):
    """A vocabulary of a few tokens: pieces of encoded texts, and one of odd atoms."""
    chosen = random.Random(seed)
    _, odd = pool(code, text)
    spelled = {chosen.choice(odd)}
    while len(spelled) < tokens:
        encoded = code.encode("".join(chosen.choices(text, k=3)))
        begin = chosen.randrange(len(encoded))
        spelled.add(encoded[begin : begin + chosen.randint(1, 3)])
    return sorted(spelled)


def over(code, tokens):
    """The automaton of a vocabulary whose id 0 is [UNK]."""
    vocabulary = Vocabulary([None, *(token.encode() for token in tokens)])
    symbols = [atom_numbers(vocabulary.spelling(i).decode()).tolist() for i in range(len(vocabulary))]
    return Constrained(vocabulary, symbols, atom_automaton(code), lambda text: [])


@pytest.fixture(params=CODES)
def code(request):
    return CODES[request.param]


class TestStates:
    def test_a_string_is_accepted_if_check_finds_no_violation(self, code):
        code, text = code
        automaton, chosen = atom_automaton(code), random.Random(1)
        atoms, odd = pool(code, text)
        found = {True: 0, False: 0}
        for _ in range(3000):
            string = list(code.encode("".join(chosen.choices(text, k=chosen.randint(0, 4)))))
            for _ in range(chosen.choice([0, 1, 1, 2])):
                place = chosen.randrange(len(string) + 1)
                string[place : place + chosen.randint(0, 1)] = [chosen.choice(chosen.choice([atoms, odd]))]
            state = automaton.start
            for number in atom_numbers("".join(string)).tolist():
                state = None if state is None else automaton.step(state, number)
            accepted = state is not None and automaton.may_end(state)
            assert accepted == (code.check("".join(string)) is None), print_atoms("".join(string), names_of(code))
            found[accepted] += 1
        assert min(found.values()) > 200


class TestMasks:
    @pytest.mark.parametrize("seed", range(4))
    def test_distributions_are_those_of_all_texts_of_the_length(self, code, seed):
        """A token has probability where a text of at most n tokens, which all are checked, begins with it."""
        n, ids = 4, range(1, 7)
        tokens = small(*code, seed, len(ids))
        automaton = over(code[0], tokens)
        texts = {
            string
            for length in range(n + 1)
            for string in product(ids, repeat=length)
            if code[0].check("".join(tokens[id - 1] for id in string)) is None
        }
        beginnings = {string[:length] for string in texts for length in range(len(string) + 1)}
        processor, states = ConstrainedLogits(automaton, n, end=0), {(): automaton.within(automaton.start(), n)}
        for length in range(n + 1):
            rows = sorted(string for string in beginnings if len(string) == length)
            if not rows:
                break
            wanted = np.array([[row in texts, *((*row, id) in beginnings for id in ids)] for row in rows])
            allowed = automaton.allowed_ids([states[row] for row in rows])
            assert (allowed[:, 1:] == wanted[:, 1:]).all() and not allowed[:, 0].any()
            scores = np.random.default_rng(seed).normal(size=wanted.shape)
            masked = processor(torch.tensor(rows).reshape(len(rows), length), torch.tensor(scores)).softmax(-1)
            weights = np.exp(scores) * wanted
            assert masked.numpy() == pytest.approx(weights / weights.sum(-1, keepdims=True), abs=1e-12)
            for row, can_end in zip(rows, wanted[:, 0], strict=True):
                assert automaton.may_end(states[row]) == can_end
                states |= {(*row, id): automaton.step(states[row], id) for id in ids}
                assert all((states[*row, id] is None) == ((*row, id) not in beginnings) for id in ids)

    def test_without_a_limit_every_allowed_token_can_be_completed(self, code):
        tokens = small(*code, 5, tokens=8)
        automaton = over(code[0], tokens)
        for seed in range(40):
            chosen, state, string = random.Random(seed), automaton.start(), ""
            for _ in range(8):
                mask = automaton.allowed_ids([state])[0]
                for id in np.flatnonzero(mask):
                    automaton.within(automaton.step(state, int(id)), 10)
                if not mask.any():
                    break
                id = int(chosen.choice(np.flatnonzero(mask)))
                state, string = automaton.step(state, id), string + tokens[id - 1]
                assert automaton.may_end(state) == (code[0].check(string) is None)

    def test_dead_ends(self):
        """All characters of C3 have a code, so C3 begins no escape; only overlong characters have 38h and 40h."""
        tokens = [atom(18 + byte) for byte in (0xC3, 0x80, 0xC2)]
        bits = ["".join(map(atom, symbols)) for symbols in ((0x200, 0x40), (0x80,), (0x200, 0x50))]
        for automaton in (over(CODES["no escape"][0], tokens), over(CODES["bits"][0], bits)):
            assert automaton.allowed_ids([automaton.start()]).tolist() == [[False, False, False, True]]


def sampled(code, text, count=60, limit=7, **options):
    """Free and constrained texts of a random network over a small vocabulary."""
    automaton = over(code, small(code, text, 3, tokens=9))
    network = sharp_network(TokenShape(10, StackShape(1, 16, 2, 24)))
    settings = GenerationOptions(limit, top_k=5, seed=4, **options)
    return automaton, [
        generate_tokens(network, count, automaton.vocabulary, settings, given, uniform_start=True)
        for given in (None, automaton)
    ]


class TestGeneration:
    def test_errors_by_kind_are_those_of_the_command(self, code, tmp_path):
        code, text = code
        automaton, (free, bound) = sampled(code, text)
        assert {len(ids) for ids in free} == {7} and {len(ids) for ids in bound} <= {5, 6, 7}
        assert decode_errors(code, automaton.vocabulary, bound)["valid"] == 60
        found = decode_errors(code, automaton.vocabulary, free)
        write_code(code, tmp_path / "code.json")
        names, spelled = names_of(code), automaton.vocabulary.tokens
        lines = [print_atoms(b"".join(spelled[id] for id in ids).decode(), names) + "\n" for ids in free]
        printed = ended_here("codes", "check", "--code", tmp_path / "code.json", "--json", stdin="".join(lines)).out
        kinds = [json.loads(line)["kind"] for line in printed.splitlines()]
        assert found == {kind: kinds.count(kind) for kind in found} | {"valid": 60 - len(kinds)}
        assert len(kinds) > 20

    def test_a_constraint_takes_the_impossible_from_the_cost(self, code):
        automaton, (_, bound) = sampled(*code, count=1)
        ids, state = bound[0], automaton.start()
        logits = torch.randn(len(ids), 10, generator=torch.Generator().manual_seed(0))
        logged, wanted = logits.double().log_softmax(-1).numpy(), []
        for row, id in zip(logged, ids, strict=True):
            possible = [other for other in range(10) if automaton.step(state, other) is not None]
            wanted.append(np.log(np.exp(row[possible]).sum()) - row[id])
            state = automaton.step(state, id)
        assert constrained_nats(logits, ids, automaton) == pytest.approx(wanted, abs=1e-12)

    def test_texts_do_not_depend_on_the_batch(self):
        for name in ("bits", "latom-3"):
            assert sampled(*CODES[name])[1] == sampled(*CODES[name], batch=7)[1]

    def test_first_tokens_are_drawn_evenly(self):
        automaton, (free, bound) = sampled(*CODES["latom-2"], count=3000, limit=2)
        assert np.bincount([ids[0] for ids in free], minlength=10)[1:] == pytest.approx(3000 / 9, rel=0.25)
        can_begin = automaton.allowed_ids([automaton.within(automaton.start(), 2)])[0]
        counts = np.bincount([ids[0] for ids in bound], minlength=10)
        assert counts[can_begin] == pytest.approx(3000 / can_begin.sum(), rel=0.25) and not counts[~can_begin].any()


class TestInterface:
    def test_a_model_of_characters_sums_over_the_constrained_strings(self, code):
        """For `tokenlab.exact` it is the automaton of a tokenizer: P(a text starts with x) is the sum by definition."""
        automaton = over(code[0], small(*code, 2, tokens=5))
        text, state = b"", automaton.start()
        for _ in range(2):
            token = int(automaton.vocabulary.ids[automaton.allowed(state)][-1])
            text, state = text + automaton.vocabulary.tokens[token], automaton.step(state, token)
        model = TableModel(7, end=0)
        exact, definition = CharacterModel(model, automaton), ByDefinition(model, automaton)
        for x in (text[:end] for end in range(1, min(len(text), 9) + 1)):
            found = np.exp(exact.log_probability(x).log_probability)
            assert found == pytest.approx(definition.starts_with(x), abs=1e-12) and found > 0

    @pytest.mark.parametrize("how", [{"do_sample": True, "top_k": 5}, {"num_beams": 4, "num_return_sequences": 4}])
    def test_transformers_generate(self, how):
        code, text = CODES["bits"]
        automaton = over(code, small(code, text, 3, tokens=9))
        model = build_gpt(GptShape(1, 16, 2, 16), 12, seed=0)  # 12: matrices are often larger than vocabularies.
        torch.manual_seed(1)
        prompt = torch.tensor([[11, 11]] * 8)
        processor = ConstrainedLogits(automaton, tokens=9, end=10)
        made = model.generate(
            prompt, max_new_tokens=9, eos_token_id=10, pad_token_id=10, logits_processor=[processor], **how
        )
        texts = [[id for id in row if id < 10] for row in made.tolist()]
        assert decode_errors(code, automaton.vocabulary, texts)["valid"] == len(made) and any(map(len, texts))


class TestSavedTokenizers:
    def test_a_tokenizer_of_atoms(self, tmp_path):
        code = CODES["latom-2"][0]
        alphabet = list(map(atom, range(6)))
        save_tokenizer(bpe_tokenizer(np.array([[1, 4], [6, 0]], np.int32), alphabet), tmp_path / "bpe")
        automaton = constrain(code, tmp_path / "bpe")
        text = code.encode("bcab")
        state = automaton.start()
        for token in automaton.encode(text.encode()):
            state = automaton.step(state, token)
        assert automaton.may_end(state) and automaton.step(automaton.start(), 8) is None  # [UNK]
        with pytest.raises(InputError, match="no token can begin a text of this code"):
            constrain(CODES["script"][0], tmp_path / "bpe")

    def test_a_tokenizer_of_bytes(self, tmp_path):
        automaton = constrain(None, tokenizer_file(tmp_path))
        chosen, state, spelled = random.Random(0), automaton.within(automaton.start(), 40), b""
        while (mask := automaton.allowed_ids([state])[0]).any():
            id = chosen.choice(np.flatnonzero(mask).tolist())
            state, spelled = automaton.step(state, id), spelled + automaton.vocabulary.tokens[id]
        assert len(spelled.decode()) >= 20

    def test_prompts(self):
        automaton = over(CODES["latom-2"][0], list(map(atom, range(6))))
        scores = torch.zeros(2, 9)
        processor = ConstrainedLogits(automaton, tokens=2, end=0)
        first = processor(torch.tensor([[0, 1, 4], [0, 0, 2]]), scores)  # Padding and BOS are passed over.
        assert (first > -1).int().tolist() == [[1, 1, 1, 1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1, 1, 0, 0]]
        second = processor(torch.tensor([[0, 1, 4, 0], [0, 0, 2, 5]]), scores)
        assert (second > -1).int().tolist() == [[1] * 9, [1] + [0] * 8]  # The first has ended; one atom is left.
        for call, message in (
            (lambda: processor(torch.tensor([[5, 5]]), scores), "do not continue those of the last call"),
            (
                lambda: ConstrainedLogits(automaton)(torch.tensor([[1, 1]]), scores),
                r"token 2 of the text \(id 1\): no text",
            ),
            (lambda: ConstrainedLogits(automaton, 0)(torch.tensor([[1]]), scores), "0 tokens cannot complete the text"),
            (lambda: ConstrainedLogits(automaton, 1)(torch.tensor([[0]]), scores[:1]), "no token completes a text"),
        ):
            with pytest.raises(InputError, match=message):
                call()
