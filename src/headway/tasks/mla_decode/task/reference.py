"""The oracle of the task `mla-decode` in float64: softmax(scale q kv^T) kv[..., :512] of one query token a sequence."""

import torch

LATENT = 512


def oracle(inputs, parts=None):
    """o [B, heads, 512] for all heads or those in `parts`; scale 512^-0.5, or 192^-0.5 with rope."""
    q, kv = inputs["q"], inputs["kv"]
    if parts is not None:
        q = q[:, parts]
    scale = (192 if q.shape[-1] > LATENT else 512) ** -0.5
    out = torch.empty(q.shape[0], q.shape[1], LATENT, dtype=torch.float64, device=q.device)
    for b in range(q.shape[0]):
        k = kv[b].double()
        out[b] = torch.softmax((q[b].double() @ k.T) * scale, -1) @ k[:, :LATENT]
    return {"o": out}
