"""The chains and vocabularies of the Markov experiments (section 4 and appendix H.4 of the tokenization-bias paper).

Chains are drawn at random. Of a vocabulary, id 0 is the start token, the tokens follow.
"""

from collections.abc import Iterable
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator
from tokenizers import Tokenizer, decoders, models, processors

from tasks.runtime.stage import Parameters
from tokenlab.core.errors import ParameterError
from tokenlab.exact.paper.chain import MarkovChain
from tokenlab.tokenizers.alphabet import START, START_ID, Alphabet

_LONGEST_TEXT = 1 << 20
"""Characters; the tokenizer of maximum prefixes refuses longer texts."""


class ChainParameters(Parameters):
    """Chains of one order over one alphabet: a chain for each seed.

    Each row of the transition matrix is uniform among all distributions. The texts are endless, and their first `order`
    characters are uniform.
    """

    alphabet: tuple[str, ...] = Field(min_length=2, max_length=26)
    order: int = Field(ge=1, le=8)
    seeds: tuple[int, ...] = Field(min_length=1)

    def chain(self, seed: int) -> MarkovChain:
        """The chain of a seed."""
        return MarkovChain.random(self.order, self.alphabet, seed)


class MarkovVocabulary(Parameters):
    """Tokens over the alphabet of a chain.

    `maximum-prefix`: `tokens` lists all of them. `byte-pair`: the single characters and the results of `merges`, which
    are in the order of their rank.
    """

    encoder: Literal["maximum-prefix", "byte-pair"]
    tokens: tuple[str, ...] = ()
    merges: tuple[tuple[str, str], ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.encoder == "byte-pair" and (self.tokens or not self.merges):
            raise ParameterError("encoder is byte-pair; give it merges, and no tokens")
        if self.encoder == "maximum-prefix" and (self.merges or not self.tokens):
            raise ParameterError("encoder is maximum-prefix; give it tokens, and no merges")
        return self

    def spelled(self, alphabet: Iterable[str]) -> tuple[str, ...]:
        """The tokens in the order of their ids, of which the first is 1.

        Raises ParameterError where they do not fit the alphabet.
        """
        characters = tuple(alphabet)
        found = self.tokens or (*characters, *map("".join, self.merges))
        if missing := set(characters) - set(found):
            raise ParameterError(f"tokens lack {min(missing)!r}, a character of the alphabet; add it")
        if strange := set("".join(found)) - set(characters):
            raise ParameterError(f"tokens hold {min(strange)!r}, which is not in the alphabet; remove it")
        if len(set(found)) < len(found):
            raise ParameterError("a token is in the vocabulary twice; remove one")
        return found


def tokenizer_of(vocabulary: MarkovVocabulary, alphabet: Iterable[str]) -> Alphabet:
    """The tokenizer, in the form in which the training of a GPT takes one."""
    tokens = vocabulary.spelled(alphabet)
    ids = {START: START_ID} | {token: number for number, token in enumerate(tokens, START_ID + 1)}
    model: models.Model
    if vocabulary.encoder == "byte-pair":
        model = models.BPE(ids, list(vocabulary.merges))
    else:  # WordPiece without a mark of continuation always takes the longest token.
        model = models.WordPiece(
            ids, unk_token=START, continuing_subword_prefix="", max_input_chars_per_word=_LONGEST_TEXT
        )
    tokenizer = Tokenizer(model)
    tokenizer.decoder = decoders.Fuse()
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{START} $A", special_tokens=[(START, START_ID)])
    return Alphabet(tokenizer, np.arange(len(ids)) != START_ID)


def model_name(vocabulary: str, seed: int) -> str:
    """The folder of the model of a vocabulary and a chain."""
    return f"{vocabulary}-seed{seed}"
