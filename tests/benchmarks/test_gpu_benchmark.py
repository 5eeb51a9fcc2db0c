"""The measurements for a GPU at toy size on a CPU: every part is in the file, a part that fails is a line, and nothing
is imported that a bare machine lacks."""

import json
import subprocess
import sys

import pytest
from workspace import ROOT

from benchmarks import gpu, gpu_table

_BARE = """
import sys
for name in ("polars", "pydantic", "pyarrow", "sentencepiece", "psutil", "mlflow", "prefect", "dvc"):
    sys.modules[name] = None
from benchmarks.__main__ import _main
sys.exit(_main())
"""


def test_parts_that_fail_are_lines_and_the_others_are_kept(tmp_path, monkeypatch, capsys):
    def fails(card, facts):
        facts["found"] = 1
        raise RuntimeError("no kernel\nfor this")

    def succeeds(card, facts):
        facts["before"] = [*json.loads((tmp_path / "gpu.json").read_text())["parts"]]

    parts = {"first": fails, "second": succeeds}
    monkeypatch.setattr(gpu, "PARTS", parts)
    monkeypatch.setattr(gpu.torch.cuda, "is_available", lambda: False)
    assert gpu.main(["--quick", "--json", str(tmp_path / "gpu.json")]) == 1
    report = json.loads((tmp_path / "gpu.json").read_text())
    first, second = report["parts"].values()
    assert first["error"] == "RuntimeError: no kernel for this" and first["found"] == 1
    assert second["before"] == ["first"] and second["seconds"] >= 0 and "error" not in second
    assert report["device"] == "CPU" and report["torch"]
    again = ["--quick", "second", "--json", str(tmp_path / "gpu.json")]
    assert gpu.main(again) == 0
    kept = json.loads((tmp_path / "gpu.json").read_text())["parts"]
    assert kept["first"] == first and kept["second"]["before"] == ["first", "second"]
    (tmp_path / "gpu.json").write_text(json.dumps(report | {"torch": "1.0"}))
    with pytest.raises(SystemExit):
        gpu.main(again)
    assert "another device" in capsys.readouterr().err


def test_without_a_gpu_only_toy_sizes_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(gpu.torch.cuda, "is_available", lambda: False)
    for arguments, message in (([], "--quick"), (["--quick", "nothing"], "no part nothing")):
        with pytest.raises(SystemExit):
            gpu.main([*arguments, "--json", str(tmp_path / "gpu.json")])
        assert message in capsys.readouterr().err


def test_the_page_has_the_tables_of_the_file():
    report = json.loads((ROOT / "docs/gpu.json").read_text())
    page = (ROOT / "docs/benchmarks.md").read_text()
    assert "\n".join(gpu_table.tables(report)) in page


@pytest.mark.slow
def test_all_parts_on_a_bare_machine(tmp_path):
    command = [sys.executable, "-c", _BARE, "gpu", "--quick", "--json", str(tmp_path / "gpu.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    parts = json.loads((tmp_path / "gpu.json").read_text())["parts"]
    assert [*parts] == [*gpu.PARTS]
    assert parts["entropy"]["float32"]["greatest_difference_nats"] < 1e-4
    for part, peer in (("gpt_step", "GPT2LMHeadModel"), ("translation", "MarianMTModel"), ("masks", "causal_sdpa")):
        assert parts[part][peer]
    assert parts["masks"]["greatest_difference"] < 1e-5
    assert parts["exact"]["stepping"]["calls_per_byte"] <= 1.5
    assert {"bpe", "space", "learned"} <= parts["patch_step"].keys()
