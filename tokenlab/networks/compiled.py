"""What a network compiled by torch.compile leaves out."""

from collections.abc import Callable
from typing import TypeVar

import torch

Function = TypeVar("Function", bound=Callable[..., object])


def outside(function: Function) -> Function:
    """The function as a compiled network calls it: as it is, between two compiled parts.

    Not a decorator: `torch.compiler.disable` imports torch._dynamo, which takes seconds, in every process.
    """
    return torch.compiler.disable(function) if torch.compiler.is_compiling() else function
