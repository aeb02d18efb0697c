"""The plain Triton kernels in the interpreter, against the float64 recurrence: every case of the contract, in fp32."""

import json
from pathlib import Path

import pytest

FP32 = 2e-6  # measured 1e-7 to 7e-7
REGIMES = ["strong", "registry", "slow", "mixed", "bound"]


@pytest.fixture(scope="module")
def ask(interpreting):
    """Put one request to the interpreted kernels; the answer."""
    return lambda **request: interpreting.run(Path(__file__).with_name("interpreted.py"), json.dumps(request))


@pytest.mark.parametrize("regime", REGIMES)
def test_every_regime_with_bounded_gates(ask, regime):
    found = ask(shape=[1, 100, 1], regime=regime)
    assert found["o"] < FP32 and found["state"] < FP32


@pytest.mark.parametrize("regime", ["mixed", "slow"])
def test_every_gate_without_a_bound(ask, regime):
    found = ask(shape=[1, 70, 1], regime=regime, options={"lower_bound": None})
    assert found["o"] < FP32 and found["state"] < FP32


def test_gates_far_below_the_window_are_right_without_a_bound(ask):
    found = ask(shape=[1, 64, 1], regime="mixed", gate_factor=40.0, options={"lower_bound": None})
    assert found["o"] < FP32 and found["state"] < FP32


def test_only_chunks_that_leave_the_range_are_done_again(ask):
    # bfloat16 inputs: first the fast form, which overflows in the channels of strong gates, then the repair
    found = ask(shape=[1, 130, 1], regime="mixed", gate_factor=4.0, dtype="bfloat16", options={"lower_bound": None})
    assert found["o"] < 4e-3 and found["state"] < FP32


def test_gates_far_below_a_promised_bound_give_nan_and_no_small_wrong_number(ask):
    assert ask(shape=[1, 64, 1], regime="bound", gate_factor=3.0)["nan"]


@pytest.mark.parametrize("factor", [1.05, 1.088, 1.092, 1.1, 1.15])
def test_around_the_end_of_the_window_outputs_are_right_or_nan(ask, factor):
    found = ask(shape=[1, 64, 1], regime="bound", gate_factor=factor)
    assert found["nan"] or (found["o"] < 1e-3 and found["state"] < 1e-3)


@pytest.mark.parametrize("tokens", [1, 63, 65])
def test_lengths_that_are_no_multiple_of_the_chunk_in_two_batch_entries(ask, tokens):
    found = ask(shape=[2, tokens, 1], regime="registry")
    assert found["o"] < FP32 and found["state"] < FP32


def test_without_an_initial_state(ask):
    found = ask(shape=[1, 80, 1], regime="slow", with_state=False)
    assert found["o"] < FP32 and found["state"] < FP32


def test_packed_sequences_of_different_lengths_one_of_them_empty(ask):
    found = ask(shape=[1, 150, 2], regime="slow", options={"cu_seqlens": [0, 5, 5, 80, 150]})
    assert found["o"] < FP32 and found["state"] < FP32


def test_gate_sigmoid_and_norm_in_the_kernel(ask):
    found = ask(shape=[1, 70, 2], regime="slow", raw=True)
    assert found["o"] < FP32 and found["state"] < FP32


def test_softplus_gates_in_the_kernel(ask):
    found = ask(shape=[1, 40, 2], regime="registry", raw=True, options={"lower_bound": None})
    assert found["o"] < FP32 and found["state"] < FP32


def test_keys_that_come_normalised_and_a_scale_of_ones_own(ask):
    found = ask(shape=[1, 70, 1], regime="slow", options={"normalize": False, "scale": 0.01})
    assert found["o"] < FP32 and found["state"] < FP32


def test_nearly_equal_keys_that_are_rewritten_fully(ask):
    found = ask(shape=[1, 128, 1], regime="slow", similar_keys=0.95)
    assert found["o"] < 1e-5 and found["state"] < 1e-5


def test_bfloat16_in_gives_bfloat16_out(ask):
    found = ask(shape=[1, 70, 1], regime="registry", dtype="bfloat16")
    assert found["dtype"] == "torch.bfloat16" and found["o"] < 4e-3 and found["state"] < FP32
