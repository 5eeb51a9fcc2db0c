import pytest

from tokenlab.core.errors import InputError
from tokenlab.exact.encoders.every import EveryEncoding
from tokenlab.exact.vocabulary import Vocabulary

TOKENS = [b"a", None, b"b", b"ab"]


def test_every_token_string_is_live():
    automaton = EveryEncoding(Vocabulary(TOKENS), prefix=b" ")
    state = automaton.start()
    assert automaton.allowed(state).tolist() == [True] * 3 and automaton.may_end(state)
    assert automaton.step(state, 3) == state
    assert automaton.step(state, 1) is None
    assert automaton.prefix == b" " and automaton.has_end


def test_encode():
    assert EveryEncoding(Vocabulary(TOKENS), lambda text: [0, 2]).encode(b"ab") == [0, 2]
    with pytest.raises(InputError, match="no encoder"):
        EveryEncoding(Vocabulary(TOKENS)).encode(b"ab")
