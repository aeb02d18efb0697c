"""What `measure` times beside headway's decode: FlashMLA and FlashAttention-3, where their wheels are installed, and
the PyTorch reference by name.  A peer that is absent raises ImportError.
"""

from importlib import import_module
from typing import Any

import torch

from headway.tasks.mla.latent import default_scale
from headway.tasks.mla.peers import first
from headway.tasks.mla_decode.reference import torch_fp32_softmax
from headway.tasks.timing import Call


def torch_decode(inputs: list[Any]) -> Call:
    """Batched matmul, float32 softmax, batched matmul."""
    scale = default_scale(576)
    run: Any = torch_fp32_softmax
    return lambda i: run(*inputs[i], scale)


def flashmla_decode(inputs: list[Any]) -> Call:
    """FlashMLA's dense kernel, the caches as pages of 64 keys in order."""
    flash_mla = import_module("flash_mla")

    batch, seq, _ = inputs[0][1].shape
    pages = torch.arange(batch * seq // 64, device="cuda", dtype=torch.int32).view(batch, seq // 64)
    lengths = torch.full((batch,), seq, device="cuda", dtype=torch.int32)
    plan, _ = flash_mla.get_mla_metadata()
    ready = [(q[:, None], kv.view(-1, 64, 1, 576)) for q, kv in inputs]
    scale = default_scale(576)
    return lambda i: flash_mla.flash_mla_with_kvcache(*ready[i], pages, lengths, 512, plan, None, scale, False)[0]


def fa3_decode(inputs: list[Any]) -> Call:
    """FlashAttention-3 with the rope dims as q, k and the latent ones as qv, v."""
    fa3 = import_module("fa3_fwd_interface")

    ready = [
        (q[:, None, :, 512:].contiguous(), kv[..., None, 512:], kv[..., None, :512], q[:, None, :, :512].contiguous())
        for q, kv in inputs
    ]
    scale = default_scale(576)
    return lambda i: first(
        fa3.flash_attn_with_kvcache(*ready[i][:3], qv=ready[i][3], softmax_scale=scale, causal=False)
    )
