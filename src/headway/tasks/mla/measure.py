"""MLA prefill on a Hopper GPU: headway's kernels beside FlashMLA, FlashAttention-3 and PyTorch.

`python -m headway.tasks.bench mla`; ms.

* `burst` is one call after an idle of 2 ms, with the host's launch time covered; `sustained` the second half of 1.5 s
  back to back, when the card is at its power limit, in two passes of opposite order.
* `ratio` rows are headway's time over the other's, paired within a round of turns.
* `error` is against the float64 oracle, heads 0 and 37; with `--check` of every case of the task.
"""

from functools import partial
from typing import Any

import torch

from headway.tasks.mla import mla_prefill
from headway.tasks.mla.cases import HELD_OUT, PUBLIC, TIMED, Case, make_inputs
from headway.tasks.mla.latent import default_scale
from headway.tasks.mla.peers import fa3_prefill, flashmla_prefill, torch_prefill
from headway.tasks.mla.reference import oracle, relative_error
from headway.tasks.rows import Row, could_not_run, ratios, row
from headway.tasks.timing import Call, in_turns, sustained

CHECKED_HEADS = (0, 37)
ERROR_BAR = 1.5 * 0.0018  # FlashMLA's own error on the timed cases


def measure() -> list[Row]:
    """Every timed case."""
    return [found for case in TIMED for found in prefill_case(case)]


def prefill_case(case: Case) -> list[Row]:
    inputs = [make_inputs(case, device="cuda") for _ in range(2)]
    q, kv = inputs[0]
    calls, rows = prefill_calls(case, inputs)
    slow = {
        f"torch {kind}": torch_prefill(inputs, case.causal, kind == "compile") for kind in ("fp32 softmax", "compile")
    }
    expected = oracle(q, kv, default_scale(q.shape[-1]), case.causal, CHECKED_HEADS)
    errors = {
        name: relative_error(call(0).view(1, case.seq, case.heads, 512)[:, :, CHECKED_HEADS], expected)
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


def prefill_calls(case: Case, inputs: list[Any]) -> tuple[dict[str, Call], list[Row]]:
    """What is timed of a case, by name, and a row for each peer that is absent."""
    rows: list[Row] = []
    calls: dict[str, Call] = {
        "gluon": lambda i: mla_prefill(*inputs[i % 2], causal=case.causal, form="gluon"),
        "two-kernel": lambda i: mla_prefill(*inputs[i % 2], causal=case.causal, form="two-kernel"),
    }
    for name, make in (("flashmla", flashmla_prefill), ("fa3", fa3_prefill)):
        try:
            made = [make(q, kv, case.causal) for q, kv in inputs]
            calls[name] = partial(_of_two, made)
        except (ImportError, ValueError) as why:
            rows.append(could_not_run(case.name, name, str(why)))
    return calls, rows


def _of_two(made: list[Any], i: int) -> Any:
    return made[i % 2]()


def check() -> list[Row]:
    """The error of both forms in every case, public and held out."""
    rows: list[Row] = []
    for case in (*PUBLIC, *HELD_OUT):
        q, kv = make_inputs(case, device="cuda")
        heads = [h for h in CHECKED_HEADS if h < case.heads] if case.seq > 1000 else list(range(case.heads))
        expected = oracle(q, kv, default_scale(q.shape[-1]), case.causal, heads)
        for form in ("gluon", "two-kernel"):
            error = relative_error(mla_prefill(q, kv, causal=case.causal, form=form)[:, :, heads], expected)
            rows.append({"workload": case.name, "variant": form, "error": error, "right": error <= ERROR_BAR})
    return rows
