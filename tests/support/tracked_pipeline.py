"""A small real pipeline with a tracked stage: a row for each corpus, method, seed and use of BPE, and a drawing stage.

    make(folder)
    toy_pipeline.repro(folder)

`python tests/support/tracked_pipeline.py` is `python -m flows track` with the view of this pipeline.
"""

import functools
import sys
from pathlib import Path

import toy_pipeline
import yaml

import flows.__main__
from flows.tracking.synchronise import track
from tasks.views import File, Question, View

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
    params = yaml.safe_load(Path("params.yaml").read_text())
    rows = [
        {"corpus": corpus, "method": method, "weight": weight, "seed": seed, "bpe": bpe, "size": size,
         "f1": (seed + 1) / (len(method) + 10 * (len(seeds) + 1)), "recall": 0.5, "segments": 10 + seed,
         "param.digits": params["scores"]["digits"],
         "param.method.merge": params["methods"][method]["merge"],
         "param.method.wideness": None if weight is None else params["methods"][method]["wideness"]}
        for seed in seeds for method, weight in methods.items() for bpe, size in (("none", None), ("raw", 100 + seed))
    ]
    folder = Path("reports/sample", corpus)
    folder.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(folder / "scores.parquet")
if name == "draw":
    Path("reports/sample/figures", corpus).mkdir(parents=True)
    Path("reports/sample/figures", corpus, "f1.svg").write_text(Path("colour.txt").read_text())
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
      params: [methods, bpe, scores.seeds, effort]
      outs: ["models/sample/${key}"]
  evaluate:
    foreach: ${corpora}
    do:
      cmd: exec python stage.py evaluate ${key}
      deps: ["data/sample/${key}.txt", "models/sample/${key}"]
      params: [scores, methods]
      outs: ["reports/sample/${key}/scores.parquet"]
      meta: {tags: [scores]}
  draw:
    foreach: ${corpora}
    do:
      cmd: exec python stage.py draw ${key}
      deps: [colour.txt, "reports/sample/${key}/scores.parquet"]
      outs: ["reports/sample/figures/${key}"]
"""

VIEW = View(
    stage="evaluate",
    question=Question("words", "Where do words end?"),
    table="reports/{preset}/{key}/scores.parquet",
    key=["corpus", "method", "seed", "bpe"],
    facts=["weight"],
    repeats=["seed"],
    label={"corpus": "{}", "method": "{}", "weight": "λ={}", "bpe": {"raw": "BPE"}, "seed": "seed {}"},
    metrics=["f1", "recall", "size"],
    only={"train": {"bpe": ["raw"]}},
    artefacts=[
        File("models/{preset}/{key}/{seed}/{method}/tokenizer.json", {"bpe": ["raw"]}),
    ],
    figures=[File("reports/{preset}/figures/{key}/f1.svg")],
    tags={"paper": "A paper", "language": {"corpus": {"zh": "Chinese"}}},
)

TRACKING = [sys.executable, str(Path(__file__))]
"""The command that tracks this pipeline, with the view above."""

PARAMS = {
    "corpora": {"zh": {"format": "text"}, "own": {"format": "lines"}},
    "methods": {"plain": {"merge": True, "wideness": 0}, "wide": {"merge": False, "wideness": 7}},
    "bpe": {"vocabulary": 100},
    "effort": {"threads": 2},
    "scores": {"seeds": [0, 1], "digits": 3},
}

_FILES = {
    "stage.py": _STAGE,
    "dvc.yaml": _PIPELINE,
    "texts/zh.txt": "zh\n",
    "texts/own.txt": "own\n",
    "colour.txt": "blue",
    ".gitignore": "/data/\n/models/\n/reports/\n/.mlflow/\n/.work/\n/.prefect/\n/.env\n",
}


def make(folder: Path) -> Path:
    """Write the pipeline into the new folder `folder`; return it."""
    made = toy_pipeline.make(folder, _FILES)
    set_params(made)
    toy_pipeline.commit(made)
    return made


def set_params(folder: Path, **sections: object) -> None:
    """Write params.yaml with these sections in place of the default ones."""
    (folder / "params.yaml").write_text(yaml.safe_dump(PARAMS | sections), encoding="utf-8")


if __name__ == "__main__":
    flows.__main__.track = functools.partial(track, views=[VIEW])
    sys.exit(flows.__main__.main(["track"]))
