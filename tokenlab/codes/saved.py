"""Codes from files: `read_code`. The document is checked; nothing in it is executed."""

from pathlib import Path

from tokenlab.codes.base.document import check_type, read_document
from tokenlab.codes.base.interface import Code
from tokenlab.codes.registry import KINDS
from tokenlab.core.errors import InputError, ParameterError


def read_code(path: str | Path) -> Code:
    """Read a code that `write_code` wrote.

    Raises InputError where there is no such file, or it is not the document of a code, or the document contradicts
    itself.
    """
    document = read_document(path)
    try:
        check_type(document, "facts", dict)
        check_type(document, "kind", str)
        if document["kind"] not in KINDS:
            raise ValueError(f"kind is {document['kind']!r}")
        return KINDS[document["kind"]].load_code().of_document(document)
    except (KeyError, TypeError, ValueError, AttributeError, ParameterError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else error
        raise InputError(f"{path}: a damaged code ({what}); make it again with `tokenlab codes learn`") from None
