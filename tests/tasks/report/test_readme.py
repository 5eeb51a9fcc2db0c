"""What `make readme` writes into the pages."""

import csv
import re

import pytest
import yaml
from workspace import ROOT

from tasks.report import readme
from tasks.report.papers import PAPERS, claims, ours, paper_tables, printed
from tasks.report.patches import variant_name
from tasks.report.svg import LARGEST
from tasks.report.table import Table, read_markdown, read_paper


def stages() -> set[str]:
    paths = (ROOT / "dvc.yaml", ROOT / "data/raw/dvc.yaml")
    return {name for path in paths for name in yaml.safe_load(path.read_text(encoding="utf-8"))["stages"]}


def test_the_page_of_the_pipeline_shows_every_stage():
    found = readme.PIPELINE_SECTION.search((ROOT / "docs/pipeline.md").read_text(encoding="utf-8"))
    assert found and stages() <= set(re.findall(r"\w+", found[2])), "run `make readme`"


@pytest.mark.slow
def test_the_diagram_has_every_stage_and_its_order():
    diagram = readme.pipeline_diagram(ROOT)
    assert diagram.startswith("flowchart") and stages() == set(re.findall(r"\w+", diagram)) - {"flowchart", "LR"}
    before = {line.split(" --> ")[1]: line.split(" --> ")[0].split() for line in diagram.splitlines()[1:]}
    assert "encode" in before["code_tokenizer"] and "prepare" not in before["report"]


def shipped() -> dict[str, Table]:
    """The tables of `answer` and `cpu` in git, name -> table; those of `cpu` where both have one."""
    paths = [path for preset in ("answer", "cpu") for path in sorted((ROOT / readme.KEPT_TABLES[preset]).glob("*.md"))]
    return {path.stem: read_markdown(path.read_text(encoding="utf-8")) for path in paths}


def test_a_column_of_a_paper_stands_beside_ours_of_the_same_measure():
    """`paper X` needs a column X; a bare `paper` needs claims that name our column for each of its figures."""
    claimed = {(claim["table"], claim["row"][0]) for name in PAPERS for claim in claims(name)}
    for path in sorted((ROOT / "docs/tables").glob("*/*.csv")):
        header, *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
        assert len(set(header)) == len(header), path
        for place, heading in enumerate(header):
            if heading == "paper":
                assert {(path.stem, row[0]) for row in rows if row[place]} <= claimed
            elif heading.startswith("paper "):
                first, *others = heading.removeprefix("paper ").split(" / ")  # BPE P / R / F1: three measures
                for measure in (first, *(f"{first.rpartition(' ')[0]} {other}" for other in others)):
                    like = re.compile(rf"(.*, )?{re.escape(measure)}([,/].*| [↓↑])?")
                    assert any(like.fullmatch(other) for other in header), (path, heading)


COMPARED = {
    str(path.relative_to(ROOT)): read_markdown(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "docs/tables").glob("*/compared-*.md"))
}
BESIDE_NGRAMS = {
    name: table
    for name, table in COMPARED.items()
    if "bits/byte ↓" in table.header and any("grams of bytes" in row[0] for row in table.rows)
}


@pytest.mark.parametrize("table", BESIDE_NGRAMS.values(), ids=BESIDE_NGRAMS)
def test_methods_behind_ngrams_are_named(table):
    bits = {row["method"]: float(row["bits/byte ↓"].partition(" ")[0]) for row in table.records}
    lowest = min(value for method, value in bits.items() if "grams" in method)
    behind = [method for method, value in bits.items() if value > lowest and "grams" not in method]
    all_named = any("every way of cutting" in note for note in table.notes)
    assert all_named or not behind or any(note.endswith(": " + ", ".join(behind)) for note in table.notes)


COLUMNS = {"f1": "BPE F1", "characters": "|C|", "K": "K, N = {}", "length": "bytes/patch", "shorter": "0 known"}
COLUMNS |= {"bleu": "BLEU", "relative_gain": "relative gain", "errors": "decode errors", "bpb": "BPB ↓"}
COLUMNS |= {"fertility": "fertility"}
"""Measure of a paper's figure -> our column."""
ROWS = {"bpe": "BPE alone", "gpt2": "gpt2", "slimpajama": "en", "skypile": "zh"}
ROWS |= {"bytes": "byte fallback", "bits": "bit-level", "slimpajama.bpe": "gpt2", "skypile.bpe": "llama3"}
"""Row of a paper, or its corpus -> ours; others have the same name."""


@pytest.mark.parametrize("paper", PAPERS)
def test_a_figure_of_a_paper_is_held_against_the_same_measure_and_row(paper):
    tables, readings = shipped(), set()
    for claim in claims(paper):
        assert ours(tables, claim), f"{claim['table']} has no {claim['row']} with {claim['column']}"
        if "." not in claim["printed"]:
            continue
        section, *names = claim["printed"].split(".")
        measure = section if section in COLUMNS else next(name for name in names if name in COLUMNS)
        assert claim["column"] == COLUMNS[measure].format(names[-1])
        assert float(printed(paper, claim))
        if section == "rows" and names[0] not in ROWS:  # Table 1: both readings
            reading, *weight = claim["row"] if len(claim["row"]) > 1 else claim["row"][0].split(", ")
            assert weight == [{"entropy": "entropy only"}.get(names[0], names[0])] and reading in claim["place"]
            readings.add((names[0], reading))
        elif claim["table"] == "patch-models":
            assert claim["row"] == [ROWS[names[0]], variant_name(names[1])]
        else:
            known = names[: names.index(measure)] if measure in names else names
            row = [ROWS.get(name, name) for name in known]
            assert claim["row"] == [*row[:1], *(ROWS.get(".".join(known), name) for name in row[1:])]
    if paper == "entropy_pretokenization":
        statistical = set(read_paper(paper)["rows"]) - set(ROWS)
        assert readings == {(row, reading) for row in statistical for reading in ("literal", "self")}


@pytest.mark.parametrize("preset", sorted(readme.KEPT_TABLES.keys() - {"sample"}))  # The text of `sample` is made up.
def test_the_tables_of_papers_quote_the_tables_beside_them(preset):
    paths = sorted((ROOT / readme.KEPT_TABLES[preset]).glob("*.md"))
    tables = [read_markdown(path.read_text(encoding="utf-8"))._replace(name=path.stem) for path in paths]
    quoting = {table.name: table.rows for table in tables if table.name.startswith("paper-")}
    others = [table for table in tables if table.name not in quoting]
    assert {table.name: table.rows for table in paper_tables(others, preset)} == quoting


@pytest.mark.parametrize("page", readme._TABLE_PAGES, ids=str)
def test_pages_show_the_tables_in_git(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = page.read_text(encoding="utf-8")
    assert readme._TABLES_SECTION.sub(readme._tables, text) == text, "run `make readme`"


def test_figures_are_small():
    assert all(path.stat().st_size <= LARGEST for path in (ROOT / "docs/figures").glob("*"))


def test_the_overview_has_one_measure():
    """Word F1 of what a method cuts: of its segments, and of the tokens of BPE alone."""
    table = readme.overview_table()
    large, full = (
        read_markdown((ROOT / f"docs/tables/cpu/segmentation-{name}.md").read_text(encoding="utf-8")).records
        for name in ("pku", "pku-full")
    )
    f1 = [
        {row["method"]: row["BPE F1" if row["method"].startswith("BPE") else "F1"] for row in found}
        for found in (large, full)
    ]
    shown = [[row[0].partition(":")[0], *row[1:3]] for row in table.rows]
    known = [row for row in shown if row[0] in f1[0]]
    assert len(known) >= 5 and known == [[name, f1[0][name], f1[1][name]] for name, *_ in known]
    assert table.rows[-1][0].startswith("words") and all(table.rows[-1]) and not any("paper" in c for c in table.header)


def test_a_missing_table_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "README.md").write_text("<!-- tables none of `make readme` -->\n<!-- end of tables -->\n")
    with pytest.raises(SystemExit) as ended:
        readme.main()
    assert ended.value.code == 2 and "make repro PRESET=cpu" in capsys.readouterr().err


def test_a_run_of_one_family_leaves_the_tables_of_the_others(tmp_path):
    made, kept = tmp_path / "made", tmp_path / "kept"
    for folder, names in ((kept, ["a.md", "b.md"]), (made, ["b.md", "c.csv", "results.txt", "families.txt"])):
        folder.mkdir()
        for name in names:
            (folder / name).write_text(folder.name)
    readme.keep_tables(made, kept)
    assert {path.name: path.read_text() for path in kept.iterdir()} == {"a.md": "kept", "b.md": "made", "c.csv": "made"}
    (made / "families.txt").unlink()
    readme.keep_tables(made, kept)
    assert sorted(path.name for path in kept.iterdir()) == ["b.md", "c.csv", "results.txt"]
