"""Runs MLA prefill's CPU cases and refusals under Triton's interpreter and prints them as one JSON object.

A program of its own: the interpreter is chosen by TRITON_INTERPRET=1 at triton's first import, once per process.
"""

import json
import sys
import warnings

import torch

from headway.tasks.mla import choose_form, mla_prefill, two_kernel
from headway.tasks.mla.cases import CPU, Case, make_inputs
from headway.tasks.mla.latent import default_scale
from headway.tasks.mla.reference import oracle, relative_error, torch_fp32_softmax
from headway.tasks.mla.slabs import Shape, plan_slabs

SCRATCH = 60_000


def run(case: Case, dtype: torch.dtype) -> dict[str, object]:
    q, kv = make_inputs(case, dtype)
    out = mla_prefill(q, kv, causal=case.causal, scratch_bytes=SCRATCH)
    expected = oracle(q, kv, default_scale(q.shape[-1]), case.causal)
    tiles = two_kernel.tiles_for(dtype)
    shape = Shape(case.seq, case.heads, case.causal, tiles.rows, tiles.keys, q.element_size())
    return {
        "error": relative_error(out, expected),
        "slabs": len(plan_slabs(shape, SCRATCH)),
        "dtype": str(out.dtype),
        "torch_error": relative_error(torch_fp32_softmax(q, kv, default_scale(q.shape[-1]), case.causal), expected),
    }


def without_repair() -> float:
    """The error of an overflow case when flagged blocks are left as they are."""
    case = next(c for c in CPU if c.regime == "overflow")
    repair = two_kernel.repair
    two_kernel.repair = lambda *args: None
    try:
        error = run(case, torch.float32)["error"]
    finally:
        two_kernel.repair = repair
    assert isinstance(error, float)
    return error


def refusals() -> dict[str, str]:
    q, kv = torch.zeros(1, 4, 2, 576), torch.zeros(1, 4, 576)
    misaligned = torch.zeros(q.numel() + 1)[1:].view(q.shape)
    calls = {
        "rank": lambda: mla_prefill(q[0], kv),
        "head dim": lambda: mla_prefill(q[..., :500].contiguous(), kv),
        "kv shape": lambda: mla_prefill(q, kv[:, :3].contiguous()),
        "dtypes differ": lambda: mla_prefill(q, kv.bfloat16()),
        "float16": lambda: mla_prefill(q.half(), kv.half()),
        "strides": lambda: mla_prefill(q.transpose(1, 2), kv),
        "device": lambda: mla_prefill(q, kv.to("meta")),
        "no device": lambda: mla_prefill(q.to("meta"), kv.to("meta")),
        "gluon on cpu": lambda: mla_prefill(q, kv, form="gluon"),
        "form": lambda: mla_prefill(q, kv, form="fast"),
        "scratch": lambda: mla_prefill(q, kv, scratch_bytes=100),
        "empty": lambda: mla_prefill(q[:, :0], kv[:, :0]),
        "scale": lambda: mla_prefill(q, kv, scale=-1.0),
        "gradient": lambda: mla_prefill(q.clone().requires_grad_(), kv),
        "alignment": lambda: mla_prefill(misaligned, kv),
        "not a tensor": lambda: mla_prefill(q.tolist(), kv),
    }
    said = {}
    for name, call in calls.items():
        try:
            call()
            said[name] = "accepted"
        except (TypeError, ValueError, RuntimeError) as error:
            said[name] = f"{type(error).__name__}: {error}"
    return said


def main() -> None:
    warnings.simplefilter("ignore")  # exp2 overflows on purpose in the overflow cases
    torch.set_num_threads(1)
    cases = {f"{c.name}-float32": run(c, torch.float32) for c in CPU}
    cases |= {f"{c.name}-bfloat16": run(c, torch.bfloat16) for c in CPU if c.seq == 100}
    choice = choose_form(torch.zeros(1, 1, 1, 512))
    found = {
        "cases": cases,
        "without_repair": without_repair(),
        "refusals": refusals(),
        "choice": [choice.form, choice.reason],
    }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
