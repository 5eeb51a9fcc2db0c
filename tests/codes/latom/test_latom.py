"""Codebooks learned by Latom: assignment, restarts, refinement."""

import math

import numpy as np
import pytest

from tokenlab.codes.baselines import character_codebook, random_codebook
from tokenlab.codes.codebook import Codebook, smallest_K
from tokenlab.codes.corpus import CharacterCorpus, character_corpus
from tokenlab.codes.latom.hmm import train
from tokenlab.codes.latom.learn import ANNEALINGS, refine_codebook
from tokenlab.codes.latom.refine import Schedule, refine_codes
from tokenlab.codes.options import CodeShape
from tokenlab.codes.registry import learn_code
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.generated import generate
from tokenlab.tokenizers.bpe import Tokenizer, models, trainers


@pytest.fixture(scope="module")
def corpus() -> CharacterCorpus:
    return character_corpus(document.text for document in generate("en", sentences=300, seed=1))


def latom(corpus, N=2, **options) -> Codebook:
    return learn_code("latom", corpus, N=N, **options)


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
    code = latom(corpus, N, seed=4, iterations=3, floor=1e-100)
    size, K = len(corpus.characters), smallest_K(len(corpus.characters), N)
    assert (code.kind, code.N, code.K, code.characters) == ("latom", N, K, corpus.characters)
    trained = train(corpus.symbols, corpus.offsets, size, N, K, iterations=3, seed=4)
    assert code.facts["log_likelihood"] == trained.log_likelihoods and len(trained.log_likelihoods) == 4
    scores = np.log(np.maximum(trained.posteriors, 1e-100))
    of_code = sum(scores[c, n, k] for c in range(size) for n, k in enumerate(code.digits[c]))
    assert code.facts["objective"] == pytest.approx(of_code)
    draws = [random_codebook(corpus, CodeShape(N, K, seed)).digits for seed in range(400)]
    values = [sum(scores[np.arange(size), n, digits[:, n]].sum() for n in range(N)) for digits in draws]
    error = np.std(values) / math.sqrt(len(values))
    assert abs(np.mean(values) - code.facts["random_objective"]) < 5 * error
    assert max(values) <= code.facts["objective"]


def test_of_the_restarts_the_one_with_the_fewest_tokens_is_kept(corpus):
    best = latom(corpus, seed=3, iterations=3, restarts=4, vocabulary=120)
    size, K = len(corpus.characters), best.K
    tokens = best.facts["tokens"]
    chosen = best.facts["restart"]
    assert len(tokens) == 4 and chosen == tokens.index(min(tokens))
    assert tokens[0] == hugging_face_tokens(latom(corpus, seed=3, iterations=3), corpus, 120)
    assert tokens[chosen] == hugging_face_tokens(best, corpus, 120)
    generator = np.random.default_rng([3, chosen]) if chosen else 3
    trained = train(corpus.symbols, corpus.offsets, size, 2, K, iterations=3, seed=generator)
    assert best.facts["log_likelihood"] == trained.log_likelihoods
    single = latom(corpus, seed=3, iterations=3, restarts=1)
    assert single.facts["tokens"] is None and single.facts["vocabulary"] is None and single.facts["restart"] == 0


def test_the_vocabulary_that_tokens_are_counted_at():
    few = character_corpus(["ab", "ba", "aab"])
    assert latom(few, restarts=2).facts["tokens"] == [3, 3]  # Nothing is left to merge: a token a sequence.
    assert latom(few, restarts=2).facts["vocabulary"] == 300
    assert latom(few, N=1, K=200, restarts=2).facts["vocabulary"] == 400
    with pytest.raises(ParameterError, match=r"vocabulary is 3, .* 2 x 2"):
        latom(few, restarts=2, vocabulary=3)


def test_refinement(corpus):
    plain, refined = (latom(corpus, seed=5, iterations=3, refine=refine) for refine in (None, "swaps"))
    again = refine_codebook(plain, corpus)
    assert refined == again and refined.facts == again.facts
    assert refined.assigned.tobytes() == again.assigned.tobytes()
    kept = plain.facts.keys() - {"refine", "vocabulary"}
    assert {name: refined.facts[name] for name in kept} == {name: plain.facts[name] for name in kept}
    tokens = refined.facts["refined_tokens"]
    assert len(tokens) == 1 + ANNEALINGS
    assert tokens[0] == hugging_face_tokens(plain, corpus, 300)
    assert min(tokens) == hugging_face_tokens(refined, corpus, 300)
    for code, name in ((plain, "mutual_information_before"), (refined, "mutual_information")):
        entropy = refine_codes(corpus, code.assigned, code.N, code.K, schedule=Schedule(0)).before
        assert refined.facts[name] == pytest.approx(2 * entropy.atom - entropy.bigram)
    with pytest.raises(InputError, match="another corpus"):
        refine_codebook(plain, character_corpus(["abc"]))
    of_characters = character_codebook(corpus)
    assert np.array_equal(refine_codebook(of_characters, corpus).assigned, of_characters.assigned)
