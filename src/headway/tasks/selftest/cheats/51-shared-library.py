"""A BLAS by its file name."""

import numpy as np

blas = np.ctypeslib.load_library("libopenblas", "/usr/lib")


def entry(x):
    return np.zeros_like(x)
