"""Stage `public_model`: a language model from the Hugging Face hub at one revision, beside the models trained here.

Fetches configuration, tokenizer and safetensors only; DVC stores the files and records their hash.
"""

import shutil

from tasks.runtime.stage import Parameters, Stage, run
from tokenlab.core.files import atomic_folder
from tokenlab.pretrained.loading import fetch_model


class PublicModel(Parameters):
    """Name on the hub, and a commit, tag or pull request there (`refs/pr/1`); null is the current main branch."""

    name: str
    revision: str | None


def fetch(stage: Stage) -> None:
    """Write the folder."""
    model = stage.parameters(f"entropy.public.{stage.variant}", PublicModel)
    fetched = fetch_model(model.name, model.revision)
    with atomic_folder(stage.models("entropy_models", stage.variant)) as folder:
        for path in sorted(fetched.iterdir()):
            shutil.copyfile(path, folder / path.name)  # Follows the links of the hub's cache.


if __name__ == "__main__":
    run(fetch)
