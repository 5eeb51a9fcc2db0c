"""Exact character probabilities from tokenized language models (Phan et al. 2024).

A tokenized model is wrong about the next character wherever a prompt ends inside a token. The probability that a text
*starts with* x is the sum over the cover encodings of x, and that is what this package computes.

`encoders` and `splits` say which token sequences an encoder produces; `adapters` reads real tokenizers; `models` gives
the probabilities of tokens; `estimators` sums them; `uses` samples, scores, completes and combines.

model, tokenizer = load("folder")  # a causal language model as `transformers` saves it
exact = CharacterModel(model, tokenizer.automaton)
exact.next_character("The qui", top=5)  # each with its log probability in nats
exact.log_probability("The quick brown fox")  # of all texts that start so
sample(exact, "The qui", 100, seed=0).text
score_text(exact, "The quick brown fox").exact_bits
complete(exact, "The qui")  # exact, by plain prompting, by token healing
Combination([exact, other], "product")  # a model of texts like each of them, whatever their tokenizers
"""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(
    __name__,
    {
        "adapters.check": ["check_tokenizer"],
        "adapters.reading": ["read_tokenizer"],
        "encoders.byte_pair": ["BytePair"],
        "encoders.maximum_prefix": ["MaximumPrefix"],
        "encoders.unigram": ["Unigram"],
        "estimators.character_model": ["CharacterModel"],
        "models.chain": ["MarkovChain"],
        "models.tokenized": ["TokenizedModel", "token_transitions"],
        "models.transformers_model": ["TransformersModel", "load"],
        "options": ["ExactOptions"],
        "uses.combining": ["Combination"],
        "uses.completion": ["complete"],
        "uses.options": ["CompletionOptions", "SamplingOptions"],
        "uses.sampling": ["sample", "sample_stream"],
        "uses.scoring": ["score_text", "score_texts"],
        "uses.token_sampling": ["sample_by_tokens"],
        "vocabulary": ["Vocabulary"],
    },
)
