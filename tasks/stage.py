"""What every stage shares: its arguments, its parameters, its paths, and how it ends.

`python -m tasks.NAME PARAMS_FILE [VARIANT]` runs one stage from the root of the project. Parameters are checked before
any work; what a user can mend is one line on standard error and exit status 2.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from tasks.lifeline import die_with_parent
from tokenlab.errors import EXIT_STATUS, ParameterError, TokenlabError, one_line
from tokenlab.files import write_text


class Parameters(BaseModel):
    """A section of the parameters: unknown names are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Section = TypeVar("Section", bound=Parameters)


class Stage(NamedTuple):
    """One run of a stage."""

    params_file: str
    preset: str
    variant: str
    sections: dict[str, Any]

    def parameters(self, section: str, model: type[Section]) -> Section:
        """A section such as `corpora.zh`, checked. Raises ParameterError naming the parameter."""
        found: Any = self.sections
        for name in section.split("."):
            if not isinstance(found, dict) or name not in found:
                raise ParameterError(f"{self.params_file}: {section} is missing; add it")
            found = found[name]
        try:
            return model.model_validate(found)
        except ValidationError as error:
            problem = error.errors()[0]
            where = ".".join([section, *map(str, problem["loc"])])
            raise ParameterError(
                f"{self.params_file}: {where}: {problem['msg']} (it is {problem['input']!r})"
            ) from None

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
            raise ParameterError("a stage takes the file of parameters and, where it has variants, the variant")
        params_file, variant = sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else ""
        sections = _read_parameters(params_file)
        work(Stage(params_file, str(sections.get("preset", "")), variant, sections))
    except (TokenlabError, OSError, MemoryError) as error:
        print(f"{Path(sys.argv[0]).stem} {' '.join(sys.argv[2:])}: {one_line(error)}", file=sys.stderr)
        sys.exit(EXIT_STATUS)


def _read_parameters(path: str) -> dict[str, Any]:
    try:
        sections = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ParameterError(f"{path}: not YAML ({error}); mend it") from None
    if not isinstance(sections, dict):
        raise ParameterError(f"{path}: not a mapping of sections; mend it")
    return sections


def read_json(path: Path) -> Any:
    """Read JSON that another stage wrote."""
    return json.loads(path.read_text(encoding="utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Write JSON that is the same for the same value."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n")
