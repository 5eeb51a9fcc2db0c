"""`python -m benchmarks [NAME ...]`: tables of docs/benchmarks.md. `python -m benchmarks gpu`: what a GPU is for."""

import sys
from importlib import import_module


def _main() -> int:
    module, *arguments = sys.argv[1:] or ["tables"]
    if module in ("gpu", "answer_gpu", "gpu_table"):  # They import little, for machines that have little.
        status: int = import_module(f"benchmarks.{module}").main(arguments)
        return status
    from benchmarks.tables import main

    return main()


if __name__ == "__main__":
    sys.exit(_main())
