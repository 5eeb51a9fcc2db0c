"""tokenlab: how should this text be cut?

The library of the project: text in, numbers and tokenizers out. It is independent of DVC, Prefect and MLflow.
"""
