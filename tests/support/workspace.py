"""A copy of the project in its own git repository, with small parameters, to run the real pipeline in."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
CODE = ("flows/", "tasks/", "tests/", "tokenlab/")
"""Where a file that git does not know yet is a new module rather than somebody's own file."""
OF_USERS = ("params.yaml", "dvc.lock")
"""Tracked files that users edit, or whose runs do."""


def make_workspace(folder: Path, **sections: Any) -> Path:
    """A copy of the project that has never run; `sections` replace sections of params.yaml.

    Families without a section here have no corpora and models.
    """
    from tasks.report.page import without_others  # imports Matplotlib, which most tests do not need

    copy_project(folder)
    for compiled in ROOT.glob("tokenlab/**/__pycache__/*.nb?"):  # numba's, valid for files of the same time and size
        target = folder / compiled.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(compiled, target)
    for lock in ("dvc.lock", "data/raw/dvc.lock"):
        (folder / lock).unlink(missing_ok=True)
    shipped, stages = (yaml.safe_load((folder / name).read_bytes()) for name in ("params.yaml", "dvc.yaml"))
    without = without_others(shipped, stages["stages"], [])
    without["patches"]["variants"] = {}  # some name models
    set_parameters(folder, "params.yaml", without | {"concatenated": {}} | sections)
    set_parameters(folder, "data/raw/params.yaml", {"builtin": {"sentences": 400, "questions": 2, "seed": 0}})
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org"]
    for command in (["add", "-A"], ["commit", "-qm", "start"]):
        subprocess.run([*git, *command], cwd=folder, check=True)
    return folder


def copy_project(folder: Path) -> Path:
    """Copy the project as it is shipped, with the code as it is now.

    Edited files of code count, new ones too. What users put into their clone does not: own texts, notebooks, results.
    Parameters and locks are those of git's index, so that tests of the shipped ones pass beside own corpora in
    params.yaml; `git add params.yaml` has the tests use an edited one.
    """
    tracked, untracked = _listed("--cached"), _listed("--others", "--exclude-standard")
    for name in tracked + [name for name in untracked if name.startswith(CODE)]:
        source, target = ROOT / name, folder / name
        if name in tracked and Path(name).name in OF_USERS:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(_git("show", f":{name}"))
        elif source.is_symlink() or source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


def shipped_parameters(preset: str) -> dict[str, Any]:
    """The parameters of a preset as in git's index."""
    path = "params.yaml" if preset == "sample" else f"presets/{preset}/params.yaml"
    return yaml.safe_load(_git("show", f":{path}"))


def _listed(*which: str) -> list[str]:
    return [name for name in _git("ls-files", "-z", *which).decode().split("\0") if name]


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True).stdout


def set_parameters(folder: Path, name: str, sections: dict[str, Any]) -> None:
    """Replace top-level sections of a parameter file of the workspace."""
    path = folder / name
    parameters = yaml.safe_load(path.read_text(encoding="utf-8"))
    path.write_text(yaml.safe_dump(parameters | sections, allow_unicode=True), encoding="utf-8")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `python ARGUMENTS` in the workspace, as one stage or command."""
    environment = os.environ | {"DVC_NO_ANALYTICS": "1", "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    environment.pop("TOKENLAB_PARENT", None)
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True)


SMALL = {
    "corpora": {"zh": {}},
    "seeds": [0, 1],
    "split": {"sentences": 150, "train": 0.7, "validation": 30},
    "statistics": {"n_max": 4, "count_tokens": "ngram", "edge": "skip", "min_frequency": 1, "log_base": "e"},
    "word_models": {"words": {"sweeps": 4}},
    "methods": {
        "literal": {
            "by": "statistics",
            "decoder": "greedy",
            "isolate": "none",
            "single_character": "literal",
            "vbe_weight": 0,
            "weights": [0, 4],
            "entropy_only": True,
        },
        "viterbi": {
            "by": "statistics",
            "decoder": "viterbi",
            "isolate": "script",
            "single_character": "literal",
            "vbe_weight": 0,
            "weights": [1],
            "grid": [0.5, 1],
        },
    },
    "bpe": {"vocabulary_size": 900, "inference": ["raw"]},
    "full": {"methods": ["viterbi"], "vocabulary_size": 1000},
    "export": {"unigram": {}},
    "own_text": {"zh": {"corpus": "zh", "methods": ["viterbi"]}},
}
"""A `segmentation` section whose stages take little more than their start-up time."""


SMALL_CODES = {
    "corpora": {"en": {"codebooks": {"lengths": {2: 2}}, "baselines": ["character", "byte", "random"]}},
    "tables": "data/raw/builtin",
    "latom": {"iterations": 3, "end_state": False, "floor": 1e-300, "backend": "auto"},
    "held_out": {"share": 0.1, "seed": 0, "lengths": [2]},
    "vocabulary_sizes": {"largest": 300, "step": 50, "reported": [100, 300], "held_out": [200, 400]},
}
"""A `codes` section whose stages take little more than their start-up time."""

SMALL_TRAINING = {
    "batch": 8,
    "warmup": 5,
    "weight_decay": 0.1,
    "gradient_clip": 1.0,
    "seed": 0,
    "threads": 1,
    "device": "cpu",
    "dtype": "float32",
}
"""Fields of `training` that all models of the tests share."""

SMALL_EXACT = {
    "markov": {
        "chain": {
            "chain": {"alphabet": ["A", "B"], "order": 2, "seeds": [2, 3]},
            "vocabularies": {
                "mpe": {"encoder": "maximum-prefix", "tokens": ["A", "B", "AA", "BAB"]},
                "bpe": {"encoder": "byte-pair", "merges": [["A", "A"], ["B", "AA"]]},
            },
            "model": {
                "texts": 40,
                "held_out": 4,
                "shape": {"layers": 1, "width": 16, "heads": 2, "context": 24, "dropout": 0.0},
                "training": SMALL_TRAINING
                | {"steps": 20, "learning_rate": 0.01, "final_learning_rate": 0.001, "evaluate_every": 10},
            },
            "prompts": {"count": 3, "longest": 12},
        }
    },
    "held_out": {"share": 0.2, "seed": 0},
    "models": {
        "en": {
            "corpus": "en",
            "vocabulary_size": 280,
            "shape": {"layers": 1, "width": 16, "heads": 2, "context": 48, "dropout": 0.0},
            "training": SMALL_TRAINING
            | {"steps": 20, "learning_rate": 0.01, "final_learning_rate": 0.001, "evaluate_every": 10},
        }
    },
    "evaluated": {
        "en": {
            "model": "models/sample/language_models/en",
            "corpus": "en",
            "device": "cpu",
            "dtype": "float32",
            "threads": 1,
            "scored": 3,
            "prompts": 8,
            "short": {"texts": 2, "bytes": 5},
            "seed": 0,
        }
    },
}
"""An `exact` section whose stages take little more than their start-up time."""

SMALL_LENGTHS = {
    "corpora": {"zh": {"tokenizer": "plain"}},
    "known": [0, 20, 5000],
    "trained": {"bpe": {"vocabulary_size": 500, "characters": 40}},
    "alphas": [2.5, 3],
    "search": {"largest_prefix": 6, "payloads": [2]},
}
"""The part of a `bits` section that `bits_length` reads. A tokenizer must be in the folder `plain`."""

SMALL_TRANSLATION: dict[str, Any] = {
    "translation": {"en-zh": {"source": "en", "target": "zh", "bleu": "zh"}},
    "pilot": {
        "split": {"training": 100, "validation": 4, "test": 6, "seed": 0},
        "longest": 80,
        "vocabulary": {"size": 450, "characters": 70},
        "code": {"mode": "lossless", "prefixes": 4, "emission": "run"},
        "seeds": [0],
        "shape": {"layers": 1, "width": 16, "heads": 2, "feed_forward": 16, "positions": 80, "dropout": 0.1},
        "training": SMALL_TRAINING
        | {"steps": 4, "batch": 200, "learning_rate": 0.01, "warmup": 1, "evaluate_every": 2, "processes": 1},
        "fine_tuning": {
            "initialisations": ["mean", "copy"],
            "seeds": [0],
            "steps": 2,
            "learning_rate": 0.001,
            "warmup": 1,
        },
        "generation": {"longest": 12, "batch": 6, "threads": 1, "device": "cpu", "dtype": "float32"},
        "workers": 1,
        "examples": 2,
    },
}
"""The parts of a `bits` section that the translation stages read; they take little more than their start-up time."""

SMALL_PATCH_TRAINING = {
    "warmup": 0.2,
    "evaluations": 2,
    "batch": 2,
    "learning_rate": 0.01,
    "evaluate_bytes": 600,
    "threads": 1,
}
"""Fields of `training` that all patch models of the tests share."""

SMALL_PATCHES: dict[str, Any] = {
    "texts": {"join": 150, "validation": 0.1, "test": 0.1, "training": 6000, "seed": 0},
    "context": 96,
    "tokenizers": {
        "en": {"source": "data/sample/corpora/en", "vocabularies": [300, 280]},
        "plain": {"source": "plain", "vocabularies": None},
    },
    "longest": [3, 5],
    "corpora": {"en": {"corpus": "en", "gold": "zh", "tokenizer": "en", "vocabulary": 300, "published": ["plain"]}},
    "entropy_model": {
        "stack": {"layers": 1, "width": 16, "heads": 2, "feed_forward": 16},
        "steps": 6,
        "seed": 0,
        "training": SMALL_PATCH_TRAINING,
    },
    "patchers": {
        "bpe": {"kind": "bpe"},
        "space": {"kind": "space", "cap": 6},
        "entropy": {"kind": "entropy", "cap": 6, "target": 4.0, "tolerance": 1.0},
        "entropy-published": {"kind": "entropy", "modelled": False},
        "character": {"kind": "character"},
        "fixed": {"kind": "fixed", "length": 4},
    },
    "sizes": {
        "tiny": {
            "latent": {"layers": 1, "width": 16, "heads": 2, "feed_forward": 16},
            "local": {"layers": 1, "width": 8, "heads": 2, "feed_forward": 8},
        }
    },
    "variants": {
        "bpe-tokens": {"model": "tokens"},
        "bytes": {"model": "bytes"},
        "bpe": {"model": "patches", "patcher": "bpe", "longest": 5},
        "space": {"model": "patches", "patcher": "space", "hash": {"rows": 50, "smallest": 3, "largest": 3}},
        "entropy": {"model": "patches", "patcher": "entropy"},
        "learned": {"model": "chunks"},
        "bpe-v280": {
            "model": "patches",
            "patcher": "bpe",
            "vocabulary": 280,
            "longest": 3,
            "ablation": "vocabulary",
            "seeds": [0],
        },
    },
    "models": {
        "en": {
            "texts": "en",
            "size": "tiny",
            "budget": {"flops": 1e8},
            "seeds": [0],
            "search": {"share": 0.5, "learning_rates": [1e-4, 1e-2]},
        }
    },
    "training": SMALL_PATCH_TRAINING,
    "computation": {"attention": "sdpa"},
    "workers": 1,
    "evaluation": {
        "ngrams": {"longest": 4},
        "prompts": 2,
        "prompt": 20,
        "generated": 10,
        "temperature": 0.8,
        "seed": 0,
    },
    "zero_shot": {"en": {"models": "en", "files": "bench", "limit": 2, "variants": ["bpe-tokens", "space"]}},
}
"""A `patches` section whose stages take little more than their start-up time. A tokenizer must be in the folder
`plain`, files of tasks in `bench`."""


SMALL_COMPARED: dict[str, Any] = {
    "corpora": {"zh": {"corpus": "zh", "vocabulary": 400}},
    "methods": {
        "bpe": {"kind": "tokens", "cut": "gpt2", "seeds": [0, 1, 2]},
        "entropy": {"kind": "tokens", "cut": "entropy"},
        "unigram": {"kind": "tokens", "cut": "auto", "model": "unigram"},
        "bytes": {"kind": "bytes"},
        "characters": {"kind": "code", "code": "character", "merges": False},
        "bits": {"kind": "code", "code": "bits", "cut": "entropy"},
        "bpe-patches": {"kind": "patches", "of": "bpe", "longest": 5},
        "entropy-patches": {"kind": "patches", "of": "entropy", "cap": 6, "target": 3.0, "tolerance": 2.0},
        "code-patches": {"kind": "patches", "of": "space", "cap": 6, "code": "characters"},
        "chunks": {"kind": "chunks", "ratio": 4.0},
        "elsewhere": {"kind": "bytes", "corpora": []},
    },
    "texts": {"join": 200, "validation": 0.1, "test": 0.1, "training": None, "seed": 0},
    "trainings": {
        "body": {
            "latent": {"layers": 1, "width": 16, "heads": 2, "feed_forward": 24},
            "local": {"layers": 1, "width": 8, "heads": 2, "feed_forward": 16},
            "context": 96,
            "batch": 1,
            "learning_rate": 0.01,
            "evaluate_bytes": 600,
        },
        "flops": 2e8,
        "seeds": [0, 1],
        "equal_bytes": {"bytes": 3000, "seeds": [0]},
        "byte_model": {"stack": {"layers": 1, "width": 16, "heads": 2, "feed_forward": 16}, "bytes": 3000},
    },
    "evaluation": {"ngrams": 3, "perturbed": 4, "exact": {"texts": 2, "bytes": 12}, "seed": 0},
    "workers": 1,
}
"""The section `compared`, on a corpus `zh`."""


SMALL_DOWNSTREAM: dict[str, Any] = {
    "corpora": {
        "topics": {
            "path": "tokenlab/generated",
            "format": "topics",
            "languages": {"english": "en", "chinese": "zh"},
            "sentences": 1500,
            "split": {
                "validation": 0.2,
                "test": 0.2,
                "seed": 0,
                "largest": {"train": 200, "validation": 150, "test": 150},
            },
        }
    },
    "classified": {
        "en": {"labelled": "topics", "language": "english", "tokenizers": "models/sample/code_tokenizers/en"}
    },
    "classification": {
        "cuts": {"tokenizers": ["none", "bpe"], "sizes": [120], "unknown": "byte"},
        "seeds": [0, 1],
        "architectures": {
            kind: {
                "shape": {"kind": kind, "layers": 1, "width": 8, "heads": 2, "feed_forward": 16, "positions": 400},
                "texts": 20,
                "steps": 4,
                "learning_rate": 1e-2,
                "evaluate_every": 2,
            }
            for kind in ("transformer", "bilstm")
        },
        "linear": True,
        "workers": 1,
    },
    "language_models": {"en": {"labelled": "topics", "language": "english"}},
    "language_model": {
        "cuts": {"tokenizers": ["bpe"], "sizes": [120], "unknown": "byte"},
        "seeds": [0, 1],
        "stack": {"layers": 1, "width": 16, "heads": 2, "feed_forward": 24},
        "longest": 100,
        "workers": 1,
        "batch": 8,
        "steps": 6,
        "learning_rate": 1e-2,
        "evaluate_every": 3,
    },
    "generation": {"count": 40, "scored": 10, "examples": 2, "length": 12, "top_k": 50, "batch": 20},
}
"""A `downstream` section with small classifiers of built-in sentences."""
