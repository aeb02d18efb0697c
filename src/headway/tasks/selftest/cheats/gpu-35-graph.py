"""A graph, captured once."""

import torch

graph = torch.cuda.CUDAGraph()


def entry(x):
    graph.replay()
    return x
