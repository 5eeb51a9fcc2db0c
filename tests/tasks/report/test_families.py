"""The report of some families: the others are as if they had no corpora and models."""

from pathlib import Path

import pytest
import report_inputs as inputs
import yaml
from workspace import ROOT

from tasks.report.page import report, without_others

STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_bytes())["stages"]
SECTIONS = yaml.safe_load((ROOT / "params.yaml").read_bytes())


def test_other_families_have_no_variants_and_keep_their_settings() -> None:
    shown = without_others(SECTIONS, STAGES, ["codes", "bits"])
    for name in ("preset", "corpora", "concatenated", "codes", "bits"):
        assert shown[name] == SECTIONS[name]
    assert [shown["segmentation"][name] for name in ("corpora", "own_text")] == [{}, {}]
    assert shown["segmentation"]["methods"] == SECTIONS["segmentation"]["methods"]
    assert [shown["entropy"][name] for name in ("models", "public", "scored")] == [{}, {}, {}]
    assert [shown["patches"][name] for name in ("corpora", "models", "tokenizers", "zero_shot")] == [{}] * 4
    assert shown["compare"]["measured"] == {}
    assert SECTIONS["segmentation"]["corpora"], "the parameters themselves are as they were"


def test_page_and_tables_have_the_families_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of `segmentation` are in the parameters, and were never made."""
    stage = inputs.stage(segmentation=["zh"], codes=["en"], measured=["zh"])
    monkeypatch.chdir(tmp_path)
    Path("dvc.yaml").write_bytes((ROOT / "dvc.yaml").read_bytes())
    inputs.write_codes(stage, "en", inputs.CODES)
    old = stage.reports("tables", "segmentation-gone.md")
    old.parent.mkdir(parents=True)
    old.touch()
    report(stage._replace(params_file="params.yaml", variant="codes"))
    tables = {path.name for path in old.parent.iterdir()}
    assert "codes-sizes.md" in tables and not any(name.startswith("segmentation") for name in tables)
    assert stage.reports("tables", "results-codes.txt").read_text().startswith("generated text\n\n")
    assert stage.reports("tables", "families.txt").read_text() == "codes\n"
    page = stage.reports("index.html").read_text(encoding="utf-8")
    assert 'id="codes-en"' in page and 'id="words-zh"' not in page
