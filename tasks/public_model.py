"""Stage `public_model`: a language model of the Hugging Face hub at one revision, a folder beside those trained here.

Configuration, tokenizer and safetensors alone; DVC keeps the bytes and records their hash.
"""

import shutil

from tasks.stage import Parameters, Stage, run
from tokenlab.entropy.loading import fetch_model
from tokenlab.files import atomic_folder


class PublicModel(Parameters):
    """Name on the hub, and a commit, tag or pull request there (`refs/pr/1`); null is the main branch of today."""

    name: str
    revision: str | None


def fetch(stage: Stage) -> None:
    """Write the folder."""
    model = stage.parameters(f"entropy.public.{stage.variant}", PublicModel)
    fetched = fetch_model(model.name, model.revision)
    with atomic_folder(stage.models("entropy_models", stage.variant)) as folder:
        for path in sorted(fetched.iterdir()):
            shutil.copyfile(path, folder / path.name)  # what links in the hub's cache point to


if __name__ == "__main__":
    run(fetch)
