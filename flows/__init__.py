"""What walks the pipeline and keeps its workspace whole. The pipeline itself stands in dvc.yaml; no science here."""
