"""Errors of libraries in Rust, whose type says nothing."""

import resource

import numpy as np
import pytest
from safetensors.numpy import save_file

from tokenlab.core.errors import of_rust, of_system, one_line


def test_what_the_system_refuses_is_told_from_other_errors(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(Exception, match="File too large") as refused:
            save_file({"weights": np.zeros(1000)}, tmp_path / "model.safetensors")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert of_system(refused.value) and one_line(refused.value).endswith("the space left")
    assert not of_system(Exception("index out of range"))
    assert of_rust(Exception("index out of range")) and "use another one" in one_line(Exception("index out of range"))
