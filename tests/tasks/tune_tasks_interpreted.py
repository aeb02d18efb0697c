"""Run in Triton's interpreter, in a process of its own: references and baselines of the tune tasks on tiny inputs.

Prints one JSON object: relative errors in float64. float32 throughout, because the interpreter's bfloat16 dot is wrong.
"""

import importlib.util
import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"

import torch

import headway.tasks
from headway.tasks.kda.reference import kda_reference, log_gates

TASKS = Path(headway.tasks.__file__).parent


def module(task: str, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{task}_{name}", TASKS / task / "task" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def apart(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found.double() - expected).norm() / expected.norm())


def kda(regime: str, raw: int, packed: int) -> dict[str, float]:
    sizes = {"B": 1, "T": 11, "H": 2, "N": 3 if packed else 1, "STATE": 1, "RAW": raw, "PACKED": packed}
    x = module("kda", "inputs").make_inputs({"sizes": sizes, "regime": regime}, 3, "cpu")
    reference = module("kda", "reference")
    reference.COLUMNS = 128
    found = reference.oracle(x)
    g, beta = x["g"], x["beta"]
    if raw:
        g, beta = log_gates(g, lower_bound=-5.0), torch.sigmoid(beta.double())
    bounds = x["starts"].tolist() if packed else None
    o, state = kda_reference(x["q"], x["k"], x["v"], g, beta, initial_state=x["s0"], cu_seqlens=bounds)
    part = reference.oracle(x, [1])
    return {"o": apart(found["o"], o), "state": apart(found["state"], state),
            "part": float((part["o"][:, :, 0] - found["o"][:, :, 1]).abs().max())}  # fmt: skip


def latent(task: str, sizes: dict[str, int], regime: str) -> float:
    """Baseline against oracle."""
    drawn: dict[str, Any] = module(task, "inputs").make_inputs({"sizes": sizes, "regime": regime}, 1, "cpu")
    x = {name: value.float() if isinstance(value, torch.Tensor) else value for name, value in drawn.items()}
    return apart(module(task, "baseline").entry(*x.values()), module(task, "reference").oracle(x)["o"])


class _Device:
    multi_processor_count = 4


torch.cuda.get_device_properties = lambda *_: _Device()  # type: ignore[assignment,return-value]
print(
    json.dumps(
        {
            "kda": [kda("mixed", 0, 0), kda("registry", 1, 1)],
            "mla": [
                latent("mla", {"B": 1, "S": 100, "H": 2, "D": 576, "CAUSAL": 1}, "overflow"),
                latent("mla", {"B": 2, "S": 70, "H": 1, "D": 512, "CAUSAL": 0}, "normal"),
            ],
            "mla_decode": [
                latent("mla_decode", {"B": 1, "S": 300, "H": 3, "D": 576}, "late"),
                latent("mla_decode", {"B": 2, "S": 90, "H": 2, "D": 512}, "rising"),
            ],
        }
    )
)
