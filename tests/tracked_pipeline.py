"""A small real pipeline whose last stage is tracked: corpora x methods x seeds, a tokenizer for each.

make(folder)
repro(folder)
"""

import subprocess
import sys
from pathlib import Path

import killing
import yaml
from toy_pipeline import write_files

_STAGE = """
import json
import sys
from pathlib import Path

import polars as pl
import yaml

name, corpus = sys.argv[1], sys.argv[2]
seeds = yaml.safe_load(Path("params.yaml").read_text())["scores"]["seeds"]
methods = {"plain": None, "wide": 2.5}
if name == "prepare":
    Path("data/sample").mkdir(parents=True, exist_ok=True)
    Path("data/sample", corpus + ".txt").write_text(corpus * 3)
if name == "train":
    for seed in seeds:
        for method in methods:
            folder = Path("models/sample", corpus, str(seed), method)
            folder.mkdir(parents=True)
            (folder / "tokenizer.json").write_text(json.dumps([corpus, seed, method]))
if name == "evaluate":
    rows = [
        {"corpus": corpus, "method": method, "weight": weight, "seed": seed, "bpe": bpe, "size": size,
         "f1": (seed + 1) / (len(method) + 10 * (len(seeds) + 1)), "recall": 0.5}
        for seed in seeds for method, weight in methods.items() for bpe, size in (("none", None), ("raw", 100 + seed))
    ]
    folder = Path("reports/sample", corpus)
    folder.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(folder / "scores.parquet")
"""

_PIPELINE = """
stages:
  prepare:
    foreach: ${corpora}
    do:
      cmd: exec python stage.py prepare ${key}
      deps: ["texts/${key}.txt"]
      params: ["corpora.${key}"]
      outs: ["data/sample/${key}.txt"]
  train:
    foreach: ${corpora}
    do:
      cmd: exec python stage.py train ${key}
      deps: ["data/sample/${key}.txt"]
      params: [methods, bpe, scores.seeds]
      outs: ["models/sample/${key}"]
  evaluate:
    foreach: ${corpora}
    do:
      cmd: exec python stage.py evaluate ${key}
      deps: ["data/sample/${key}.txt", "models/sample/${key}"]
      params: [scores]
      outs: ["reports/sample/${key}/scores.parquet"]
      meta:
        track:
          question: {name: words, asks: "Where do words end?"}
          rows: reports/sample/${key}/scores.parquet
          key: [corpus, method, seed, bpe]
          facts: [weight]
          repeats: [seed]
          name: [corpus, method, {weight: "λ={}"}, {bpe: {raw: BPE}}, {seed: "seed {}"}]
          columns: [f1, recall, size]
          choose: {corpora: corpus, methods: method, scores.seeds: seed}
          only: {bpe: {bpe: [raw]}, methods.*.wideness: {weight: any}}
          artefacts:
            - {path: "models/sample/${key}/{seed}/{method}/tokenizer.json", where: {bpe: [raw]}}
            - {path: "reports/sample/${key}/scores.parquet"}
          tags: {paper: A paper, language: {corpus: {zh: Chinese}}}
"""

PARAMS = {
    "corpora": {"zh": {"format": "text"}, "own": {"format": "lines"}},
    "methods": {"plain": {"merge": True, "wideness": 0}, "wide": {"merge": False, "wideness": 7}},
    "bpe": {"vocabulary": 100},
    "scores": {"seeds": [0, 1], "digits": 3},
}

_FILES = {
    "stage.py": _STAGE,
    "dvc.yaml": _PIPELINE,
    "texts/zh.txt": "zh\n",
    "texts/own.txt": "own\n",
    ".gitignore": "/data/\n/models/\n/reports/\n/.mlflow/\n/.work/\n/.prefect/\n",
    ".dvc/config": "[core]\n    analytics = false\n    check_update = false\n",
    ".dvc/.gitignore": "/tmp\n/cache\n/site-cache\n",
}


def make(folder: Path) -> Path:
    """Write the pipeline into the new folder `folder`; return it."""
    write_files(folder, _FILES)
    set_params(folder)
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "start"]):
        subprocess.run([*git, *command], cwd=folder, check=True)
    return folder.resolve()


def set_params(folder: Path, **sections: object) -> None:
    """Write params.yaml with these sections in place of the usual ones."""
    (folder / "params.yaml").write_text(yaml.safe_dump(PARAMS | sections), encoding="utf-8")


def repro(folder: Path) -> None:
    """Run the pipeline, as a user who works with DVC alone would."""
    path = f"PATH={Path(sys.executable).parent}:/usr/bin:/bin"
    status, output = killing.run(["env", path, sys.executable, "-m", "dvc", "repro", "-q"], folder)
    assert status == 0, output
