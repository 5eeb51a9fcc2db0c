"""Special tokens and their roles, written as ROLE=TOKEN or TOKEN."""

from collections.abc import Sequence
from typing import NamedTuple

from tokenlab.core.errors import ParameterError

ROLES = ("unk", "bos", "eos", "pad", "sep", "cls", "mask")
UNKNOWN = "<|unk|>"


class SpecialTokens(NamedTuple):
    """The unknown token first, then the others in the order given; ids are the places in this order."""

    tokens: tuple[str, ...]
    roles: dict[str, str]
    """Role -> token, for the roles that were given."""

    @property
    def without_role(self) -> list[str]:
        """The tokens that were given without a role."""
        return [token for token in self.tokens[1:] if token not in self.roles.values()]


def parse_special_tokens(given: Sequence[str]) -> SpecialTokens:
    """Read ROLE=TOKEN and TOKEN; one token may have several roles.

    Raises ParameterError for an empty token, a token with whitespace at an end, a role given twice, and a token given
    twice without a role.
    """
    if isinstance(given, str):
        raise ParameterError("special_tokens is one string; name each token on its own")
    tokens: dict[str, None] = {}
    roles: dict[str, str] = {}
    for item in given:
        role, equals, named = item.partition("=")
        token = named if equals and role in ROLES else item
        if not token or token != token.strip():
            raise ParameterError(f"special_tokens has {item!r}; a token is not empty and has no whitespace at its ends")
        if token == item and token in tokens:
            raise ParameterError(f"special_tokens has {token!r} twice; name it once")
        if token != item:
            if role in roles:
                raise ParameterError(f"special_tokens has two tokens for {role}; name one")
            roles[role] = token
        tokens[token] = None
    unknown = roles.get("unk", UNKNOWN)
    return SpecialTokens((unknown, *(token for token in tokens if token != unknown)), roles)
