"""KDA's first kernel for Hopper (sm_90), in Gluon, Triton's language of explicit layouts and shared memory.

`prep` works on all chunks of 64 tokens at once and reduces each, for one head, to five small matrices, which `scan`
(`scan_gluon.py`) then carries the state through.

One head, one chunk; rows are tokens, G_i the sum of log gates up to and including token i of the chunk:

    R_ij = sum_d k_id k_jd exp(G_id - G_jd)   (j < i)      P_ij = sum_d q_id k_jd exp(G_id - G_jd)   (j <= i)
    A    = diag(beta * rk) R diag(rk)                      rk_i = 1 / |k_i|   (1 where keys come normalised)
    T1   = diag(rk) (I + A)^-1 diag(beta)                  rq_i = scale / |q_i|
    W    = -T1 diag(rk) (k * exp G)                        Q = diag(rq) (q * exp G)
    M    = diag(rq) P                                      K = k * exp(G_63 - G)

Nothing here is scaled by a key's norm twice: rk sits in T1, so K and M need the raw keys only.

Exponents stay in range because every decay is split at the middle of a half chunk: with m = 15 for the columns of the
first half and m = 47 for those of the second, exp(G_i - G_j) = exp(G_i - G_m) exp(G_m - G_j), and with gates >= -5 no
exponent that matters leaves [-80, 80].  See GATE_WINDOW in `call.py` for what happens below.

Sums of gates are products of a 0/1/-1 mask with the tile of gates: exact products, fp32 sums, and the result lies in
the layout in which the decays are needed.

Workspace: `ws` [work * 512, 64] bf16 holds, for work = chunk * heads + head, eight 64 x 64 tiles:
W[:, :64], W[:, 64:], Q.., Q.., K.., K.., T1, M; `gamma` [work, 128] fp32 holds exp(G_63).
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

from headway.tasks.kda.tiles_gluon import (
    TILE_BYTES,
    exp2_bf16,
    keep_where,
    le_bf16,
    mul_bf16,
    opaque_zero,
    side_by_side,
    sub_bf16,
    zero_rows,
)

LOG2E = gl.constexpr(1.4426950408889634)
# Powers of two that move the range of the split exponents: the right factor exp(G_m - G_j) overflows before the left
# one, exp(G_i - G_m), is flushed to zero, so gates beyond the range give NaN and never a small wrong number.
RIGHT_SHIFT = gl.constexpr(2.0)
CROSS_SHIFT = gl.constexpr(10.0)
UNSHIFT_FIRST = gl.constexpr(2.0**-12)  # columns of the first half carry both shifts
UNSHIFT_SECOND = gl.constexpr(2.0**-2)


@gluon.jit
def _locate(work, heads, tokens, chunks, chunk_table, VARLEN: gl.constexpr):
    """First row of the chunk in the flattened [rows, heads * 128] inputs, and how many of its 64 rows are valid."""
    chunk = work // heads
    if VARLEN:
        row = gl.load(chunk_table + 2 * chunk)
        valid = gl.load(chunk_table + 2 * chunk + 1)
    else:
        n = chunk % chunks
        row = chunk // chunks * tokens + n * 64
        valid = gl.minimum(tokens - n * 64, 64)
    return row, valid


@gluon.jit
def _load_gates(g_desc, row, col, bar, g0, g1, pred):
    mbarrier.expect(bar, 6 * TILE_BYTES, pred=pred)  # all six tiles: k and q follow
    tma.async_copy_global_to_shared(g_desc, [row, col], bar, g0, pred=pred)
    tma.async_copy_global_to_shared(g_desc, [row, col + 64], bar, g1, pred=pred)


@gluon.jit
def _load_keys(q_desc, k_desc, row, col, bar, q0, q1, k0, k1, pred):
    tma.async_copy_global_to_shared(k_desc, [row, col], bar, k0, pred=pred)
    tma.async_copy_global_to_shared(k_desc, [row, col + 64], bar, k1, pred=pred)
    tma.async_copy_global_to_shared(q_desc, [row, col], bar, q0, pred=pred)
    tma.async_copy_global_to_shared(q_desc, [row, col + 64], bar, q1, pred=pred)


@gluon.jit
def _raw_gates(tile, low_tile, rate, bias, valid, lower_bound, LAYOUT: gl.constexpr):
    """Turn a tile of gate inputs x into log gates lower_bound * sigmoid(rate * (x + bias)).

    An fp32 gate is kept as the sum of two bf16 numbers: the high part in place, the low part in `low_tile`; 16 bits
    together.  Rows from `valid` on become 0: no decay.
    """
    rows = gl.arange(0, 64, gl.SliceLayout(1, LAYOUT))[:, None]
    x = tile.load(LAYOUT).to(gl.float32) + bias[None, :]
    gate = lower_bound / (1.0 + gl.exp2(x * (-rate * LOG2E)))
    gate = gl.where(rows < valid, gate, 0.0)
    high = gate.to(gl.bfloat16)
    tile.store(high)
    low_tile.store((gate - high.to(gl.float32)).to(gl.bfloat16))


@gluon.jit
def _gate_sum(mask, high, low, zero, RAW: gl.constexpr):
    """mask @ gates, in flight: [64, 64] fp32."""
    total = warpgroup_mma(mask, high, zero, use_acc=False, is_async=True)
    if RAW:
        total = warpgroup_mma(mask, low, total, is_async=True)
    return total


@gluon.jit
def prep(
    q_desc, k_desc, g_desc, ws_desc, gamma_ptr, beta_ptr, rate_ptr, bias_ptr, chunk_table,
    work_items, heads, tokens, chunks, scale, lower_bound,
    VARLEN: gl.constexpr, TAIL: gl.constexpr, NORMALIZE: gl.constexpr, RAW: gl.constexpr, BETA_LOGIT: gl.constexpr,
):  # fmt: skip
    """Reduce every (chunk, head) to W, Q, K, T1, M and exp(G_63); see the module's text for the formulas.

    q_desc, k_desc, g_desc: TMA descriptors of bf16 [rows, heads * 128], boxes of 64 x 64.  g holds log gates, or with
    RAW the gate's input.  ws_desc: the workspace, boxes of 64 x 64.  beta_ptr [rows, heads], a logit with BETA_LOGIT.
    rate_ptr fp32 [heads]: exp(A_log); bias_ptr fp32 [heads * 128]; both read with RAW only.
    chunk_table int32 [chunks, 2] with VARLEN: first row, valid rows.  TAIL: some chunk has fewer than 64 valid rows.

    A persistent grid of 4 warps, two programs on a multiprocessor (113 KiB of shared memory each).  Work is taken from
    the end: what is written last is what `scan` reads first, and still in the L2 cache.  The next chunk's gates travel
    once this one's are summed, q and k while its matrix is inverted.
    """
    L: gl.constexpr = gl.NVMMASharedLayout(128, 16, rank=2)
    ACC64: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    ACC32: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 32, 16])
    ACC8: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 8, 16])
    LEFT64: gl.constexpr = gl.DotOperandLayout(0, ACC64, 2)
    LEFT32: gl.constexpr = gl.DotOperandLayout(0, ACC32, 2)
    LEFT8: gl.constexpr = gl.DotOperandLayout(0, ACC8, 2)
    ROW: gl.constexpr = gl.SliceLayout(1, ACC64)
    COL: gl.constexpr = gl.SliceLayout(0, ACC64)
    bf16: gl.constexpr = gl.bfloat16
    fp16: gl.constexpr = gl.float16
    fp32: gl.constexpr = gl.float32

    q_mem0 = gl.allocate_shared_memory(bf16, [1, 64, 64], L)
    q_mem1 = gl.allocate_shared_memory(bf16, [1, 64, 64], L)
    k_mem0 = gl.allocate_shared_memory(bf16, [1, 64, 64], L)
    k_mem1 = gl.allocate_shared_memory(bf16, [1, 64, 64], L)
    g_mem0 = gl.allocate_shared_memory(bf16, [1, 64, 64], L)
    g_mem1 = gl.allocate_shared_memory(bf16, [1, 64, 64], L)
    right_mem0 = gl.allocate_shared_memory(bf16, [1, 64, 64], L)
    right_mem1 = gl.allocate_shared_memory(bf16, [1, 64, 64], L)
    half_mem = gl.allocate_shared_memory(bf16, [1, 64, 64], L)
    cross_mem = gl.allocate_shared_memory(bf16, [1, 64, 64], L)
    upto_mem = gl.allocate_shared_memory(bf16, [1, 64, 64], L)
    after_mem = gl.allocate_shared_memory(bf16, [1, 64, 64], L)
    even_mem = gl.allocate_shared_memory(bf16, [1, 64, 64], L)
    odd_mem = gl.allocate_shared_memory(bf16, [1, 64, 64], L)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    fence_async_shared()  # the copies below must find the barrier set up

    first = gl.program_id(0)
    step = gl.num_programs(0)
    first_work = work_items - 1 - first
    row, valid = _locate(first_work, heads, tokens, chunks, chunk_table, VARLEN)
    col = first_work % heads * 128
    mbarrier.expect(bar, 6 * TILE_BYTES)
    _load_keys(q_desc, k_desc, row, col, bar, q_mem0.index(0), q_mem1.index(0), k_mem0.index(0), k_mem1.index(0), True)
    tma.async_copy_global_to_shared(g_desc, [row, col], bar, g_mem0.index(0))
    tma.async_copy_global_to_shared(g_desc, [row, col + 64], bar, g_mem1.index(0))

    # The masks whose products with the gates are sums of gates, once for all chunks.  half: G_i - G_m with m the middle
    # of token i's own half; cross: G_i - G_15; upto: G_i; after: G_63 - G_i.
    none = gl.full([64, 64], 0, gl.int32, LEFT64)
    li = gl.arange(0, 64, gl.SliceLayout(1, LEFT64))[:, None] + none
    lj = gl.arange(0, 64, gl.SliceLayout(0, LEFT64))[None, :] + none
    upto = le_bf16(lj.to(bf16), li.to(bf16))
    middle = gl.where(lj < 16, 1.0, gl.where((lj < 48) & (li >= 32), 1.0, 0.0)).to(bf16)
    half_mem.index(0).store(sub_bf16(upto, middle))
    cross_mem.index(0).store(sub_bf16(upto, gl.where(lj < 16, 1.0, 0.0).to(bf16)))
    upto_mem.index(0).store(upto)
    after_mem.index(0).store(sub_bf16(gl.full([64, 64], 1.0, bf16, LEFT64), upto))
    fence_async_shared()

    # Where an element of a 64 x 64 tile stands: its 8 x 8 block (i8, j8) and its place there (il, jl).  Written this
    # way the compiler knows most answers of the comparisons below from the layout alone.
    i = gl.arange(0, 64, ROW)
    j = gl.arange(0, 64, COL)
    i8 = (i >> 3)[:, None]
    il = (i & 7)[:, None]
    j8 = (j >> 3)[None, :]
    jl = (j & 7)[None, :]
    # Which 8 x 8 blocks of -A join two inverted blocks of 8, 16 and 32 rows.
    join8 = ((((li >> 3) ^ (lj >> 3)) == 1) & ((li >> 3) > (lj >> 3))).to(gl.int32)
    join16 = ((((li >> 4) ^ (lj >> 4)) == 1) & ((li >> 4) > (lj >> 4))).to(gl.int32)
    join32 = ((li >= 32) & (lj < 32)).to(gl.int32)

    zero = gl.zeros([64, 64], fp32, ACC64)
    phase = 0
    for turn in range(first, work_items, step):
        work = work_items - 1 - turn
        z = opaque_zero(turn)
        q0 = q_mem0.index(z)
        q1 = q_mem1.index(z)
        k0 = k_mem0.index(z)
        k1 = k_mem1.index(z)
        g0 = g_mem0.index(z)
        g1 = g_mem1.index(z)
        right0 = right_mem0.index(z)
        right1 = right_mem1.index(z)
        upto_tile = upto_mem.index(z)
        even = even_mem.index(z)
        odd = odd_mem.index(z)
        head = work % heads
        more = turn + step < work_items
        next_work = gl.where(more, work - step, work)
        next_row, next_valid = _locate(next_work, heads, tokens, chunks, chunk_table, VARLEN)
        beta = gl.load(beta_ptr + (row + i) * heads + head, mask=i < valid, other=0.0).to(fp32)
        if BETA_LOGIT:
            beta = gl.where(i < valid, 1.0 / (1.0 + gl.exp2(beta * -LOG2E)), 0.0)
        mbarrier.wait(bar, phase)
        phase = phase ^ 1
        if TAIL:
            if valid < 64:
                zero_rows(k0, valid, ACC64)
                zero_rows(k1, valid, ACC64)
                zero_rows(q0, valid, ACC64)
                zero_rows(q1, valid, ACC64)
                zero_rows(g0, valid, ACC64)
                zero_rows(g1, valid, ACC64)
                fence_async_shared()
        if RAW:
            tma.store_wait(0)  # the tiles for the low parts still travel, as T1 and M of the chunk before
            rate = gl.load(rate_ptr + head)
            _raw_gates(g0, even, rate, gl.load(bias_ptr + head * 128 + j), valid, lower_bound, ACC64)
            _raw_gates(g1, odd, rate, gl.load(bias_ptr + head * 128 + 64 + j), valid, lower_bound, ACC64)
            fence_async_shared()

        # ---- 1. Norms.  Row sums of squares as products with the mask's last rows: column 7 sums the whole row, the
        # others less of it, and squares are not negative, so the maximum is the sum.
        rk = gl.full([64], 1.0, fp32, ROW)
        rq = gl.full([64], 1.0, fp32, ROW) * scale
        kk = gl.zeros([64, 8], fp32, ACC8)
        qq = gl.zeros([64, 8], fp32, ACC8)
        if NORMALIZE:
            tail_rows = upto_tile.slice(56, 8, 0).permute((1, 0))
            for c in gl.static_range(2):
                x = (k0 if c == 0 else k1).load(LEFT8)
                kk = warpgroup_mma(mul_bf16(x, x), tail_rows, kk, is_async=True)
                x = (q0 if c == 0 else q1).load(LEFT8)
                qq = warpgroup_mma(mul_bf16(x, x), tail_rows, qq, is_async=True)
        log_rq = rq[:, None]

        # ---- 2. R and P, columns of the first and of the second half apart; Q, K and k exp(G) on the way
        r0 = gl.zeros([64, 32], fp32, ACC32)
        r1 = gl.zeros([64, 32], fp32, ACC32)
        p0 = gl.zeros([64, 32], fp32, ACC32)
        p1 = gl.zeros([64, 32], fp32, ACC32)
        for c in gl.static_range(2):
            k_tile = k0 if c == 0 else k1
            q_tile = q0 if c == 0 else q1
            g_tile = g0 if c == 0 else g1
            g_low = even if c == 0 else odd
            right = right0 if c == 0 else right1
            half = _gate_sum(half_mem.index(z), g_tile, g_low, zero, RAW)
            if c == 0 and NORMALIZE:
                half, kk, qq = warpgroup_mma_wait(0, [half, kk, qq])
                rk = gl.rsqrt(gl.convert_layout(gl.max(kk, 1), ROW) + 1e-6)
                rq = gl.rsqrt(gl.convert_layout(gl.max(qq, 1), ROW) + 1e-6) * scale
            else:
                half = warpgroup_mma_wait(0, [half])
            if c == 0:
                log_rq = gl.log2(rq)[:, None]
            cross = _gate_sum(cross_mem.index(z), g_tile, g_low, zero, RAW)
            half = gl.convert_layout(half, LEFT64) * LOG2E
            k_left = k_tile.load(LEFT64)
            if c == 0:
                tma.store_wait(0)  # W of the chunk before left through these tiles
            right.store(mul_bf16(k_left, exp2_bf16(RIGHT_SHIFT - half)))
            decay = exp2_bf16(half)
            fence_async_shared()
            first_half = right.slice(0, 32, 0).permute((1, 0))
            second_half = right.slice(32, 32, 0).permute((1, 0))
            # The rows of the first half meet the columns of the second above the diagonal: garbage, dropped below.
            r1 = warpgroup_mma(gl.convert_layout(mul_bf16(k_left, decay), LEFT32), second_half, r1, is_async=True)
            q_left = q_tile.load(LEFT64)
            p1 = warpgroup_mma(gl.convert_layout(mul_bf16(q_left, decay), LEFT32), second_half, p1, is_async=True)
            cross = warpgroup_mma_wait(2, [cross])
            decay = exp2_bf16(gl.convert_layout(cross, LEFT64) * LOG2E + CROSS_SHIFT)
            # Waiting before the next two products keeps fewer registers alive: with all four in flight the compiler
            # runs short of them and serialises every product of the kernel.  With raw gates it does so unless k and q
            # are read again.
            r1, p1 = warpgroup_mma_wait(0, [r1, p1])
            if RAW:
                k_left = k_tile.load(LEFT64)
                q_left = q_tile.load(LEFT64)
            r0 = warpgroup_mma(gl.convert_layout(mul_bf16(k_left, decay), LEFT32), first_half, r0, is_async=True)
            p0 = warpgroup_mma(gl.convert_layout(mul_bf16(q_left, decay), LEFT32), first_half, p0, is_async=True)
            upto_sum = _gate_sum(upto_tile, g_tile, g_low, zero, RAW)
            r0, p0, upto_sum = warpgroup_mma_wait(0, [r0, p0, upto_sum])
            if RAW:
                k_left = k_tile.load(LEFT64)
                q_left = q_tile.load(LEFT64)
            after_sum = _gate_sum(after_mem.index(z), g_tile, g_low, zero, RAW)
            # exp(G) * rq serves q, k (T1's columns take rq out again) and, in the last row, gamma
            decay_q = gl.exp2(upto_sum * LOG2E + log_rq)
            gl.store(
                gamma_ptr + work * 128 + c * 64 + j[None, :] + il * 0,
                decay_q * (1.0 / rq)[:, None],
                mask=(i8 == 7) & (il == 7) & (j[None, :] >= 0),
            )
            decay = gl.convert_layout(decay_q.to(bf16), LEFT64)
            q_tile.store(mul_bf16(q_left, decay))
            right.store(mul_bf16(k_left, decay))
            after_sum = warpgroup_mma_wait(0, [after_sum])
            decay = exp2_bf16(gl.convert_layout(after_sum, LEFT64) * LOG2E)
            k_tile.store(mul_bf16(k_left, decay))
            fence_async_shared()
            tma.async_copy_shared_to_global(ws_desc, [work * 512 + 128 + c * 64, 0], q_tile)
            tma.async_copy_shared_to_global(ws_desc, [work * 512 + 256 + c * 64, 0], k_tile)

        # The gates have been read for the last time.
        _load_gates(g_desc, next_row, next_work % heads * 128, bar, g0, g1, more)

        # ---- 3. -A (garbage above the diagonal: every use below selects its blocks) and M
        r = side_by_side(r0, r1, ACC64)
        p = side_by_side(p0, p1, ACC64)
        rk_col = gl.convert_layout(rk, COL)
        rk_unshift = rk_col * gl.where(j >> 3 < 4, UNSHIFT_FIRST, UNSHIFT_SECOND)
        minus_a = r * (-beta * rk)[:, None] * rk_unshift[None, :]
        lower = (j8 < i8) | ((j8 == i8) & (jl <= il))
        rq_unshift = gl.where(j8 < 4, (rq * UNSHIFT_FIRST)[:, None], (rq * UNSHIFT_SECOND)[:, None])
        m_tile = gl.where(lower, p * rq_unshift, 0.0).to(bf16)

        # ---- 4. (I + A)^-1.  First the 8 x 8 blocks on the diagonal: with N = -A there, (I + N)(I + N^2)(I + N^4).
        # fp16 operands: keys are contractions, entries of A and of the inverse stay near 1.
        below = (j8 < i8) | ((j8 == i8) & (jl < il))
        n_block = gl.where((j8 == i8) & below, minus_a, 0.0)
        inverse = gl.where((j8 == i8) & (jl == il), 1.0, n_block)
        n_half = n_block.to(fp16)
        a_left = gl.convert_layout(minus_a.to(fp16), LEFT64)
        even16 = even._reinterpret(fp16, [64, 64], L)
        odd16 = odd._reinterpret(fp16, [64, 64], L)
        even16.store(n_half)
        fence_async_shared()
        n2 = warpgroup_mma(gl.convert_layout(n_half, LEFT64), even16, zero, use_acc=False, is_async=True)
        left = gl.convert_layout(inverse.to(fp16), LEFT64)
        n_half = warpgroup_mma_wait(0, [n2]).to(fp16)
        odd16.store(n_half)
        fence_async_shared()
        inverse = warpgroup_mma(left, odd16, inverse, is_async=True)
        n4 = warpgroup_mma(gl.convert_layout(n_half, LEFT64), odd16, zero, use_acc=False, is_async=True)
        tma.store_wait(0)  # Q and K have left through the tiles of q and k
        _load_keys(q_desc, k_desc, next_row, next_work % heads * 128, bar, q0, q1, k0, k1, more)
        inverse, n4 = warpgroup_mma_wait(0, [inverse, n4])
        even16.store(n4.to(fp16))
        fence_async_shared()
        left = gl.convert_layout(inverse.to(fp16), LEFT64)
        inverse = warpgroup_mma_wait(0, [warpgroup_mma(left, even16, inverse, is_async=True)])
        # Then doubling, 8 -> 16 -> 32 -> 64: with D the inverse of the blocks so far, A_s the blocks that join two of
        # them, D - D A_s D.  With join32 the rows and columns of the product that are used hold one block only.
        # (As functions of their own, this and the masks let the compiler run out of registers in one form or another.)
        for level in gl.static_range(3):
            d_tile = odd16 if level == 0 else even16
            x_tile = even16 if level == 0 else odd16
            keep = join8 if level == 0 else (join16 if level == 1 else join32)
            d_half = inverse.to(fp16)
            d_tile.store(d_half)
            fence_async_shared()
            x = warpgroup_mma(keep_where(a_left, keep), d_tile, zero, use_acc=False, is_async=True)
            left = gl.convert_layout(d_half, LEFT64)
            x_tile.store(warpgroup_mma_wait(0, [x]).to(fp16))
            fence_async_shared()
            inverse = warpgroup_mma_wait(0, [warpgroup_mma(left, x_tile, inverse, is_async=True)])

        # ---- 5. T1 and W
        t1 = inverse * rk[:, None] * gl.convert_layout(beta, COL)[None, :]
        out_of_rq = gl.convert_layout(1.0 / rq, COL)
        left = gl.convert_layout((t1 * (-rk_col * out_of_rq)[None, :]).to(bf16), LEFT64)
        w0 = warpgroup_mma(left, right0, zero, use_acc=False, is_async=True)
        w1 = warpgroup_mma(left, right1, zero, use_acc=False, is_async=True)
        even.store(t1.to(bf16))
        odd.store(m_tile)
        w0, w1 = warpgroup_mma_wait(0, [w0, w1])
        right0.store(w0.to(bf16))
        right1.store(w1.to(bf16))
        fence_async_shared()
        tma.async_copy_shared_to_global(ws_desc, [work * 512 + 384, 0], even)
        tma.async_copy_shared_to_global(ws_desc, [work * 512 + 448, 0], odd)
        tma.async_copy_shared_to_global(ws_desc, [work * 512, 0], right0)
        tma.async_copy_shared_to_global(ws_desc, [work * 512 + 64, 0], right1)
        row = next_row
        valid = next_valid
    tma.store_wait(0)
