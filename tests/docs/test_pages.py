"""What the pages name is there: links, files, targets of make, commands and their options."""

import re

import pytest
from workspace import ROOT

from tokenlab.cli.commands import arguments_of, command_parser

_DOCS = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs/languages").glob("*.md")])
PAGES = ["README.md", "CONTRIBUTING.md", *(str(path.relative_to(ROOT)) for path in _DOCS)]
CODE = ("tokenlab", "tasks", "flows", "benchmarks", "tests")
OWN = r"`((?:tokenlab|tasks|flows|benchmarks|tests)/[\w./-]+?\.\w+)`"
"""A file of ours, by its path."""


@pytest.fixture(scope="module")
def commands() -> dict[str, set[str]]:
    """Command -> its options and those of the commands below it."""
    (below,) = (action for action in command_parser()._actions if isinstance(action.choices, dict))
    return {
        name: {flag for action in arguments_of(parser) for flag in action.option_strings}
        for name, parser in below.choices.items()
    }


@pytest.mark.parametrize("page", PAGES)
def test_links_files_and_targets_are_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#:]+)[)#]", text)
    assert not [target for target in links if not (ROOT / page).parent.joinpath(target).exists()]
    paths = {ROOT / path for path in re.findall(OWN, text)}
    assert not [path for path in paths if not path.exists()]
    modules = {path.name for package in CODE for path in ROOT.glob(f"{package}/**/*.py")}
    assert set(re.findall(r"`(\w+\.py)`", text)) <= modules
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+)(?=`| +#| PRESET| ONLY|$)", text, re.MULTILINE)) <= targets


def test_readme_is_short_and_leads_to_every_page() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pages = {f"docs/{path.name}" for pattern in ("*.md", "*.ipynb") for path in (ROOT / "docs").glob(pattern)}
    assert len(readme.splitlines()) <= 120 and pages <= set(re.findall(r"\]\(([^)#]+)[)#]", readme))


@pytest.mark.parametrize("page", PAGES)
def test_commands_have_the_options(page: str, commands: dict[str, set[str]]) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:sh|console)\n(.*?)```", text, re.DOTALL)
    for line in "\n".join(blocks).replace("\\\n", " ").splitlines():
        for name, rest in re.findall(r"(?:^|[\s|])tokenlab ([a-z]+)([^|#]*)", line.partition("  #")[0]):
            assert name in commands, line
            assert set(re.findall(r"(?<=\s)--?[a-zA-Z][\w-]*", rest)) <= commands[name], line
