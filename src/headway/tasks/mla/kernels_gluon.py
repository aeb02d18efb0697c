"""MLA prefill for Hopper in Gluon, Triton's lower-level language (triton 3.6.0). Only device code.

One work item is a block of 64 rows; a row is one (query token, head) pair of the flattened `[S * H, D]` queries.
Per row, with K = kv `[S, D]` and V = K[:, :512]:

    p_j = exp2(s_j - ref),   s_j = (q . k_j) * scale * log2(e),   o = sum_j p_j v_j / sum_j p_j

`ref` is the row's largest score among its first 64 keys, not a running maximum: bfloat16 and float32 share their
exponent range, so any score of the row serves as reference until a later one beats it by 64 powers of two. That removes
from the loop every row maximum, every rescaling of the 64x512 accumulator and the exchange of maxima between the
warpgroups. A block that does leave the range is flagged and computed again with a running maximum
(`kernels.online_rows`).

Two warpgroups share a work item. LEFT scores the even tiles of 64 keys and owns o[:, :256]; RIGHT scores the odd tiles
and owns o[:, 256:]; each one's probabilities reach the other through shared memory. There is no producer warp: the
warpgroup that reads a piece of K last issues the copy that replaces it, so no "empty" barriers are needed.
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

SUM_LIMIT = gl.constexpr(18446744073709551616.0)  # 2^64: beyond it a row's sum of probabilities is not trusted

# One barrier each. K0*, K1*: a half of the even or odd key tile has arrived (L: latent dims 0-255, R: 256-511).
K0L = gl.constexpr(0)
K0R = gl.constexpr(1)
K1L = gl.constexpr(2)
K1R = gl.constexpr(3)
Q_IN = gl.constexpr(4)  # the queries have arrived
REF = gl.constexpr(5)  # LEFT has published the reference scores
P0 = gl.constexpr(6)  # LEFT has published the even tile's probabilities
P1 = gl.constexpr(7)  # RIGHT has published the odd tile's
L0 = gl.constexpr(8)  # LEFT has published its share of the row sums
L1 = gl.constexpr(9)
N_BARRIERS = gl.constexpr(10)


@gluon.jit
def _load_queries(desc, rope_desc, row, bar, q_l, q_r, q_p, pred, ROPE: gl.constexpr):
    if ROPE:
        mbarrier.expect(bar, 2 * HALF_BYTES + ROPE_BYTES, pred=pred)
    else:
        mbarrier.expect(bar, 2 * HALF_BYTES, pred=pred)
    tma.async_copy_global_to_shared(desc, [row, 0], bar, q_l, pred=pred)
    tma.async_copy_global_to_shared(desc, [row, 256], bar, q_r, pred=pred)
    if ROPE:
        tma.async_copy_global_to_shared(rope_desc, [row, 512], bar, q_p, pred=pred)


@gluon.jit
def _block(step, cta, n_ctas, n_blocks):
    # longest blocks first, and every second round in reverse, so that all programs get the same amount of causal work
    turned = (step & 1) * (n_ctas - 1 - 2 * cta) + cta
    return n_blocks - 1 - step * n_ctas - turned


@gluon.jit
def _key_range(block, seq, H: gl.constexpr, CAUSAL: gl.constexpr):
    # -> pairs of key tiles to visit; the first pair in which some row must be masked
    if CAUSAL:
        first = gl.minimum(block * 64 // H + 1, seq)
        last = gl.minimum((block * 64 + 63) // H + 1, seq)
    else:
        first = seq
        last = seq
    return (last + 127) // 128, first // 128


@gluon.jit
def _masked(s, tile, block, seq, H: gl.constexpr, CAUSAL: gl.constexpr):
    layout: gl.constexpr = s.type.layout
    key = tile * 64 + gl.arange(0, 64, gl.SliceLayout(0, layout))
    if CAUSAL:
        if H % 64 == 0:
            limit = block * 64 // H + 1
            s = gl.where((key < limit)[None, :], s, -float("inf"))
        else:
            row = block * 64 + gl.arange(0, 64, gl.SliceLayout(1, layout))
            limit = gl.minimum(row // H + 1, seq)
            s = gl.where(key[None, :] < limit[:, None], s, -float("inf"))
    else:
        s = gl.where((key < seq)[None, :], s, -float("inf"))
    return s


@gluon.jit
def _left(
    sq_l, sq_r, sq_p, s0_l, s0_r, s1_l, sx0, sx1, ref_s, l0_s, l1_s, bars,
    q_desc, qp_desc, k_desc, kp_desc, o_desc, flags, steps, cta, n_ctas, n_blocks, seq, scale,
    H: gl.constexpr, CAUSAL: gl.constexpr, ROPE: gl.constexpr,
):  # fmt: skip
    SL: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    OL: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 256, 16])
    PA: gl.constexpr = gl.DotOperandLayout(0, OL, 2)
    ROW: gl.constexpr = gl.SliceLayout(1, SL)
    OROW: gl.constexpr = gl.SliceLayout(1, OL)
    zero_s = gl.zeros([64, 64], gl.float32, SL)
    it = 0  # pairs of tiles so far, over all work items: its parity is the phase of the K and P barriers
    for w in range(steps):
        block = _block(w, cta, n_ctas, n_blocks)
        next_block = _block(w + 1, cta, n_ctas, n_blocks)
        n, n_full = _key_range(block, seq, H, CAUSAL)
        more = w + 1 < steps
        o = gl.zeros([64, 256], gl.float32, OL)
        row_sum = gl.full([64], 0.0, gl.float32, ROW)
        ref = gl.full([64], 0.0, gl.float32, ROW)
        mbarrier.wait(bars.index(Q_IN), w & 1)
        for i in range(n):
            ph = it & 1
            z = it >> 30  # see `prefill`: always 0
            q_l, q_r, q_p = sq_l.index(z), sq_r.index(z), sq_p.index(z)
            k0_l, k0_r, k1_l, x0, x1 = s0_l.index(z), s0_r.index(z), s1_l.index(z), sx0.index(z), sx1.index(z)
            inside = i + 1 < n

            mbarrier.wait(bars.index(K0L), ph)
            s_acc = warpgroup_mma(q_l, k0_l.permute((1, 0)), zero_s, use_acc=False, is_async=True)
            mbarrier.wait(bars.index(K0R), ph)
            s_acc = warpgroup_mma(q_r, k0_r.permute((1, 0)), s_acc, is_async=True)
            if ROPE:
                s_acc = warpgroup_mma(q_p, x0.permute((1, 0)), s_acc, is_async=True)
            s = warpgroup_mma_wait(0, [s_acc])
            if i >= n_full:
                s = _masked(s, 2 * i, block, seq, H, CAUSAL)
            if i == 0:
                ref = gl.max(s, 1) * scale
                ref_s.store(ref)
                mbarrier.arrive(bars.index(REF), count=1)
            p = exp2(s * scale - ref[:, None])
            pb = p.to(gl.bfloat16)
            x0.store(pb)
            fence_async_shared()
            mbarrier.arrive(bars.index(P0), count=1)

            pa = gl.convert_layout(pb, PA)
            acc = warpgroup_mma(pa, k0_l, o, is_async=True)  # + P0 V0L
            row_sum += gl.sum(p, 1)
            mbarrier.wait(bars.index(P1), ph)
            acc = warpgroup_mma(x1, k1_l, acc, is_async=True)  # + P1 V1L
            # RIGHT has published P1, so it too has read the queries for the last time
            last = more & (i == n - 1)
            _load_queries(q_desc, qp_desc, next_block * 64, bars.index(Q_IN), q_l, q_r, q_p, last, ROPE)
            pa = warpgroup_mma_wait(1, [pa])
            next_row = gl.where(inside, (i + 1) * 128, 0)
            load_half(k_desc, next_row, 0, bars.index(K0L), k0_l, inside | more)
            # nothing may stay in flight across the loop's edge: ptxas would then serialise every wgmma of the kernel
            o = warpgroup_mma_wait(0, [acc])
            load_half_and_rope(k_desc, kp_desc, i * 128 + 192, 0, bars.index(K1L), k1_l, x1, inside, ROPE)
            it += 1
        l0_s.store(row_sum)
        mbarrier.arrive(bars.index(L0), count=1)
        mbarrier.wait(bars.index(L1), w & 1)
        row_sum += l1_s.load(ROW)
        gl.store(flags + block, gl.max(gl.where(row_sum < SUM_LIMIT, 0, 1), 0))
        o = o * gl.convert_layout(1.0 / row_sum, OROW)[:, None]
        staging = s1_l.index(it >> 30)  # the half that this warpgroup frees last; the others are already on their way
        staging.store(o.to(gl.bfloat16))
        fence_async_shared()
        tma.async_copy_shared_to_global(o_desc, [block * 64, 0], staging)
        tma.store_wait(0)
        load_half_and_rope(k_desc, kp_desc, 64, 0, bars.index(K1L), staging, sx1.index(it >> 30), more, ROPE)


@gluon.jit
def _right(
    sq_l, sq_r, sq_p, s0_r, s1_l, s1_r, sx0, sx1, ref_s, l0_s, l1_s, bars,
    k_desc, kp_desc, o_desc, steps, cta, n_ctas, n_blocks, seq, scale,
    H: gl.constexpr, CAUSAL: gl.constexpr, ROPE: gl.constexpr,
):  # fmt: skip
    SL: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    OL: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 256, 16])
    PA: gl.constexpr = gl.DotOperandLayout(0, OL, 2)
    ROW: gl.constexpr = gl.SliceLayout(1, SL)
    OROW: gl.constexpr = gl.SliceLayout(1, OL)
    zero_s = gl.zeros([64, 64], gl.float32, SL)
    it = 0
    for w in range(steps):
        block = _block(w, cta, n_ctas, n_blocks)
        n, n_full = _key_range(block, seq, H, CAUSAL)
        more = w + 1 < steps
        o = gl.zeros([64, 256], gl.float32, OL)
        row_sum = gl.full([64], 0.0, gl.float32, ROW)
        ref = gl.full([64], 0.0, gl.float32, ROW)
        mbarrier.wait(bars.index(Q_IN), w & 1)
        for i in range(n):
            ph = it & 1
            z = it >> 30  # see `prefill`: always 0
            q_l, q_r, q_p = sq_l.index(z), sq_r.index(z), sq_p.index(z)
            k0_r, k1_l, k1_r, x0, x1 = s0_r.index(z), s1_l.index(z), s1_r.index(z), sx0.index(z), sx1.index(z)
            inside = i + 1 < n

            mbarrier.wait(bars.index(K1R), ph)
            s_acc = warpgroup_mma(q_r, k1_r.permute((1, 0)), zero_s, use_acc=False, is_async=True)
            mbarrier.wait(bars.index(K1L), ph)
            s_acc = warpgroup_mma(q_l, k1_l.permute((1, 0)), s_acc, is_async=True)
            if ROPE:
                s_acc = warpgroup_mma(q_p, x1.permute((1, 0)), s_acc, is_async=True)
            mbarrier.wait(bars.index(P0), ph)
            acc = warpgroup_mma(x0, k0_r, o, is_async=True)  # + P0 V0R, running on behind this tile's exponentials
            s = warpgroup_mma_wait(1, [s_acc])
            if i >= n_full:
                s = _masked(s, 2 * i + 1, block, seq, H, CAUSAL)
            if i == 0:
                mbarrier.wait(bars.index(REF), w & 1)
                ref = ref_s.load(ROW)
            p = exp2(s * scale - ref[:, None])
            pb = p.to(gl.bfloat16)
            x1.store(pb)
            fence_async_shared()
            mbarrier.arrive(bars.index(P1), count=1)

            pa = gl.convert_layout(pb, PA)
            acc = warpgroup_mma(pa, k1_r, acc, is_async=True)  # + P1 V1R
            row_sum += gl.sum(p, 1)
            pa = warpgroup_mma_wait(1, [pa])
            next_row = gl.where(inside, (i + 1) * 128, 0)
            load_half_and_rope(k_desc, kp_desc, next_row, 256, bars.index(K0R), k0_r, x0, inside | more, ROPE)
            o = warpgroup_mma_wait(0, [acc])
            load_half(k_desc, i * 128 + 192, 256, bars.index(K1R), k1_r, inside)
            it += 1
        l1_s.store(row_sum)
        mbarrier.arrive(bars.index(L1), count=1)
        mbarrier.wait(bars.index(L0), w & 1)
        row_sum += l0_s.load(ROW)
        o = o * gl.convert_layout(1.0 / row_sum, OROW)[:, None]
        staging = s1_r.index(it >> 30)
        staging.store(o.to(gl.bfloat16))
        fence_async_shared()
        tma.async_copy_shared_to_global(o_desc, [block * 64, 256], staging)
        tma.store_wait(0)
        load_half(k_desc, 64, 256, bars.index(K1R), staging, more)


@gluon.jit
def prefill(
    q_desc, qp_desc, k_desc, kp_desc, o_desc, flags, scale, seq, n_blocks,
    H: gl.constexpr, CAUSAL: gl.constexpr, ROPE: gl.constexpr,
):  # fmt: skip
    """Rows [S*H, D] of bfloat16 queries against kv [S, D] -> o [S*H, 512]; flags[block] = 1 where a sum left the range.

    q_desc, k_desc, o_desc: descriptors with [64, 256] blocks; qp_desc, kp_desc: the same tensors with [64, 64] blocks.
    scale: softmax scale * log2(e). seq: S. n_blocks: ceil(S * H / 64). Grid: any number of programs up to n_blocks; one
    a multiprocessor is fastest, because a program fetches its next block's queries and keys behind the current one's
    last products. num_warps must be 4: the second warpgroup is the specialised partition.

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
    ref_s = gl.allocate_shared_memory(gl.float32, [64], vector)
    l0_s = gl.allocate_shared_memory(gl.float32, [64], vector)
    l1_s = gl.allocate_shared_memory(gl.float32, [64], vector)
    bars = gl.allocate_shared_memory(gl.int64, [N_BARRIERS, 1], mbarrier.MBarrierLayout())
    for b in gl.static_range(N_BARRIERS):
        mbarrier.init(bars.index(b), count=1)
    fence_async_shared()

    cta = gl.program_id(0)
    n_ctas = gl.num_programs(0)
    rounds = n_blocks // n_ctas
    turned = (rounds & 1) * (n_ctas - 1 - 2 * cta) + cta
    steps = rounds + (turned < n_blocks - rounds * n_ctas).to(gl.int32)

    row = _block(0, cta, n_ctas, n_blocks) * 64
    _load_queries(q_desc, qp_desc, row, bars.index(Q_IN), sq_l.index(0), sq_r.index(0), sq_p.index(0), True, ROPE)
    load_half(k_desc, 0, 0, bars.index(K0L), s0_l.index(0), True)
    load_half_and_rope(k_desc, kp_desc, 0, 256, bars.index(K0R), s0_r.index(0), sx0.index(0), True, ROPE)
    load_half(k_desc, 64, 256, bars.index(K1R), s1_r.index(0), True)
    load_half_and_rope(k_desc, kp_desc, 64, 0, bars.index(K1L), s1_l.index(0), sx1.index(0), True, ROPE)
    gl.warp_specialize(
        [
            (_left, (sq_l, sq_r, sq_p, s0_l, s0_r, s1_l, sx0, sx1, ref_s, l0_s, l1_s, bars,
                     q_desc, qp_desc, k_desc, kp_desc, o_desc, flags, steps, cta, n_ctas, n_blocks, seq, scale,
                     H, CAUSAL, ROPE)),
            (_right, (sq_l, sq_r, sq_p, s0_r, s1_l, s1_r, sx0, sx1, ref_s, l0_s, l1_s, bars,
                      k_desc, kp_desc, o_desc, steps, cta, n_ctas, n_blocks, seq, scale,
                      H, CAUSAL, ROPE)),
        ],
        [4],
        [240],
    )  # fmt: skip
