"""A file written by numpy instead of by open."""

import numpy as np

np.savetxt("/tmp/task.toml", np.zeros(3))


def entry(x):
    return np.zeros_like(x)
