"""Split-KV MLA decode for Hopper in Gluon, Triton's lower-level language (triton 3.6.0). Only device code.

One program takes 64 heads of one sequence's single query token and one contiguous range of its cached keys. Two
warpgroups share it: LEFT scores the even tiles of 64 keys and owns o[:, :256], RIGHT the odd tiles and o[:, 256:].
The running maximum and the probabilities cross through shared memory, each step behind one barrier:

    LEFT:  S0 -> m0 -> P0;  o_L = o_L a0 + P0 V0L;  (rescale to m1)  o_L += P1 V1L
    RIGHT:       S1 -> m1 = max(m0, S1) -> P1;      o_R = o_R a + P1 V1R;  o_R += (P0 rescaled to m1) V0R

with V = K[:, :512]. A running maximum is kept here, unlike in prefill: decode waits for memory, not for arithmetic.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from headway.tasks.mla.tiles_gluon import HALF_BYTES, ROPE_BYTES, exp2, load_half, load_half_and_rope

# One barrier each. K0*, K1*: a half of the even or odd key tile has arrived (L: latent dims 0-255, R: 256-511).
K0L = gl.constexpr(0)
K0R = gl.constexpr(1)
K1L = gl.constexpr(2)
K1R = gl.constexpr(3)
Q_IN = gl.constexpr(4)
M0 = gl.constexpr(5)  # LEFT has published the maximum up to the even tile
M1 = gl.constexpr(6)  # RIGHT has published the maximum up to the odd tile
P0 = gl.constexpr(7)  # LEFT has published the even tile's probabilities
P1 = gl.constexpr(8)  # RIGHT has published the odd tile's
L0 = gl.constexpr(9)  # LEFT has published its share of the row sums
L1 = gl.constexpr(10)
N_BARRIERS = gl.constexpr(11)


@gluon.jit
def _write(o, row_sum, m, staging, desc, lse, peak, row, COL: gl.constexpr, DIRECT: gl.constexpr):
    # DIRECT: the finished bfloat16 output. Otherwise this split's partial output, each row scaled into [-1, 1] and
    # kept in float16: half the bytes of float32, and 2^-12 of error where the final bfloat16 has 2^-9.
    OROW: gl.constexpr = gl.SliceLayout(1, o.type.layout)
    inverse = gl.convert_layout(1.0 / row_sum, OROW)
    if DIRECT:
        staging.store((o * inverse[:, None]).to(gl.bfloat16))
        fence_async_shared()
        tma.async_copy_shared_to_global(desc, [row, COL], staging)
    else:
        largest = gl.maximum(gl.max(gl.abs(o), 1), 1.0e-30)
        half = staging._reinterpret(gl.float16, [64, 256], desc.layout)
        half.store((o * (1.0 / largest)[:, None]).to(gl.float16))
        fence_async_shared()
        tma.async_copy_shared_to_global(desc, [row, COL], half)
        gl.store(peak + (row + gl.arange(0, 64, OROW)) * 2 + COL // 256, largest * inverse)
        if COL == 0:
            gl.store(lse + row + gl.arange(0, 64, m.type.layout), m + gl.log2(row_sum))
    tma.store_wait(0)


@gluon.jit
def _left(
    sq_l, sq_r, sq_p, s0_l, s0_r, s1_l, sx0, sx1, m0_s, m1_s, l0_s, l1_s, bars,
    k_desc, kp_desc, out_desc, lse, peak, n, limit, key0, out_row, scale, ROPE: gl.constexpr, DIRECT: gl.constexpr,
):  # fmt: skip
    SL: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    OL: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 256, 16])
    PA: gl.constexpr = gl.DotOperandLayout(0, OL, 2)
    ROW: gl.constexpr = gl.SliceLayout(1, SL)
    OROW: gl.constexpr = gl.SliceLayout(1, OL)
    zero_s = gl.zeros([64, 64], gl.float32, SL)
    key = gl.arange(0, 64, gl.SliceLayout(0, SL))
    o = gl.zeros([64, 256], gl.float32, OL)
    row_sum = gl.full([64], 0.0, gl.float32, ROW)
    m = gl.full([64], -float("inf"), gl.float32, ROW)
    mbarrier.wait(bars.index(Q_IN), 0)
    for i in range(n):
        ph = i & 1
        z = i >> 30  # see `split_kv`: always 0
        q_l, q_r, q_p = sq_l.index(z), sq_r.index(z), sq_p.index(z)
        k0_l, k0_r, k1_l, x0, x1 = s0_l.index(z), s0_r.index(z), s1_l.index(z), sx0.index(z), sx1.index(z)
        more = i + 1 < n

        mbarrier.wait(bars.index(K0L), ph)
        s_acc = warpgroup_mma(q_l, k0_l.permute((1, 0)), zero_s, use_acc=False, is_async=True)
        mbarrier.wait(bars.index(K0R), ph)
        s_acc = warpgroup_mma(q_r, k0_r.permute((1, 0)), s_acc, is_async=True)
        if ROPE:
            s_acc = warpgroup_mma(q_p, x0.permute((1, 0)), s_acc, is_async=True)
        s = warpgroup_mma_wait(0, [s_acc])
        if i == n - 1:
            s = gl.where((2 * i * 64 + key)[None, :] < limit, s, -float("inf"))
        m0 = gl.maximum(m, gl.max(s, 1) * scale)
        m0_s.store(m0)
        mbarrier.arrive(bars.index(M0), count=1)
        a0 = exp2(m - m0)
        p = exp2(s * scale - m0[:, None])
        pa = gl.convert_layout(p.to(gl.bfloat16), PA)
        o = o * gl.convert_layout(a0, OROW)[:, None]
        acc = warpgroup_mma(pa, k0_l, o, is_async=True)
        row_sum = row_sum * a0 + gl.sum(p, 1)
        mbarrier.wait(bars.index(M1), ph)
        m = m1_s.load(ROW)
        a1 = exp2(m0 - m)
        x0.store((p * a1[:, None]).to(gl.bfloat16))
        fence_async_shared()
        mbarrier.arrive(bars.index(P0), count=1)
        row_sum = row_sum * a1
        o = warpgroup_mma_wait(0, [acc])
        load_half(k_desc, key0 + i * 128 + 128, 0, bars.index(K0L), k0_l, more)
        o = o * gl.convert_layout(a1, OROW)[:, None]
        mbarrier.wait(bars.index(P1), ph)
        o = warpgroup_mma_wait(0, [warpgroup_mma(x1, k1_l, o, is_async=True)])
        load_half_and_rope(k_desc, kp_desc, key0 + i * 128 + 192, 0, bars.index(K1L), k1_l, x1, more, ROPE)
    l0_s.store(row_sum)
    mbarrier.arrive(bars.index(L0), count=1)
    mbarrier.wait(bars.index(L1), 0)
    row_sum += l1_s.load(ROW)
    _write(o, row_sum, m, sq_l.index(0), out_desc, lse, peak, out_row, 0, DIRECT)


@gluon.jit
def _right(
    sq_l, sq_r, sq_p, s0_r, s1_l, s1_r, sx0, sx1, m0_s, m1_s, l0_s, l1_s, bars,
    k_desc, kp_desc, out_desc, lse, peak, n, limit, key0, out_row, scale, ROPE: gl.constexpr, DIRECT: gl.constexpr,
):  # fmt: skip
    SL: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    OL: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 256, 16])
    PA: gl.constexpr = gl.DotOperandLayout(0, OL, 2)
    ROW: gl.constexpr = gl.SliceLayout(1, SL)
    OROW: gl.constexpr = gl.SliceLayout(1, OL)
    zero_s = gl.zeros([64, 64], gl.float32, SL)
    key = gl.arange(0, 64, gl.SliceLayout(0, SL))
    o = gl.zeros([64, 256], gl.float32, OL)
    row_sum = gl.full([64], 0.0, gl.float32, ROW)
    m = gl.full([64], -float("inf"), gl.float32, ROW)
    mbarrier.wait(bars.index(Q_IN), 0)
    for i in range(n):
        ph = i & 1
        z = i >> 30  # see `split_kv`: always 0
        q_l, q_r, q_p = sq_l.index(z), sq_r.index(z), sq_p.index(z)
        k0_r, k1_l, k1_r, x0, x1 = s0_r.index(z), s1_l.index(z), s1_r.index(z), sx0.index(z), sx1.index(z)
        more = i + 1 < n

        mbarrier.wait(bars.index(K1R), ph)
        s_acc = warpgroup_mma(q_r, k1_r.permute((1, 0)), zero_s, use_acc=False, is_async=True)
        mbarrier.wait(bars.index(K1L), ph)
        s_acc = warpgroup_mma(q_l, k1_l.permute((1, 0)), s_acc, is_async=True)
        if ROPE:
            s_acc = warpgroup_mma(q_p, x1.permute((1, 0)), s_acc, is_async=True)
        s = warpgroup_mma_wait(0, [s_acc])
        if i == n - 1:
            s = gl.where(((2 * i + 1) * 64 + key)[None, :] < limit, s, -float("inf"))
        tile_max = gl.max(s, 1) * scale
        mbarrier.wait(bars.index(M0), ph)
        m1 = gl.maximum(m0_s.load(ROW), tile_max)
        m1_s.store(m1)
        mbarrier.arrive(bars.index(M1), count=1)
        a = exp2(m - m1)
        m = m1
        p = exp2(s * scale - m1[:, None])
        pb = p.to(gl.bfloat16)
        x1.store(pb)
        fence_async_shared()
        mbarrier.arrive(bars.index(P1), count=1)
        pa = gl.convert_layout(pb, PA)
        o = o * gl.convert_layout(a, OROW)[:, None]
        acc = warpgroup_mma(pa, k1_r, o, is_async=True)
        row_sum = row_sum * a + gl.sum(p, 1)
        mbarrier.wait(bars.index(P0), ph)
        acc = warpgroup_mma(x0, k0_r, acc, is_async=True)
        pa = warpgroup_mma_wait(1, [pa])
        load_half(k_desc, key0 + i * 128 + 192, 256, bars.index(K1R), k1_r, more)
        o = warpgroup_mma_wait(0, [acc])
        load_half_and_rope(k_desc, kp_desc, key0 + i * 128 + 128, 256, bars.index(K0R), k0_r, x0, more, ROPE)
    l1_s.store(row_sum)
    mbarrier.arrive(bars.index(L1), count=1)
    mbarrier.wait(bars.index(L0), 0)
    row_sum += l0_s.load(ROW)
    _write(o, row_sum, m, sq_r.index(0), out_desc, lse, peak, out_row, 256, DIRECT)


@gluon.jit
def split_kv(
    q_desc, qp_desc, k_desc, kp_desc, out_desc, lse, peak, scale, seq, chunk,
    H: gl.constexpr, ROPE: gl.constexpr, DIRECT: gl.constexpr,
):  # fmt: skip
    """One split of one block of 64 heads: grid (splits, B * ceil(H / 64)), num_warps = 4.

    q rows [B*H, D], keys [B*seq, D], bfloat16, by descriptors with [64, 256] blocks (qp_desc, kp_desc: [64, 64]).
    chunk: keys a split, a multiple of 128; no split may be empty. scale: softmax scale * log2(e).
    DIRECT (one split, H a multiple of 64): out_desc is o [B*H, 512] bfloat16. Otherwise out_desc is the scratch
    [B * ceil(H/64) * splits * 64, 512] float16, lse its row's log2-sum-exp2, peak [.., 2] the scale of each half row.

    Every buffer has one slot, addressed by a number that is always 0 but depends on the loop counter. With plain
    addresses the compiler hoists some forty matrix descriptors out of the loop and spills what they displace.
    """
    layout: gl.constexpr = q_desc.layout
    vector: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    sq_l = gl.allocate_shared_memory(gl.bfloat16, [1, 64, 256], layout)
    sq_r = gl.allocate_shared_memory(gl.bfloat16, [1, 64, 256], layout)
    s0_l = gl.allocate_shared_memory(gl.bfloat16, [1, 64, 256], layout)
    s0_r = gl.allocate_shared_memory(gl.bfloat16, [1, 64, 256], layout)
    s1_l = gl.allocate_shared_memory(gl.bfloat16, [1, 64, 256], layout)
    s1_r = gl.allocate_shared_memory(gl.bfloat16, [1, 64, 256], layout)
    # a tile's rope dims, if any, and then its probabilities: the first are used up once the tile has been scored
    sx0 = gl.allocate_shared_memory(gl.bfloat16, [1, 64, 64], layout)
    sx1 = gl.allocate_shared_memory(gl.bfloat16, [1, 64, 64], layout)
    if ROPE:
        sq_p = gl.allocate_shared_memory(gl.bfloat16, [1, 64, 64], layout)
    else:
        sq_p = sx0
    m0_s = gl.allocate_shared_memory(gl.float32, [64], vector)
    m1_s = gl.allocate_shared_memory(gl.float32, [64], vector)
    l0_s = gl.allocate_shared_memory(gl.float32, [64], vector)
    l1_s = gl.allocate_shared_memory(gl.float32, [64], vector)
    bars = gl.allocate_shared_memory(gl.int64, [N_BARRIERS, 1], mbarrier.MBarrierLayout())
    for b in gl.static_range(N_BARRIERS):
        mbarrier.init(bars.index(b), count=1)
    fence_async_shared()

    split = gl.program_id(0)
    item = gl.program_id(1)
    head_blocks: gl.constexpr = (H + 63) // 64
    batch = item // head_blocks
    q_row = batch * H + item % head_blocks * 64
    key0 = batch * seq + split * chunk
    limit = gl.minimum(seq - split * chunk, chunk)
    n = (limit + 127) // 128
    if DIRECT:
        out_row = q_row
    else:
        out_row = (item * gl.num_programs(0) + split) * 64

    if ROPE:
        mbarrier.expect(bars.index(Q_IN), 2 * HALF_BYTES + ROPE_BYTES)
    else:
        mbarrier.expect(bars.index(Q_IN), 2 * HALF_BYTES)
    load_half(k_desc, key0, 0, bars.index(K0L), s0_l.index(0), True)
    tma.async_copy_global_to_shared(q_desc, [q_row, 0], bars.index(Q_IN), sq_l.index(0))
    tma.async_copy_global_to_shared(q_desc, [q_row, 256], bars.index(Q_IN), sq_r.index(0))
    if ROPE:
        tma.async_copy_global_to_shared(qp_desc, [q_row, 512], bars.index(Q_IN), sq_p.index(0))
    load_half_and_rope(k_desc, kp_desc, key0, 256, bars.index(K0R), s0_r.index(0), sx0.index(0), True, ROPE)
    load_half(k_desc, key0 + 64, 256, bars.index(K1R), s1_r.index(0), True)
    load_half_and_rope(k_desc, kp_desc, key0 + 64, 0, bars.index(K1L), s1_l.index(0), sx1.index(0), True, ROPE)
    gl.warp_specialize(
        [
            (_left, (sq_l, sq_r, sq_p, s0_l, s0_r, s1_l, sx0, sx1, m0_s, m1_s, l0_s, l1_s, bars,
                     k_desc, kp_desc, out_desc, lse, peak, n, limit, key0, out_row, scale, ROPE, DIRECT)),
            (_right, (sq_l, sq_r, sq_p, s0_r, s1_l, s1_r, sx0, sx1, m0_s, m1_s, l0_s, l1_s, bars,
                      k_desc, kp_desc, out_desc, lse, peak, n, limit, key0, out_row, scale, ROPE, DIRECT)),
        ],
        [4],
        [240],
    )  # fmt: skip
