"""The report of some families, with which `make repro ONLY=FAMILY` ends.

`python -m tasks.report.sections.families PARAMS_FILE FAMILY,...` writes the page and the tables of the stage `report`
as if the parameters had no corpora and models of the other families. The next run of the whole preset replaces them.
`families.txt` beside the tables names the families.
"""

from pathlib import Path
from typing import Any

import yaml

from tasks.report.page import report
from tasks.runtime.stage import Stage, run


def report_families(stage: Stage) -> None:
    """Write the report of the families that the second argument names."""
    shown = stage.variant.split(",")
    pipeline = yaml.safe_load(Path(stage.params_file).with_name("dvc.yaml").read_bytes())
    sections = without_others(stage.sections, pipeline["stages"], shown)
    report(stage._replace(variant="", sections=sections), families=shown)


def without_others(sections: dict[str, Any], stages: dict[str, Any], shown: list[str]) -> dict[str, Any]:
    """The parameters without the variants of other families: all that their stages loop over is empty."""
    found = {name: {**section} if isinstance(section, dict) else section for name, section in sections.items()}
    for stage in stages.values():  # `foreach: ${segmentation.corpora}`; the texts themselves, `${corpora}`, stay
        family, _, name = str(stage.get("foreach", "")).removeprefix("${").removesuffix("}").partition(".")
        if name in sections.get(family, {}) and stage["do"]["meta"]["tags"][0] not in shown:
            found[family][name] = type(sections[family][name])()
    return found


if __name__ == "__main__":
    run(report_families)
