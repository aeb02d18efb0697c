"""`kda_forward` by its Gluon kernels, from the arguments to the outputs, on a CPU: their launches are the real ones."""

import importlib

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from headway.tasks.kda import forward, kda_forward, kda_reference, launch, make_case  # noqa: E402
from headway.tasks.kda.reference import log_gates, relative_error  # noqa: E402

from .gluon_on_cpu import Box, Pointer, kernels  # noqa: E402


class OnCpu:
    """Stands where a compiled kernel stands: `kernel[grid](...)` runs its text, program after program."""

    def __init__(self, body, place):
        self.body, self.place = body, place

    def __getitem__(self, grid):
        def run(*args, num_warps, launch_pdl=False, **flags):
            assert num_warps == 4  # and launched early or not, a kernel here waits for the one before
            for program in [(x, y) for y in range((*grid, 1)[1]) for x in range(grid[0])]:
                self.place.program, self.place.programs = program, (*grid, 1)
                self.body(*(self.seen(x) for x in args), **flags)

        return run

    @staticmethod
    def seen(x):
        """A tensor as a pointer, a descriptor as boxes of its matrix."""
        if torch.is_tensor(x):
            return Pointer(x)
        return Box(x.base) if hasattr(x, "block_shape") else x


@pytest.fixture(autouse=True)
def gluon_on_cpu(monkeypatch):
    prep, scan, place = kernels()
    for name, body in (("prep", prep), ("scan", scan)):
        module = importlib.import_module(f"headway.tasks.kda.{name}_gluon")
        monkeypatch.setattr(module, name, OnCpu(body, place))
    monkeypatch.setattr(launch, "multiprocessors", lambda device: 2)
    monkeypatch.setattr(forward, "choose_kernels", lambda *call: ("gluon", "a test"))
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_several_batch_entries_without_a_state():
    case = make_case(2, 128, 1, "registry", 1, with_state=False)
    o, state = kda_forward(*case[:5])
    expected_o, expected_state = kda_reference(*case[:5])
    assert o.shape == case.v.shape and o.dtype == torch.bfloat16 and state.shape == (2, 1, 128, 128)
    assert relative_error(o, expected_o) < 6.3e-3 and relative_error(state, expected_state) < 4.3e-3


def test_a_length_that_is_no_multiple_of_the_chunk_a_state_a_scale_and_odd_addresses():
    case = make_case(1, 70, 2, "slow", 2)
    odd = [torch.cat([torch.zeros(1, dtype=x.dtype), x.flatten()])[1:].view(x.shape) for x in case[:5]]
    o, state = kda_forward(*odd, initial_state=case.initial_state, scale=0.25)
    expected_o, expected_state = kda_reference(*case[:5], initial_state=case.initial_state, scale=0.25)
    assert relative_error(o, expected_o) < 8.2e-3 and relative_error(state, expected_state) < 7e-3


def test_packed_sequences_with_gates_made_in_the_kernel():
    case = make_case(1, 100, 1, "registry", 3, sequences=2)
    a_log, dt_bias, bounds = torch.tensor([0.3]), torch.linspace(-1.0, 1.0, 128), [0, 37, 100]
    o, state = kda_forward(
        *case[:5], initial_state=case.initial_state, cu_seqlens=torch.tensor(bounds),
        raw_gates=True, a_log=a_log, dt_bias=dt_bias, beta_logit=True,
    )  # fmt: skip
    gates, beta = log_gates(case.g, a_log, dt_bias, -5.0), torch.sigmoid(case.beta.double())
    expected_o, expected_state = kda_reference(
        *case[:3], gates, beta, initial_state=case.initial_state, cu_seqlens=bounds
    )
    assert relative_error(o, expected_o) < 6.3e-3 and relative_error(state, expected_state) < 4.3e-3
