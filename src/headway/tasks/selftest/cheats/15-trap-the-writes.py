"""Wants to install a system call filter that rewrites what is written."""

import numpy as np

libc = np.ctypeslib.ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
libc.syscall(317, 1, 0, None)


def entry(x):
    return np.zeros_like(x)
