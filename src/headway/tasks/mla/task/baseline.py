"""The baseline of the task `mla`: one pass over the keys with a running maximum, in plain Triton.

A row is one (query token, head) pair of the flattened [S * H, D] queries; K = kv [S, D], V = K[:, :512]. A program takes
64 rows and walks over the keys they may see.
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

LATENT = tl.constexpr(512)


@triton.jit
def dot(a, b, acc):
    """acc + a @ b; float32 operands are not rounded to tf32."""
    return tl.dot(a, b, acc, input_precision="ieee")


@triton.jit
def _online_block(
    q_desc, qp_desc, k_desc, kp_desc, o_desc, block, scale, seq,
    H: tl.constexpr, ROPE: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    row = block * BM + tl.arange(0, BM)
    limit = seq + tl.zeros([BM], tl.int32)
    last = seq
    if CAUSAL:
        limit = tl.minimum(row // H + 1, seq)
        last = tl.minimum((block * BM + BM - 1) // H + 1, seq)
    q = q_desc.load([block * BM, 0])
    if ROPE:
        qp = qp_desc.load([block * BM, LATENT])
    m = tl.full([BM], -float("inf"), tl.float32)
    row_sum = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, LATENT], tl.float32)
    for j in range(0, last, BN):
        k = k_desc.load([j, 0])
        s = dot(q, k.T, tl.zeros([BM, BN], tl.float32))
        if ROPE:
            s = dot(qp, kp_desc.load([j, LATENT]).T, s)
        s = tl.where((j + tl.arange(0, BN))[None, :] < limit[:, None], s * scale, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - m_new[:, None])
        fade = tl.exp2(m - m_new)
        row_sum = row_sum * fade + tl.sum(p, 1)
        acc = dot(p.to(k_desc.dtype), k, acc * fade[:, None])
        m = m_new
    o_desc.store([block * BM, 0], (acc / row_sum[:, None]).to(o_desc.dtype))


@triton.jit
def all_rows(
    q_desc, qp_desc, k_desc, kp_desc, o_desc, scale, n_blocks, seq,
    H: tl.constexpr, ROPE: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """One block of BM rows a program, the longest first."""
    block = n_blocks - 1 - tl.program_id(0)
    _online_block(q_desc, qp_desc, k_desc, kp_desc, o_desc, block, scale, seq, H, ROPE, BM, BN, CAUSAL)


def entry(q, kv, causal):
    """q bf16 [B, S, H, D], kv bf16 [B, S, D] -> o bf16 [B, S, H, 512]."""
    batch, seq, heads, dim = q.shape
    out = torch.empty((batch, seq, heads, 512), dtype=q.dtype, device=q.device)
    scale = (192 if dim > 512 else 512) ** -0.5 * 1.4426950408889634
    n_blocks = (seq * heads + 63) // 64
    describe = TensorDescriptor.from_tensor
    for b in range(batch):
        q2, o2 = q[b].view(seq * heads, dim), out[b].view(seq * heads, 512)
        all_rows[(n_blocks,)](
            describe(q2, [64, 512]), describe(q2, [64, 64]), describe(kv[b], [64, 512]), describe(kv[b], [64, 64]),
            describe(o2, [64, 512]), scale, n_blocks, seq, heads, dim > 512, 64, 64, bool(causal),
            num_warps=8, num_stages=1,
        )  # fmt: skip
    return out
