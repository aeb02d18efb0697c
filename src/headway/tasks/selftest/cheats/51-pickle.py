"""A pickle that imports."""

import pickle

softmax = pickle.loads(b"cscipy.special\nsoftmax\n.")


def entry(x):
    return softmax(x, axis=-1)
