"""KDA's second kernel for Hopper (sm_90), in Gluon: carries the state of a sequence through its chunks.

From what `prep` (`prep_gluon.py`) left of each chunk of 64 tokens, with S the state, keys x values, rows of V, U and O
tokens, and exp(G_63) a chunk's whole decay, a factor a key:

    U  = T1 V + W S          (rows: what each token writes, already divided by its key's norm)
    O  = Q S + M U
    S' = exp(G_63) * S + K^T U

Two value columns never meet, so one sequence of one head is two programs of 64 columns each.  A step's time is the
chain S -> W S -> U -> K^T U -> S'; T1 V, O and all copies are taken out of it.
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

from headway.tasks.kda.tiles_gluon import TILE_BYTES, wait_for_the_kernel_before, zero_rows


@gluon.jit
def _fetch_steps(
    ws256_desc, ws128_desc, ws64_desc, v_desc, gamma_desc, start_bars, state_bars, end_bars, free_bars,
    t_mem, v_mem, wq_mem, gamma_mem, k_mem, m_mem, row0, steps, chunk0, heads, head, col, STAGES: gl.constexpr,
):  # fmt: skip
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
    o_desc, o_ptr, s0_ptr, s_out_ptr, start_bars, state_bars, end_bars, free_bars,
    t_mem, v_mem, wq_mem, gamma_mem, k_mem, m_mem, o_mem, row0, length, steps, pair, heads, slice_v, col,
    TAIL: gl.constexpr, HAS_STATE: gl.constexpr, STAGES: gl.constexpr,
):  # fmt: skip
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
            zero_rows(v_mem.index(0), length, ACC)
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
                zero_rows(v_mem.index(next_at), length - (n + 1) * 64, ACC)
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
    ws256_desc, ws128_desc, ws64_desc, v_desc, gamma_desc, o_desc, o_ptr, s0_ptr, s_out_ptr, seq_table,
    heads, tokens, chunks, VARLEN: gl.constexpr, TAIL: gl.constexpr, HAS_STATE: gl.constexpr, STAGES: gl.constexpr,
):  # fmt: skip
    """Carry the state of one (sequence, head) through its chunks, for 64 of the 128 value columns.

    Grid (2, sequences * heads), launched while `prep` ends; 4 warps compute and one more fetches.  ws256_desc,
    ws128_desc, ws64_desc: the workspace, in boxes of 256, 128 and 64 rows of 64; v_desc, o_desc: bf16 [rows, heads *
    128], boxes of 64 x 64; gamma_desc: fp32 [work, 128], boxes of 1 x 128.
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

    wait_for_the_kernel_before(heads)  # its last programs leave multiprocessors idle: they get ready meanwhile
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
            (_run_steps, (o_desc, o_ptr, s0_ptr, s_out_ptr, start_bars, state_bars, end_bars, free_bars,
                          t_mem, v_mem, wq_mem, gamma_mem, k_mem, m_mem, o_mem,
                          row0, length, steps, pair, heads, slice_v, col, TAIL, HAS_STATE, STAGES)),
            (_fetch_steps, (ws256_desc, ws128_desc, ws64_desc, v_desc, gamma_desc,
                            start_bars, state_bars, end_bars, free_bars, t_mem, v_mem, wq_mem, gamma_mem, k_mem, m_mem,
                            row0, steps, chunk0, heads, head, col, STAGES)),
        ],
        [1],
        [40],
    )  # fmt: skip
