"""The oracle of the task `kda`: the recurrence token by token in float64, as its definition reads, one kernel a head.

    S <- diag(exp(g_t)) S;  u = beta_t (v_t - S^T k_t);  S <- S + k_t u^T;  o_t = 128^-0.5 S^T q_t

with q and k divided by sqrt(|x|^2 + 1e-6), and gates -5 sigmoid(x) and betas sigmoid(x) where they come raw.
`tests/tasks/kda/test_task.py` holds it against the same recurrence in plain torch.
"""

from itertools import pairwise

import torch
import triton
import triton.language as tl

DIM = 128
COLUMNS = 8


@triton.jit
def recurrence(q, k, v, decay, beta, s0, o, s1, first, tokens, H, K: tl.constexpr, BV: tl.constexpr):
    """One sequence of one head, BV of its value columns; grid (H, 128 / BV). All float64; q scaled, k normalised."""
    head = tl.program_id(0)
    key = tl.arange(0, K)
    value = tl.program_id(1) * BV + tl.arange(0, BV)
    at_state = head * K * K + key[:, None] * K + value[None, :]
    state = tl.load(s0 + at_state)
    for t in range(tokens):
        row = (first + t).to(tl.int64) * H + head
        k_t = tl.load(k + row * K + key)
        q_t = tl.load(q + row * K + key)
        state = state * tl.load(decay + row * K + key)[:, None]
        held = tl.sum(k_t[:, None] * state, 0)
        u = tl.load(beta + row) * (tl.load(v + row * K + value) - held)
        state = state + k_t[:, None] * u[None, :]
        tl.store(o + row * K + value, tl.sum(q_t[:, None] * state, 0))
    tl.store(s1 + at_state, state)


def oracle(inputs, parts=None):
    """o [B, T, heads, 128] and state [N, heads, 128, 128] in float64, for all heads or those in `parts`."""
    heads = slice(None) if parts is None else torch.tensor(parts, device=inputs["q"].device)
    q, k, v, g = (inputs[name][:, :, heads].double() for name in ("q", "k", "v", "g"))
    beta, s0 = inputs["beta"][:, :, heads].double(), inputs["s0"][:, heads].double().contiguous()
    if inputs["raw"]:
        g, beta = -5.0 * torch.sigmoid(g), torch.sigmoid(beta)
    q, k = (x * (x.square().sum(-1, keepdim=True) + 1e-6).rsqrt() for x in (q, k))
    q = (q * DIM**-0.5).contiguous()
    decay, beta, v, k = g.exp().contiguous(), beta.contiguous(), v.contiguous(), k.contiguous()
    count = q.shape[2]
    o, state = torch.empty_like(q), torch.empty_like(s0)
    bounds = inputs["starts"].tolist()
    for n, (start, end) in enumerate(pairwise(bounds)):
        # `first` counts rows of [B * T, heads], which packed and plain inputs share
        recurrence[(count, DIM // COLUMNS)](
            q, k, v, decay, beta, s0[n], o, state[n], start, end - start, count, DIM, COLUMNS, num_warps=1
        )
    return {"o": o, "state": state}
