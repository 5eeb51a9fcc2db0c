"""Checks before any work: numbers that no text needs, folders that hold no model."""

from pathlib import Path

from tokenlab.core.errors import InputError, ParameterError

_MOST = 10**9
"""More bytes or symbols than any text or token here has; larger numbers overflow in compiled code."""


def check_most(flag: str, value: float | None) -> None:
    """Refuse a number that is too large. Raises ParameterError naming the flag."""
    if value is not None and value > _MOST:
        raise ParameterError(f"{flag} is {value}; it must be at most {_MOST}")


def check_model_folder(name: str) -> None:
    """Refuse what is no folder of `save_language_model`, before PyTorch is loaded. Raises InputError."""
    folder = Path(name)
    if folder.is_file():
        raise InputError(f"{name}: a file, and no folder of a language model; name the folder of one")
    if not (folder / "language.json").is_file():
        raise InputError(
            f"{name}: no folder of a language model, since it has no language.json; name one that stage train_patch_lm "
            "wrote, such as models/sample/patch_models/en/bpe-seed0"
        )
