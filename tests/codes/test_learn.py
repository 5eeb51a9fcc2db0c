import json
import math

import numpy as np
import pytest

import tokenlab.codes
from tokenlab.codes.codebook import Codebook, smallest_K
from tokenlab.codes.corpus import CharacterCorpus, character_corpus
from tokenlab.codes.hmm import train
from tokenlab.codes.learn import (
    ANNEALINGS,
    character_codebook,
    learn_code,
    learn_latom,
    random_codebook,
    refine_codebook,
)
from tokenlab.codes.refine import atom_entropy
from tokenlab.codes.saved import read_code, write_code
from tokenlab.codes.table_order import table_order
from tokenlab.errors import InputError, ParameterError
from tokenlab.text.builtin import generate
from tokenlab.tokenizers.bpe import Tokenizer, models, trainers


@pytest.fixture(scope="module")
def corpus() -> CharacterCorpus:
    return character_corpus(document.text for document in generate("en", sentences=300, seed=1))


def same(one: Codebook, other: Codebook) -> bool:
    return one == other and one.facts == other.facts and one.assigned.tobytes() == other.assigned.tobytes()


def hugging_face_tokens(code: Codebook, corpus: CharacterCorpus, size: int) -> int:
    encoded = [code.encode(text) for text in corpus.texts()]
    tokenizer = Tokenizer(models.BPE())
    alphabet = [*"".join(encoded)]
    tokenizer.train_from_iterator(
        encoded, trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
    )
    return sum(len(encoding.ids) for encoding in tokenizer.encode_batch(encoded))


@pytest.mark.parametrize("N", [1, 2, 3])
def test_the_codebook_is_the_best_assignment_by_the_posteriors_of_its_hmm(corpus, N):
    code = learn_latom(corpus, N, seed=4, iterations=3, floor=1e-100)
    size, K = len(corpus.characters), smallest_K(len(corpus.characters), N)
    assert (code.kind, code.N, code.K, code.characters) == ("latom", N, K, corpus.characters)
    trained = train(corpus.symbols, corpus.offsets, size, N, K, iterations=3, seed=4)
    assert code.facts["log_likelihood"] == trained.log_likelihoods and len(trained.log_likelihoods) == 4
    scores = np.log(np.maximum(trained.posteriors, 1e-100))
    of_code = sum(scores[c, n, k] for c in range(size) for n, k in enumerate(code.digits[c]))
    assert code.facts["objective"] == pytest.approx(of_code)
    draws = [random_codebook(corpus, N, K, seed=seed).digits for seed in range(400)]
    values = [sum(scores[np.arange(size), n, digits[:, n]].sum() for n in range(N)) for digits in draws]
    error = np.std(values) / math.sqrt(len(values))
    assert abs(np.mean(values) - code.facts["random_objective"]) < 5 * error
    assert max(values) <= code.facts["objective"]


def test_the_same_seed_gives_the_same_bytes(corpus, tmp_path):
    options = {"seed": 1, "iterations": 2, "refine": "swaps", "restarts": 2}
    for name in "ab":
        write_code(learn_latom(corpus, 2, **options), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    again = read_code(tmp_path / "a")
    assert same(again, learn_latom(corpus, 2, **options))
    assert json.loads(json.dumps(again.facts)) == again.facts
    assert again.facts["corpus"] == corpus.sha256
    assert again.facts["characters"] == len(corpus.characters) and again.facts["length"] == len(corpus.symbols)


def test_seed_floor_and_end_state_change_the_code(corpus):
    plain = learn_latom(corpus, iterations=5)
    for options in ({"seed": 1}, {"end_state": True}, {"floor": 1e-2}, {"iterations": 0}):
        other = learn_latom(corpus, **{"iterations": 5} | options)
        assert other.assigned.tolist() != plain.assigned.tolist()
        assert other.facts | options == other.facts


def test_hmmlearn_gives_the_same_figures(corpus):
    options = {"iterations": 2, "seed": 2, "floor": 1e-30}
    ours, reference = learn_latom(corpus, **options), learn_latom(corpus, backend="hmmlearn", **options)
    assert ours.facts["log_likelihood"] == pytest.approx(reference.facts["log_likelihood"], rel=1e-9)
    assert ours.facts["objective"] == pytest.approx(reference.facts["objective"], rel=1e-6)


def test_of_the_restarts_the_one_with_the_fewest_tokens_is_kept(corpus):
    best = learn_latom(corpus, seed=3, iterations=3, restarts=4, vocabulary=120)
    size, K = len(corpus.characters), best.K
    tokens = best.facts["tokens"]
    chosen = best.facts["restart"]
    assert len(tokens) == 4 and chosen == tokens.index(min(tokens))
    assert tokens[0] == hugging_face_tokens(learn_latom(corpus, seed=3, iterations=3), corpus, 120)
    assert tokens[chosen] == hugging_face_tokens(best, corpus, 120)
    for restart in (1, 2, 3):
        generator = np.random.default_rng([3, restart])
        trained = train(corpus.symbols, corpus.offsets, size, 2, K, iterations=3, seed=generator)
        if restart == chosen:
            assert best.facts["log_likelihood"] == trained.log_likelihoods
    single = learn_latom(corpus, seed=3, iterations=3, restarts=1)
    assert single.facts["tokens"] is None and single.facts["vocabulary"] is None and single.facts["restart"] == 0


def test_the_vocabulary_that_tokens_are_counted_at():
    few = character_corpus(["ab", "ba", "aab"])
    assert learn_latom(few, restarts=2).facts["tokens"] == [3, 3]  # Nothing is left to merge: a token a sequence.
    assert learn_latom(few, restarts=2).facts["vocabulary"] == 300
    assert learn_latom(few, N=1, K=200, restarts=2).facts["vocabulary"] == 400
    with pytest.raises(ParameterError, match=r"vocabulary is 3, smaller than the alphabet of 2 x 2"):
        learn_latom(few, restarts=2, vocabulary=3)


def test_refinement(corpus):
    plain, refined = (
        learn_latom(corpus, seed=5, iterations=3),
        learn_latom(corpus, seed=5, iterations=3, refine="swaps"),
    )
    assert same(refined, refine_codebook(plain, corpus))
    kept = plain.facts.keys() - {"refine", "vocabulary", "table"}
    assert {name: refined.facts[name] for name in kept} == {name: plain.facts[name] for name in kept}
    tokens = refined.facts["refined_tokens"]
    assert len(tokens) == 1 + ANNEALINGS
    assert tokens[0] == hugging_face_tokens(plain, corpus, 300)
    assert min(tokens) == hugging_face_tokens(refined, corpus, 300)
    for code, name in ((plain, "mutual_information_before"), (refined, "mutual_information")):
        entropy = atom_entropy(corpus, code.assigned, code.N, code.K)
        assert refined.facts[name] == pytest.approx(2 * entropy.atom - entropy.bigram)
    with pytest.raises(InputError, match="another corpus"):
        refine_codebook(plain, character_corpus(["abc"]))
    of_characters = character_codebook(corpus)
    assert np.array_equal(refine_codebook(of_characters, corpus).assigned, of_characters.assigned)


def test_facts_order_the_table(corpus):
    plain = learn_latom(corpus, iterations=3)
    for code in (plain, refine_codebook(plain, corpus), random_codebook(corpus, 3)):
        assert code.facts["table"] == table_order(code, corpus)


def test_random_codes_are_a_permutation_or_a_sample_without_a_list(corpus):
    size = len(corpus.characters)
    code = random_codebook(corpus, 2, 9, seed=7)
    assert code.assigned.tolist() == np.random.default_rng(7).permutation(81)[:size].tolist()
    huge = random_codebook(corpus, 9, 60, seed=7)  # 10^16 codes.
    assert len(set(huge.assigned.tolist())) == size and huge.assigned.min() >= 0 and huge.assigned.max() < 60**9
    assert huge.assigned.tolist() == random_codebook(corpus, 9, 60, seed=7).assigned.tolist()
    assert huge.assigned.mean() == pytest.approx(60**9 / 2, rel=0.25)
    text = next(iter(corpus.texts()))
    assert huge.decode(huge.encode(text)) == text


def test_progress_hears_of_every_iteration(corpus):
    heard = []
    code = learn_latom(corpus, iterations=2, restarts=2, progress=lambda *seen: heard.append(seen))
    assert [seen[:2] for seen in heard] == [(restart, iteration) for restart in (0, 1) for iteration in (0, 1, 2)]
    chosen = code.facts["restart"]
    assert [seen[2] for seen in heard if seen[0] == chosen] == code.facts["log_likelihood"]


def test_every_kind_by_its_name(corpus, tmp_path):
    assert same(learn_code("latom", corpus, N=3, iterations=1), learn_latom(corpus, 3, iterations=1))
    assert same(learn_code("random", corpus, N=3, seed=2), random_codebook(corpus, 3, seed=2))
    assert same(learn_code("character", corpus, unknown="skip"), character_codebook(corpus, "skip"))
    assert learn_code("byte", corpus).facts["corpus"] == corpus.sha256
    (tmp_path / "ids.txt").write_text("U+597D\t好\t⿰女子\n", encoding="utf-8")
    radicals = learn_code("radical", character_corpus(["好a"]), tables=tmp_path)
    assert [radicals.alphabet[ord(atom) - 0xE000] for atom in radicals.encode("好a")] == ["女", "子", "a"]
    (tmp_path / "decompose_map.json").write_text("{}", encoding="utf-8")
    assert learn_code("myte", corpus, tables=tmp_path).kind == "myte"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "bits"}, r"kind: 'bits' is none of latom, random, "),
        ({"kind": "byte", "N": 2}, "N: the code `byte` has no such option"),
        ({"kind": "random", "restarts": 2}, "restarts: the code `random` has no such option"),
        ({"kind": "stroke"}, "tables: the code `stroke` needs the folder .* `ids`"),
        ({"kind": "latom", "K": 4}, r"K\^N = 4\^2 = 16"),
        ({"kind": "random", "K": 4}, r"K\^N = 4\^2 = 16"),
        ({"kind": "latom", "N": 0}, "N = 0"),
        ({"kind": "random", "N": 0}, "N = 0"),
        ({"kind": "latom", "K": 0}, "K = 0"),
        ({"kind": "latom", "K": 4000}, "2 GiB"),
        ({"kind": "latom", "restarts": 0}, "restarts is 0"),
        ({"kind": "latom", "refine": "all"}, "refine: 'all' is none of swaps"),
        ({"kind": "latom", "backend": "folded"}, "backend: 'folded' is none of auto, hmmlearn"),
        ({"kind": "latom", "floor": 0.0}, "floor is 0.0"),
        ({"kind": "latom", "iterations": -1}, "iterations"),
    ],
)
def test_bad_parameters(corpus, options, message):
    with pytest.raises(ParameterError, match=message):
        learn_code(corpus=corpus, **options)


def test_one_character_is_nothing_to_learn_from():
    for kind in ("latom", "random"):
        with pytest.raises(InputError, match="one character, 'a'"):
            learn_code(kind, character_corpus(["aaa", "a"]))
    assert learn_code("character", character_corpus(["aaa"])).K == 1


def test_every_public_name_is_there():
    for name in tokenlab.codes.__all__:
        assert getattr(tokenlab.codes, name).__module__.startswith("tokenlab.codes.")
    with pytest.raises(AttributeError, match="nothing"):
        _ = tokenlab.codes.nothing
