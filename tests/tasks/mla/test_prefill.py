"""MLA prefill on the CPU: the plain Triton form against the float64 oracle, its refusals, and the Hopper binaries."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headway.tasks.mla.cases import CPU
from tests.interpreting import Interpreting

HERE = Path(__file__).parent
pytestmark = pytest.mark.timeout(600)  # seconds of processor time, but minutes beside a full suite
BAR = {"float32": 1e-5, "bfloat16": 7e-3}  # the interpreter truncates to bfloat16 where the GPU rounds


@pytest.fixture(scope="module")
def interpreted(interpreting: Interpreting) -> Any:
    return interpreting.run(HERE / "interpreted.py")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Any:
    triton = pytest.importorskip("triton")
    if triton.__version__ != "3.6.0":
        pytest.skip(f"triton {triton.__version__}: the Gluon form is for 3.6.0")
    from tests.tasks.mla.compiled import prefill

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        return prefill()


@pytest.mark.parametrize("name", [f"{c.name}-float32" for c in CPU])
def test_float32_agrees_with_the_oracle(interpreted: Any, name: str) -> None:
    assert interpreted["cases"][name]["error"] < BAR["float32"]


def test_bfloat16_stays_bfloat16_and_within_its_bar(interpreted: Any) -> None:
    found = {name: case for name, case in interpreted["cases"].items() if name.endswith("bfloat16")}
    assert len(found) == 2
    assert all(case["error"] < BAR["bfloat16"] and case["dtype"] == "torch.bfloat16" for case in found.values())


def test_the_cases_cover_one_slab_and_several(interpreted: Any) -> None:
    slabs = {case["slabs"] for case in interpreted["cases"].values()}
    assert 1 in slabs and max(slabs) > 2


def test_without_the_overflow_path_an_overflow_case_fails(interpreted: Any) -> None:
    assert not interpreted["without_repair"] < 1e-2  # NaN, or far off


def test_the_torch_baseline_computes_the_same_function(interpreted: Any) -> None:
    errors = [case["torch_error"] for name, case in interpreted["cases"].items() if name.endswith("float32")]
    assert max(errors) < BAR["float32"]


def test_the_dispatcher_says_why(interpreted: Any) -> None:
    assert interpreted["choice"] == ["two-kernel", "cpu: Gluon has no interpreter"]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("rank", "ValueError: q must have 4 dims, not shape (4, 2, 576)"),
        ("head dim", "ValueError: q's last dim must be 512 or 576 (with rope), not 500"),
        ("kv shape", "ValueError: kv must have shape (1, 4, 576) to go with q (1, 4, 2, 576), not (1, 3, 576)"),
        ("dtypes differ", "TypeError: q and kv must have one dtype, not torch.float32 and torch.bfloat16"),
        ("float16", "TypeError: q must be bfloat16 or float32, not torch.float16"),
        ("strides", "ValueError: q must be contiguous"),
        ("device", "ValueError: q and kv must be on one device, not cpu and meta"),
        (
            "no device",
            "RuntimeError: the two-kernel form runs on CUDA devices, or on the CPU interpreted; q is on meta",
        ),
        (
            "gluon on cpu",
            "RuntimeError: the Gluon form cannot run here (cpu: Gluon has no interpreter); use form='two-kernel'",
        ),
        ("form", "ValueError: form must be 'auto', 'gluon' or 'two-kernel', not 'fast'"),
        (
            "scratch",
            "ValueError: scratch_bytes=100 is too small: one block of 64 rows against 4 keys needs 16640",
        ),
        ("empty", "ValueError: q is empty: shape (1, 0, 2, 576)"),
        ("scale", "ValueError: scale must be positive and finite, not -1.0"),
        ("gradient", "RuntimeError: there is no backward: call under torch.no_grad(), or detach q and kv"),
        ("alignment", "ValueError: q and kv must start on a 16-byte boundary: copy the slice with .clone()"),
        ("not a tensor", "TypeError: q must be a torch.Tensor, not list"),
    ],
)
def test_a_wrong_argument_is_refused_in_words(interpreted: Any, what: str, message: str) -> None:
    assert interpreted["refusals"][what] == message


def test_the_gluon_kernels_do_not_spill_and_their_products_are_not_serialised(compiled: Any) -> None:
    for name, binary in compiled.items():
        if name.startswith("gluon"):
            assert binary["spilled_bytes"] == 0, name
            assert binary["wgmma"] >= 80 and binary["wgmma_groups"] <= 12, name


def test_the_two_products_do_not_spill(compiled: Any) -> None:
    for name in ("two-kernel score", "two-kernel weigh"):
        assert compiled[name]["spilled_bytes"] == 0 and compiled[name]["wgmma"] > 0, name
    # one program of each fits on a multiprocessor
    both = [compiled["two-kernel score"], compiled["two-kernel weigh"]]
    assert 128 * both[0]["registers"] + 256 * both[1]["registers"] <= 65536
    assert sum(b["shared_bytes"] + 1024 for b in both) <= 228 * 1024


def test_every_kernel_fits_in_a_hopper_multiprocessor(compiled: Any) -> None:
    assert all(binary["shared_bytes"] <= 227 * 1024 for binary in compiled.values())


def test_importing_the_tasks_loads_neither_torch_nor_triton() -> None:
    code = "import sys, headway.tasks.mla, headway.tasks.mla_decode, headway.tasks.mla.cases; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "headway.tasks.mla_decode" in loaded
    assert not {"torch", "triton"} & set(loaded)
