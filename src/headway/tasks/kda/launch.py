"""Launches KDA's two kernels: the Gluon ones on a Hopper GPU, the plain Triton ones anywhere else."""

from __future__ import annotations

from typing import Any

import torch

from headway.tasks.gluon import multiprocessors

from .call import HEAD_DIM, Call


def run_gluon(call: Call) -> None:
    """Hopper and bfloat16; gates made from raw inputs only with a bound."""
    from triton.experimental.gluon.language import NVMMASharedLayout
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    from .prep_gluon import prep
    from .scan_gluon import scan

    tiles = NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)
    vectors = NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=32, rank=2)

    def boxes(x: torch.Tensor, rows: int, cols: int, layout: Any = tiles) -> Any:
        return TensorDescriptor(x, list(x.shape), [x.shape[1], 1], [rows, cols], layout)

    def rows_of(x: torch.Tensor) -> Any:
        return boxes(x.view(-1, call.heads * HEAD_DIM), 64, 64)

    seqs = call.sequences
    ws, gamma = call.workspace(torch.bfloat16)
    # Two programs fit on a multiprocessor; each walks through the work with the grid's stride.
    programs = min(call.work, 2 * multiprocessors(call.q.device))
    prep[(programs,)](
        rows_of(call.q), rows_of(call.k), rows_of(call.g), boxes(ws, 64, 64), gamma,
        call.beta, call.rate, call.bias, call.chunk_table,
        call.work, call.heads, call.tokens, call.chunks_each, call.scale, call.bound,
        VARLEN=call.packed, TAIL=seqs.ragged, NORMALIZE=call.normalize, RAW=call.raw_gates, BETA_LOGIT=call.beta_logit,
        num_warps=4,
    )  # fmt: skip
    if call.unbounded:
        _prep_triton(call, ws, gamma, exact=True, repair=True)
    scan[(2, seqs.count * call.heads)](
        boxes(ws, 256, 64), boxes(ws, 128, 64), boxes(ws, 64, 64), rows_of(call.v),
        boxes(gamma, 1, HEAD_DIM, vectors), rows_of(call.o), call.o, call.first_state, call.state, call.seq_table,
        call.heads, call.tokens, call.chunks_each,
        VARLEN=call.packed, TAIL=seqs.ragged, HAS_STATE=call.initial_state is not None, STAGES=3, num_warps=4,
        launch_pdl=True,
    )  # fmt: skip


def _prep_triton(call: Call, ws: torch.Tensor, gamma: torch.Tensor, *, exact: bool, repair: bool) -> None:
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


def run_triton(call: Call) -> None:
    """Any CUDA device, or a CPU in Triton's interpreter (ValueError on other devices)."""
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
        call.first_state,
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
