"""The oracle of the task `mla` in float64: softmax(scale q kv^T) kv[..., :512], 512 query rows at a time."""

import torch

LATENT = 512


def oracle(inputs, parts=None):
    """o [B, S, heads, 512] for all heads or those in `parts`; scale 512^-0.5, or 192^-0.5 with rope."""
    q, kv, causal = inputs["q"], inputs["kv"], inputs["causal"]
    heads = list(range(q.shape[2])) if parts is None else parts
    scale = (192 if q.shape[-1] > LATENT else 512) ** -0.5
    out = torch.empty(q.shape[0], q.shape[1], len(heads), LATENT, dtype=torch.float64, device=q.device)
    for b in range(q.shape[0]):
        k = kv[b].double()
        for n, h in enumerate(heads):
            for t in range(0, q.shape[1], 512):
                last = min(t + 512, k.shape[0]) if causal else k.shape[0]
                s = (q[b, t : t + 512, h].double() @ k[:last].T) * scale
                if causal:
                    position = torch.arange(t, t + s.shape[0], device=q.device)
                    s.masked_fill_(torch.arange(last, device=q.device)[None, :] > position[:, None], float("-inf"))
                out[b, t : t + 512, n] = torch.softmax(s, -1) @ k[:last, :LATENT]
    return {"o": out}
