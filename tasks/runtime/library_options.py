"""Options of the library among other keys of a parameter section.

A section of params.yaml may mix keys of the pipeline with options of the library, as in
`{by: entropy, rule: rise, threshold: -0.5, grid: [...]}`. A `MixedParameters` declares the keys of the pipeline; all
other keys are fields of a dataclass of the library, which alone declares and checks them.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass

from tasks.runtime.stage import Parameters

Options = TypeVar("Options")


class MixedParameters(Parameters):
    """A section whose undeclared keys are options of the library; subclasses check them with `library_options`."""

    model_config = ConfigDict(extra="allow", frozen=True)

    def library_options(self, kind: type[Options], **others: Any) -> Options:
        """The undeclared keys, and `others`, as a dataclass of the library.

        Raises pydantic's ValidationError naming the key, or the ParameterError of the dataclass.
        """
        checked = dataclass(kind, frozen=True, config=ConfigDict(extra="forbid"))
        values: Mapping[str, Any] = {**(self.model_extra or {}), **others}
        return kind(**vars(TypeAdapter(checked).validate_python(values)))
