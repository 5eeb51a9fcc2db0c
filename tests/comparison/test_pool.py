"""Work in processes of their own: an error ends these and no others."""

import multiprocessing
import time

import pytest

from tokenlab.comparison.candidates import token_recipe
from tokenlab.comparison.pool import run_trials, trained_candidates
from tokenlab.comparison.trials import Body, Budget, Trial
from tokenlab.core.errors import ClusterError, InputError
from tokenlab.networks.options import StackShape


def test_no_trials_have_no_scores(tmp_path):
    assert run_trials([], tmp_path, 2) == []


def test_an_error_ends_the_processes_of_the_pool_alone(tmp_path):
    stack, nowhere = StackShape(1, 16, 2, 24), tmp_path / "nowhere"
    body = Body(stack, stack, context=64, evaluate_bytes=256)
    trial = Trial("bpe", nowhere, seed=0, body=body, budget=Budget("flops", 1e6), training=nowhere, held_out=nowhere)
    ours = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(600,))
    ours.start()
    try:
        with pytest.raises(InputError, match="nowhere"):
            run_trials([trial], tmp_path, 1)
        assert ours.is_alive() and multiprocessing.active_children() == [ours]
    finally:
        ours.kill()
        ours.join()


def test_a_process_that_is_killed_is_an_error_of_one_line(tmp_path):
    def kill(begun):
        for process in multiprocessing.active_children():
            process.kill()

    with pytest.raises(ClusterError, match="killed"):
        trained_candidates([token_recipe("bytes", "none", 256)], ["a text"], tmp_path, kill)
