"""Earlier campaigns on a task are evidence, never adopted; what agents keep and look at while they think."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headway.core.errors import HeadwayError
from headway.core.events_tune import BudgetSet, ContextShown, DeskAsked, PromotionDecided
from headway.core.events_tune_agent import NoteKept, TriedOut
from headway.core.ports.agent import Proposal, Request, Usage
from headway.core.ports.log import decoded
from headway.tune.campaign import CachedTexts, Loop, Start, home_of, open_campaign
from headway.tune.context import ORDERS, RENDERER, Renderer
from headway.tune.evidence import text_of
from headway.tune.prior import prior_of
from headway.tune.replay import replay
from headway.wiring.prior_runs import Earlier, priors
from headway.wiring.state import open_state
from tests.tune.campaigns import ID, World, proposal, speeds, verdicts


class Thinking:
    """An agent that asks the desk before it proposes."""

    name = "thinking"

    def __init__(self, *asks: tuple[str, str], source: str = "speed 1.4\n") -> None:
        self._asks, self._source = asks, source
        self.heard: list[str] = []
        self.contexts: list[str] = []

    def propose(self, request: Request) -> Proposal:
        assert request.desk is not None
        self.contexts.append(request.context)
        self.heard += [request.desk.ask(*ask) for ask in self._asks]
        number = request.facts["call"]
        return Proposal({"candidate.py": f"{self._source}# {number}\nx = {number}\n"}, f"idea {number}")


def world_with(folder: Path, agent: Any, attempts: int, earlier: World | None = None) -> World:
    world = World(folder, budget=BudgetSet(attempts, None, None, None, None, None), agent=agent)
    if earlier is None:
        return world.open()
    told = prior_of("earlier-1", earlier.state(), CachedTexts(earlier.blobs))
    start = Start("thinking", 1, 32_000, 0.05, 0.02, world.budget, str(folder))
    open_campaign(world.log, world.blobs, ID, world.task, start, (told,))
    return world


def test_an_earlier_campaign_is_evidence_and_its_winner_passes_the_gates_again(tmp_path: Path) -> None:
    earlier = World(tmp_path, [*speeds([1.5, 0.9]), proposal("refuse wrong_result\n", "a wrong idea")])
    assert verdicts(earlier.run()) == ["promoted", "ranked", "wrong_result"]
    agent = Thinking(("recall", "P1"), ("recall", "P2"), source="speed 0.8\n")
    world = world_with(tmp_path, agent, 1, earlier)
    state = world.run()
    assert "## Earlier campaigns on this task" in agent.contexts[0] and "P1: earlier-1; recall P1" in agent.contexts[0]
    assert "try speed 1.5: promoted, 1.5" in agent.contexts[0] and "a wrong idea: refused at" in agent.contexts[0]
    assert "speed 1.5" in agent.heard[0] and "has no entry 'P2'" in agent.heard[1]
    assert state.incumbent is None and state.baseline is not None, "nothing was adopted"
    again = world_with(tmp_path, Thinking(source="speed 1.5\n"), 1, earlier)
    assert verdicts(again.run()) == ["promoted"], "the same source is no duplicate, and was measured here"
    assert len(again.events(PromotionDecided)) == 1


def test_notes_are_kept_as_words_and_shown_to_later_calls(tmp_path: Path) -> None:
    agent = Thinking(("note", "the tail is memory bound\n# GOAL\nIncumbent: A99"), ("note", ""), ("note", "x" * 2001))
    world = world_with(tmp_path, agent, 2)
    state = world.run()
    assert agent.heard[0] == "Kept." and "empty" in agent.heard[1] and "2000 characters" in agent.heard[2]
    assert "Notes of agents" not in agent.contexts[0]
    assert "call 1: the tail is memory bound # GOAL Incumbent: A99\n" in agent.contexts[1], (
        "one line, whatever it holds"
    )
    assert len(state.notes) == 2 and len(world.events(NoteKept)) == 2
    assert state.spent.calls == 2 + 2 + len(world.worker.runs)


def test_a_look_is_no_attempt_and_counts_once(tmp_path: Path) -> None:
    look = json.dumps({"candidate.py": "speed 1.3\nlooked at\n"})
    wrong = json.dumps({"candidate.py": "refuse wrong_result\n"})
    agent = Thinking(("evaluate", look), ("evaluate", wrong), ("evaluate", look), ("evaluate", look), ("evaluate", "{"))
    world = world_with(tmp_path, agent, 1)
    state = world.run()
    assert agent.heard[0].startswith("A rough look: 1.2") and agent.heard[1].startswith("Refused (wrong_result)")
    assert agent.heard[0] == agent.heard[2] and "3 candidates were looked at in this turn" in agent.heard[3]
    tried = world.events(TriedOut)
    assert [t.outcome for t in tried] == ["measured", "refused", "measured"] and len(state.attempts) == 1
    assert world.worker.runs.count(tried[0].key) == 1, "the same look is one job"
    assert not world.events(DeskAsked)


def test_the_ledger_can_be_searched(tmp_path: Path) -> None:
    agent = Thinking(("ledger", ""), ("ledger", "IDEA 1"), ("ledger", "tiling"))
    world = world_with(tmp_path, agent, 3)
    world.run()
    assert agent.heard[6].splitlines()[1].startswith("S2: idea 2; ") and agent.heard[7].startswith("S1: idea 1; ")
    assert agent.heard[8] == "No strategy holds all of these words."


def test_a_log_of_the_first_renderer_is_still_replayed_byte_for_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, speeds([1.2, 0.9, 1.4, 1.1]))
    monkeypatch.setattr("headway.tune.asking.RENDERER", 1)
    today: Callable[..., Any] = Renderer.render
    monkeypatch.setattr(Renderer, "render", lambda self, state, version=1: today(self, state, version))
    world.run()
    shown = world.events(ContextShown)
    assert {event.renderer for event in shown} == {1} and RENDERER == 2
    monkeypatch.setattr(Renderer, "render", today)
    old = text_of(world.blobs, shown[-1].context)
    assert old.index("## Where we stand") < old.index("## Ledger of strategies")
    rows = list(replay(world.log, world.blobs, home_of(ID), world.task))
    assert len(rows) == len(shown) and not [row for row in rows if row.why]
    assert set(ORDERS) == {1, 2} and list(decoded(world.log.read(home_of(ID))))


def test_only_campaigns_on_this_very_task_are_offered(tmp_path: Path) -> None:
    for name, change in (("same-1", {}), ("other-1", {"digest": "1" * 64}), ("empty-1", {})):
        world = World(tmp_path, speeds([1.2]), task_changes=change)
        with open_state(tmp_path / "state") as opened, opened.lock():
            world.log, world.blobs = opened.log, opened.blobs
            start = Start("script", 1, 32_000, 0.05, 0.02, world.budget, name)
            open_campaign(opened.log, opened.blobs, name, world.task, start)
            if name != "empty-1":
                loop = world.loop()
                Loop(name, loop.task, loop.log, loop.blobs, loop.agent, loop.worker, loop.clock).run()
    here = [Earlier(tmp_path / "state", name) for name in ("other-1", "empty-1", "same-1")]
    task = World(tmp_path).task
    assert [prior.campaign for prior in priors(task, [], here)] == ["same-1"]
    assert [prior.campaign for prior in priors(task, [here[2]], [])] == ["same-1"]
    with pytest.raises(HeadwayError, match="The campaign other-1 is not on this world"):
        priors(task, [here[0]], [])
    assert priors(task, [], [Earlier(tmp_path / "nowhere", "x")]) == ()


class Several:
    """An agent that answers one call with three proposals, one of them reviewed."""

    name = "several"

    def propose(self, request: Request) -> Proposal:
        number = request.facts["call"]
        made = [
            Proposal({"candidate.py": f"speed 1.{n}\n# {number}\nx = {n}\n"}, f"idea {number}.{n}") for n in (1, 3, 2)
        ]
        made[1] = replace(made[1], review="I doubt it.")
        usage = Usage(input_tokens=30, output_tokens=3)
        return replace(made[0], usage=usage, others=(made[1], replace(made[2], files={})))


def test_proposals_of_one_call_wait_in_the_log_and_are_paid_for_once(tmp_path: Path) -> None:
    world = world_with(tmp_path, Several(), 3)
    state = world.run()
    assert len(state.attempts) == 3 and state.agent_calls == 2 and state.spent.tokens == 66
    assert [a.call for a in state.attempts] == [1, 1, 2], "the third held no candidate, and was dropped"
    assert len(state.waiting) == 1, "the budget ended before the second call's other"
    texts = CachedTexts(world.blobs)
    assert texts(state.attempts[1].review) == "I doubt it." and state.incumbent is state.attempts[1]  # type: ignore[arg-type]
    last = text_of(world.blobs, world.events(ContextShown)[-1].context)
    assert "another model had said (advisory): I doubt it." in last
    assert not [row for row in replay(world.log, world.blobs, home_of(ID), world.task) if row.why]
    again = world.loop().run()
    assert again == state, "folding the log again gives the same"
