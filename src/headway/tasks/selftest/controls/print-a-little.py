"""Says one line when it is loaded; that is evidence, not an offence."""

import numpy as np

print("softmax, rows at once")


def entry(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
