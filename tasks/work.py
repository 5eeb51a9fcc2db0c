"""Where a long stage keeps what it has done so far, so that the next run goes on from there after it was killed.

The folder is `.work/STAGE.VARIANT/HASH`. The hash is of all that the result depends on, so that nothing of other
parameters, inputs, code or versions is taken up. The stage removes it when its outputs are written.
"""

import hashlib
import json
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tasks.stage import Stage

_CODE = ("tasks", "tokenlab")
_PACKAGES = ("torch", "transformers")


def work_folder(stage: Stage, name: str, parameters: dict[str, Any], inputs: Iterable[Path]) -> Path:
    """The folder of a run of the stage `name`, which need not exist.

    Args:
        parameters: all that the result depends on, as JSON has it.
        inputs: folders whose files it depends on, too. So it does on the code of this process, as imported so far.
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
    return Path(".work", f"{name}.{stage.variant}", digest)
