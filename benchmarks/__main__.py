"""`python -m benchmarks [NAME ...]`: tables of docs/benchmarks.md. `python -m benchmarks gpu`: what a GPU is for."""

import sys


def _main() -> int:
    if sys.argv[1:2] == ["gpu"]:  # imports little, for machines that have little
        from benchmarks.gpu import main as measure

        return measure(sys.argv[2:])
    if sys.argv[1:2] == ["answer_gpu"]:
        from benchmarks.answer_gpu import main as train

        return train(sys.argv[2:])
    if sys.argv[1:] == ["gpu_table"]:
        from benchmarks.gpu_table import main as write

        return write()
    from benchmarks.tables import main

    return main()


if __name__ == "__main__":
    sys.exit(_main())
