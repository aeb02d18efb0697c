"""The Hopper kernels without a GPU: their arithmetic on a CPU, and what the compiler makes of them."""

import importlib
import re
import subprocess
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")

from headway.tasks.kda import kda_reference, make_case  # noqa: E402
from headway.tasks.kda.reference import log_gates, relative_error  # noqa: E402

from .gluon_on_cpu import forward  # noqa: E402

# One and a half times the error of FLA's kernels on the same inputs, output and state (measured on an H200).
TOLERANCE = {
    "strong": (6.1e-3, 4.3e-3),
    "registry": (6.3e-3, 4.3e-3),
    "slow": (8.2e-3, 7.0e-3),
    "mixed": (7.8e-3, 6.4e-3),
    "bound": (5.7e-3, 3.6e-3),
}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Small tensors: more threads only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("regime", list(TOLERANCE))
def test_every_regime(regime):
    case = make_case(1, 128, 2, regime, seed=3)
    o, final = forward(*case, [0, 128])
    expected_o, expected_final = kda_reference(*case[:5], initial_state=case.initial_state)
    assert relative_error(o, expected_o) < TOLERANCE[regime][0]
    assert relative_error(final, expected_final) < TOLERANCE[regime][1]


def test_packed_sequences_with_short_last_chunks_an_empty_one_and_nan_in_no_neighbour():
    bounds = [0, 70, 70, 200, 264]
    case = make_case(1, 264, 1, "slow", seed=4, sequences=4)
    for x in case[:5]:
        x[:, 200:] = float("nan")  # the last sequence's rows share boxes with the one before
    o, final = forward(*case, bounds)
    sane = [x[:, :200] for x in case[:5]]
    expected_o, expected_final = kda_reference(*sane, initial_state=case.initial_state[:3], cu_seqlens=bounds[:4])
    assert relative_error(o[:, :200], expected_o) < TOLERANCE["slow"][0]
    assert relative_error(final[:3], expected_final) < TOLERANCE["slow"][1]
    assert torch.equal(final[1], case.initial_state[1])
    assert torch.isnan(o[:, 200:]).all()


def test_gate_sigmoid_and_norm_in_the_kernel():
    case = make_case(1, 100, 2, "slow", seed=5)
    rate, bias = torch.tensor([0.7, 1.4]), torch.linspace(-1.0, 1.0, 256)
    o, final = forward(*case, [0, 100], raw=(rate, bias))
    gates, beta = log_gates(case.g, rate.log(), bias, -5.0), torch.sigmoid(case.beta.double())
    expected_o, expected_final = kda_reference(*case[:3], gates, beta, initial_state=case.initial_state)
    assert relative_error(o, expected_o) < TOLERANCE["strong"][0]
    assert relative_error(final, expected_final) < TOLERANCE["strong"][1]


def test_nearly_equal_keys_that_are_rewritten_fully():
    case = make_case(1, 128, 1, "slow", seed=6, similar_keys=0.9)
    o, final = forward(*case, [0, 128])
    expected_o, expected_final = kda_reference(*case[:5], initial_state=case.initial_state)
    assert relative_error(o, expected_o) < 0.02 and relative_error(final, expected_final) < 0.02


@pytest.mark.parametrize("factor", [1.05, 1.09, 1.1, 3.0])
def test_gates_beyond_the_window_give_right_outputs_or_nan(factor):
    q, k, v, g, beta, state = make_case(1, 64, 1, "bound", seed=7)
    g = g * factor
    o, _ = forward(q, k, v, g, beta, state, [0, 64])
    expected_o, _ = kda_reference(q, k, v, g, beta, initial_state=state)
    assert torch.isnan(o).any() or relative_error(o, expected_o) < 8e-3  # one short chunk
    assert factor < 1.1 or torch.isnan(o).any()


TILE = (
    "NVMMASharedLayout(swizzle_byte_width={}, element_bitwidth={}, "
    "rank=2, transposed=False, fp4_padded=False, cga_layout=[])"
)
BOX = "tensordesc<bf16[{}, 64]," + TILE.format(128, 16) + ">"
TYPES = {
    **dict.fromkeys(["q_desc", "k_desc", "g_desc", "v_desc", "o_desc", "ws_desc"], BOX.format(64)),
    **{f"ws{rows}_desc": BOX.format(rows) for rows in (64, 128, 256)},
    "gamma_desc": "tensordesc<fp32[1, 128]," + TILE.format(0, 32) + ">",
    **dict.fromkeys(["gamma_ptr", "rate_ptr", "bias_ptr", "s0_ptr", "s_out_ptr"], "*fp32"),
    **dict.fromkeys(["beta_ptr", "o_ptr"], "*bf16"),
    **dict.fromkeys(["chunk_table", "seq_table"], "*i32"),
    **dict.fromkeys(["work_items", "heads", "tokens", "chunks"], "i32"),
    **dict.fromkeys(["scale", "lower_bound"], "fp32"),
}
PREP = {"VARLEN": False, "TAIL": False, "NORMALIZE": True, "RAW": False, "BETA_LOGIT": False}
SCAN = {"VARLEN": False, "TAIL": False, "HAS_STATE": False, "STAGES": 3}


@pytest.mark.skipif(not triton.__version__.startswith("3.6."), reason="static figures are those of triton 3.6")
@pytest.mark.parametrize(
    ("kernel", "flags", "shared_limit"),
    [
        ("prep", PREP, 115712),  # two programs on a multiprocessor
        ("prep", PREP | {"VARLEN": True, "TAIL": True}, 115712),
        ("prep", PREP | {"RAW": True, "BETA_LOGIT": True}, 115712),
        ("prep", PREP | {"VARLEN": True, "TAIL": True, "RAW": True, "BETA_LOGIT": True}, 115712),
        ("scan", SCAN, 232448),
        ("scan", SCAN | {"VARLEN": True, "TAIL": True, "HAS_STATE": True}, 232448),
    ],
    ids=["prep", "prep-ragged", "prep-raw", "prep-ragged-raw", "scan", "scan-ragged"],
)
def test_compiles_for_hopper_without_spills_and_with_products_in_flight(kernel, flags, shared_limit, tmp_path):
    from triton.backends.compiler import GPUTarget
    from triton.experimental.gluon._runtime import GluonASTSource

    function = getattr(importlib.import_module(f"headway.tasks.kda.{kernel}_gluon"), kernel)
    names = function.arg_names
    source = GluonASTSource(
        function,
        {name: "constexpr" if name in flags else TYPES[name] for name in names},
        {(names.index(name),): value for name, value in flags.items()},
        {(n,): [["tt.divisibility", 16]] for n, name in enumerate(names) if TYPES.get(name, "").startswith("*")},
    )
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})
    assert compiled.metadata.shared <= shared_limit
    tools = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
    cubin = tmp_path / "kernel.cubin"
    cubin.write_bytes(compiled.asm["cubin"])
    usage = subprocess.run([tools / "cuobjdump", "--dump-resource-usage", cubin], capture_output=True, text=True).stdout
    registers, stack = map(int, re.search(r"REG:(\d+) STACK:(\d+)", usage).groups())
    assert registers <= 255 and stack <= 64
    sass = subprocess.run([tools / "nvdisasm", "-c", cubin], capture_output=True, text=True).stdout
    products, starts = len(re.findall(r"\bHGMMA\b", sass)), len(re.findall(r"\bWARPGROUP\.ARRIVE\b", sass))
    # A serialised kernel starts and awaits every product alone.
    assert products >= 32 and starts <= products / 3


PLAIN = dict.fromkeys(["q_ptr", "k_ptr", "g_ptr", "v_ptr", "ws_ptr"], "*bf16")


@pytest.mark.parametrize("kernel", ["prep", "scan"])
def test_the_plain_kernels_compile_for_hopper(kernel):
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from headway.tasks.kda import kernels

    flags = {"VARLEN": True, "LP": tl.bfloat16, "PREC": "tf32x3"}
    if kernel == "prep":
        flags |= {"NORMALIZE": True, "GATE": 0, "BETA_LOGIT": False, "SPLIT": False, "EXACT": False, "REPAIR": False}
        flags["INV"] = tl.float16
    else:
        flags |= {"HAS_STATE": True, "BV": 64}
    names = getattr(kernels, kernel).arg_names
    source = ASTSource(
        getattr(kernels, kernel),
        {name: "constexpr" if name in flags else (TYPES | PLAIN)[name] for name in names},
        {(names.index(name),): value for name, value in flags.items()},
    )
    options = {"num_warps": 4, "num_stages": 2}
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    assert compiled.metadata.shared <= 232448
