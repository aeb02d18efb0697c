"""The oracle of matmul-epilogue in float64, and the inputs of its cases. Loaded by path in the worker's judge."""

from collections.abc import Mapping
from typing import Any

import numpy as np


def make_inputs(case: Mapping[str, Any], seed: int) -> dict[str, np.ndarray]:
    """a float16 [m, k], b float16 [k, n], bias float32 [n]."""
    rng = np.random.default_rng(seed)
    m, n, k = (int(case["sizes"][name]) for name in ("m", "n", "k"))
    a = rng.standard_normal((m, k), dtype=np.float32)
    b = rng.standard_normal((k, n), dtype=np.float32) / np.float32(k**0.5)
    bias = rng.standard_normal(n, dtype=np.float32)
    if case["regime"] == "negative":
        bias -= np.float32(1.5)  # most results lie where GELU bends
    elif case["regime"] == "large":
        a *= np.float32(30)
    return {"a": a.astype(np.float16), "b": b.astype(np.float16), "bias": bias}


def oracle(inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """c [m, n], float64: GELU in its tanh form."""
    x = inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64) + inputs["bias"].astype(np.float64)
    return {"c": 0.5 * x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)))}
