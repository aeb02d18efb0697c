"""Runs MLA decode's CPU cases and refusals under Triton's interpreter and prints them as one JSON object.

A program of its own: the interpreter is chosen by TRITON_INTERPRET=1 at triton's first import, once per process.
"""

import json
import sys

import torch

from headway.tasks.mla.latent import default_scale
from headway.tasks.mla_decode import choose_form, mla_decode
from headway.tasks.mla_decode.cases import CPU, Case, make_inputs
from headway.tasks.mla_decode.decode import chunk_keys
from headway.tasks.mla_decode.reference import oracle, relative_error, torch_fp32_softmax


def run(case: Case, dtype: torch.dtype) -> dict[str, object]:
    q, kv = make_inputs(case, dtype)
    out = mla_decode(q, kv, splits=case.splits)
    scale = default_scale(q.shape[-1])
    expected = oracle(q, kv, scale)
    return {
        "error": relative_error(out, expected),
        "dtype": str(out.dtype),
        "torch_error": relative_error(torch_fp32_softmax(q, kv, scale), expected),
    }


def refusals() -> dict[str, str]:
    q, kv = torch.zeros(2, 4, 576), torch.zeros(2, 8, 576)
    misaligned = torch.zeros(q.numel() + 1)[1:].view(q.shape)
    calls = {
        "rank": lambda: mla_decode(q[0], kv),
        "head dim": lambda: mla_decode(q[..., :500].contiguous(), kv),
        "kv shape": lambda: mla_decode(q, kv[:1]),
        "dtypes differ": lambda: mla_decode(q, kv.bfloat16()),
        "float16": lambda: mla_decode(q.half(), kv.half()),
        "strides": lambda: mla_decode(q, kv.transpose(0, 1)),
        "device": lambda: mla_decode(q, kv.to("meta")),
        "no device": lambda: mla_decode(q.to("meta"), kv.to("meta")),
        "gluon on cpu": lambda: mla_decode(q, kv, form="gluon"),
        "form": lambda: mla_decode(q, kv, form="fast"),
        "splits": lambda: mla_decode(q, kv, splits=0),
        "empty": lambda: mla_decode(q, kv[:, :0]),
        "scale": lambda: mla_decode(q, kv, scale=float("nan")),
        "gradient": lambda: mla_decode(q.clone().requires_grad_(), kv),
        "alignment": lambda: mla_decode(misaligned, kv),
        "not a tensor": lambda: mla_decode(q, kv.tolist()),
    }
    said = {}
    for name, call in calls.items():
        try:
            call()
            said[name] = "accepted"
        except (TypeError, ValueError, RuntimeError) as error:
            said[name] = f"{type(error).__name__}: {error}"
    return said


def chunks() -> list[list[int]]:
    """[keys, sequences, splits asked for (0: none), keys a split], on a device of 132 multiprocessors."""
    asked = [(8192, 1, 0), (8192, 8, 0), (8192, 32, 0), (8192, 128, 0), (8192, 500, 0), (1, 1, 0), (1000, 3, 0)]
    asked += [(300, 1, 3), (129, 1, 2), (8192, 1, 100)]
    return [[s, n, k, chunk_keys(s, n, 132, k or None)] for s, n, k in asked]


def main() -> None:
    torch.set_num_threads(1)
    cases = {f"{c.name}-float32": run(c, torch.float32) for c in CPU}
    cases |= {f"{c.name}-bfloat16": run(c, torch.bfloat16) for c in CPU if c.regime != "normal"}
    choice = choose_form(torch.zeros(1, 1, 512))
    found = {"cases": cases, "refusals": refusals(), "chunks": chunks(), "choice": [choice.form, choice.reason]}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
