"""Numerics of every stage: the arithmetic shared by all x86-64-v3 machines, so that equal inputs give equal bytes on
Intel and AMD.

Libraries choose their kernels by the CPU, and kernels differ in the order in which they add, and in the last digit of a
logarithm. Training a model makes such digits visible. `pin` names one kernel for all. It sets environment variables
that libraries read when they are loaded, so it must run before any of them is imported.

docs/reproducibility.md states the promise, how it was checked, and what it costs.
"""

import os

PINNED = {
    # MKL (matrix products of PyTorch). AMD CPUs ignore AVX2, the faster mode: they get AUTO and other digits.
    # COMPATIBLE, with SSE2 only, gives the same products on both, at half the speed. Layers of networks therefore go
    # through NumPy's OpenBLAS (tokenlab.networks.products), which is pinned below and as fast as MKL unpinned.
    "MKL_CBWR": "COMPATIBLE",
    # Kernels of PyTorch: softmax, GELU and attention differ between AVX2 and AVX-512.
    "ATEN_CPU_CAPABILITY": "avx2",
    # oneDNN (in PyTorch): the exact GELU differs.
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "ONEDNN_DEFAULT_FPMATH_MODE": "STRICT",
    # OpenBLAS of NumPy and of SciPy; Numba's np.dot calls the latter. Most products differ. Haswell's kernels cut sums
    # by a constant, not by the size of a cache (tokenlab.networks.products).
    "OPENBLAS_CORETYPE": "Haswell",
    # NumPy: exp, log and power of float64 have own AVX-512 kernels; sorting breaks ties in another order. NumPy ignores
    # names of features that the CPU lacks.
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    # Numba: sums that may be reordered (hmm_kernels._sum) differ on AMD Zen 4 and 5, with vectors of 512 bits.
    # Without the second variable Numba adds the features of this CPU. Its cache keeps kernels of each name apart.
    "NUMBA_CPU_NAME": "x86-64-v3",
    "NUMBA_CPU_FEATURES": "",
    # Arrow: no difference was found; its kernels are chosen by the CPU all the same.
    "ARROW_USER_SIMD_LEVEL": "AVX2",
    # Threads, as in the Makefile: OpenBLAS splits large products by their number. PyTorch's are a parameter of a stage.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
"""Environment variables and their values."""


def pin() -> None:
    """Set the variables for this process and its children, over whatever the user has set."""
    os.environ.update(PINNED)
    os.environ.pop("NPY_ENABLE_CPU_FEATURES", None)  # NumPy refuses to start with this and NPY_DISABLE_CPU_FEATURES.
