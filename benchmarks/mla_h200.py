"""MLA prefill and decode on a Hopper GPU: headway's kernels beside FlashMLA, FlashAttention-3 and PyTorch.

`python -m benchmarks.mla_h200 [prefill] [decode] [check] [--json]`.  Every row is a median with its 95 % interval and
its samples; FlashMLA and FlashAttention-3 are measured where their wheels are installed.

* Prefill (ms): `burst` is one call after an idle of 2 ms, with the host's launch time covered; `sustained` the second
  half of 1.5 s back to back, when the card is at its power limit, in two passes of opposite order.
* Decode (us): one call within the replay of a CUDA graph, after an idle of 2 ms, each call on another cache.
* `ratio` rows: headway's time over the other's, paired within a round.  Variants take turns; the order is rotated each
  round and turned around every other one, so nobody always follows the same other.
* `error` is against the float64 oracle (prefill: heads 0 and 37); `check` computes it for every case of the tasks.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.mla_peers import (
    SEQ,
    Call,
    fa3_decode,
    fa3_prefill,
    flashmla_decode,
    flashmla_prefill,
    torch_decode,
    torch_prefill,
)
from benchmarks.table import could_not_run, show

HEADS = 64
CHECKED_HEADS = (0, 37)
ERROR_BAR = 1.5 * 0.0018  # FlashMLA's own error on the timed cases


def interval(samples: list[float]) -> tuple[float, float]:
    """Order statistics around the median that cover it with at least 95 %."""
    ordered = sorted(samples)
    k = max(0, int(len(ordered) / 2 - 0.98 * len(ordered) ** 0.5))
    return ordered[k], ordered[-1 - k]


def row(workload: str, variant: str, mode: str, samples: list[float], error: float | None = None) -> dict[str, Any]:
    low, high = interval(samples)
    found = {"workload": workload, "variant": variant, "mode": mode, "median": statistics.median(samples)}
    found |= {"low": low, "high": high, "n": len(samples)}
    found |= {} if error is None else {"error": error}
    return found | {"samples": [round(x, 4) for x in samples]}


def ratios(workload: str, mode: str, samples: dict[str, list[float]], ours: str) -> list[dict[str, Any]]:
    """Our time over each other variant's, round by round."""
    pairs = {other: zip(samples[ours], theirs, strict=True) for other, theirs in samples.items() if other != ours}
    return [row(workload, f"{ours} / {other}", f"{mode} ratio", [a / b for a, b in of]) for other, of in pairs.items()]


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
        turn = names[r % len(names) :] + names[: r % len(names)]
        for name in turn if r % 2 == 0 else reversed(turn):
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

    from headway.tasks.mla.cases import make_inputs
    from headway.tasks.mla.latent import default_scale
    from headway.tasks.mla.reference import oracle, relative_error

    inputs = [make_inputs(case, device="cuda") for _ in range(2)]
    calls, rows = prefill_calls(case, inputs)
    slow = {
        f"torch {kind}": torch_prefill(inputs, case.causal, kind == "compile") for kind in ("fp32 softmax", "compile")
    }
    expected = oracle(*inputs[0], default_scale(inputs[0][0].shape[-1]), case.causal, CHECKED_HEADS)
    errors = {
        name: relative_error(call(0).view(1, SEQ, HEADS, 512)[:, :, CHECKED_HEADS], expected)
        for name, call in (calls | slow).items()
    }
    torch.cuda.synchronize()
    fast = in_turns(calls, 21, 2_000_000)
    for name, samples in fast.items():
        rows.append(row(case.name, name, "burst", samples, errors[name]))
    rows += ratios(case.name, "burst", fast, "gluon")
    passes = [{name: sustained(calls[name]) for name in order} for order in (list(calls), list(calls)[::-1])]
    for name in calls:
        rows.append(row(case.name, name, "sustained", passes[0][name] + passes[1][name]))
    # apart, because a call of 20 to 70 ms just before would warm the card for whoever follows
    beside = in_turns({"gluon": calls["gluon"]} | slow, 11, 2_000_000)
    for name in slow:
        rows.append(row(case.name, name, "burst", beside[name], errors[name]))
    torch.cuda.empty_cache()
    return rows + ratios(case.name, "burst", beside, "gluon")


def prefill_calls(case: Any, inputs: list[Any]) -> tuple[dict[str, Call], list[dict[str, Any]]]:
    """What is timed of a case, by name, and a row for each peer that is absent."""
    from headway.tasks.mla import mla_prefill

    rows: list[dict[str, Any]] = []
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
    return calls, rows


def decode() -> list[dict[str, Any]]:
    # enough caches to be several times the L2 cache together
    return [found for batch, n in ((1, 20), (8, 4), (32, 2), (128, 2)) for found in decode_batch(batch, n)]


def decode_batch(batch: int, n_inputs: int) -> list[dict[str, Any]]:
    import torch

    from headway.tasks.mla.latent import default_scale
    from headway.tasks.mla_decode.cases import Case, make_inputs
    from headway.tasks.mla_decode.reference import oracle, relative_error

    name_of = Case(batch).name
    inputs = [make_inputs(Case(batch, seed=200 + i), device="cuda") for i in range(n_inputs)]
    calls, rows = decode_calls(name_of, inputs)
    expected = oracle(*inputs[0], default_scale(576))
    errors = {n: relative_error(c(0).view(batch, HEADS, 512), expected) for n, c in calls.items()}
    torch.cuda.synchronize()
    repeats = max(3, 20 // n_inputs)
    graphs = {name: captured(call, n_inputs, repeats) for name, call in calls.items()}
    replays: dict[str, Call] = {name: lambda _, graph=graph: graph.replay() for name, graph in graphs.items()}
    # the first replay uploads the graph
    found = {
        name: [1e3 * x / (repeats * n_inputs) for x in samples[1:]]
        for name, samples in in_turns(replays, 41, 0).items()
    }
    for name, each in found.items():
        rows.append(row(name_of, name, "graph", each, errors[name]))
    return rows + ratios(name_of, "graph", found, "gluon")


def decode_calls(workload: str, inputs: list[Any]) -> tuple[dict[str, Call], list[dict[str, Any]]]:
    """What is timed of a batch, by name, and a row for each peer that is absent."""
    from headway.tasks.mla_decode import mla_decode

    rows: list[dict[str, Any]] = []
    calls: dict[str, Call] = {
        "gluon": lambda i: mla_decode(*inputs[i], form="gluon"),
        "plain": lambda i: mla_decode(*inputs[i], form="plain"),
        "torch bmm": torch_decode(inputs),
    }
    for name, make in (("flashmla", flashmla_decode), ("fa3", fa3_decode)):
        try:
            calls[name] = make(inputs)
        except ImportError as why:
            rows.append(could_not_run(f"{workload} {name}", str(why)))
    return calls, rows


def check() -> list[dict[str, Any]]:
    """The error of every form in every case of the tasks, public and held out."""
    return [*check_prefill(), *check_decode()]


def check_prefill() -> list[dict[str, Any]]:
    from headway.tasks.mla import mla_prefill
    from headway.tasks.mla.cases import HELD_OUT, PUBLIC, make_inputs
    from headway.tasks.mla.latent import default_scale
    from headway.tasks.mla.reference import oracle, relative_error

    rows = []
    for case in (*PUBLIC, *HELD_OUT):
        q, kv = make_inputs(case, device="cuda")
        heads = [h for h in CHECKED_HEADS if h < case.heads] if case.seq > 1000 else list(range(case.heads))
        expected = oracle(q, kv, default_scale(q.shape[-1]), case.causal, heads)
        for form in ("gluon", "two-kernel"):
            error = relative_error(mla_prefill(q, kv, causal=case.causal, form=form)[:, :, heads], expected)
            rows.append({"workload": case.name, "variant": form, "error": error, "right": error <= ERROR_BAR})
    return rows


def check_decode() -> list[dict[str, Any]]:
    from headway.tasks.mla.latent import default_scale
    from headway.tasks.mla_decode import mla_decode
    from headway.tasks.mla_decode.cases import HELD_OUT, PUBLIC, make_inputs
    from headway.tasks.mla_decode.reference import oracle, relative_error

    rows = []
    for case in (*PUBLIC, *HELD_OUT):
        q, kv = make_inputs(case, device="cuda")
        expected = oracle(q, kv, default_scale(q.shape[-1]))
        for form in ("gluon", "plain"):
            error = relative_error(mla_decode(q, kv, form=form, splits=case.splits), expected)
            rows.append({"workload": case.name, "variant": form, "error": error, "right": error <= ERROR_BAR})
    return rows


def captured(call: Call, n_inputs: int, repeats: int) -> Any:
    import torch

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            for i in range(n_inputs):
                call(i)
    return graph


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
    parser.add_argument("workloads", nargs="*", help="prefill, decode, check (default: all)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    measures = {"prefill": prefill, "decode": decode, "check": check}
    chosen = options.workloads or list(measures)
    unknown = set(chosen) - set(measures)
    if unknown:
        parser.error(f"no such workload: {', '.join(sorted(unknown))}")
    reason = why_not()
    rows: list[dict[str, Any]] = []
    for name in chosen:
        rows += [could_not_run(name, reason)] if reason else measures[name]()
    return show("headway.bench.mla/2", rows, as_json=options.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
