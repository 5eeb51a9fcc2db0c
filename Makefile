# tokenlab: `make repro` runs the whole pipeline; the first call sets up .venv.

PRESET ?= sample
ONLY ?=
QUESTION ?= segmentation
RUN := .venv/bin/python
STAMP := .venv/installed

# Nothing reports home, and nothing is fetched by surprise.
export DVC_NO_ANALYTICS := 1
export DO_NOT_TRACK := 1
export MLFLOW_DISABLE_TELEMETRY := true
export PREFECT_SERVER_ANALYTICS_ENABLED := false
export PREFECT_HOME := $(CURDIR)/.prefect
# Modules are compiled when first imported, and kept: many short processes would compile them again and again.
export PYTHONDONTWRITEBYTECODE :=
# Stages and tests share the cores between processes, and results do not depend on the number of cores.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
# Which Python .venv is made with; see setup.sh.
export PYTHON
# No other variable of Python reaches what runs here: a PYTHONPATH or a user's site-packages has other packages than .venv.
unexport $(filter-out PYTHON PYTHONDONTWRITEBYTECODE,$(filter PYTHON%,$(.VARIABLES)))
export PYTHONNOUSERSITE := 1
ifdef TOKENLAB_MIRROR
export TOKENLAB_MIRROR := $(abspath $(TOKENLAB_MIRROR))
endif

.PHONY: help repro reproduced track compare ui test test-slow test-nightly bench lint presets api tour readme
.DEFAULT_GOAL := help

help: ## list these targets
	@echo "make repro [PRESET=sample|news|cpu|answer|paper] [ONLY=tag]    and:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "Variables: PYTHON=/path/to/python to set up with; TOKENLAB_MIRROR=folder with copies of the raw data"

repro: $(STAMP) ## run the stages that are out of date, then show the results
	@exec env TOKENLAB_PARENT=$$PPID $(RUN) -m flows run --preset '$(PRESET)' $(if $(ONLY),--only '$(ONLY)')

reproduced: $(STAMP) ## compare the results of the preset sample with the committed dvc.lock and tables
	@exec $(RUN) -m flows reproduced

track: $(STAMP) ## bring MLflow up to date with the results
	@exec env TOKENLAB_PARENT=$$PPID $(RUN) -m flows track --preset '$(PRESET)'

compare: track ## serve MLflow and print the addresses that compare the answers to a QUESTION
	@exec env TOKENLAB_PARENT=$$PPID $(RUN) -m flows.pages --compare '$(QUESTION)'

ui: track ## serve Prefect, MLflow and the reports on this machine
	@exec env TOKENLAB_PARENT=$$PPID $(RUN) -m flows.pages

test: export HF_HUB_OFFLINE := 1
test: $(STAMP) ## run the quick tests
	@exec $(RUN) -m pytest -m "not slow and not nightly" -n 2 --dist loadfile --max-worker-restart 0

test-slow: export HF_HUB_OFFLINE := 1
test-slow: $(STAMP) ## run the slow tests
	@exec $(RUN) -m pytest -m "slow and not nightly" -n 2 --dist loadfile --max-worker-restart 0

test-nightly: export HF_HUB_OFFLINE := 1
test-nightly: $(STAMP) ## run the tests of every real tokenizer, many kills and other revisions
	@exec $(RUN) -m pytest -m nightly -n 2 --dist loadfile --max-worker-restart 0

lint: $(STAMP) ## check style and types
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(RUN) -m mypy

bench: $(STAMP) ## time the library beside its peers
	@exec $(RUN) -m benchmarks

api: $(STAMP) ## write docs/api.md, the public names of the library
	@exec $(RUN) docs/api_page.py

tour: $(STAMP) ## run docs/tour.ipynb and write its outputs
	@exec $(RUN) docs/notebook.py

presets: ## copy an edited dvc.yaml to the presets in use
	@for copy in presets/*/dvc.yaml; do [ ! -e "$$copy" ] || cp --remove-destination dvc.yaml "$$copy"; done

readme: $(STAMP) ## write the tables, the diagram and the examples of README.md and docs/
	@exec $(RUN) -m tasks.report.readme

$(STAMP): requirements.lock pyproject.toml
	@exec ./setup.sh
