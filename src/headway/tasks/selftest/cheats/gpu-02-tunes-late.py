"""Its autotuner has a key that is new at every call: it would choose, and be measured, in a timed call."""

import torch
import triton
import triton.language as tl

calls = [0]


@triton.autotune([triton.Config({}, num_warps=warps) for warps in (4, 8)], key=["call"])
@triton.jit
def softmax_kernel(x, y, columns, call, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * columns + at, mask=inside, other=-float("inf"))
    e = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * columns + at, e / tl.sum(e, axis=0), mask=inside)


def entry(x):
    calls[0] += 1
    y = torch.empty_like(x)
    softmax_kernel[(x.shape[0],)](x, y, x.shape[1], calls[0], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y
