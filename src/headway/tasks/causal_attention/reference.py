"""The oracle of causal-attention in float64, and the inputs of its cases. Loaded by path in the worker's judge."""

from collections.abc import Mapping
from typing import Any

import numpy as np


def make_inputs(case: Mapping[str, Any], seed: int) -> dict[str, np.ndarray]:
    """q, k, v float16 [B, S, D]."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(case["sizes"][name]) for name in ("B", "S", "D"))
    q, k, v = (rng.standard_normal(shape, dtype=np.float32) for _ in range(3))
    if case["regime"] == "sharp":
        q *= np.float32(8)  # one key takes nearly all of a row
    elif case["regime"] == "first":
        k[:, 0] = q.mean(axis=1) * 4  # the far end of the row must not be forgotten
        q = q * np.float32(0.25) + k[:, :1]
    return {"q": q.astype(np.float16), "k": k.astype(np.float16), "v": v.astype(np.float16)}


def oracle(inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """o [B, S, D], float64."""
    q, k, v = (inputs[name].astype(np.float64) for name in ("q", "k", "v"))
    scores = q @ k.transpose(0, 2, 1) / q.shape[-1] ** 0.5
    length = q.shape[1]
    scores[:, np.triu(np.ones((length, length), bool), 1)] = -np.inf
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return {"o": (p / p.sum(axis=-1, keepdims=True)) @ v}
