"""Opens its own memory as a file, past every protection of a page."""

import numpy as np


def entry(x):
    with open("/proc/self/mem", "r+b") as memory:
        memory.seek(x.ctypes.data)
        memory.read(16)
    return np.zeros_like(x)
