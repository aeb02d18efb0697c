"""What `mla_h200` measures beside headway's kernels: FlashMLA and FlashAttention-3, where their wheels are installed,
and the PyTorch references by name. A peer that cannot take a workload raises ImportError or ValueError with the reason.
"""

from collections.abc import Callable
from typing import Any

SEQ = 8192
Call = Callable[[int], Any]  # which of the rotated inputs -> output


def torch_prefill(inputs: list[Any], causal: bool, compiled: bool) -> Call:
    """Matmul, float32 softmax, matmul; or `torch.compile` of that, its pattern matcher off."""
    import torch

    from headway.tasks.mla.latent import default_scale
    from headway.tasks.mla.reference import torch_compiled, torch_fp32_softmax

    torch.compiler.reset()  # else the second case is compiled for dynamic shapes
    run = torch_compiled() if compiled else torch_fp32_softmax
    scale = default_scale(inputs[0][0].shape[-1])
    return lambda i: run(*inputs[i % len(inputs)], scale, causal)


def torch_decode(inputs: list[Any]) -> Call:
    """Batched matmul, float32 softmax, batched matmul."""
    from headway.tasks.mla.latent import default_scale
    from headway.tasks.mla_decode.reference import torch_fp32_softmax

    scale = default_scale(576)
    return lambda i: torch_fp32_softmax(*inputs[i], scale)


def flashmla_prefill(q: Any, kv: Any, causal: bool) -> Callable[[], Any]:
    """FlashMLA's dense kernel with 8192 query tokens; it takes 576 dims only, so that no rope means zero padding."""
    import flash_mla
    import torch

    from headway.tasks.mla.latent import default_scale

    scale = default_scale(q.shape[-1])
    if q.shape[-1] == 512:
        q, kv = (torch.nn.functional.pad(x, (0, 64)) for x in (q, kv))
    pages = torch.arange(SEQ // 64, device="cuda", dtype=torch.int32)[None]
    lengths = torch.tensor([SEQ], device="cuda", dtype=torch.int32)
    plan, _ = flash_mla.get_mla_metadata()
    cache = kv.view(SEQ // 64, 64, 1, 576)
    return lambda: flash_mla.flash_mla_with_kvcache(q, cache, pages, lengths, 512, plan, None, scale, causal)[0]


def fa3_prefill(q: Any, kv: Any, causal: bool) -> Callable[[], Any]:
    """FlashAttention-3 with the rope dims as q, k and the latent ones as qv, v."""
    import fa3_fwd_interface

    from headway.tasks.mla.latent import default_scale

    if q.shape[-1] == 512:
        raise ValueError("takes rope dims beside the latent ones")
    scale = default_scale(q.shape[-1])
    parts = [x.contiguous() for x in (q[..., 512:], kv[..., None, 512:], kv[..., None, :512], q[..., :512])]
    return lambda: first(
        fa3_fwd_interface.flash_attn_with_kvcache(*parts[:3], qv=parts[3], softmax_scale=scale, causal=causal)
    )


def first(out: Any) -> Any:
    return out[0] if isinstance(out, tuple) else out


def flashmla_decode(inputs: list[Any]) -> Call:
    import flash_mla
    import torch

    from headway.tasks.mla.latent import default_scale

    batch = inputs[0][0].shape[0]
    pages = torch.arange(batch * SEQ // 64, device="cuda", dtype=torch.int32).view(batch, SEQ // 64)
    lengths = torch.full((batch,), SEQ, device="cuda", dtype=torch.int32)
    plan, _ = flash_mla.get_mla_metadata()
    ready = [(q[:, None], kv.view(-1, 64, 1, 576)) for q, kv in inputs]
    scale = default_scale(576)
    return lambda i: flash_mla.flash_mla_with_kvcache(*ready[i], pages, lengths, 512, plan, None, scale, False)[0]


def fa3_decode(inputs: list[Any]) -> Call:
    import fa3_fwd_interface

    from headway.tasks.mla.latent import default_scale

    ready = [
        (q[:, None, :, 512:].contiguous(), kv[..., None, 512:], kv[..., None, :512], q[:, None, :, :512].contiguous())
        for q, kv in inputs
    ]
    scale = default_scale(576)
    return lambda i: first(
        fa3_fwd_interface.flash_attn_with_kvcache(*ready[i][:3], qv=ready[i][3], softmax_scale=scale, causal=False)
    )
