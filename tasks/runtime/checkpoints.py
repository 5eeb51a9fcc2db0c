"""Folders for checkpoints of a long stage, so that the next run resumes after an interruption.

The folder is `.work/STAGE.VARIANT/HASH`. The hash covers everything that determines the result, so checkpoints of other
parameters, inputs, code or versions are never used. The stage removes the folder when its outputs are written.
"""

import hashlib
import json
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

_CODE = ("tasks", "tokenlab")
_PACKAGES = ("torch", "transformers")


def checkpoint_folder(name: str, parameters: dict[str, Any], inputs: Iterable[Path]) -> Path:
    """The folder for a run of the stage and variant `name`, as STAGE.VARIANT. It may not exist yet.

    The hash includes the code that this process has imported so far.

    Args:
        parameters: all parameters of the result, as values of JSON.
        inputs: folders of its input files.
    """
    used: dict[str, Any] = {"parameters": parameters, "versions": {name: version(name) for name in _PACKAGES}}
    modules = [module for module_name, module in sys.modules.items() if module_name.split(".")[0] in _CODE]
    code = {Path(module.__file__) for module in modules if module.__file__}
    main = getattr(sys.modules["__main__"], "__file__", None)
    files = {*code, *([Path(main)] if main else []), *(path for folder in inputs for path in folder.iterdir())}
    for path in sorted(files):
        with path.open("rb") as file:
            used[str(path)] = hashlib.file_digest(file, "sha256").hexdigest()
    digest = hashlib.sha256(json.dumps(used, sort_keys=True).encode()).hexdigest()[:16]
    return Path(".work", name, digest)
