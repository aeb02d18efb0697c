"""KDA forward in plain Triton: every case, any device, any gates.

The same two steps and the same algebra as `prep_gluon.py` and `scan_gluon.py` (their texts have the formulas): `prep`
reduces every chunk of 64 tokens of a head to W, Q, K, T1, M and exp(G_63), `scan` carries the state through them.  This
form also runs in Triton's interpreter on a CPU, takes fp32 inputs, and with EXACT needs no bound on the gates.

Dots take operands of type LP (bf16; fp32 for fp32 inputs, and in the interpreter, whose bf16 dot is wrong in the
releases up to 3.9); PREC is the input precision of an fp32 dot: three tf32 products, fp32's accuracy without its
unrolled multiply-adds, which take minutes to compile.  Gates enter dots as 0/1/-1 mask times gate: exact in bf16 for
bf16 gates, and for fp32 gates with SPLIT, where a gate is the sum of two bf16 numbers.
"""

import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def _log_gates(x, rate, bias, lower_bound, rows_valid, GATE: tl.constexpr):
    """fp32 log gates of a tile.  GATE 0: x itself; 1: lower_bound * sigmoid(rate * (x + bias));
    2: -rate * softplus(x + bias).  Rows that are not valid give 0: no decay."""
    x = x.to(tl.float32)
    if GATE == 1:
        x = lower_bound / (1.0 + tl.exp2((x + bias) * (-rate * LOG2E)))
    if GATE == 2:
        x = x + bias
        # exp(-|x|) keeps the logarithm's argument in (1, 2]; below 1e-4 log(1 + e) = e to fp32 precision
        e = tl.exp2(tl.abs(x) * -LOG2E)
        x = -rate * (tl.maximum(x, 0.0) + tl.where(e < 1e-4, e, tl.log2(1.0 + e) * 0.6931471805599453))
    return tl.where(rows_valid, x, 0.0)


@triton.jit
def _sum(mask, high, low, SPLIT: tl.constexpr, PREC: tl.constexpr):
    """mask @ gates, fp32."""
    total = tl.dot(mask, high, input_precision=PREC)
    if SPLIT:
        total = tl.dot(mask, low, acc=total, input_precision=PREC)
    return total


@triton.jit
def _locate(chunk, tokens, chunks, chunk_table, VARLEN: tl.constexpr):
    """First row of a chunk in the flattened inputs, and how many of its 64 rows are valid."""
    if VARLEN:
        row = tl.load(chunk_table + 2 * chunk)
        valid = tl.load(chunk_table + 2 * chunk + 1)
    else:
        n = chunk % chunks
        row = chunk // chunks * tokens + n * 64
        valid = tl.minimum(tokens - n * 64, 64)
    return row, valid


@triton.jit
def prep(
    q_ptr,
    k_ptr,
    g_ptr,
    ws_ptr,
    gamma_ptr,
    beta_ptr,
    rate_ptr,
    bias_ptr,
    chunk_table,
    heads,
    tokens,
    chunks,
    scale,
    lower_bound,
    VARLEN: tl.constexpr,
    NORMALIZE: tl.constexpr,
    GATE: tl.constexpr,
    BETA_LOGIT: tl.constexpr,
    SPLIT: tl.constexpr,
    EXACT: tl.constexpr,
    REPAIR: tl.constexpr,
    LP: tl.constexpr,
    INV: tl.constexpr,
    PREC: tl.constexpr,
):
    """Reduce one (chunk, head) to the workspace; grid (chunks of all sequences * heads,).

    q_ptr, k_ptr, g_ptr [rows, heads, 128]; beta_ptr [rows, heads]; ws_ptr [work * 512, 64] of type LP and gamma_ptr
    fp32 [work, 128] as in `prep_gluon.py`; rate_ptr fp32 [heads] and bias_ptr fp32 [heads * 128] where GATE > 0.
    EXACT: no bound on the gates is needed; about three times the time.  REPAIR: only where the workspace holds a chunk
    whose decays left the range of the other form, which shows in M: every pair of tokens has an element there.
    INV: the type in which (I + A)^-1 is built, fp16 beside bf16 (its entries stay near 1), else fp32.
    """
    work = tl.program_id(0)
    head = work % heads
    row, valid = _locate(work // heads, tokens, chunks, chunk_table, VARLEN)
    t = tl.arange(0, 64)
    i = t[:, None]
    j = t[None, :]
    in_rows = i < valid
    at = (row + i).to(tl.int64) * (heads * 128) + head * 128 + j  # the first 64 channels; + 64 for the others
    tile = i * 64 + j
    ws_ptr += work.to(tl.int64) * (512 * 64)
    if REPAIR:
        m = tl.load(ws_ptr + 448 * 64 + tile).to(tl.float32)
        out_of_range = tl.where(tl.abs(m) < float("inf"), 0, 1)  # NaN compares false
        if tl.sum(tl.sum(out_of_range, 1), 0) == 0:
            return
    rate = 1.0
    if GATE > 0:
        rate = tl.load(rate_ptr + head)
    beta = tl.load(beta_ptr + (row + t).to(tl.int64) * heads + head, mask=t < valid, other=0.0).to(tl.float32)
    if BETA_LOGIT:
        beta = tl.where(t < valid, 1.0 / (1.0 + tl.exp2(beta * -LOG2E)), 0.0)

    # ---- R and P of raw keys and queries, and the norms
    upto = (j <= i).to(LP)
    first = i < 32
    r = tl.zeros([64, 64], tl.float32)
    p = tl.zeros([64, 64], tl.float32)
    kk = tl.zeros([64], tl.float32)
    qq = tl.zeros([64], tl.float32)
    for c in range(2):
        k = tl.load(k_ptr + at + c * 64, mask=in_rows, other=0.0).to(tl.float32)
        q = tl.load(q_ptr + at + c * 64, mask=in_rows, other=0.0).to(tl.float32)
        kk += tl.sum(k * k, 1)
        qq += tl.sum(q * q, 1)
        bias = 0.0
        if GATE > 0:
            bias = tl.load(bias_ptr + head * 128 + c * 64 + t)[None, :]
        gate = _log_gates(tl.load(g_ptr + at + c * 64, mask=in_rows, other=0.0), rate, bias, lower_bound, in_rows, GATE)
        high = gate.to(LP)
        low = (gate - high.to(tl.float32)).to(LP)
        if EXACT:
            # Blocks of 16 x 16 below the diagonal: split at the last token before the row's block, both factors <= 1.
            for b in range(1, 4):
                edge = 16 * b
                left = tl.exp2(_sum(upto - (j < edge).to(LP) * (i >= edge).to(LP), high, low, SPLIT, PREC) * LOG2E)
                right = tl.exp2(_sum(((j > i) & (j < edge)).to(LP), high, low, SPLIT, PREC) * LOG2E)
                right = tl.trans(tl.where(i < edge, k * right, 0.0).to(LP))
                rows = (i >> 4) == b
                r = tl.dot(tl.where(rows, k * left, 0.0).to(LP), right, acc=r, input_precision=PREC)
                p = tl.dot(tl.where(rows, q * left, 0.0).to(LP), right, acc=p, input_precision=PREC)
            # Blocks on the diagonal: element by element, one column of every block at a time.
            for s in range(16):
                col = (i >> 4 << 4) + s
                decay = tl.exp2(_sum(((j > col) & (j <= i)).to(LP), high, low, SPLIT, PREC) * LOG2E)
                at_col = (row + col).to(tl.int64) * (heads * 128) + head * 128 + c * 64 + j
                k_col = tl.load(k_ptr + at_col, mask=col < valid, other=0.0).to(tl.float32) * decay
                here = (j == col) & (j <= i)
                r += tl.where(here, tl.sum(k * k_col, 1)[:, None], 0.0)
                p += tl.where(here, tl.sum(q * k_col, 1)[:, None], 0.0)
        else:
            # Split at the middle of the column's half chunk; `prep_gluon.py` says why and what the shifts do.
            half = _sum(upto - (j <= (i >> 5 << 5) + 15).to(LP), high, low, SPLIT, PREC) * LOG2E
            cross = _sum(upto - (j <= 15).to(LP), high, low, SPLIT, PREC) * LOG2E
            right = k * tl.exp2(2.0 - half)
            right_first = tl.trans(tl.where(first, right, 0.0).to(LP))
            right_second = tl.trans(tl.where(first, 0.0, right).to(LP))
            left = tl.where(first, 0.0, tl.exp2(half))
            r = tl.dot((k * left).to(LP), right_second, acc=r, input_precision=PREC)
            p = tl.dot((q * left).to(LP), right_second, acc=p, input_precision=PREC)
            left = tl.exp2(cross + 10.0)
            r = tl.dot((k * left).to(LP), right_first, acc=r, input_precision=PREC)
            p = tl.dot((q * left).to(LP), right_first, acc=p, input_precision=PREC)
    rk = tl.full([64], 1.0, tl.float32)
    rq = tl.full([64], 1.0, tl.float32) * scale
    if NORMALIZE:
        rk = tl.rsqrt(kk + 1e-6)
        rq = tl.rsqrt(qq + 1e-6) * scale
    if not EXACT:
        unshift = tl.where(j < 32, 2.0**-12, 2.0**-2)
        r *= unshift
        p *= unshift
    minus_a = tl.where(j < i, r, 0.0) * (-beta * rk)[:, None] * rk[None, :]
    m = tl.where(j <= i, p, 0.0) * rq[:, None]
    tl.store(ws_ptr + 448 * 64 + tile, m.to(LP))

    # ---- (I + A)^-1, doubling the inverted blocks on the diagonal: the blocks that join two of them come from -D A D
    part = i ^ j  # its highest bit: the level at which tokens i and j part
    inverse = tl.where(part == 0, 1.0, tl.where(part == 1, minus_a, 0.0))
    a = minus_a.to(INV)
    for level in tl.static_range(1, 6):
        d = inverse.to(INV)
        x = tl.dot(a, d, input_precision=PREC).to(INV)
        inverse = tl.where((part >> level) == 1, tl.dot(d, x, input_precision=PREC), inverse)
    t1 = inverse * rk[:, None] * beta[None, :]
    tl.store(ws_ptr + 384 * 64 + tile, t1.to(LP))
    t1 = (t1 * -rk[None, :]).to(LP)

    # ---- W, Q, K: the inputs again, so that they need no registers while the matrix is inverted
    for c in range(2):
        k = tl.load(k_ptr + at + c * 64, mask=in_rows, other=0.0).to(tl.float32)
        q = tl.load(q_ptr + at + c * 64, mask=in_rows, other=0.0).to(tl.float32)
        bias = 0.0
        if GATE > 0:
            bias = tl.load(bias_ptr + head * 128 + c * 64 + t)[None, :]
        gate = _log_gates(tl.load(g_ptr + at + c * 64, mask=in_rows, other=0.0), rate, bias, lower_bound, in_rows, GATE)
        high = gate.to(LP)
        low = (gate - high.to(tl.float32)).to(LP)
        tl.store(gamma_ptr + work * 128 + c * 64 + t, tl.exp2(tl.sum(gate, 0) * LOG2E))
        decay = tl.exp2(_sum(upto, high, low, SPLIT, PREC) * LOG2E)
        tl.store(ws_ptr + (128 + c * 64) * 64 + tile, (q * decay * rq[:, None]).to(LP))
        w = tl.dot(t1, (k * decay).to(LP), input_precision=PREC)
        tl.store(ws_ptr + c * 64 * 64 + tile, w.to(LP))
        decay = tl.exp2(_sum((j > i).to(LP), high, low, SPLIT, PREC) * LOG2E)
        tl.store(ws_ptr + (256 + c * 64) * 64 + tile, (k * decay).to(LP))


@triton.jit
def scan(
    ws_ptr,
    v_ptr,
    gamma_ptr,
    o_ptr,
    s0_ptr,
    s_out_ptr,
    seq_table,
    heads,
    tokens,
    chunks,
    VARLEN: tl.constexpr,
    HAS_STATE: tl.constexpr,
    BV: tl.constexpr,
    LP: tl.constexpr,
    PREC: tl.constexpr,
):
    """Carry the state of one (sequence, head) through its chunks, for BV of the 128 value columns.

    Grid (128 // BV, sequences * heads).  v_ptr, o_ptr [rows, heads, 128]; s0_ptr, s_out_ptr fp32
    [sequences, heads, 128, 128], keys x values; seq_table int32 [sequences, 3]: first row, tokens, first chunk.
    """
    pair = tl.program_id(1)
    head = pair % heads
    seq = pair // heads
    if VARLEN:
        row = tl.load(seq_table + 3 * seq)
        length = tl.load(seq_table + 3 * seq + 1)
        chunk = tl.load(seq_table + 3 * seq + 2)
    else:
        row = seq * tokens
        length = tokens
        chunk = seq * chunks
    t = tl.arange(0, 64)
    d = tl.arange(0, 64)
    value = tl.program_id(0) * BV + tl.arange(0, BV)
    tile = t[:, None] * 64 + d[None, :]
    state_at = pair.to(tl.int64) * 16384 + d[:, None] * 128 + value[None, :]
    s0 = tl.zeros([64, BV], tl.float32)
    s1 = tl.zeros([64, BV], tl.float32)
    if HAS_STATE:
        s0 = tl.load(s0_ptr + state_at)
        s1 = tl.load(s0_ptr + state_at + 8192)
    for n in range(0, tl.cdiv(length, 64)):
        work = (chunk + n).to(tl.int64) * heads + head
        ws = ws_ptr + work * (512 * 64) + tile
        at = (row + n * 64 + t[:, None]).to(tl.int64) * (heads * 128) + head * 128 + value[None, :]
        in_rows = t[:, None] < length - n * 64
        v = tl.load(v_ptr + at, mask=in_rows, other=0.0).to(LP)
        b0 = s0.to(LP)
        b1 = s1.to(LP)
        u = tl.dot(tl.load(ws + 384 * 64), v, input_precision=PREC)
        u = tl.dot(tl.load(ws), b0, acc=u, input_precision=PREC)
        u = tl.dot(tl.load(ws + 64 * 64), b1, acc=u, input_precision=PREC).to(LP)
        o = tl.dot(tl.load(ws + 128 * 64), b0, input_precision=PREC)
        o = tl.dot(tl.load(ws + 192 * 64), b1, acc=o, input_precision=PREC)
        o = tl.dot(tl.load(ws + 448 * 64), u, acc=o, input_precision=PREC)
        tl.store(o_ptr + at, o.to(o_ptr.dtype.element_ty), mask=in_rows)
        gamma = gamma_ptr + work * 128 + d
        k0 = tl.trans(tl.load(ws + 256 * 64))
        k1 = tl.trans(tl.load(ws + 320 * 64))
        s0 = tl.dot(k0, u, acc=s0 * tl.load(gamma)[:, None], input_precision=PREC)
        s1 = tl.dot(k1, u, acc=s1 * tl.load(gamma + 64)[:, None], input_precision=PREC)
    tl.store(s_out_ptr + state_at, s0)
    tl.store(s_out_ptr + state_at + 8192, s1)
