"""Running the pipeline of dvc.yaml, tracking its results and serving pages about them; no science here."""
