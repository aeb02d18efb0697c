"""Runs the kernels under Triton's interpreter on what a JSON request asks for, and prints the answer as JSON.

Run by `tests/interpreting.py`, or by hand with TRITON_INTERPRET=1.
"""

import json
import sys
import warnings

# Above the diagonal the split decays overflow by design; numpy says so.
warnings.filterwarnings("ignore", category=RuntimeWarning)

import torch  # noqa: E402

from headway.tasks.kda import kda_forward, kda_reference, make_case  # noqa: E402
from headway.tasks.kda.reference import log_gates, relative_error  # noqa: E402

torch.set_num_threads(1)  # small tensors: more threads only wait for each other


def answer(request: dict) -> dict:
    options = request.get("options", {})
    bounds = options.get("cu_seqlens")
    case = make_case(
        *request["shape"],
        request["regime"],
        request.get("seed", 1),
        dtype=getattr(torch, request.get("dtype", "float32")),
        with_state=request.get("with_state", True),
        sequences=len(bounds) - 1 if bounds else None,
        similar_keys=request.get("similar_keys", 0.0),
    )
    q, k, v, g, beta, state = case
    g = g * request.get("gate_factor", 1.0)
    if options.get("normalize") is False:
        k = torch.nn.functional.normalize(k, dim=-1)
    gates, write = g, beta
    if request.get("raw"):
        generator = torch.Generator().manual_seed(7)
        heads = q.shape[2]
        options["a_log"] = 0.3 * torch.randn(heads, generator=generator)
        options["dt_bias"] = 0.5 * torch.randn(heads * 128, generator=generator)
        options["raw_gates"] = options["beta_logit"] = True
        bound = options.get("lower_bound", -5.0)
        gates, write = log_gates(g, options["a_log"], options["dt_bias"], bound), torch.sigmoid(beta.double())
    o, final = kda_forward(q, k, v, g, beta, initial_state=state, **options)
    expected_o, expected_final = kda_reference(
        q,
        k,
        v,
        gates,
        write,
        initial_state=state,
        cu_seqlens=bounds,
        normalize=options.get("normalize", True),
        scale=options.get("scale"),
    )
    return {
        "o": relative_error(o, expected_o),
        "state": relative_error(final, expected_final),
        "nan": bool(torch.isnan(o).any()),
        "dtype": str(o.dtype),
    }


print(json.dumps(answer(json.loads(sys.argv[1]))))
