"""README.md and what `make readme` writes into it."""

import re
from pathlib import Path

import pytest
import yaml

from tasks.report import readme
from tasks.report.table import read_markdown, read_paper

ROOT = Path(__file__).resolve().parents[3]


def stages() -> set[str]:
    paths = (ROOT / "dvc.yaml", ROOT / "data/raw/dvc.yaml")
    return {name for path in paths for name in yaml.safe_load(path.read_text(encoding="utf-8"))["stages"]}


def test_readme_shows_every_stage():
    found = readme.PIPELINE_SECTION.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found and stages() <= set(re.findall(r"\w+", found[2])), "run `make readme`"


@pytest.mark.slow
def test_the_diagram_has_every_stage_and_its_order():
    diagram = readme.pipeline_diagram(ROOT)
    assert diagram.startswith("flowchart") and stages() == set(re.findall(r"\w+", diagram)) - {"flowchart", "LR"}
    before = {line.split(" --> ")[1]: line.split(" --> ")[0].split() for line in diagram.splitlines()[1:]}
    assert "encode" in before["code_tokenizer"] and "prepare" not in before["report"]


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


def test_figures_of_a_paper_have_ours_of_the_same_measure_beside_them():
    """A heading `paper X` needs a heading that begins with X, or ends with it, in the same table."""
    found = 0
    for path in sorted(readme.KEPT_TABLES["cpu"].parent.glob("*/*.csv")):
        header = path.read_text(encoding="utf-8").splitlines()[0].replace('"', "").split(",")
        for heading in header:
            measure = heading.removeprefix("paper ").split()[0]
            if heading.startswith("paper "):
                found += 1
                others = [other for other in header if other != heading]
                assert any(measure in (other.split("/")[0].split() or [""]) + other.split() for other in others), (
                    path,
                    heading,
                )
    assert found


def test_the_overview_compares_bpe_tokens_with_bpe_tokens():
    """The paper's Table 1 scores tokens: its figure stands beside the BPE F1 of the large table, not the segments'."""
    table, paper = readme.overview_table(), read_paper("entropy_pretokenization")["rows"]
    large = read_markdown((ROOT / "docs/tables/cpu/segmentation-pku.md").read_text(encoding="utf-8"))[0]
    ours = {tuple(row[:2]): row[large[0].index("BPE F1")] for row in large[1:]}
    rows = {"BPE alone": ("bpe", ("BPE alone", "")), "reading `literal`": ("4", ("literal", "4"))}
    rows |= {"reading `self`": ("4", ("self", "4")), "predictive entropy": ("gpt2", ("gpt2", ""))}
    with_figure = [row for row in table.rows if row[table.header.index("paper BPE")]]
    assert len(with_figure) == len(rows)
    for row in with_figure:
        printed, key = next(value for label, value in rows.items() if label in row[0])
        place = table.header.index("paper BPE")
        assert row[place] == f"{paper[printed]['f1']:.2f}" and row[place + 1] == ours[key]
        assert table.header[place + 1].startswith("BPE, ")


@pytest.mark.parametrize("paper", ["entropy_pretokenization", "latom", "exact", "bit_level_bpe", "hierarchical_bpe"])
def test_every_claim_of_a_paper_is_found_in_our_tables(paper):
    table = readme.paper_table(paper)
    assert len(table.rows) == len(read_paper(paper)["claims"]) and all(row[1] and row[2] for row in table.rows)


def test_a_section_may_name_tables_of_another_preset(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for preset in ("cpu", "answer"):
        table = tmp_path / "docs/tables" / preset / "scores.md"
        table.parent.mkdir(parents=True)
        table.write_text(f"of {preset}\n")
    page = tmp_path / "page.md"
    page.write_text("<!-- tables scores answer/scores of `make readme` -->\n<!-- end of tables -->\n")
    readme._rewrite(page, readme._TABLES_SECTION, readme._tables)
    assert page.read_text().split("\n")[2:-2] == ["of cpu", "", "of answer", ""]


def test_a_missing_table_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "README.md").write_text("<!-- tables none of `make readme` -->\n<!-- end of tables -->\n")
    with pytest.raises(SystemExit) as ended:
        readme.main()
    assert ended.value.code == 2 and "make repro PRESET=cpu" in capsys.readouterr().err
