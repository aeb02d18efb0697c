"""The oracle of cpu-matmul in float64, and the inputs of its cases. Loaded by path in the worker's judge."""

from collections.abc import Mapping
from typing import Any

import numpy as np


def make_inputs(case: Mapping[str, Any], seed: int) -> dict[str, np.ndarray | int]:
    """Inputs by argument name: int sizes, and a float32 [m, k], b float32 [k, n], C-contiguous."""
    rng = np.random.default_rng(seed)
    m, n, k = (int(case["sizes"][name]) for name in ("m", "n", "k"))
    a = rng.standard_normal((m, k), dtype=np.float32)
    b = rng.standard_normal((k, n), dtype=np.float32)
    if case["regime"] == "large":
        a *= np.float32(1e4)
        b *= np.float32(1e3)
    elif case["regime"] == "cancelling":
        # two halves of k that nearly cancel: what is left is small against the terms, and rounding shows
        half = k // 2
        a[:, half : 2 * half] = -a[:, :half] * (1 + 1e-2 * rng.standard_normal((m, half), dtype=np.float32))
        b[half : 2 * half] = b[:half]
    return {"m": m, "n": n, "k": k, "a": a, "b": b}


def oracle(inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Outputs by name, float64: c [m, n]."""
    return {"c": inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64)}
