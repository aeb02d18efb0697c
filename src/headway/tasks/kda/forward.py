"""KDA forward: arguments checked, kernels chosen and launched.

Formula, per head; S is the state, keys x values; a token decays the state, reads what it holds for its key, and writes
the difference to its value:

    S <- diag(exp(g_t)) S
    u  = beta_t (v_t - S^T k_t)
    S <- S + k_t u^T
    o_t = scale * S^T q_t
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import torch

HEAD_DIM = 128
CHUNK = 64
TILE_ROWS = 512  # rows of 64 in the workspace for one chunk of one head: 64 KiB in bf16

GATE_WINDOW = -5.0
"""Gates of at least this many nats a token are right in the fast kernels, whatever their pattern.

They split a decay inside 32 tokens at the middle, so 16 tokens in a row may lose 80 nats, and fp32 ends at 88.  Smaller
gates are welcome with `lower_bound=None` or a lower bound: chunks that turn out to leave the range are then done again,
element by element.  If they come in spite of a promised bound, the outputs are right while no 16 tokens in a row lose
more than about 87 nats in a channel, and NaN from there on: never a small wrong number.
"""

Kernels = Literal["gluon", "triton"]


@dataclass(frozen=True)
class _Sequences:
    """How the rows of the flattened inputs fall into sequences and chunks."""

    count: int
    chunks: int  # of all sequences
    ragged: bool  # some chunk has fewer than 64 rows
    chunk_table: torch.Tensor | None  # int32 [chunks, 2]: first row, rows
    seq_table: torch.Tensor | None  # int32 [count, 3]: first row, rows, first chunk


def _equal_sequences(batch: int, tokens: int) -> _Sequences:
    return _Sequences(batch, batch * math.ceil(tokens / CHUNK), tokens % CHUNK != 0, None, None)


def _packed_sequences(bounds: Sequence[int], device: torch.device) -> _Sequences:
    chunk_rows: list[tuple[int, int]] = []
    sequences: list[tuple[int, int, int]] = []
    for start, end in pairwise(bounds):
        sequences.append((start, end - start, len(chunk_rows)))
        chunk_rows.extend((at, min(CHUNK, end - at)) for at in range(start, end, CHUNK))
    return _Sequences(
        len(sequences),
        len(chunk_rows),
        any(rows < CHUNK for _, rows in chunk_rows),
        torch.tensor(chunk_rows, dtype=torch.int32).reshape(-1, 2).to(device),
        torch.tensor(sequences, dtype=torch.int32).reshape(-1, 3).to(device),
    )


def _check_tensor(
    name: str,
    x: object,
    shape: tuple[int, ...],
    dtypes: tuple[torch.dtype, ...],
    device: torch.device,
) -> None:
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{name} must be a tensor, not {type(x).__name__}")
    if tuple(x.shape) != shape:
        raise ValueError(f"{name} must have shape {list(shape)}, not {list(x.shape)}")
    if x.dtype not in dtypes:
        names = " or ".join(str(d).removeprefix("torch.") for d in dtypes)
        raise ValueError(f"{name} must be {names}, not {str(x.dtype).removeprefix('torch.')}")
    if x.device != device:
        raise ValueError(f"{name} is on {x.device}, but q is on {device}")
    if x.requires_grad and torch.is_grad_enabled():
        raise ValueError(f"{name} requires a gradient, but this is a forward only: call it under torch.no_grad()")


def _bounds(cu_seqlens: torch.Tensor | Sequence[int], batch: int, tokens: int) -> list[int]:
    """The sequence boundaries as integers; a tensor on a device is copied to the host once."""
    if batch != 1:
        raise ValueError(f"with cu_seqlens the sequences are packed into one batch entry, but the batch is {batch}")
    if isinstance(cu_seqlens, torch.Tensor):
        if cu_seqlens.ndim != 1 or cu_seqlens.is_floating_point():
            raise ValueError("cu_seqlens must be a vector of integers")
        bounds: list[int] = cu_seqlens.tolist()
    else:
        bounds = [int(x) for x in cu_seqlens]
    if len(bounds) < 2 or bounds[0] != 0 or bounds[-1] != tokens:
        raise ValueError(f"cu_seqlens must start at 0 and end at the number of tokens, {tokens}")
    if any(b < a for a, b in pairwise(bounds)):
        raise ValueError("cu_seqlens must not decrease")
    return bounds


def choose_kernels(
    device: torch.device,
    dtypes: Sequence[torch.dtype],
    lower_bound: float | None,
    raw_gates: bool = False,
) -> tuple[Kernels, str]:
    """Which kernels serve q, k, v, g of these types with gates of at least `lower_bound`, and why."""
    if device.type != "cuda":
        return "triton", "not a CUDA device"
    if torch.cuda.get_device_capability(device) != (9, 0):
        return "triton", "not a Hopper GPU (sm_90)"
    if any(d != torch.bfloat16 for d in dtypes):
        return "triton", "q, k, v and g are not all bfloat16"
    if raw_gates and lower_bound is None:
        return "triton", "softplus gates"
    return "gluon", "Hopper and bfloat16"


def kda_forward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    *,
    scale: float | None = None,
    initial_state: torch.Tensor | None = None,
    cu_seqlens: torch.Tensor | Sequence[int] | None = None,
    normalize: bool = True,
    raw_gates: bool = False,
    a_log: torch.Tensor | None = None,
    dt_bias: torch.Tensor | None = None,
    lower_bound: float | None = GATE_WINDOW,
    beta_logit: bool = False,
    kernels: Literal["auto", "gluon", "triton"] = "auto",
) -> tuple[torch.Tensor, torch.Tensor]:
    """Kimi Delta Attention over whole sequences; returns (o, final state).

    q, k, v, g: [B, T, H, 128], bfloat16 or float32 (q, k and v alike).  beta: [B, T, H].
    o: like v.  States: float32 [sequences, H, 128, 128], keys x values.  All sums run in float32.

    normalize: q and k are divided by their norm in the kernel, x / sqrt(|x|^2 + 1e-6); without it keys must have norms
        of at most 1, or the recurrence itself grows.
    scale: of q, after normalising; 128 ** -0.5 by default.
    g: log gates in nats a token, <= 0, or with raw_gates what the gate is made of in the kernel:
        lower_bound * sigmoid(exp(a_log) * (g + dt_bias)), or without a bound -exp(a_log) * softplus(g + dt_bias);
        a_log [H] and dt_bias [H * 128], 0 by default.
    lower_bound: a promise about g where it comes as log gates, see GATE_WINDOW; None promises nothing.
    beta: after the sigmoid, or its logit with beta_logit.
    cu_seqlens: boundaries [sequences + 1] of sequences packed into T, with B = 1.
    kernels: "gluon" for Hopper, "triton" for anything; `choose_kernels` is how "auto" decides.

    A workspace of 64 KiB for each chunk of 64 tokens of a head lives as long as the call (fp32: 128 KiB).
    """
    if not isinstance(q, torch.Tensor) or q.ndim != 4 or q.shape[3] != HEAD_DIM:
        got = list(q.shape) if isinstance(q, torch.Tensor) else type(q).__name__
        raise ValueError(f"q must be a tensor of shape [batch, tokens, heads, {HEAD_DIM}], not {got}")
    batch, tokens, heads, _ = q.shape
    device = q.device
    wide = (torch.bfloat16, torch.float32)
    for name, x, types in (("q", q, wide), ("k", k, (q.dtype,)), ("v", v, (q.dtype,)), ("g", g, wide)):
        _check_tensor(name, x, (batch, tokens, heads, HEAD_DIM), types, device)
    _check_tensor("beta", beta, (batch, tokens, heads), (torch.bfloat16, torch.float16, torch.float32), device)
    if lower_bound is not None and not (math.isfinite(lower_bound) and lower_bound < 0):
        raise ValueError(f"lower_bound must be below 0 or None, not {lower_bound}")
    if not raw_gates and (a_log is not None or dt_bias is not None):
        raise ValueError("a_log and dt_bias belong to raw_gates=True")
    rate, bias = _gate_parameters(a_log, dt_bias, heads, device) if raw_gates else (beta, beta)  # unread otherwise
    if cu_seqlens is None:
        sequences = _equal_sequences(batch, tokens)
    else:
        sequences = _packed_sequences(_bounds(cu_seqlens, batch, tokens), device)
    state_shape = (sequences.count, heads, HEAD_DIM, HEAD_DIM)
    if initial_state is not None:
        _check_tensor("initial_state", initial_state, state_shape, (torch.float32,), device)
        initial_state = initial_state.contiguous()
    if max(sequences.chunks * heads * TILE_ROWS, batch * tokens * heads) >= 2**31:
        raise ValueError(f"{batch * tokens} tokens of {heads} heads are more than one call can index: split the batch")

    chosen, why = choose_kernels(device, [x.dtype for x in (q, k, v, g)], lower_bound, raw_gates)
    if kernels == "gluon" and chosen != "gluon":
        raise ValueError(f"the Gluon kernels cannot serve this call: {why}")
    if kernels not in ("auto", "gluon", "triton"):
        raise ValueError(f"kernels must be 'auto', 'gluon' or 'triton', not {kernels!r}")
    o = torch.empty_like(v, memory_format=torch.contiguous_format)
    state = torch.empty(state_shape, dtype=torch.float32, device=device)
    if sequences.chunks * heads == 0:
        if initial_state is None:
            return o, state.zero_()
        return o, state.copy_(initial_state)
    call = _Call(
        _aligned(q),
        _aligned(k),
        _aligned(v),
        _aligned(g),
        _aligned(beta),
        o,
        initial_state,
        state,
        rate,
        bias,
        sequences,
        scale=HEAD_DIM**-0.5 if scale is None else float(scale),
        lower_bound=lower_bound,
        normalize=normalize,
        raw_gates=raw_gates,
        beta_logit=beta_logit,
    )
    run = _run_gluon if chosen == "gluon" and kernels != "triton" else _run_triton
    with torch.cuda.device(device) if device.type == "cuda" else nullcontext():
        run(call)
    return o, state


def _aligned(x: torch.Tensor) -> torch.Tensor:
    """Contiguous, and at an address that bulk copies accept."""
    x = x.contiguous()
    return x if x.data_ptr() % 16 == 0 else x.clone()


def _gate_parameters(
    a_log: torch.Tensor | None, dt_bias: torch.Tensor | None, heads: int, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """exp(a_log) [H] and dt_bias [H * 128], float32."""
    floats = (torch.bfloat16, torch.float16, torch.float32)
    if a_log is None:
        rate = torch.ones(heads, dtype=torch.float32, device=device)
    else:
        _check_tensor("a_log", a_log, (heads,), floats, device)
        rate = a_log.float().exp()
    if dt_bias is None:
        bias = torch.zeros(heads * HEAD_DIM, dtype=torch.float32, device=device)
    else:
        _check_tensor("dt_bias", dt_bias, (heads * HEAD_DIM,), floats, device)
        bias = dt_bias.float().contiguous()
    return rate, bias


@dataclass(frozen=True)
class _Call:
    """Checked arguments: contiguous tensors, and for tables that are not there any tensor, which is not read."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    g: torch.Tensor
    beta: torch.Tensor
    o: torch.Tensor
    initial_state: torch.Tensor | None
    state: torch.Tensor
    rate: torch.Tensor
    bias: torch.Tensor
    sequences: _Sequences
    scale: float
    lower_bound: float | None
    normalize: bool
    raw_gates: bool
    beta_logit: bool

    @property
    def tokens(self) -> int:
        return self.q.shape[1]

    @property
    def heads(self) -> int:
        return self.q.shape[2]

    @property
    def chunks_each(self) -> int:
        return math.ceil(self.tokens / CHUNK)

    @property
    def work(self) -> int:
        return self.sequences.chunks * self.heads

    @property
    def packed(self) -> bool:
        return self.sequences.seq_table is not None

    @property
    def chunk_table(self) -> torch.Tensor:
        return self.beta if self.sequences.chunk_table is None else self.sequences.chunk_table

    @property
    def seq_table(self) -> torch.Tensor:
        return self.beta if self.sequences.seq_table is None else self.sequences.seq_table

    @property
    def unbounded(self) -> bool:
        """Gates may leave the range of the fast form."""
        return self.lower_bound is None or self.lower_bound < GATE_WINDOW

    @property
    def bound(self) -> float:
        return 0.0 if self.lower_bound is None else self.lower_bound

    def workspace(self, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        ws = torch.empty((self.work * TILE_ROWS, 64), dtype=dtype, device=self.q.device)
        return ws, torch.empty((self.work, HEAD_DIM), dtype=torch.float32, device=self.q.device)


def _run_gluon(call: _Call) -> None:
    from triton.experimental.gluon.language import NVMMASharedLayout
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    from . import kernels_gluon

    tiles = NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)
    vectors = NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=32, rank=2)

    def boxes(x: torch.Tensor, rows: int, cols: int, layout: Any = tiles) -> Any:
        return TensorDescriptor(x, list(x.shape), [x.shape[1], 1], [rows, cols], layout)

    def rows_of(x: torch.Tensor) -> Any:
        return boxes(x.view(-1, call.heads * HEAD_DIM), 64, 64)

    seqs = call.sequences
    ws, gamma = call.workspace(torch.bfloat16)
    # Two programs fit on a multiprocessor; each walks through the work with the grid's stride.
    programs = min(call.work, 2 * torch.cuda.get_device_properties(call.q.device).multi_processor_count)
    kernels_gluon.prep[(programs,)](
        rows_of(call.q),
        rows_of(call.k),
        rows_of(call.g),
        boxes(ws, 64, 64),
        gamma,
        call.beta,
        call.rate,
        call.bias,
        call.chunk_table,
        call.work,
        call.heads,
        call.tokens,
        call.chunks_each,
        call.scale,
        call.bound,
        VARLEN=call.packed,
        TAIL=seqs.ragged,
        NORMALIZE=call.normalize,
        RAW=call.raw_gates,
        BETA_LOGIT=call.beta_logit,
        num_warps=4,
    )
    if call.unbounded:
        _prep_triton(call, ws, gamma, exact=True, repair=True)
    kernels_gluon.scan[(2, seqs.count * call.heads)](
        boxes(ws, 256, 64),
        boxes(ws, 128, 64),
        boxes(ws, 64, 64),
        rows_of(call.v),
        boxes(gamma, 1, HEAD_DIM, vectors),
        rows_of(call.o),
        call.o,
        call.state if call.initial_state is None else call.initial_state,
        call.state,
        call.seq_table,
        call.heads,
        call.tokens,
        call.chunks_each,
        VARLEN=call.packed,
        TAIL=seqs.ragged,
        HAS_STATE=call.initial_state is not None,
        STAGES=3,
        num_warps=4,
    )


def _prep_triton(call: _Call, ws: torch.Tensor, gamma: torch.Tensor, *, exact: bool, repair: bool) -> None:
    import triton.language as tl

    from . import kernels

    narrow = ws.dtype == torch.bfloat16
    gate = 0
    if call.raw_gates:
        gate = 2 if call.lower_bound is None else 1
    kernels.prep[(call.work,)](
        call.q,
        call.k,
        call.g,
        ws,
        gamma,
        call.beta,
        call.rate,
        call.bias,
        call.chunk_table,
        call.heads,
        call.tokens,
        call.chunks_each,
        call.scale,
        call.bound,
        VARLEN=call.packed,
        NORMALIZE=call.normalize,
        GATE=gate,
        BETA_LOGIT=call.beta_logit,
        SPLIT=narrow and (call.raw_gates or call.g.dtype == torch.float32),
        EXACT=exact,
        REPAIR=repair,
        LP=tl.bfloat16 if narrow else tl.float32,
        INV=tl.float16 if narrow else tl.float32,
        PREC="tf32x3",
        num_warps=4,
    )


def _run_triton(call: _Call) -> None:
    import triton.language as tl
    from triton.runtime.interpreter import InterpretedFunction

    from . import kernels

    interpreted = isinstance(kernels.prep, InterpretedFunction)
    if call.q.device.type != "cuda" and not interpreted:
        raise ValueError(f"the kernels need a CUDA device, not {call.q.device} (or TRITON_INTERPRET=1 for a test)")
    narrow = call.q.dtype == torch.bfloat16 and not interpreted
    ws, gamma = call.workspace(torch.bfloat16 if narrow else torch.float32)
    if call.unbounded and call.q.dtype == torch.float32:
        # At the edge of its range the other form is right to about 1e-3: beneath bf16's noise, not beneath fp32's.
        _prep_triton(call, ws, gamma, exact=True, repair=False)
    else:
        _prep_triton(call, ws, gamma, exact=False, repair=False)
        if call.unbounded:
            _prep_triton(call, ws, gamma, exact=True, repair=True)
    kernels.scan[(2, call.sequences.count * call.heads)](
        ws,
        call.v,
        gamma,
        call.o,
        call.state if call.initial_state is None else call.initial_state,
        call.state,
        call.seq_table,
        call.heads,
        call.tokens,
        call.chunks_each,
        VARLEN=call.packed,
        HAS_STATE=call.initial_state is not None,
        BV=64,
        LP=tl.bfloat16 if narrow else tl.float32,
        PREC="tf32x3",
        num_warps=4,
        num_stages=2 if narrow else 1,  # three stages of bf16 tiles exceed shared memory
    )
