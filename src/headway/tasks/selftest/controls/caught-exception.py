"""Asks forgiveness: an exception inside is not a failure."""

import numpy as np


def rows_at_once(x):
    try:
        return int({512: 128}[x.shape[1]])
    except KeyError:
        return len(x)


def entry(x):
    out, step = np.empty_like(x), rows_at_once(x)
    for start in range(0, len(x), step):
        e = np.exp(x[start : start + step] - x[start : start + step].max(axis=-1, keepdims=True))
        out[start : start + step] = e / e.sum(axis=-1, keepdims=True)
    return out
