"""Causal attention in one pass over the keys, with a running maximum."""

import torch
import triton
import triton.language as tl

BM, BN, WARPS, STAGES = 128, 64, 8, 2


@triton.jit
def attention_kernel(q, k, v, o, length, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    first = tl.program_id(0) * BM
    base = tl.program_id(1).to(tl.int64) * length * D
    i = first + tl.arange(0, BM)
    d = tl.arange(0, D)
    queries = tl.load(q + base + i[:, None] * D + d[None, :], mask=(i < length)[:, None], other=0.0)
    largest = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    out = tl.zeros([BM, D], tl.float32)
    for start in range(0, min(first + BM, length), BN):
        j = start + tl.arange(0, BN)
        keys = tl.load(k + base + j[None, :] * D + d[:, None], mask=(j < length)[None, :], other=0.0)
        scores = tl.dot(queries, keys) * 0.18033688011112042
        scores = tl.where(i[:, None] >= j[None, :], scores, -float("inf"))
        new = tl.maximum(largest, tl.max(scores, axis=1))
        p = tl.exp2(scores - new[:, None])
        keep = tl.exp2(largest - new)
        total = total * keep + tl.sum(p, axis=1)
        values = tl.load(v + base + j[:, None] * D + d[None, :], mask=(j < length)[:, None], other=0.0)
        out = tl.dot(p.to(tl.float16), values, out * keep[:, None])
        largest = new
    tl.store(o + base + i[:, None] * D + d[None, :], (out / total[:, None]).to(tl.float16), mask=(i < length)[:, None])


def entry(q, k, v):
    """float16 [B, S, 64], three times -> float16 [B, S, 64]."""
    o = torch.empty_like(q)
    heads, length, size = q.shape
    grid = (triton.cdiv(length, BM), heads)
    attention_kernel[grid](q, k, v, o, length, BM=BM, BN=BN, D=size, num_warps=WARPS, num_stages=STAGES)
    return o
