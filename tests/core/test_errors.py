"""Errors of libraries in Rust, whose type says nothing."""

import numpy as np
import pytest
from full_disk import no_file_above
from safetensors.numpy import save_file

from tokenlab.core.errors import InputError, of_rust, of_system, one_line


def test_what_the_system_refuses_is_told_from_other_errors(tmp_path):
    with no_file_above(100), pytest.raises(Exception, match="File too large") as refused:
        save_file({"weights": np.zeros(1000)}, tmp_path / "model.safetensors")
    assert of_system(refused.value) and one_line(refused.value).endswith("the space left")
    assert not of_system(Exception("index out of range"))
    ours = InputError("out: cannot be written (File too large (os error 27)); make room")
    assert not of_system(ours) and one_line(ours) == str(ours)
    assert of_rust(Exception("index out of range")) and "use another one" in one_line(Exception("index out of range"))
