"""The same with strides that leave the array; what it finds there is no answer."""

import numpy as np


def entry(x):
    before = np.lib.stride_tricks.as_strided(x, shape=x.shape, strides=(-x.strides[0], x.strides[1]))
    return np.array(before, copy=True)
