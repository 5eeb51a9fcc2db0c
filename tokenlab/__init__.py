"""tokenlab: how should this text be cut?

Library side of the project: text in, numbers and tokenizers out. Nothing here knows of DVC, Prefect or MLflow.
"""
