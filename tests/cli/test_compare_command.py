"""`tokenlab compare` as a user runs it: bad input before any work, the folder, the same bytes after an interruption."""

import json
import re
import shlex
import subprocess

import pytest
from command import PROGRAM
from command import tokenlab_here as tokenlab
from full_disk import no_file_above
from interrupted import files
from killing import wait_until

from tokenlab.cli.compare import _exactly, _how_made
from tokenlab.comparison.candidates import read_candidate, token_recipe, train_candidates
from tokenlab.generated import generate

LINES = [document.text for document in generate("en", sentences=1200, seed=2)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A text and two tokenizers."""
    folder = tmp_path_factory.mktemp("compare")
    (folder / "text.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    train_candidates([token_recipe("bytes", "none", 256), token_recipe("bpe", "gpt2", 300)], LINES, folder)
    return folder


def test_the_command_of_a_candidate_makes_it(folder, tmp_path):
    recipe = token_recipe("bpe", "gpt2", 300)
    command = shlex.split(_how_made(recipe))
    tokenlab(*command[1:2], folder / "text.txt", *command[2:], "-o", tmp_path / "made")
    assert (tmp_path / "made/tokenizer.json").read_bytes() == (folder / "bpe/tokenizer.json").read_bytes()


@pytest.mark.parametrize(("flops", "shown"), [(3e10, "3e+10"), (1234567891.0, "1234567891.0")])
def test_flops_are_shown_exactly(flops, shown):
    assert _exactly(flops) == shown and float(shown) == flops


@pytest.mark.slow
def test_a_killed_comparison_goes_on_to_the_same_bytes(folder, tmp_path):
    given = [folder / "text.txt", folder / "bytes", folder / "bpe", "--flops", "3e10", "--seeds", "2", "--batch", "1"]
    printed = tokenlab("compare", *given, "-o", tmp_path / "whole", "--json")
    whole, result = files(tmp_path / "whole"), json.loads(printed)
    assert {"index.html", "table.tsv", "result.json"} < set(whole)
    assert json.loads(whole["result.json"]) == result and result["answer"]
    for row in result["candidates"]:
        assert row["training_flops"] == pytest.approx(3e10, rel=0.02)
        coder = read_candidate(tmp_path / "whole/candidates" / row["name"])
        assert len(coder.spellings) == row["entries"]
    assert not (tmp_path / "whole.unfinished").exists()
    printed = "tokenlab compare text.txt bytes bpe --flops 3e+10 --seeds 2 --batch 1 -o FOLDER"
    assert result["settings"]["again"] == printed

    command = ["compare", *given, "--workers", "1", "-o", tmp_path / "parts"]
    process = subprocess.Popen([*PROGRAM, *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    unfinished = tmp_path / "parts.unfinished"
    wait_until(lambda: process.poll() is not None or [*unfinished.rglob("scores-*/*.safetensors")])
    assert process.poll() is None
    process.kill()
    process.wait()
    assert not (tmp_path / "parts").exists()
    (unfinished / "another").mkdir()
    tokenlab(*command)
    assert files(tmp_path / "parts") == whole and [path.name for path in unfinished.iterdir()] == ["another"]


@pytest.mark.slow
def test_a_budget_that_is_said_to_be_enough_is(folder, tmp_path):
    given = ["compare", folder / "text.txt", folder / "bpe", folder / "bytes", "--seeds", "2", "--batch", "1"]
    said = tokenlab(*given, "-o", tmp_path / "out", "--flops", "1e6", status=2)
    left = rf"; the work in {re.escape(str(tmp_path))}/out\.unfinished is kept\n"
    enough = re.search(rf"too few to train the models; use at least (\S+){left}", said).group(1)
    assert (tmp_path / "out.unfinished").is_dir()
    again = tokenlab(*given[:2], *given[3:1:-1], *given[4:], "-o", tmp_path / "out", "--flops", "1e6", status=2)
    assert f"use at least {enough};" in again  # in any order
    tokenlab(*given, "-o", tmp_path / "out", "--flops", enough)


@pytest.mark.slow
@pytest.mark.parametrize("most", [60_000, 300_000])  # There is room for the text, and then for tokenizers.
def test_a_disk_that_is_full_is_one_line(folder, tmp_path, most):
    with no_file_above(most):
        said = tokenlab("compare", folder / "text.txt", "--flops", "3e10", "-o", tmp_path / "out", status=2)
    assert f"{tmp_path}/out.unfinished/" in said and "cannot be written" in said
    assert said.endswith("make room or name another place\n")
    assert not (tmp_path / "out").exists()
