"""Errors that a user can mend. Commands print them as one line and exit with status 2."""


class TokenlabError(Exception):
    """Something the user can mend. The message is one line: what is wrong, where, and what to do."""


class InputError(TokenlabError):
    """A file that does not hold what it should: bad UTF-8, malformed XML, nothing in it, another file's statistics."""


class ParameterError(TokenlabError):
    """An option or parameter that has no meaning here; the message names it and the values that it takes."""


class SourceError(TokenlabError):
    """A source of data that cannot be had: neither mirror nor network, wrong bytes, an unknown name."""


EXIT_STATUS = 2
"""Of a command or stage that ends with an error that the user can mend."""


def one_line(error: BaseException) -> str:
    """The one line that commands and stages print for an error."""
    if isinstance(error, OSError) and error.strerror:
        if error.filename:
            return f"{error.filename}: {error.strerror}; check the path, its permissions and the space left"
        return f"writing failed: {error.strerror}; what was written is not whole, so make room and run again"
    if isinstance(error, MemoryError):
        return "out of memory; use a smaller text or shorter n-grams"
    return " ".join(str(error).split())
