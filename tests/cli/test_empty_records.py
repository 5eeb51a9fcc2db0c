"""An empty record stays a row: every command that prints a row for each text or line, of a text and of JSON lines."""

import json

import pytest
from command import tokenlab_here
from tiny_models import save_bert, save_bytes
from tiny_tokenizers import EXPRESSIONS, byte_level, train

RECORDS = ["", "美好的世纪", "", "", "创造美好", ""]
EMPTY = [place for place, record in enumerate(RECORDS) if not record]
COMMANDS = [
    "segment",
    "segment --json",
    "segment --delimiter |",
    "segment --method words --sweeps 2 --classes 4",
    "segment --model BERT",
    "segment --entropies ENTROPIES",
    "entropy --model BERT --json",
    "bits encode",
    "bits encode --json",
    "bits encode --on-error skip",
    "codes encode --code CODE",
    "patches cut --patcher space",
    "patches cut --patcher bpe --tokenizer BPE --json",
    "exact score --model BYTES --json",
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    (folder / "text.txt").write_text("\n".join(RECORDS) + "\n", encoding="utf-8")
    (folder / "text.jsonl").write_text("".join(json.dumps({"text": record}) + "\n" for record in RECORDS))
    save_bert(folder / "BERT")
    save_bytes(folder / "BYTES")
    train(byte_level(EXPRESSIONS["gpt2"]), RECORDS, 9).save(str(folder / "BPE"))
    text = folder / "text.txt"
    tokenlab_here("codes", "learn", text, "--code", "byte", "-o", folder / "CODE.json")
    tokenlab_here("entropy", text, "--model", folder / "BERT", "-o", folder / "ENTROPIES.jsonl")
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_a_row_for_each_record(tokenlab, files, command):
    places = {"CODE": "CODE.json", "ENTROPIES": "ENTROPIES.jsonl"} | {name: name for name in ("BERT", "BYTES", "BPE")}
    arguments = [files / places[part] if part in places else part for part in command.split()]
    rows = [tokenlab(*arguments, files / f"text.{ending}").splitlines() for ending in ("txt", "jsonl")]
    assert rows[0] == rows[1]
    if command.startswith(
        "exact"
    ):  # Its last row is the total, and the cost of contexts is that of the first of several.
        rows[0] = [row.partition('"characters": ')[2][:2] for row in rows[0][:-1]]
    assert len(rows[0]) == len(RECORDS) and len({rows[0][place] for place in EMPTY}) == 1
    assert rows[0][EMPTY[0]] not in {rows[0][place] for place in range(len(RECORDS)) if place not in EMPTY}
    if command == "bits encode --on-error skip" or command.startswith("codes"):
        back = [*arguments[:1], "decode", *(arguments[2:] if "codes" in command else [])]
        assert tokenlab(*back, stdin="\n".join(rows[1]) + "\n").split("\n")[:-1] == RECORDS
    if command == "bits encode --json":
        assert tokenlab("bits", "decode", "--json", stdin="\n".join(rows[1]) + "\n").split("\n")[:-1] == RECORDS
