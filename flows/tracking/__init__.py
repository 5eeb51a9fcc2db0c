"""MLflow: its store, and the runs in it."""

from pathlib import Path

FOLDER = Path(".mlflow")
"""The folder of MLflow's store in a workspace."""

DATABASE, ARTEFACTS = FOLDER / "mlruns.db", FOLDER / "artifacts"
