"""A stage computes with the kernels that all x86-64-v3 machines share, whatever the user's environment says."""

import json
import os
import platform
import re
import subprocess
import sys

import pytest
from workspace import ROOT

# MKL and oneDNN say what they use in their traces, the others in reports of their own.
REPORTS = """
import json, sys
{before}
early = sorted(sys.modules.keys() & {{"numpy", "scipy", "torch", "numba", "pyarrow", "polars"}})
import numpy, pyarrow, scipy.linalg.blas, torch
from numba import njit
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
from threadpoolctl import threadpool_info

@njit
def first(x):
    return x[0]

first(numpy.ones(3))
with torch.backends.mkl.verbose(torch.backends.mkl.VERBOSE_ON):
    torch.ones(4, 4) @ torch.ones(4, 4)
with torch.backends.mkldnn.verbose(torch.backends.mkldnn.VERBOSE_ON):
    torch.nn.functional.conv1d(torch.ones(2, 4, 10), torch.ones(4, 4, 3))
print()
print(json.dumps({{
    "imported before": early,
    "NumPy": [name for name in __cpu_dispatch__ if __cpu_features__[name]],
    "OpenBLAS": [pool["architecture"] for pool in threadpool_info() if pool["internal_api"] == "openblas"],
    "PyTorch": torch.backends.cpu.get_cpu_capability(),
    "Numba": first.targetctx.codegen().magic_tuple()[1:],
    "Arrow": pyarrow.runtime_info().simd_level,
}}))
"""

PINNED = {
    "imported before": [],
    "NumPy": ["X86_V3"],
    "OpenBLAS": ["Haswell", "Haswell"],  # NumPy's and SciPy's
    "PyTorch": "AVX2",
    "MKL": "COMPATIBLE",
    "oneDNN": "Intel AVX2",
    "Numba": ["x86-64-v3", ""],
    "Arrow": "avx2",
}

CONTRARY = {
    "MKL_CBWR": "AUTO",
    "ATEN_CPU_CAPABILITY": "default",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "OPENBLAS_CORETYPE": "Nehalem",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3",
    "NUMBA_CPU_NAME": "nehalem",
    "NUMBA_CPU_FEATURES": "+sse4.2",
    "ARROW_USER_SIMD_LEVEL": "SSE4_2",
}
"""What a user may have set; every value differs from the pinned one."""

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="numerics are pinned on x86-64")


def test_a_stage_has_the_pinned_kernels_whatever_the_user_set():
    assert reports("import tasks", CONTRARY | {"NPY_ENABLE_CPU_FEATURES": "X86_V3"}) == PINNED


def test_without_stages_the_user_decides():
    found = reports("", CONTRARY)
    assert all(found[library] != pinned for library, pinned in PINNED.items() if library != "imported before"), found


def reports(before: str, user: dict[str, str]) -> dict:
    """What the libraries report in a new process in which `before` runs before they are imported."""
    clean = {name: value for name, value in os.environ.items() if name not in CONTRARY | user}
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", REPORTS.format(before=before)],
        cwd=ROOT, env=clean | user, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    modes = {
        "MKL": re.findall(r"^MKL_VERBOSE SGEMM.* CNR:(\S+)", done.stdout, re.MULTILINE),
        "oneDNN": re.findall(r"^onednn_verbose,v1,info,cpu,isa:(.*)", done.stdout, re.MULTILINE),
    }
    assert all(modes.values()), done.stdout
    return json.loads(done.stdout.splitlines()[-1]) | {library: found[0] for library, found in modes.items()}
