"""Exact character probabilities from tokenized language models (Phan et al. 2024).

A tokenized model is wrong about the next character wherever a prompt ends inside a token. The probability that a text
*starts with* x is the sum over the cover encodings of x, and that is what this package computes.

What users call: `character_model` (next byte and character, probability of texts), `sampling`, `token_walk` (sampling
by tokens), `completion`, `scoring`, `combining`. Under them: `encoders` and `splits` know which token sequences an
encoder produces; `adapters` reads real tokenizers; `transformers_model` and `gpt2` give the probabilities of tokens
over `trees` of contexts; `covers` and `incremental` sum them, and `naive` does not. `paper` holds what only the paper's
experiments need.

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

__getattr__, __all__ = offer(__name__)
