"""MLA prefill in plain Triton: two matrix products with the probabilities in memory between them. Only device code.

A row is one (query token, head) pair of the flattened `[S * H, D]` queries; K = kv `[S, D]`, V = K[:, :512]. Per row

    ref = max of s_j over the first 64 keys,   s_j = (q . k_j) * scale * log2(e)      `reference_scores`
    p_j = exp2(s_j - ref)                                                             `probabilities`
    o   = sum_j p_j v_j / sum_j p_j                                                   `weighted_sum`

Any score of the row would do as reference: bfloat16 has float32's exponents, so p neither overflows nor loses digits
until a later score beats `ref` by 64 powers of two. Then the row's sum passes SUM_LIMIT, its block is flagged, and
`online_rows` computes that block again in one pass with a running maximum.

EMULATED is true under Triton's interpreter, where bfloat16 `tl.dot` returns garbage and inline assembly does not exist.
"""

import triton
import triton.language as tl

SUM_LIMIT = tl.constexpr(18446744073709551616.0)  # 2^64
LATENT = tl.constexpr(512)


@triton.jit
def dot(a, b, acc, EMULATED: tl.constexpr):
    """acc + a @ b; float32 operands are not rounded to tf32."""
    if EMULATED:
        a = a.to(tl.float32)
        b = b.to(tl.float32)
    return tl.dot(a, b, acc, input_precision="ieee")


@triton.jit
def _exp2(x, EMULATED: tl.constexpr):
    if EMULATED:
        return tl.exp2(x)
    # tl.exp2 keeps denormals, at the price of three more instructions an element; here they may round to zero
    return tl.inline_asm_elementwise("ex2.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)


@triton.jit
def reference_scores(
    q_desc, k_desc, ref, scale, first_block, n_rows, seq,
    H: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr, CAUSAL: tl.constexpr, EMULATED: tl.constexpr,
):  # fmt: skip
    """ref[row] = largest scaled score among the row's first 64 keys; one program a block from first_block."""
    block = first_block + tl.program_id(0)
    acc = tl.zeros([BM, 64], tl.float32)
    for k in range(0, D, BK):
        acc = dot(q_desc.load([block * BM, k]), k_desc.load([0, k]).T, acc, EMULATED)
    row = block * BM + tl.arange(0, BM)
    limit = seq + tl.zeros([BM], tl.int32)
    if CAUSAL:
        limit = tl.minimum(row // H + 1, seq)
    s = tl.where(tl.arange(0, 64)[None, :] < limit[:, None], acc * scale, -float("inf"))
    tl.store(ref + row, tl.max(s, 1), mask=row < n_rows)


@triton.jit
def probabilities(
    q_desc, k_desc, p_desc, ref, sums, scale, row0, n_blocks, n_tiles, n_rows, seq,
    H: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
    CAUSAL: tl.constexpr, EMULATED: tl.constexpr,
):  # fmt: skip
    """One [BM, BN] tile of p and its row sums, for a slab of n_blocks row blocks from row0 and n_tiles key tiles.

    p_desc: [n_blocks * n_tiles * BM, BN], tile (i, j) at row (i * n_tiles + j) * BM; sums alike, one float32 a row.
    Grid: (n_tiles * GROUP * ceil(n_blocks / GROUP),). Neighbours share a key tile and walk over GROUP row blocks, so
    that both stay in the L2 cache. Tiles wholly above the diagonal end at once.
    """
    pid = tl.program_id(0)
    width = n_tiles * GROUP
    i = pid // width * GROUP + pid % GROUP
    j = pid % width // GROUP
    first = row0 + i * BM
    last_key = seq - 1
    if CAUSAL:
        last_key = tl.minimum((first + BM - 1) // H, seq - 1)
    if i >= n_blocks or j * BN > last_key:
        return
    acc = tl.zeros([BM, BN], tl.float32)
    for k in range(0, D, BK):
        acc = dot(q_desc.load([first, k]), k_desc.load([j * BN, k]).T, acc, EMULATED)
    row = first + tl.arange(0, BM)
    s = acc * scale - tl.load(ref + row, mask=row < n_rows, other=0.0)[:, None]
    key = j * BN + tl.arange(0, BN)
    if CAUSAL:
        if j * BN + BN > first // H + 1:
            s = tl.where(key[None, :] < tl.minimum(row // H + 1, seq)[:, None], s, -float("inf"))
    else:
        if j * BN + BN > seq:
            s = tl.where((key < seq)[None, :], s, -float("inf"))
    p = _exp2(s, EMULATED)
    tile = i * n_tiles + j
    tl.store(sums + tile * BM + tl.arange(0, BM), tl.sum(p, 1))
    p_desc.store([tile * BM, 0], p.to(p_desc.dtype))


@triton.jit
def weighted_sum(
    p_desc, v_desc, o_desc, sums, flags, row0, n_blocks, n_tiles, seq,
    H: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BV: tl.constexpr, BK: tl.constexpr,
    CAUSAL: tl.constexpr, EMULATED: tl.constexpr,
):  # fmt: skip
    """o[rows of block i, BV columns] = p @ v / sum p; flags[global block] = 1 if a sum left the range.

    Grid: (n_blocks * 512 / BV,), the longest blocks first.
    """
    pid = tl.program_id(0)
    columns: tl.constexpr = LATENT // BV
    i = n_blocks - 1 - pid // columns
    col = pid % columns * BV
    first = row0 + i * BM
    tiles = n_tiles
    if CAUSAL:
        tiles = tl.minimum((first + BM - 1) // H, seq - 1) // BN + 1
    per_tile: tl.constexpr = BN // BK
    acc = tl.zeros([BM, BV], tl.float32)
    for step in range(0, tiles * per_tile):
        j = step // per_tile
        k = step % per_tile * BK
        acc = dot(p_desc.load([(i * n_tiles + j) * BM, k]), v_desc.load([j * BN + k, col]), acc, EMULATED)
    row_sum = tl.zeros([BM], tl.float32)
    for j0 in range(
        0, tiles, 16
    ):  # sixteen tiles' sums at a time: one after the other they would wait 16 times as long
        j = j0 + tl.arange(0, 16)
        at = (i * n_tiles + j)[:, None] * BM + tl.arange(0, BM)[None, :]
        row_sum += tl.sum(tl.load(sums + at, mask=(j < tiles)[:, None], other=0.0), 0)
    if col == 0:
        tl.store(flags + first // BM, tl.max(tl.where(row_sum < SUM_LIMIT, 0, 1), 0))
    o_desc.store([first, col], (acc / row_sum[:, None]).to(o_desc.dtype))


@triton.jit
def _online_block(
    q_desc, qp_desc, k_desc, kp_desc, o_desc, block, scale, seq,
    H: tl.constexpr, ROPE: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr,
    EMULATED: tl.constexpr,
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
        s = dot(q, k.T, tl.zeros([BM, BN], tl.float32), EMULATED)
        if ROPE:
            s = dot(qp, kp_desc.load([j, LATENT]).T, s, EMULATED)
        s = tl.where((j + tl.arange(0, BN))[None, :] < limit[:, None], s * scale, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - m_new[:, None])
        fade = tl.exp2(m - m_new)
        row_sum = row_sum * fade + tl.sum(p, 1)
        acc = dot(p.to(k_desc.dtype), k, acc * fade[:, None], EMULATED)
        m = m_new
    o_desc.store([block * BM, 0], (acc / row_sum[:, None]).to(o_desc.dtype))


@triton.jit
def online_rows(
    q_desc, qp_desc, k_desc, kp_desc, o_desc, flags, scale, n_blocks, seq,
    H: tl.constexpr, ROPE: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, FLAG_ROWS: tl.constexpr,
    CAUSAL: tl.constexpr, EMULATED: tl.constexpr,
):  # fmt: skip
    """The overflow path: every block of BM rows that lies in a flagged block of FLAG_ROWS rows, with a running maximum.

    Any grid size is right. A program looks at 64 of its flags at a time; with nothing flagged that is all it does.
    """
    n_programs = tl.num_programs(0)
    for base in range(tl.program_id(0), n_blocks, 64 * n_programs):
        mine = base + tl.arange(0, 64) * n_programs
        flagged = tl.load(flags + mine * BM // FLAG_ROWS, mask=mine < n_blocks, other=0)
        if tl.max(flagged, 0) != 0:
            for block in range(base, tl.minimum(base + 64 * n_programs, n_blocks), n_programs):
                if tl.load(flags + block * BM // FLAG_ROWS) != 0:
                    _online_block(
                        q_desc, qp_desc, k_desc, kp_desc, o_desc, block, scale, seq, H, ROPE, BM, BN, CAUSAL, EMULATED
                    )
