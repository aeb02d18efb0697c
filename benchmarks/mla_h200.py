"""MLA prefill and decode on a Hopper GPU, beside FlashMLA and FlashAttention-3 where their wheels are installed.

`python -m benchmarks.mla_h200 [prefill] [decode] [--json]`: median and 95 % interval of GPU time, variants in turns
with the order rotated each round, inputs rotated. Prefill (ms): `burst` is one call after an idle of 2 ms, with the
host's launch time covered; `sustained` the second half of 1.5 s back to back, when the card is at its power limit.
Decode (us): one call within the replay of a CUDA graph, after an idle of 2 ms, each call on another cache. `error` is
against the float64 oracle (prefill: heads 0 and 37).
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.table import could_not_run, show

SEQ = 8192
HEADS = 64
Call = Callable[[int], Any]  # which of the rotated inputs -> output


def interval(samples: list[float]) -> tuple[float, float]:
    """Order statistics around the median that cover it with at least 95 %."""
    ordered = sorted(samples)
    k = max(0, int(len(ordered) / 2 - 0.98 * len(ordered) ** 0.5))
    return ordered[k], ordered[-1 - k]


def row(workload: str, variant: str, mode: str, samples: list[float], error: float | None = None) -> dict[str, Any]:
    low, high = interval(samples)
    found = {"workload": workload, "variant": variant, "mode": mode, "median": statistics.median(samples)}
    found |= {"low": low, "high": high, "n": len(samples)}
    return found | ({} if error is None else {"error": error})


def timed(call: Callable[[], object], cover: int = 0) -> float:
    """Milliseconds on the GPU; `cover` cycles of a sleep kernel hide the host's launch time."""
    import torch

    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    if cover:
        torch.cuda._sleep(cover)
    start.record()
    call()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end))


def in_turns(calls: dict[str, Call], rounds: int, cover: int) -> dict[str, list[float]]:
    names = list(calls)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for r in range(rounds):
        for name in names[r % len(names) :] + names[: r % len(names)]:
            time.sleep(0.002)
            samples[name].append(timed(lambda name=name, r=r: calls[name](r), cover))
    return samples


def sustained(call: Call, seconds: float = 1.5) -> list[float]:
    import torch

    n = int(seconds * 1e3 / timed(lambda: call(0))) + 2
    events = [torch.cuda.Event(enable_timing=True) for _ in range(n + 1)]
    events[0].record()
    for i in range(n):
        call(i)
        events[i + 1].record()
    torch.cuda.synchronize()
    return [events[i].elapsed_time(events[i + 1]) for i in range(n // 2, n)]


def prefill() -> list[dict[str, Any]]:
    from headway.tasks.mla.cases import TIMED

    return [found for case in TIMED for found in prefill_case(case)]


def prefill_case(case: Any) -> list[dict[str, Any]]:
    import torch

    from headway.tasks.mla import mla_prefill
    from headway.tasks.mla.cases import make_inputs
    from headway.tasks.mla.prefill import default_scale
    from headway.tasks.mla.reference import oracle, relative_error

    rows: list[dict[str, Any]] = []
    inputs = [make_inputs(case, device="cuda") for _ in range(2)]
    calls: dict[str, Call] = {
        "gluon": lambda i: mla_prefill(*inputs[i % 2], causal=case.causal, form="gluon"),
        "two-kernel": lambda i: mla_prefill(*inputs[i % 2], causal=case.causal, form="two-kernel"),
    }
    for name, make in (("flashmla", flashmla_prefill), ("fa3", fa3_prefill)):
        try:
            made = [make(*pair, case.causal) for pair in inputs]
            calls[name] = lambda i, made=made: made[i % 2]()
        except (ImportError, ValueError) as why:
            rows.append(could_not_run(f"{case.name} {name}", str(why)))
    expected = oracle(*inputs[0], default_scale(inputs[0][0].shape[-1]), case.causal, [0, 37])
    errors = {n: relative_error(c(0).view(1, SEQ, HEADS, 512)[:, :, [0, 37]], expected) for n, c in calls.items()}
    torch.cuda.synchronize()
    for name, samples in in_turns(calls, 21, 2_000_000).items():
        rows.append(row(case.name, name, "burst", samples, errors[name]))
    for name, call in calls.items():
        rows.append(row(case.name, name, "sustained", sustained(call)))
    return rows


def flashmla_prefill(q: Any, kv: Any, causal: bool) -> Callable[[], Any]:
    """FlashMLA's dense kernel with 8192 query tokens; it takes 576 dims only, so that no rope means zero padding."""
    import flash_mla
    import torch

    from headway.tasks.mla.prefill import default_scale

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

    from headway.tasks.mla.prefill import default_scale

    if q.shape[-1] == 512:
        raise ValueError("takes rope dims beside the latent ones")
    scale = default_scale(q.shape[-1])
    parts = [x.contiguous() for x in (q[..., 512:], kv[..., None, 512:], kv[..., None, :512], q[..., :512])]
    return lambda: first(
        fa3_fwd_interface.flash_attn_with_kvcache(*parts[:3], qv=parts[3], softmax_scale=scale, causal=causal)
    )


def first(out: Any) -> Any:
    return out[0] if isinstance(out, tuple) else out


def decode() -> list[dict[str, Any]]:
    # enough caches to be several times the L2 cache together
    return [found for batch, n in ((1, 20), (8, 4), (32, 2), (128, 2)) for found in decode_batch(batch, n)]


def decode_batch(batch: int, n_inputs: int) -> list[dict[str, Any]]:
    import torch

    from headway.tasks.mla_decode import mla_decode
    from headway.tasks.mla_decode.cases import Case, make_inputs
    from headway.tasks.mla_decode.decode import default_scale
    from headway.tasks.mla_decode.reference import oracle, relative_error

    rows: list[dict[str, Any]] = []
    inputs = [make_inputs(Case(batch, seed=200 + i), device="cuda") for i in range(n_inputs)]
    calls: dict[str, Call] = {"gluon": lambda i: mla_decode(*inputs[i])}
    for name, make in (("flashmla", flashmla_decode), ("fa3", fa3_decode)):
        try:
            calls[name] = make(inputs)
        except ImportError as why:
            rows.append(could_not_run(f"{Case(batch).name} {name}", str(why)))
    expected = oracle(*inputs[0], default_scale(576))
    errors = {n: relative_error(c(0).view(batch, HEADS, 512), expected) for n, c in calls.items()}
    torch.cuda.synchronize()
    repeats = max(3, 20 // n_inputs)
    graphs = {name: captured(call, n_inputs, repeats) for name, call in calls.items()}
    replays: dict[str, Call] = {name: lambda _, graph=graph: graph.replay() for name, graph in graphs.items()}
    for name, samples in in_turns(replays, 22, 0).items():
        each = [1e3 * x / (repeats * n_inputs) for x in samples[1:]]  # the first replay uploads the graph
        rows.append(row(Case(batch).name, name, "graph", each, errors[name]))
    return rows


def captured(call: Call, n_inputs: int, repeats: int) -> Any:
    import torch

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            for i in range(n_inputs):
                call(i)
    return graph


def flashmla_decode(inputs: list[Any]) -> Call:
    import flash_mla
    import torch

    from headway.tasks.mla_decode.decode import default_scale

    batch = inputs[0][0].shape[0]
    pages = torch.arange(batch * SEQ // 64, device="cuda", dtype=torch.int32).view(batch, SEQ // 64)
    lengths = torch.full((batch,), SEQ, device="cuda", dtype=torch.int32)
    plan, _ = flash_mla.get_mla_metadata()
    ready = [(q[:, None], kv.view(-1, 64, 1, 576)) for q, kv in inputs]
    scale = default_scale(576)
    return lambda i: flash_mla.flash_mla_with_kvcache(*ready[i], pages, lengths, 512, plan, None, scale, False)[0]


def fa3_decode(inputs: list[Any]) -> Call:
    import fa3_fwd_interface

    from headway.tasks.mla_decode.decode import default_scale

    ready = [
        (q[:, None, :, 512:].contiguous(), kv[..., None, 512:], kv[..., None, :512], q[:, None, :, :512].contiguous())
        for q, kv in inputs
    ]
    scale = default_scale(576)
    return lambda i: first(
        fa3_fwd_interface.flash_attn_with_kvcache(*ready[i][:3], qv=ready[i][3], softmax_scale=scale, causal=False)
    )


def why_not() -> str | None:
    """What keeps this machine from measuring, if anything."""
    try:
        import torch
        import triton
    except ImportError as missing:
        return str(missing)
    if not torch.cuda.is_available():
        return "no CUDA device"
    if torch.cuda.get_device_capability() != (9, 0):
        return f"{torch.cuda.get_device_name()} is no Hopper GPU"
    return (
        None if triton.__version__.startswith("3.6.") else f"triton {triton.__version__}: the Gluon forms are for 3.6"
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.mla_h200", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("workloads", nargs="*", help="prefill, decode (default: both)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    measures = {"prefill": prefill, "decode": decode}
    chosen = options.workloads or list(measures)
    unknown = set(chosen) - set(measures)
    if unknown:
        parser.error(f"no such workload: {', '.join(sorted(unknown))}")
    reason = why_not()
    rows: list[dict[str, Any]] = []
    for name in chosen:
        rows += [could_not_run(name, reason)] if reason else measures[name]()
    return show("headway.bench.mla/1", rows, as_json=options.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
