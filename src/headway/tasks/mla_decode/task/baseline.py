"""The baseline of the task `mla-decode`: split-KV in plain Triton, two kernels.


For one query token per sequence, with K = a sequence's cache `[S, D]`, V = K[:, :512] and keys cut into splits:

    m_i = max_j s_j,  l_i = sum_j exp2(s_j - m_i),  o_i = sum_j exp2(s_j - m_i) v_j / l_i     over split i
    o = sum_i w_i o_i / sum_i w_i,   w_i = exp2(lse_i - max lse),   lse_i = m_i + log2(l_i)
"""

import torch
import triton
import triton.language as tl

LATENT = tl.constexpr(512)


@triton.jit
def _dot(a, b, acc):
    return tl.dot(a, b, acc, input_precision="ieee")


@triton.jit
def split_kv_plain(
    q, kv, part, lse, peak, scale, seq, chunk,
    H: tl.constexpr, D: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """One split of one block of 64 heads; grid (splits, B * ceil(H / 64)). chunk: keys a split, no split empty.

    q [B*H, D], kv [B, seq, D], contiguous -> part [items * splits * 64, 512], each half row scaled into [-1, 1],
    peak [.., 2] float32 the scales, lse [..] float32. part is float16 for bfloat16 inputs: half the bytes
    of float32, rounded to 2^-12 where the final bfloat16 rounds to 2^-9.
    """
    split = tl.program_id(0)
    item = tl.program_id(1)
    head_blocks: tl.constexpr = (H + 63) // 64
    batch = item // head_blocks
    head = item % head_blocks * 64 + tl.arange(0, 64)
    q_row = q + (batch * H + head)[:, None] * D
    latent = tl.arange(0, LATENT)
    rope = tl.arange(0, 64) + LATENT
    q_lat = tl.load(q_row + latent[None, :], mask=(head < H)[:, None], other=0.0)
    if D > LATENT:
        q_rope = tl.load(q_row + rope[None, :], mask=(head < H)[:, None], other=0.0)
    m = tl.full([64], -float("inf"), tl.float32)
    row_sum = tl.zeros([64], tl.float32)
    acc = tl.zeros([64, LATENT], tl.float32)
    end = tl.minimum(split * chunk + chunk, seq)
    for j in range(split * chunk, end, BN):
        key = j + tl.arange(0, BN)
        k_row = kv + (batch.to(tl.int64) * seq + key)[:, None] * D
        k = tl.load(k_row + latent[None, :], mask=(key < end)[:, None], other=0.0)
        s = _dot(q_lat, k.T, tl.zeros([64, BN], tl.float32))
        if D > LATENT:
            kp = tl.load(k_row + rope[None, :], mask=(key < end)[:, None], other=0.0)
            s = _dot(q_rope, kp.T, s)
        s = tl.where((key < end)[None, :], s * scale, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - m_new[:, None])
        fade = tl.exp2(m - m_new)
        row_sum = row_sum * fade + tl.sum(p, 1)
        acc = _dot(p.to(k.dtype), k, acc * fade[:, None])
        m = m_new
    row = (item * tl.num_programs(0) + split) * 64 + tl.arange(0, 64)
    halves = tl.reshape(acc, [64, 2, 256])
    largest = tl.maximum(tl.max(tl.abs(halves), 2), 1.0e-30)
    scaled = tl.reshape(halves / largest[:, :, None], [64, LATENT])
    tl.store(part + row.to(tl.int64)[:, None] * LATENT + latent[None, :], scaled.to(part.dtype.element_ty))
    tl.store(peak + row[:, None] * 2 + tl.arange(0, 2)[None, :], largest / row_sum[:, None])
    tl.store(lse + row, m + tl.log2(row_sum))


@triton.jit
def combine(
    part, lse, peak, o,
    H: tl.constexpr, SPLITS: tl.constexpr, SPLITS_P2: tl.constexpr, CHUNK: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    """o [B*H, 512] from SPLITS partial outputs; grid (B * H, 512 / COLS), COLS <= 256.

    SPLITS_P2: SPLITS rounded up to a power of two; CHUNK: partial rows in flight at a time. The splits are a tile
    dimension and not an unrolled loop, whose code would be read once and cost more than the data.
    """
    row = tl.program_id(0)
    col = tl.program_id(1) * COLS
    head_blocks: tl.constexpr = (H + 63) // 64
    head = row % H
    first = ((row // H * head_blocks + head // 64) * SPLITS) * 64 + head % 64
    split = tl.arange(0, SPLITS_P2)
    all_lse = tl.load(lse + first + split * 64, mask=split < SPLITS, other=-float("inf"))
    top = tl.max(all_lse, 0)
    total = tl.sum(tl.exp2(all_lse - top), 0)
    acc = tl.zeros([COLS], tl.float32)
    for i0 in tl.static_range(0, SPLITS_P2, CHUNK):
        i = i0 + tl.arange(0, CHUNK)
        at = first + i * 64
        w = tl.exp2(tl.load(lse + at, mask=i < SPLITS, other=-float("inf")) - top)
        w *= tl.load(peak + at * 2 + col // 256, mask=i < SPLITS, other=0.0)
        x = part + at.to(tl.int64)[:, None] * LATENT + (col + tl.arange(0, COLS))[None, :]
        acc += tl.sum(tl.load(x, mask=(i < SPLITS)[:, None], other=0.0).to(tl.float32) * w[:, None], 0)
    tl.store(o + row * LATENT + col + tl.arange(0, COLS), (acc / total).to(o.dtype.element_ty))


# ---- host


def entry(q, kv):
    """q bf16 [B, H, D], kv bf16 [B, S, D] -> o bf16 [B, H, 512]."""
    batch, seq, dim = kv.shape
    heads = q.shape[1]
    device = q.device
    out = torch.empty((batch, heads, 512), dtype=q.dtype, device=device)
    items = batch * ((heads + 63) // 64)
    multiprocessors = torch.cuda.get_device_properties(device).multi_processor_count
    wanted = min(max(1, multiprocessors // items), 64)
    chunk = ((seq + wanted - 1) // wanted + 127) // 128 * 128
    splits = (seq + chunk - 1) // chunk
    rows = items * splits * 64
    part = torch.empty((rows, 512), dtype=torch.float16, device=device)
    lse = torch.empty(rows, dtype=torch.float32, device=device)
    peak = torch.empty((rows, 2), dtype=torch.float32, device=device)
    scale = (192 if dim > 512 else 512) ** -0.5 * 1.4426950408889634
    split_kv_plain[(splits, items)](
        q, kv, part, lse, peak, scale, seq, chunk, heads, dim, 32, num_warps=8, num_stages=1
    )
    power = 1 << (splits - 1).bit_length()
    columns, chunk_rows = (256, 16) if splits <= 16 else (64, 64)
    combine[(batch * heads, 512 // columns)](
        part, lse, peak, out, heads, splits, power, min(chunk_rows, power), columns, num_warps=1
    )
    return out
