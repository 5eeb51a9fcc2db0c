"""The commands of docs/languages give what the pages say, on a few sentences in place of the text that they download
and with ten steps of training.

No process but `tokenlab` itself may import tokenlab.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from workspace import ROOT

PAGES = ROOT / "docs/languages"
SENTENCES = {
    "thai": "วันนี้อากาศดีมาก|แมวนอนอยู่บนโต๊ะ|ฉันชอบอ่านหนังสือ|เราไปตลาดด้วยกัน|เขากินข้าวแล้ว|โรงเรียนอยู่ใกล้บ้าน",
    "burmese": "ကျွန်တော် ကျောင်းသွားတယ်။|မိုးရွာနေတယ်။|သူစာအုပ်ဖတ်နေတယ်။|ဒီနေ့ရာသီဥတုသာယာတယ်။|ကျွန်မ ထမင်းစားပြီးပြီ။",
    "finnish": "Kissa nukkuu pöydällä.|Tänään sataa vettä.|Menen kouluun aamulla.|Talossamme on kolme huonetta.",
}
ALONE = """
import sys
if not any(part.endswith("/tokenlab") for part in sys.orig_argv[1:2]):
    sys.modules["tokenlab"] = None  # importing it raises ModuleNotFoundError
"""


def test_every_page_is_tested():
    assert {page.stem for page in PAGES.glob("*.md")} == SENTENCES.keys()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="the pages download by curl")
@pytest.mark.parametrize(
    "language", [pytest.param(name, marks=[pytest.mark.nightly] * (name != "thai")) for name in SENTENCES]
)
def test_commands(tmp_path, language):
    page = (PAGES / f"{language}.md").read_text(encoding="utf-8")
    commands, outputs = (
        "".join(re.findall(rf"^```{kind}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)) for kind in ("sh", "console")
    )
    (address,) = re.findall(r"https://raw\.[^\s\"']*/", commands)
    served = tmp_path / "served"
    served.mkdir()
    lines = [sentence for sentence in SENTENCES[language].split("|") for _ in range(30)]
    for name in ("BurJudson", "FinPR"):
        verses = [f"[1:{number}] {line}" for number, line in enumerate(lines, 1)]
        (served / f"{name}.txt").write_text("\n".join(["### Genesis", "", *verses, ""]), encoding="utf-8")
    for number, name in enumerate(("neg", "neu", "pos", "q")):
        (served / f"{name}.txt").write_text("\n".join(lines[number::4]) + "\n", encoding="utf-8")
    program = "docs/languages/small_model.py"
    content = (ROOT / program).read_text(encoding="utf-8")
    assert content.count("STEPS = 128, 16, 300\n") == 1
    (tmp_path / program).parent.mkdir(parents=True)
    (tmp_path / program).write_text(content.replace("16, 300\n", "16, 10\n"), encoding="utf-8")
    (tmp_path / "sitecustomize.py").write_text(ALONE)
    paths = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands.replace(address, f"{served.as_uri()}/")],
        capture_output=True, text=True, cwd=tmp_path, env=os.environ | paths,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    text = (tmp_path / f"texts/{language}.txt").read_text(encoding="utf-8")
    assert sorted(text.splitlines()) == sorted(lines)
    assert {path.name for path in (tmp_path / "texts/model").iterdir()} >= {"model.safetensors", "tokenizer.json"}
    assert shape(done.stdout) == shape(outputs)


def shape(output):
    """The lines without numbers and generated text."""
    lines = output.partition("text:")[0].splitlines()
    return [re.sub(r" *[\d,.]+", " 0", line) for line in lines if not line.startswith("step")]
