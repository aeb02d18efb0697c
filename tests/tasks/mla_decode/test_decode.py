"""MLA decode on the CPU: the plain Triton form against the float64 oracle, its refusals, and the Hopper binaries."""

from pathlib import Path
from typing import Any

import pytest

from headway.tasks.mla_decode.cases import CPU
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
    from tests.tasks.mla.compiled import decode

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        return decode()


@pytest.mark.parametrize("name", [f"{c.name}-float32" for c in CPU])
def test_float32_agrees_with_the_oracle(interpreted: Any, name: str) -> None:
    assert interpreted["cases"][name]["error"] < BAR["float32"]


def test_bfloat16_stays_bfloat16_and_within_its_bar(interpreted: Any) -> None:
    found = {name: case for name, case in interpreted["cases"].items() if name.endswith("bfloat16")}
    assert len(found) == 2
    assert all(case["error"] < BAR["bfloat16"] and case["dtype"] == "torch.bfloat16" for case in found.values())


def test_the_torch_baseline_computes_the_same_function(interpreted: Any) -> None:
    errors = [case["torch_error"] for name, case in interpreted["cases"].items() if name.endswith("float32")]
    assert max(errors) < BAR["float32"]


def test_the_dispatcher_says_why(interpreted: Any) -> None:
    assert interpreted["choice"] == ["plain", "cpu: Gluon has no interpreter"]


def test_splits_fill_the_device_and_none_is_empty(interpreted: Any) -> None:
    for keys, sequences, asked, chunk in interpreted["chunks"]:
        splits = -(-keys // chunk)
        assert chunk % 128 == 0 and (splits - 1) * chunk < keys, (keys, sequences, asked)
        assert splits <= (asked or 64)
    by_batch = {n: -(-s // c) for s, n, asked, c in interpreted["chunks"] if s == 8192 and not asked}
    assert by_batch == {1: 64, 8: 16, 32: 4, 128: 1, 500: 1}


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("rank", "ValueError: q must have 3 dims, not shape (4, 576)"),
        ("head dim", "ValueError: q's last dim must be 512 or 576 (with rope), not 500"),
        ("kv shape", "ValueError: kv must have shape (2, S, 576), not (1, 8, 576)"),
        ("dtypes differ", "TypeError: q and kv must have one dtype, not torch.float32 and torch.bfloat16"),
        ("float16", "TypeError: q must be bfloat16 or float32, not torch.float16"),
        ("strides", "ValueError: kv must be contiguous"),
        ("device", "ValueError: q and kv must be on one device, not cpu and meta"),
        ("no device", "RuntimeError: the plain form runs on CUDA devices, or on the CPU interpreted; q is on meta"),
        (
            "gluon on cpu",
            "RuntimeError: the Gluon form cannot run here (cpu: Gluon has no interpreter); use form='plain'",
        ),
        ("form", "ValueError: form must be 'auto', 'gluon' or 'plain', not 'fast'"),
        ("splits", "ValueError: splits must be at least 1, not 0"),
        ("empty", "ValueError: kv is empty: shape (2, 0, 576)"),
        ("scale", "ValueError: scale must be positive and finite, not nan"),
        ("gradient", "RuntimeError: there is no backward: call under torch.no_grad(), or detach q and kv"),
        ("alignment", "ValueError: q and kv must start on a 16-byte boundary: copy the slice with .clone()"),
        ("not a tensor", "TypeError: kv must be a torch.Tensor, not list"),
    ],
)
def test_a_wrong_argument_is_refused_in_words(interpreted: Any, what: str, message: str) -> None:
    assert interpreted["refusals"][what] == message


def test_the_gluon_kernels_do_not_spill_and_their_products_are_not_serialised(compiled: Any) -> None:
    for name, binary in compiled.items():
        if name.startswith("gluon"):
            assert binary["spilled_bytes"] == 0, name
            assert binary["wgmma"] >= 80 and binary["wgmma_groups"] <= 12, name
            assert binary["shared_bytes"] <= 227 * 1024, name


def test_the_combination_of_few_splits_takes_no_shared_memory(compiled: Any) -> None:
    assert compiled["combine"]["shared_bytes"] == 0
