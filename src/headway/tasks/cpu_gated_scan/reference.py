"""The oracle of cpu-gated-scan in float64, and the inputs of its cases. Loaded by path in the worker's judge."""

from collections.abc import Mapping
from typing import Any

import numpy as np


def make_inputs(case: Mapping[str, Any], seed: int) -> dict[str, np.ndarray]:
    """Inputs by argument name: g (<= 0) and x, float32 [B, T, D], C-contiguous."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(case["sizes"][name]) for name in ("B", "T", "D"))
    x = rng.standard_normal(shape, dtype=np.float32)
    g = -np.abs(rng.standard_normal(shape, dtype=np.float32))
    if case["regime"] == "keep":
        g *= np.float32(1e-3)
    elif case["regime"] == "forget":
        g -= np.float32(4)  # not further down: then h would be x, and a copy would pass
    elif case["regime"] == "impulse":
        x[:, 1:] = 0
        g *= np.float32(1e-2)
    elif case["regime"] == "mixed":
        g *= np.where(rng.random(shape) < 0.5, np.float32(1e-3), np.float32(30))
    return {"g": np.ascontiguousarray(g), "x": x}


def oracle(inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Outputs by name, float64: h [B, T, D]."""
    decay = np.exp(inputs["g"].astype(np.float64))
    x = inputs["x"].astype(np.float64)
    h = np.empty_like(x)
    state = np.zeros_like(x[:, 0])
    for t in range(x.shape[1]):
        state = decay[:, t] * state + x[:, t]
        h[:, t] = state
    return {"h": h}
