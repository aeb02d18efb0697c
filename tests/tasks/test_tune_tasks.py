"""The GPU tasks of campaigns: what they ask for, what they admit, and that their references say what they should."""

from pathlib import Path

import pytest

from headway.adapters.spool_worker import _read_task
from headway.core.task import fill, space_size
from headway.wiring.tune import find_task
from headway.worker.admission import check_source
from headway.worker.refusals import Refused
from tests.interpreting import Interpreting

NAMES = ("kda", "mla", "mla-decode")


@pytest.mark.parametrize("name", NAMES)
def test_a_task_has_held_out_cases_and_regimes_and_protects_what_it_times(name: str) -> None:
    task = find_task(name)
    assert task.id == name and task.kind == "triton"
    assert sum(case.held_out for case in task.cases) >= 6
    assert len({case.regime for case in task.cases}) >= 3
    assert all(case.protected for case in task.timed_cases) and len(task.timed_cases) >= 3
    assert all(task.floor.seconds(case.sizes) > 0 for case in task.timed_cases)
    assert 0.99 <= task.hopeless <= 1.005 and space_size(task.knobs) > 30


@pytest.mark.parametrize("name", NAMES)
def test_the_shipped_kernels_and_the_baseline_are_admitted_and_their_rivals_are_not(name: str) -> None:
    task = find_task(name)
    rules = _read_task(task.folder)["admission"]
    shipped = fill(task.template, {knob.name: knob.values[0] for knob in task.knobs})
    for source in (task.baseline, shipped):
        check_source(source, rules, task.source_bytes)
    for computes in ("torch.softmax(q, -1)", "torch.matmul(q, q)", "q @ q", "q.cumsum(1)"):
        with pytest.raises(Refused):
            check_source(f"import torch\n\n\ndef entry(q):\n    return {computes}\n", rules, task.source_bytes)
    assert {"fla", "flash_kda", "flash_mla"} <= set(rules["banned_imports"])


def test_references_are_the_definition_and_baselines_are_right_in_the_interpreter(interpreting: Interpreting) -> None:
    found = interpreting.run(Path(__file__).with_name("tune_tasks_interpreted.py"))
    for row in found["kda"]:
        assert row["o"] < 1e-12 and row["state"] < 1e-12 and row["part"] == 0
    assert max(found["mla"]) < 1e-5
    assert max(found["mla_decode"]) < 1e-3  # its partial outputs are float16
