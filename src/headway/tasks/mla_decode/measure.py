"""MLA decode on a Hopper GPU: headway's kernels beside FlashMLA, FlashAttention-3 and PyTorch.

`python -m headway.tasks.bench mla-decode`; us: one call within the replay of a CUDA graph, after an idle of 2 ms, each
call on another cache.  `ratio` rows are headway's time over the other's, paired within a round of turns.  `error` is
against the float64 oracle; with `--check` of every case of the task.
"""

from functools import partial
from typing import Any

import torch

from headway.tasks.mla.latent import default_scale
from headway.tasks.mla_decode import mla_decode
from headway.tasks.mla_decode.cases import HELD_OUT, PUBLIC, TIMED, Case, make_inputs
from headway.tasks.mla_decode.peers import fa3_decode, flashmla_decode, torch_decode
from headway.tasks.mla_decode.reference import oracle, relative_error
from headway.tasks.rows import Row, could_not_run, ratios, row
from headway.tasks.timing import Call, captured, in_turns

CACHES = {1: 20, 8: 4, 32: 2, 128: 2}  # of each batch: together several times the L2 cache
ERROR_BAR = 1.5 * 0.0018  # FlashMLA's own error on the timed cases


def measure() -> list[Row]:
    """Every timed batch."""
    return [found for case in TIMED for found in decode_batch(case.batch, CACHES[case.batch])]


def decode_batch(batch: int, n_inputs: int) -> list[Row]:
    name_of = Case(batch).name
    inputs = [make_inputs(Case(batch, seed=200 + i), device="cuda") for i in range(n_inputs)]
    calls, rows = decode_calls(name_of, inputs)
    expected = oracle(*inputs[0], default_scale(576))
    errors = {n: relative_error(c(0).view(batch, 64, 512), expected) for n, c in calls.items()}
    torch.cuda.synchronize()
    repeats = max(3, 20 // n_inputs)
    graphs = {name: captured(call, n_inputs, repeats) for name, call in calls.items()}
    replays: dict[str, Call] = {name: partial(_replay, graph) for name, graph in graphs.items()}
    # the first replay uploads the graph
    found = {
        name: [1e3 * x / (repeats * n_inputs) for x in samples[1:]]
        for name, samples in in_turns(replays, 41, 0).items()
    }
    for name, each in found.items():
        rows.append(row(name_of, name, "graph", each, errors[name], "us"))
    return rows + ratios(name_of, "graph", found, "gluon")


def _replay(graph: Any, _: int) -> None:
    graph.replay()


def decode_calls(workload: str, inputs: list[Any]) -> tuple[dict[str, Call], list[Row]]:
    """What is timed of a batch, by name, and a row for each peer that is absent."""
    rows: list[Row] = []
    calls: dict[str, Call] = {
        "gluon": lambda i: mla_decode(*inputs[i], form="gluon"),
        "plain": lambda i: mla_decode(*inputs[i], form="plain"),
        "torch bmm": torch_decode(inputs),
    }
    for name, make in (("flashmla", flashmla_decode), ("fa3", fa3_decode)):
        try:
            calls[name] = make(inputs)
        except ImportError as why:
            rows.append(could_not_run(workload, name, str(why)))
    return calls, rows


def check() -> list[Row]:
    """The error of both forms in every case, public and held out."""
    rows: list[Row] = []
    for case in (*PUBLIC, *HELD_OUT):
        q, kv = make_inputs(case, device="cuda")
        expected = oracle(q, kv, default_scale(q.shape[-1]))
        for form in ("gluon", "plain"):
            error = relative_error(mla_decode(q, kv, form=form, splits=case.splits), expected)
            rows.append({"workload": case.name, "variant": form, "error": error, "right": error <= ERROR_BAR})
    return rows
