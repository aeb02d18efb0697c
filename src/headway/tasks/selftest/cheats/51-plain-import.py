"""A banned package that is installed."""

from scipy.special import softmax


def entry(x):
    return softmax(x, axis=-1)
