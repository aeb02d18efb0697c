"""KDA forward for Hopper (sm_90), written in Gluon, Triton's language of explicit layouts and shared memory.

Two kernels.  `prep` works on all chunks of 64 tokens at once and reduces each, for one head, to five small matrices;
`scan` walks the chunks of one sequence in order and carries the state.

One head, one chunk; rows are tokens, G_i the sum of log gates up to and including token i of the chunk:

    R_ij = sum_d k_id k_jd exp(G_id - G_jd)   (j < i)      P_ij = sum_d q_id k_jd exp(G_id - G_jd)   (j <= i)
    A    = diag(beta * rk) R diag(rk)                      rk_i = 1 / |k_i|   (1 where keys come normalised)
    T1   = diag(rk) (I + A)^-1 diag(beta)                  rq_i = scale / |q_i|
    W    = -T1 diag(rk) (k * exp G)                        Q = diag(rq) (q * exp G)
    M    = diag(rq) P                                      K = k * exp(G_63 - G)

    U  = T1 V + W S          (rows: what each token writes, already divided by its key's norm)
    O  = Q S + M U
    S' = exp(G_63) * S + K^T U

Nothing here is scaled by a key's norm twice: rk sits in T1, so K and M need the raw keys only.

Exponents stay in range because every decay is split at the middle of a half chunk: with m = 15 for the columns of the
first half and m = 47 for those of the second, exp(G_i - G_j) = exp(G_i - G_m) exp(G_m - G_j), and with gates >= -5 no
exponent that matters leaves [-80, 80].  See GATE_WINDOW in `forward.py` for what happens below.

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

LOG2E = gl.constexpr(1.4426950408889634)
# Powers of two that move the range of the split exponents: the right factor exp(G_m - G_j) overflows before the left
# one, exp(G_i - G_m), is flushed to zero, so gates beyond the range give NaN and never a small wrong number.
RIGHT_SHIFT = gl.constexpr(2.0)
CROSS_SHIFT = gl.constexpr(10.0)
UNSHIFT_FIRST = gl.constexpr(2.0**-12)  # columns of the first half carry both shifts
UNSHIFT_SECOND = gl.constexpr(2.0**-2)

TILE_BYTES = gl.constexpr(64 * 64 * 2)


# ---- packed bf16 arithmetic: one instruction for two values, one rounding each


@gluon.jit
def _exp2_bf16(x):
    """bf16(2 ** x) of fp32 x."""
    return gl.inline_asm_elementwise(
        "{ .reg .f32 a, b; ex2.approx.ftz.f32 a, $1; ex2.approx.ftz.f32 b, $2; cvt.rn.bf16x2.f32 $0, b, a; }",
        "=r,r,r",
        [x],
        dtype=gl.bfloat16,
        is_pure=True,
        pack=2,
    )


@gluon.jit
def _mul_bf16(x, y):
    return gl.inline_asm_elementwise(
        "mul.rn.bf16x2 $0, $1, $2;", "=r,r,r", [x, y], dtype=gl.bfloat16, is_pure=True, pack=2
    )


@gluon.jit
def _sub_bf16(x, y):
    return gl.inline_asm_elementwise(
        "sub.rn.bf16x2 $0, $1, $2;", "=r,r,r", [x, y], dtype=gl.bfloat16, is_pure=True, pack=2
    )


@gluon.jit
def _le_bf16(x, y):
    """1.0 where x <= y, else 0.0."""
    return gl.inline_asm_elementwise(
        "set.le.bf16x2.bf16x2 $0, $1, $2;", "=r,r,r", [x, y], dtype=gl.bfloat16, is_pure=True, pack=2
    )


@gluon.jit
def _keep(x, m):
    """x where m != 0, else 0 (a select, so garbage in x goes); neighbours in a row share one value of m."""
    return gl.inline_asm_elementwise(
        "{ .reg .pred p; setp.ne.s32 p, $2, 0; selp.b32 $0, $1, 0, p; }",
        "=r,r,r,r",
        [x, m],
        dtype=x.dtype,
        is_pure=True,
        pack=2,
    )


@gluon.jit
def _opaque_zero(x):
    """Zero, in a way the compiler cannot see.

    Shared memory is addressed through an index of this value, so that the 64-bit matrix descriptors are built where
    they are used.  Otherwise all of them are hoisted out of the loop over chunks and spilled (488 bytes a thread).
    """
    return gl.inline_asm_elementwise(
        "{ .reg .u32 t; mov.u32 t, %nctaid.y; sub.u32 $0, t, 1; }",
        "=r,r",
        [x],
        dtype=gl.int32,
        is_pure=False,
        pack=1,
    )


# ---- prep


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
def _load_inputs(q_desc, k_desc, g_desc, row, col, bar, q0, q1, k0, k1, g0, g1, pred):
    mbarrier.expect(bar, 6 * TILE_BYTES, pred=pred)
    tma.async_copy_global_to_shared(k_desc, [row, col], bar, k0, pred=pred)
    tma.async_copy_global_to_shared(k_desc, [row, col + 64], bar, k1, pred=pred)
    tma.async_copy_global_to_shared(q_desc, [row, col], bar, q0, pred=pred)
    tma.async_copy_global_to_shared(q_desc, [row, col + 64], bar, q1, pred=pred)
    tma.async_copy_global_to_shared(g_desc, [row, col], bar, g0, pred=pred)
    tma.async_copy_global_to_shared(g_desc, [row, col + 64], bar, g1, pred=pred)


@gluon.jit
def _zero_rows(tile, valid, LAYOUT: gl.constexpr):
    """Clear the rows of a tile from `valid` on: they belong to the next sequence, or to nobody."""
    rows = gl.arange(0, 64, gl.SliceLayout(1, LAYOUT))[:, None]
    x = tile.load(LAYOUT)
    tile.store(gl.where(rows < valid, x, 0.0))


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
    q_desc,
    k_desc,
    g_desc,
    ws_desc,
    gamma_ptr,
    beta_ptr,
    rate_ptr,
    bias_ptr,
    chunk_table,
    work_items,
    heads,
    tokens,
    chunks,
    scale,
    lower_bound,
    VARLEN: gl.constexpr,
    TAIL: gl.constexpr,
    NORMALIZE: gl.constexpr,
    RAW: gl.constexpr,
    BETA_LOGIT: gl.constexpr,
):
    """Reduce every (chunk, head) to W, Q, K, T1, M and exp(G_63); see the module's text for the formulas.

    q_desc, k_desc, g_desc: TMA descriptors of bf16 [rows, heads * 128], boxes of 64 x 64.  g holds log gates, or with
    RAW the gate's input.  ws_desc: the workspace, boxes of 64 x 64.  beta_ptr [rows, heads], a logit with BETA_LOGIT.
    rate_ptr fp32 [heads]: exp(A_log); bias_ptr fp32 [heads * 128]; both read with RAW only.
    chunk_table int32 [chunks, 2] with VARLEN: first row, valid rows.  TAIL: some chunk has fewer than 64 valid rows.

    A persistent grid: each program takes work = program, program + programs, ..., 4 warps, two programs on a
    multiprocessor (113 KiB of shared memory each).  The next chunk's inputs travel while this one's matrix is inverted.
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
    row, valid = _locate(first, heads, tokens, chunks, chunk_table, VARLEN)
    _load_inputs(
        q_desc,
        k_desc,
        g_desc,
        row,
        first % heads * 128,
        bar,
        q_mem0.index(0),
        q_mem1.index(0),
        k_mem0.index(0),
        k_mem1.index(0),
        g_mem0.index(0),
        g_mem1.index(0),
        True,
    )

    # Masks, once for all chunks.  half: G_i - G_m with m the middle of token i's own half; cross: G_i - G_15;
    # upto: G_i; after: G_63 - G_i.
    none = gl.full([64, 64], 0, gl.int32, LEFT64)
    li = gl.arange(0, 64, gl.SliceLayout(1, LEFT64))[:, None] + none
    lj = gl.arange(0, 64, gl.SliceLayout(0, LEFT64))[None, :] + none
    upto = _le_bf16(lj.to(bf16), li.to(bf16))
    middle = gl.where(lj < 16, 1.0, gl.where((lj < 48) & (li >= 32), 1.0, 0.0)).to(bf16)
    half_mem.index(0).store(_sub_bf16(upto, middle))
    cross_mem.index(0).store(_sub_bf16(upto, gl.where(lj < 16, 1.0, 0.0).to(bf16)))
    upto_mem.index(0).store(upto)
    after_mem.index(0).store(_sub_bf16(gl.full([64, 64], 1.0, bf16, LEFT64), upto))
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
    for work in range(first, work_items, step):
        z = _opaque_zero(work)
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
        more = work + step < work_items
        next_work = gl.where(more, work + step, work)
        next_row, next_valid = _locate(next_work, heads, tokens, chunks, chunk_table, VARLEN)
        beta = gl.load(beta_ptr + (row + i) * heads + head, mask=i < valid, other=0.0).to(fp32)
        if BETA_LOGIT:
            beta = gl.where(i < valid, 1.0 / (1.0 + gl.exp2(beta * -LOG2E)), 0.0)
        mbarrier.wait(bar, phase)
        phase = phase ^ 1
        if TAIL:
            if valid < 64:
                _zero_rows(k0, valid, ACC64)
                _zero_rows(k1, valid, ACC64)
                _zero_rows(q0, valid, ACC64)
                _zero_rows(q1, valid, ACC64)
                _zero_rows(g0, valid, ACC64)
                _zero_rows(g1, valid, ACC64)
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
                kk = warpgroup_mma(_mul_bf16(x, x), tail_rows, kk, is_async=True)
                x = (q0 if c == 0 else q1).load(LEFT8)
                qq = warpgroup_mma(_mul_bf16(x, x), tail_rows, qq, is_async=True)
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
            right.store(_mul_bf16(k_left, _exp2_bf16(RIGHT_SHIFT - half)))
            decay = _exp2_bf16(half)
            fence_async_shared()
            first_half = right.slice(0, 32, 0).permute((1, 0))
            second_half = right.slice(32, 32, 0).permute((1, 0))
            # The rows of the first half meet the columns of the second above the diagonal: garbage, dropped below.
            r1 = warpgroup_mma(gl.convert_layout(_mul_bf16(k_left, decay), LEFT32), second_half, r1, is_async=True)
            q_left = q_tile.load(LEFT64)
            p1 = warpgroup_mma(gl.convert_layout(_mul_bf16(q_left, decay), LEFT32), second_half, p1, is_async=True)
            cross = warpgroup_mma_wait(2, [cross])
            decay = _exp2_bf16(gl.convert_layout(cross, LEFT64) * LOG2E + CROSS_SHIFT)
            # Waiting before the next two products keeps fewer registers alive: with all four in flight the compiler
            # runs short of them and serialises every product of the kernel.  With raw gates it does so unless k and q
            # are read again.
            r1, p1 = warpgroup_mma_wait(0, [r1, p1])
            if RAW:
                k_left = k_tile.load(LEFT64)
                q_left = q_tile.load(LEFT64)
            r0 = warpgroup_mma(gl.convert_layout(_mul_bf16(k_left, decay), LEFT32), first_half, r0, is_async=True)
            p0 = warpgroup_mma(gl.convert_layout(_mul_bf16(q_left, decay), LEFT32), first_half, p0, is_async=True)
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
            q_tile.store(_mul_bf16(q_left, decay))
            right.store(_mul_bf16(k_left, decay))
            after_sum = warpgroup_mma_wait(0, [after_sum])
            decay = _exp2_bf16(gl.convert_layout(after_sum, LEFT64) * LOG2E)
            k_tile.store(_mul_bf16(k_left, decay))
            fence_async_shared()
            tma.async_copy_shared_to_global(ws_desc, [work * 512 + 128 + c * 64, 0], q_tile)
            tma.async_copy_shared_to_global(ws_desc, [work * 512 + 256 + c * 64, 0], k_tile)

        # ---- 3. -A (garbage above the diagonal: every use below selects its blocks) and M
        r = gl.convert_layout(gl.reshape(gl.permute(gl.join(r0, r1), (0, 2, 1)), (64, 64)), ACC64)
        p = gl.convert_layout(gl.reshape(gl.permute(gl.join(p0, p1), (0, 2, 1)), (64, 64)), ACC64)
        rk_col = gl.convert_layout(rk, COL)
        rk_unshift = rk_col * gl.where(j >> 3 < 4, UNSHIFT_FIRST, UNSHIFT_SECOND)
        minus_a = r * (-beta * rk)[:, None] * rk_unshift[None, :]
        lower = (j8 < i8) | ((j8 == i8) & (jl <= il))
        rq_unshift = gl.where(j8 < 4, (rq * UNSHIFT_FIRST)[:, None], (rq * UNSHIFT_SECOND)[:, None])
        m_tile = gl.where(lower, p * rq_unshift, 0.0).to(bf16)

        # ---- 4. (I + A)^-1.  First the 8 x 8 blocks on the diagonal: with N = -A there, (I + N)(I + N^2)(I + N^4).
        # fp16 operands: keys are contractions, entries of A and of the inverse stay near 1.
        n_block = gl.where((j8 == i8) & (jl < il), minus_a, 0.0)
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
        # q and k have been read for the last time and Q and K left through their tiles: fetch the next chunk.
        tma.store_wait(0)
        _load_inputs(q_desc, k_desc, g_desc, next_row, next_work % heads * 128, bar, q0, q1, k0, k1, g0, g1, more)
        inverse, n4 = warpgroup_mma_wait(0, [inverse, n4])
        even16.store(n4.to(fp16))
        fence_async_shared()
        left = gl.convert_layout(inverse.to(fp16), LEFT64)
        inverse = warpgroup_mma_wait(0, [warpgroup_mma(left, even16, inverse, is_async=True)])
        # Then 8 -> 16 -> 32 -> 64: D the inverse of the blocks on the diagonal, A_s the blocks that join two of them:
        # D - D A_s D.  With join32 the rows and columns of the product that are used hold one block only.
        for level in gl.static_range(3):
            d_tile = odd16 if level == 0 else even16
            x_tile = even16 if level == 0 else odd16
            keep = join8 if level == 0 else (join16 if level == 1 else join32)
            d_half = inverse.to(fp16)
            d_tile.store(d_half)
            fence_async_shared()
            x = warpgroup_mma(_keep(a_left, keep), d_tile, zero, use_acc=False, is_async=True)
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


# ---- scan


@gluon.jit
def _fetch_steps(
    ws256_desc,
    ws128_desc,
    ws64_desc,
    v_desc,
    gamma_desc,
    start_bars,
    state_bars,
    end_bars,
    free_bars,
    t_mem,
    v_mem,
    wq_mem,
    gamma_mem,
    k_mem,
    m_mem,
    row0,
    steps,
    chunk0,
    heads,
    head,
    col,
    STAGES: gl.constexpr,
):
    """The warp that fetches the steps' tiles, in the order in which they are used, as soon as a stage is free."""
    for n in range(steps):
        at = n % STAGES
        tile_row = ((chunk0 + n) * heads + head) * 512
        mbarrier.wait(free_bars.index(at), ((n // STAGES) & 1) ^ 1)
        bar = start_bars.index(at)
        mbarrier.expect(bar, 2 * TILE_BYTES)
        tma.async_copy_global_to_shared(v_desc, [row0 + n * 64, col], bar, v_mem.index(at))
        tma.async_copy_global_to_shared(ws64_desc, [tile_row + 384, 0], bar, t_mem.index(at))
        bar = state_bars.index(at)
        mbarrier.expect(bar, 4 * TILE_BYTES + 512)
        tma.async_copy_global_to_shared(ws256_desc, [tile_row, 0], bar, wq_mem.index(at))
        tma.async_copy_global_to_shared(gamma_desc, [(chunk0 + n) * heads + head, 0], bar, gamma_mem.index(at))
        bar = end_bars.index(at)
        mbarrier.expect(bar, 3 * TILE_BYTES)
        tma.async_copy_global_to_shared(ws128_desc, [tile_row + 256, 0], bar, k_mem.index(at))
        tma.async_copy_global_to_shared(ws64_desc, [tile_row + 448, 0], bar, m_mem.index(at))


@gluon.jit
def _run_steps(
    o_desc,
    o_ptr,
    s0_ptr,
    s_out_ptr,
    start_bars,
    state_bars,
    end_bars,
    free_bars,
    t_mem,
    v_mem,
    wq_mem,
    gamma_mem,
    k_mem,
    m_mem,
    o_mem,
    row0,
    length,
    steps,
    pair,
    heads,
    slice_v,
    col,
    TAIL: gl.constexpr,
    HAS_STATE: gl.constexpr,
    STAGES: gl.constexpr,
):
    """The four warps that compute."""
    ACC: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    LEFT: gl.constexpr = gl.DotOperandLayout(0, ACC, 2)
    COL: gl.constexpr = gl.SliceLayout(0, ACC)
    bf16: gl.constexpr = gl.bfloat16
    value = gl.arange(0, 64, gl.SliceLayout(1, ACC))[:, None]
    key = gl.arange(0, 64, COL)[None, :]
    state_at = pair.to(gl.int64) * 16384 + key * 128 + (slice_v * 64 + value)
    zero = gl.zeros([64, 64], gl.float32, ACC)
    if HAS_STATE:
        s_first = gl.load(s0_ptr + state_at)
        s_second = gl.load(s0_ptr + state_at + 8192)
    else:
        s_first = zero
        s_second = zero

    # T1 V of a step does not need the state: it is computed at the end of the step before.
    mbarrier.wait(start_bars.index(0), 0, pred=steps > 0)
    if TAIL:
        if length < 64:
            _zero_rows(v_mem.index(0), length, ACC)
            fence_async_shared()
    v = v_mem.index(0).permute((1, 0))
    u = warpgroup_mma(v, t_mem.index(0).permute((1, 0)), zero, use_acc=False, is_async=True)
    u = warpgroup_mma_wait(0, [u])
    o = zero
    for n in range(steps):
        at = n % STAGES
        parity = (n // STAGES) & 1
        wq = wq_mem.index(at)
        k = k_mem.index(at)
        gamma = gamma_mem.index(at).reshape((128,))
        # The state is scaled before the first product starts: an accumulator that other instructions write while
        # products are in flight makes the compiler serialise all of them.
        left_first = gl.convert_layout(s_first.to(bf16), LEFT)
        left_second = gl.convert_layout(s_second.to(bf16), LEFT)
        mbarrier.wait(state_bars.index(at), parity)
        s_first = s_first * gamma.slice(0, 64, 0).load(COL)[None, :]
        s_second = s_second * gamma.slice(64, 64, 0).load(COL)[None, :]
        u = warpgroup_mma(left_first, wq.slice(0, 64, 0).permute((1, 0)), u, is_async=True)
        u = warpgroup_mma(left_second, wq.slice(64, 64, 0).permute((1, 0)), u, is_async=True)
        out = warpgroup_mma(left_first, wq.slice(128, 64, 0).permute((1, 0)), zero, use_acc=False, is_async=True)
        out = warpgroup_mma(left_second, wq.slice(192, 64, 0).permute((1, 0)), out, is_async=True)
        if n > 0:
            # While they run, write the step before.  The barrier that this store needs also stands between the last
            # use of that step's tiles by any warp and the word that their stage is free.
            tma.store_wait(0)
            o_mem.store(gl.permute(o.to(bf16), (1, 0)))
            fence_async_shared()
            tma.async_copy_shared_to_global(o_desc, [row0 + n * 64 - 64, col], o_mem)
            mbarrier.arrive(free_bars.index((n + STAGES - 1) % STAGES), count=1)
        left = gl.convert_layout(warpgroup_mma_wait(2, [u]).to(bf16), LEFT)
        mbarrier.wait(end_bars.index(at), parity)
        s_first = warpgroup_mma(left, k.slice(0, 64, 0), s_first, is_async=True)
        s_second = warpgroup_mma(left, k.slice(64, 64, 0), s_second, is_async=True)
        out = warpgroup_mma(left, m_mem.index(at).permute((1, 0)), out, is_async=True)
        next_at = (n + 1) % STAGES
        mbarrier.wait(start_bars.index(next_at), ((n + 1) // STAGES) & 1, pred=n + 1 < steps)
        if TAIL:
            if length - (n + 1) * 64 < 64:
                _zero_rows(v_mem.index(next_at), length - (n + 1) * 64, ACC)
                fence_async_shared()
        # After the last step this reads a stale stage; nobody uses the result.
        u = warpgroup_mma(
            v_mem.index(next_at).permute((1, 0)),
            t_mem.index(next_at).permute((1, 0)),
            zero,
            use_acc=False,
            is_async=True,
        )
        s_first, s_second, o, u = warpgroup_mma_wait(0, [s_first, s_second, out, u])
    tma.store_wait(0)
    if steps > 0:
        last_row = row0 + (steps - 1) * 64
        if TAIL:
            token = gl.arange(0, 64, COL)[None, :]
            keep = (token < length - (steps - 1) * 64) & (value >= 0)
            o_at = (last_row + token).to(gl.int64) * (heads * 128) + col + value
            gl.store(o_ptr + o_at, o.to(bf16), mask=keep)
        else:
            o_mem.store(gl.permute(o.to(bf16), (1, 0)))
            fence_async_shared()
            tma.async_copy_shared_to_global(o_desc, [last_row, col], o_mem)
            tma.store_wait(0)
    gl.store(s_out_ptr + state_at, s_first)
    gl.store(s_out_ptr + state_at + 8192, s_second)


@gluon.jit
def scan(
    ws256_desc,
    ws128_desc,
    ws64_desc,
    v_desc,
    gamma_desc,
    o_desc,
    o_ptr,
    s0_ptr,
    s_out_ptr,
    seq_table,
    heads,
    tokens,
    chunks,
    VARLEN: gl.constexpr,
    TAIL: gl.constexpr,
    HAS_STATE: gl.constexpr,
    STAGES: gl.constexpr,
):
    """Carry the state of one (sequence, head) through its chunks, for 64 of the 128 value columns.

    Grid (2, sequences * heads); 4 warps compute and one more fetches.  ws256_desc, ws128_desc, ws64_desc: the
    workspace, in boxes of 256, 128 and 64 rows of 64; v_desc, o_desc: bf16 [rows, heads * 128], boxes of 64 x 64;
    gamma_desc: fp32 [work, 128], boxes of 1 x 128.
    o_ptr: o again, for the chunk whose last rows belong to the next sequence.
    s0_ptr, s_out_ptr: fp32 [sequences, heads, 128, 128], state as keys x values.
    seq_table int32 [sequences, 3] with VARLEN: first row, tokens, first chunk.

    The state stays in registers, transposed [values, keys], in two halves of 64 keys: so everything on the left of a
    product is an accumulator converted in place, and everything on the right a tile as it arrived.
    """
    L: gl.constexpr = gl.NVMMASharedLayout(128, 16, rank=2)
    FLAT: gl.constexpr = gl.NVMMASharedLayout(0, 32, rank=2)
    bf16: gl.constexpr = gl.bfloat16
    t_mem = gl.allocate_shared_memory(bf16, [STAGES, 64, 64], L)
    v_mem = gl.allocate_shared_memory(bf16, [STAGES, 64, 64], L)
    wq_mem = gl.allocate_shared_memory(bf16, [STAGES, 256, 64], L)
    gamma_mem = gl.allocate_shared_memory(gl.float32, [STAGES, 1, 128], FLAT)
    k_mem = gl.allocate_shared_memory(bf16, [STAGES, 128, 64], L)
    m_mem = gl.allocate_shared_memory(bf16, [STAGES, 64, 64], L)
    o_mem = gl.allocate_shared_memory(bf16, [64, 64], L)
    # What a step needs at its start (T1, V), of the state (W, Q, gamma) and at its end (K, M), each with a barrier.
    start_bars = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    state_bars = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    end_bars = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    free_bars = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(STAGES):
        mbarrier.init(start_bars.index(s), count=1)
        mbarrier.init(state_bars.index(s), count=1)
        mbarrier.init(end_bars.index(s), count=1)
        mbarrier.init(free_bars.index(s), count=1)
    fence_async_shared()

    slice_v = gl.program_id(0)
    pair = gl.program_id(1)
    seq = pair // heads
    head = pair % heads
    if VARLEN:
        row0 = gl.load(seq_table + 3 * seq)
        length = gl.load(seq_table + 3 * seq + 1)
        chunk0 = gl.load(seq_table + 3 * seq + 2)
    else:
        row0 = seq * tokens
        length = tokens
        chunk0 = seq * chunks
    steps = (length + 63) // 64
    col = head * 128 + slice_v * 64
    gl.warp_specialize(
        [
            (
                _run_steps,
                (
                    o_desc,
                    o_ptr,
                    s0_ptr,
                    s_out_ptr,
                    start_bars,
                    state_bars,
                    end_bars,
                    free_bars,
                    t_mem,
                    v_mem,
                    wq_mem,
                    gamma_mem,
                    k_mem,
                    m_mem,
                    o_mem,
                    row0,
                    length,
                    steps,
                    pair,
                    heads,
                    slice_v,
                    col,
                    TAIL,
                    HAS_STATE,
                    STAGES,
                ),
            ),
            (
                _fetch_steps,
                (
                    ws256_desc,
                    ws128_desc,
                    ws64_desc,
                    v_desc,
                    gamma_desc,
                    start_bars,
                    state_bars,
                    end_bars,
                    free_bars,
                    t_mem,
                    v_mem,
                    wq_mem,
                    gamma_mem,
                    k_mem,
                    m_mem,
                    row0,
                    steps,
                    chunk0,
                    heads,
                    head,
                    col,
                    STAGES,
                ),
            ),
        ],
        [1],
        [40],
    )
