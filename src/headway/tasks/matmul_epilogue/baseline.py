"""A tiled matrix product with grouped tiles; bias and GELU before the store."""

import torch
import triton
import triton.language as tl

BM, BN, BK, GROUP, WARPS, STAGES = 128, 128, 32, 8, 8, 3


@triton.jit
def matmul_kernel(a, b, bias, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    rows, columns = tl.cdiv(m, BM), tl.cdiv(n, BN)
    first = pid // (GROUP * columns) * GROUP
    group = min(rows - first, GROUP)
    row = first + pid % (GROUP * columns) % group
    column = pid % (GROUP * columns) // group
    i = row * BM + tl.arange(0, BM)
    j = column * BN + tl.arange(0, BN)
    p = tl.arange(0, BK)
    sum_ = tl.zeros([BM, BN], tl.float32)
    for start in range(0, k, BK):
        left = p + start < k
        x = tl.load(a + i[:, None] * k + (start + p)[None, :], mask=(i < m)[:, None] & left[None, :], other=0.0)
        y = tl.load(b + (start + p)[:, None] * n + j[None, :], mask=left[:, None] & (j < n)[None, :], other=0.0)
        sum_ = tl.dot(x, y, sum_)
    sum_ += tl.load(bias + j, mask=j < n, other=0.0)[None, :]
    inner = 0.7978845608028654 * (sum_ + 0.044715 * sum_ * sum_ * sum_)
    result = sum_ * (1.0 - 1.0 / (tl.exp(2.0 * inner) + 1.0))
    tl.store(c + i[:, None] * n + j[None, :], result.to(tl.float16), mask=(i < m)[:, None] & (j < n)[None, :])


def entry(a, b, bias):
    """float16 [m, k], float16 [k, n], float32 [n] -> float16 [m, n]."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(m, BM) * triton.cdiv(n, BN),)
    matmul_kernel[grid](a, b, bias, c, m, n, k, BM=BM, BN=BN, BK=BK, GROUP=GROUP, num_warps=WARPS, num_stages=STAGES)
    return c
