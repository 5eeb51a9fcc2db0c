"""Every stage: its arguments, its parameters, its paths, and its exit status.

`python -m tasks.FAMILY.STAGE PARAMS_FILE [VARIANT]` runs one stage from the root of the project. Parameters are checked
before any work. An error that the user can fix is one line on standard error and exit status 2.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model
from pydantic.dataclasses import dataclass

from tasks.runtime.params import numbers_from_booleans, read_params
from tokenlab.core.errors import EXIT_STATUS, ParameterError, TokenlabError, of_system, one_line
from tokenlab.core.files import write_text
from tokenlab.core.parent_death import die_with_parent


class Parameters(BaseModel):
    """A section that belongs to the pipeline alone. Its fields may be dataclasses of options of the library."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Options = TypeVar("Options")


class MixedParameters(Parameters):
    """A section whose undeclared keys are options of the library, as in `{by: entropy, rule: rise, threshold: -0.5}`.

    They are the fields of a dataclass of the library, which alone declares and checks them.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    def library_options(self, kind: type[Options], **others: Any) -> Options:
        """The undeclared keys, and `others`, as a dataclass of the library.

        Raises pydantic's ValidationError naming the key, or the ParameterError of the dataclass.
        """
        checked = dataclass(kind, frozen=True, config=ConfigDict(extra="forbid"))
        values: Mapping[str, Any] = {**(self.model_extra or {}), **others}
        found = TypeAdapter(checked).validate_python(values)
        for name, value in numbers_from_booleans(values, found):
            raise ParameterError(f"{name} is {value}; it should be a number")
        return kind(**vars(found))


Section = TypeVar("Section")


class Stage(NamedTuple):
    """One run of a stage."""

    params_file: str
    preset: str
    variant: str
    sections: dict[str, Any]

    def parameters(self, section: str, kind: type[Section]) -> Section:
        """A section such as `corpora.zh`, checked.

        kind: a subclass of `Parameters`, a dataclass of options of the library, or a type such as `list[int]`. Raises
        ParameterError naming the parameter.
        """
        found: Any = self.sections
        for name in section.split("."):
            if not isinstance(found, dict) or name not in found:
                raise ParameterError(f"{self.params_file}: {section} is missing; add it")
            found = found[name]
        # Inside a model with one field, so that unknown names are errors in dataclasses, too.
        model = create_model("Section", __config__=ConfigDict(extra="forbid"), value=(kind, ...))
        try:
            checked = model.model_validate({"value": found}).value  # type: ignore[attr-defined]
            wrong = next(numbers_from_booleans(found, checked, section), None)
            if wrong is None:
                return checked
            message = "{} is {}; it should be a number".format(*wrong)
        except ValidationError as error:
            problem = error.errors()[0]
            where = ".".join([section, *map(str, problem["loc"][1:])])
            message = f"{where}: {problem['msg']} (it is {problem['input']!r})"
        except ParameterError as error:  # The library's own check of its options.
            message = f"{section}: {error}"
        raise ParameterError(f"{self.params_file}: {message}")

    def entries(self, section: str, kind: type[Section]) -> dict[str, Section]:
        """A section of named entries of one kind. Raises ParameterError as `parameters`."""
        names = self.parameters(section, dict[str, Any])
        return {name: self.parameters(f"{section}.{name}", kind) for name in names}

    def data(self, *parts: str) -> Path:
        """A place under the preset's data folder."""
        return Path("data", self.preset, *parts)

    def models(self, *parts: str) -> Path:
        """A place under the preset's models folder."""
        return Path("models", self.preset, *parts)

    def reports(self, *parts: str) -> Path:
        """A place under the preset's reports folder."""
        return Path("reports", self.preset, *parts)


def run(work: Callable[[Stage], None]) -> None:
    """Run a stage with the arguments of this process, and end the process."""
    die_with_parent()
    try:
        if len(sys.argv) not in (2, 3):
            raise ParameterError("a stage takes a parameter file and, if it has variants, the name of one")
        params_file, variant = sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else ""
        sections = read_params(Path(params_file), params_file)
        work(Stage(params_file, str(sections.get("preset", "")), variant, sections))
    except KeyError:
        # A name in the parameters that refers to nothing. The runner has checked them; a bare `dvc repro` has not.
        pipeline = str(Path(sys.argv[1]).with_name("dvc.yaml"))
        checked = subprocess.run([sys.executable, "-m", "tasks.parameters.check", pipeline], capture_output=True)
        problems = json.loads(checked.stdout or "{}").get(pipeline, {}).get("problems")
        if not problems:
            raise
        _end(problems[0])
    except Exception as error:
        if not (isinstance(error, (TokenlabError, MemoryError)) or of_system(error)):
            raise
        _end(one_line(error))


def _end(problem: str) -> None:
    print(f"{Path(sys.argv[0]).stem} {' '.join(sys.argv[2:])}: {problem}", file=sys.stderr)
    sys.exit(EXIT_STATUS)


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Write JSON; equal values give equal bytes."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n")
