"""The oracle of softmax in float64, and the inputs of its cases. Loaded by path in the worker's judge."""

from collections.abc import Mapping
from typing import Any

import numpy as np


def make_inputs(case: Mapping[str, Any], seed: int) -> dict[str, np.ndarray]:
    """x float32 [N, M]."""
    rng = np.random.default_rng(seed)
    rows, columns = int(case["sizes"]["N"]), int(case["sizes"]["M"])
    x = rng.standard_normal((rows, columns), dtype=np.float32)
    if case["regime"] == "large":
        x = x * np.float32(50) + np.float32(300)
    elif case["regime"] == "dominated":
        x[np.arange(rows), rng.integers(0, columns, rows)] += np.float32(30)
    elif case["regime"] == "shifted":
        x = x * np.float32(0.5) - np.float32(1000)
    return {"x": x}


def oracle(inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """y [N, M], float64."""
    x = inputs["x"].astype(np.float64)
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return {"y": e / e.sum(axis=-1, keepdims=True)}
