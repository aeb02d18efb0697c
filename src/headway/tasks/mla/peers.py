"""What `measure` times beside headway's prefill: FlashMLA and FlashAttention-3, where their wheels are installed, and
the PyTorch references by name.  A peer that cannot take a workload raises ImportError or ValueError with the reason.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch

from headway.tasks.mla.latent import default_scale
from headway.tasks.mla.reference import torch_compiled, torch_fp32_softmax
from headway.tasks.timing import Call


def torch_prefill(inputs: list[Any], causal: bool, compiled: bool) -> Call:
    """Matmul, float32 softmax, matmul; or `torch.compile` of that, its pattern matcher off."""
    torch.compiler.reset()  # else the second case is compiled for dynamic shapes
    run: Any = torch_compiled() if compiled else torch_fp32_softmax
    scale = default_scale(inputs[0][0].shape[-1])
    return lambda i: run(*inputs[i % len(inputs)], scale, causal)


def flashmla_prefill(q: Any, kv: Any, causal: bool) -> Callable[[], Any]:
    """FlashMLA's dense kernel with 8192 query tokens; it takes 576 dims only, so that no rope means zero padding."""
    flash_mla = import_module("flash_mla")

    scale = default_scale(q.shape[-1])
    if q.shape[-1] == 512:
        q, kv = (torch.nn.functional.pad(x, (0, 64)) for x in (q, kv))
    pages = torch.arange(kv.shape[1] // 64, device="cuda", dtype=torch.int32)[None]
    lengths = torch.tensor([kv.shape[1]], device="cuda", dtype=torch.int32)
    plan, _ = flash_mla.get_mla_metadata()
    cache = kv.view(kv.shape[1] // 64, 64, 1, 576)
    return lambda: flash_mla.flash_mla_with_kvcache(q, cache, pages, lengths, 512, plan, None, scale, causal)[0]


def fa3_prefill(q: Any, kv: Any, causal: bool) -> Callable[[], Any]:
    """FlashAttention-3 with the rope dims as q, k and the latent ones as qv, v."""
    fa3 = import_module("fa3_fwd_interface")

    if q.shape[-1] == 512:
        raise ValueError("takes rope dims beside the latent ones")
    scale = default_scale(q.shape[-1])
    parts = [x.contiguous() for x in (q[..., 512:], kv[..., None, 512:], kv[..., None, :512], q[..., :512])]
    return lambda: first(fa3.flash_attn_with_kvcache(*parts[:3], qv=parts[3], softmax_scale=scale, causal=causal))


def first(out: Any) -> Any:
    """The output, where a library returns more beside it."""
    return out[0] if isinstance(out, tuple) else out
