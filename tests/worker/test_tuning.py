"""The judge's part of autotuning: the same source runs in the configurations of before, and nothing odd is believed."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headway.worker.jobs import Case, Task
from headway.worker.oracle import Tolerance
from headway.worker.refusals import CouldNotRun, Refused
from headway.worker.session import Session
from headway.worker.tuning import Tuned, settle

CASES = [Case(name, (1,), False, True, True, False, {"sizes": {}}) for name in ("wide", "long")]
TASK = Task("t", "triton", "entry", (), tuple(CASES), Path(), {}, "digest")
ALLOWED = {case.name: Tolerance(1.0, 1.0) for case in CASES}


class Side:
    """A side whose runner has `tuners` autotuners and tells `told`; it remembers its orders and calls."""

    def __init__(self, tuners: int, told: Any, wrong: bool = False, rival: bool = False) -> None:
        self.trusted, self.rival, self.wrong = False, rival, wrong
        self.orders: list[dict[str, Any]] = []
        self.calls = 0
        self._answers = {"choose": {"tuners": tuners}, "pin": {"tuned": told}}
        self.candidate = SimpleNamespace(session=self)

    def order(self, order: dict[str, Any], seconds: float) -> Any:
        self.orders.append(order)
        return SimpleNamespace(said=self._answers[order["do"]])

    def run(self, inputs: Any, count: int, same_place: bool, seconds: float) -> Any:
        self.calls += 1
        return None, self

    def check(self, case: Case, tolerance: Tolerance) -> None:
        if self.wrong:
            raise Refused("wrong_result", "in the configuration that was chosen", "")


def settled(known: Tuned, side: Any, source: str = "a") -> Any:
    return settle(known, TASK, source, side, CASES, lambda case: None, ALLOWED)


CHOICE = [{"kernel": "k", "config": "BLOCK: 64", "of": 3}]


def test_each_case_chooses_alone_and_the_same_source_is_given_its_choices_again() -> None:
    known: Tuned = {}
    first, second, other = Side(1, CHOICE), Side(1, CHOICE), Side(1, CHOICE)
    assert settled(known, first) == {"wide": CHOICE, "long": CHOICE}
    assert [(one["do"], one.get("forget"), one.get("given")) for one in first.orders] == [
        ("choose", True, []), ("pin", None, None), ("choose", False, []), ("pin", None, None),
    ]  # fmt: skip
    assert first.calls == 2
    settled(known, second)
    assert [one["given"] for one in second.orders if one["do"] == "choose"] == [CHOICE, CHOICE]
    settled(known, other, "another source")
    assert [one["given"] for one in other.orders if one["do"] == "choose"] == [[], []]


def test_without_autotuners_nothing_is_called_and_all_is_pinned_still() -> None:
    side = Side(0, [])
    assert settled({}, side) == {"wide": [], "long": []}
    assert side.calls == 0 and side.orders[-1]["do"] == "pin"


def test_the_warm_baseline_keeps_what_it_chose_when_the_task_proved_itself() -> None:
    known: Tuned = {}
    settled(known, Side(1, CHOICE))
    warm = Side(1, CHOICE)
    warm.trusted = True
    assert settled(known, warm) == {"wide": CHOICE, "long": CHOICE} and warm.orders == []


def test_a_chosen_configuration_that_is_wrong_refuses_the_candidate_and_not_for_the_rivals_fault() -> None:
    with pytest.raises(Refused, match="the configuration that was chosen"):
        settled({}, Side(1, CHOICE, wrong=True))
    with pytest.raises(CouldNotRun, match="The rival failed"):
        settled({}, Side(1, CHOICE, wrong=True, rival=True))


@pytest.mark.parametrize("told", [None, "all", [1], [{"kernel": "k"}]])
def test_an_answer_that_makes_no_sense_is_refused(told: Any) -> None:
    with pytest.raises(Refused, match="makes no sense"):
        settled({}, Side(1, told))


def test_choosing_in_a_timed_call_is_refused_by_name() -> None:
    session = object.__new__(Session)
    with pytest.raises(Refused, match="The autotuner of rows chooses again in a timed batch") as refused:
        session.check({"late": ["rows"], "error": {"type": "ChoosingLate"}}, "in a timed batch")
    assert refused.value.code == "tuned_late"
