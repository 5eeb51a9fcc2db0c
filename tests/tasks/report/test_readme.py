"""README.md and what `make readme` writes into it."""

import re
from pathlib import Path

import pytest
import yaml

from tasks.report import readme
from tasks.report.pipeline_diagram import pipeline_diagram

ROOT = Path(__file__).resolve().parents[3]


def test_readme_has_the_pipeline_of_dvc_yaml():
    found = readme.PIPELINE_SECTION.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found and found[2] == readme.diagram_section(ROOT), "run `make readme`"


def test_the_diagram_has_every_stage():
    stages = {
        name
        for path in ("dvc.yaml", "data/raw/dvc.yaml")
        for name in yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))["stages"]
    }
    diagram = pipeline_diagram(ROOT)
    assert stages == set(re.findall(r"\b[a-z_]+\b", diagram)) & stages


def test_arrows_join_stages_by_their_files(tmp_path):
    raw = {"stages": {"download": {"foreach": ["a"], "do": {"outs": [{"data/raw/${item}": {"persist": True}}]}}}}
    family = {"tags": ["corpora"]}
    pipeline = {
        "stages": {
            "prepare": {
                "foreach": "${corpora}",
                "do": {"deps": ["${item.path}"], "outs": ["data/${key}"], "meta": family},
            },
            "count": {"foreach": "${corpora}", "do": {"deps": ["data/${key}"], "metrics": ["counts/${key}.json"]}},
            "report": {"deps": ["counts", "data", "tasks/report"], "outs": ["index.html"]},
        }
    }
    for path, value in {
        "data/raw/dvc.yaml": raw,
        "dvc.yaml": pipeline,
        "params.yaml": {"corpora": {"zh": {"path": "data/raw/a/x.txt"}}},
        "presets/cpu/params.yaml": {"corpora": {"ja": {"path": "data/raw/a"}}},
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(yaml.safe_dump(value, sort_keys=False), encoding="utf-8")
    arrows = [line.strip() for line in pipeline_diagram(tmp_path).splitlines() if "-->" in line]
    assert arrows == ["download --> prepare", "prepare --> count", "count --> report"]


def test_readme_is_short():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 175
    sections = re.findall(r"<!-- tables ([^\n]*) of `make readme` -->", text)
    assert len(sections) == 1 and len(sections[0].split()) == 1


@pytest.mark.parametrize("page", ["README.md", *sorted(path.name for path in (ROOT / "docs").glob("*.md"))])
def test_links_lead_somewhere(page):
    path = ROOT / page if page == "README.md" else ROOT / "docs" / page
    for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


def test_a_missing_table_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "README.md").write_text("<!-- tables none of `make readme` -->\n<!-- end of tables -->\n")
    with pytest.raises(SystemExit) as ended:
        readme.main()
    assert ended.value.code == 2 and "make repro PRESET=cpu" in capsys.readouterr().err
