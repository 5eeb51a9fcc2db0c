"""The encodings of a vocabulary of the Markov experiments, as the estimators need them."""

from collections.abc import Iterable

from tasks.exact.vocabularies import MarkovVocabulary, tokenizer_of
from tokenlab.core.errors import InputError
from tokenlab.exact.encoders.byte_pair import BytePair
from tokenlab.exact.encoders.maximum_prefix import MaximumPrefix
from tokenlab.exact.interface import TokenAutomaton
from tokenlab.exact.vocabulary import Vocabulary
from tokenlab.tokenizers.alphabet import START_ID


def checked_automaton(vocabulary: MarkovVocabulary, alphabet: Iterable[str], texts: Iterable[str]) -> TokenAutomaton:
    """The encodings of endless texts.

    Raises InputError where it encodes one of the `texts` otherwise than the tokenizer.
    """
    tokens = vocabulary.spelled(characters := tuple(alphabet))
    spelled = Vocabulary([None, *(token.encode() for token in tokens)])
    automaton: TokenAutomaton
    if vocabulary.encoder == "byte-pair":
        ids = {token: number for number, token in enumerate(tokens, START_ID + 1)}
        merges = [(ids[left], ids[right], ids[left + right]) for left, right in vocabulary.merges]
        automaton = BytePair(spelled, merges, has_end=False)
    else:
        automaton = MaximumPrefix(spelled, has_end=False)
    tokenizer = tokenizer_of(vocabulary, characters).tokenizer
    for text in texts:
        if automaton.encode(text.encode()) != tokenizer.encode(text, add_special_tokens=False).ids:
            raise InputError(f"{text!r} is encoded in two ways; the vocabulary is not what its encoder takes it for")
    return automaton
