"""Pictures: the same bytes every time, and codes without a style of their own."""

from functools import partial
from pathlib import Path

import report_inputs as inputs

from tasks.report.figures import canvas
from tasks.report.figures.canvas import draw_all
from tasks.report.figures.code_figures import draw_lengths, draw_tables
from tasks.report.figures.segmentation_figures import draw_boundaries
from tasks.report.figures.sentence_picture import draw_sentence
from tasks.report.style import code_lines, line_colours


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_same_data_gives_the_same_bytes(tmp_path):
    rows = {"gold": ["甲乙", "丙"], "viterbi": ["甲", "乙丙"]}
    curves = inputs.code_curves(inputs.CODES)
    for folder in (tmp_path / "first", tmp_path / "second"):
        draw_boundaries(rows, folder / "sentence")
        draw_lengths(curves, "bpe", {2: 3}, 8, folder / "bpe")
        draw_sentence({"viterbi": rows["viterbi"]}, rows["gold"], folder / "readme")
    first = contents(tmp_path / "first")
    assert first == contents(tmp_path / "second") and len(first) == 5


def test_processes_give_the_same_bytes(tmp_path, monkeypatch):
    rows = {"viterbi": ["甲", "乙丙"]}
    draw_all([partial(draw_boundaries, rows, tmp_path / "here" / name) for name in "ab"])
    monkeypatch.setattr(canvas, "_WORTH_PROCESSES", 2)
    draw_all([partial(draw_boundaries, rows, tmp_path / "there" / name) for name in "ab"])
    assert contents(tmp_path / "here") == contents(tmp_path / "there")


def test_unknown_codes_have_a_name_and_colours_of_their_own():
    lines = code_lines(["latom", "toy", "toy2"])
    assert lines["toy"].label == "toy" and len({line.colour for line in lines.values()}) == 3
    assert len(line_colours(map(str, range(20)))) == 20


def test_unknown_codes_are_drawn(tmp_path):
    curves = inputs.code_curves(inputs.CODES | {"toy": None, "shaped": 2})
    draw_tables(curves, 2, 3, 8, tmp_path / "tables")
    draw_lengths(curves, "bpe", {2: 3}, 8, tmp_path / "bpe")
    known = inputs.code_curves(inputs.CODES)
    draw_lengths(known, "bpe", {2: 3}, 8, tmp_path / "known")
    assert (tmp_path / "bpe.svg").read_bytes() != (tmp_path / "known.svg").read_bytes()
    assert (tmp_path / "tables.png").exists()
