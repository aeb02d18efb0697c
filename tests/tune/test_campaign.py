"""A campaign from its goal to its end, with a scripted agent and a scripted worker."""

from dataclasses import replace
from pathlib import Path

import pytest

from headway.core.errors import HeadwayError
from headway.core.events_core import IntentDone, IntentNamed, IntentSettled, PersonDecided
from headway.core.events_tune import (
    AttemptRefused,
    BudgetSet,
    CampaignSet,
    ContextShown,
    GoalPinned,
    JobDone,
    PromotionDecided,
    Proposed,
)
from headway.core.inbox import leave
from headway.core.names import Digest
from headway.tune.campaign import go_on, home_of, take_up
from headway.tune.sameness import digest_of
from headway.tune.scoreboard import attempt_row
from headway.tune.state import Ranked, Refusal
from tests.tune.campaigns import ID, NO_LIMIT, World, nothing, proposal, speeds, verdicts


def test_the_goal_is_the_first_event_and_its_digest_is_everywhere(tmp_path: Path) -> None:
    world = World(tmp_path, speeds([1.3, 0.9]))
    world.run()
    first, second = world.events()[:2]
    assert isinstance(first, GoalPinned) and isinstance(second, CampaignSet)
    goal = world.blobs.get(first.goal).decode()
    assert digest_of(goal) == first.digest and goal.startswith("# GOAL\nMake the world go round faster.")
    marked = world.events(ContextShown, Proposed)
    assert len(marked) == 5 and {e.goal for e in marked} == {first.digest}
    for shown in world.events(ContextShown):
        assert world.blobs.get(shown.context).decode().startswith(goal)


def test_the_road_of_each_kind_of_candidate(tmp_path: Path) -> None:
    answers = [
        proposal("speed 1.3\n"),
        proposal("speed 0.5\n"),
        proposal("refuse wrong_result\n"),
        proposal("refuse compile_failed\n"),
        proposal("speed 1.29\n", "nearly as fast"),
        proposal("speed 1.3\n", "the same again"),
        proposal("speed 1.5\n", other="x"),
        proposal("speed 1.6\n", "better"),
    ]
    state = World(tmp_path, answers).run()
    assert verdicts(state) == [
        "promoted",
        "ranked",
        "wrong_result",
        "compile_failed",
        "ranked",
        "duplicate",
        "outside_editable",
        "promoted",
    ]
    assert state.promotions == (1, 8) and state.ended is not None and state.ended.state == "exhausted"
    duplicate = state.attempts[5].outcome
    assert isinstance(duplicate, Refusal) and duplicate.earlier == 1 and duplicate.at == "admission"


def test_a_refused_attempt_has_no_speed_to_ask_for(tmp_path: Path) -> None:
    state = World(tmp_path, [proposal("refuse wrong_result\n")]).run()
    outcome = state.attempts[0].outcome
    assert isinstance(outcome, Refusal) and not hasattr(outcome, "speed")
    assert not {"ratio", "low", "high", "speed"} & set(AttemptRefused.__dataclass_fields__)
    assert "ratio" not in attempt_row(state.attempts[0])


def test_the_reported_speed_of_a_promoted_candidate_is_the_one_measured_again(tmp_path: Path) -> None:
    world = World(tmp_path, speeds([1.3, 1.6]))
    state = world.run()
    jobs = [(j.attempt, j.mode) for j in world.events(JobDone)]
    assert jobs == [
        (0, "baseline"),
        *[(1, m) for m in ("screen", "full", "promote")],
        *[(2, m) for m in ("screen", "full", "promote", "confirm")],
    ]
    first, second = (a.outcome for a in state.attempts)
    assert isinstance(first, Ranked) and first.mode == "promote"
    assert isinstance(second, Ranked) and second.mode == "confirm"
    assert second.promotion is not None and second.promotion.rival == 1
    assert second.speed.ratio == pytest.approx(1.6, rel=0.02) and second.promotion.ratio == pytest.approx(
        1.6 / 1.3, rel=0.02
    )


def test_each_promotion_test_spends_less_and_is_sized_before_it_runs(tmp_path: Path) -> None:
    world = World(tmp_path, speeds([1.3, 1.6, 2.0]))
    world.run()
    tests = world.events(PromotionDecided)
    assert [t.test for t in tests] == [1, 2, 3]
    assert [round(t.alpha / tests[0].alpha, 6) for t in tests] == [1, 0.25, 0.111111]
    intents = [i.args for i in world.events(IntentNamed) if i.kind == "evaluate"]
    asked = {(int(args["attempt"]), args["mode"]): int(args["blocks"]) for args in intents}
    for test in tests:
        assert asked[test.attempt, "promote"] == test.blocks


def test_a_protected_case_that_gets_slower_is_not_promoted(tmp_path: Path) -> None:
    from benchmarks.tune_world import answer

    world = World(tmp_path, [proposal("speed 1.5\n")])

    def lopsided(job):  # type: ignore[no-untyped-def]
        result = answer(job)
        if job.mode == "promote":
            slow = replace(result.samples[0], candidate=tuple(s * 1.2 for s in result.samples[0].rival))
            return replace(result, samples=(slow, *result.samples[1:]))
        return result

    world.worker._answer = lopsided
    state = world.run()
    outcome = state.attempts[0].outcome
    assert isinstance(outcome, Ranked) and outcome.promotion is not None
    assert outcome.promotion.reason == "protected_case_worse" and state.promotions == ()


@pytest.mark.parametrize(
    ("budget", "end"),
    [
        (replace(NO_LIMIT, attempts=2), ("budget_spent", "attempts")),
        (replace(NO_LIMIT, calls=6), ("budget_spent", "calls")),
        (replace(NO_LIMIT, seconds=12.0), ("budget_spent", "seconds")),
        (replace(NO_LIMIT, stall=2), ("stalled", "stall")),
        (replace(NO_LIMIT, tokens=50), ("budget_spent", "tokens")),
        (replace(NO_LIMIT, money=0.5), ("budget_spent", "money")),
    ],
)
def test_every_budget_ends_the_campaign_and_says_which(tmp_path: Path, budget: BudgetSet, end: tuple[str, str]) -> None:
    from headway.core.ports.agent import Usage

    answers = [
        replace(s, answer=replace(s.answer, usage=Usage(input_tokens=10, money=0.1)))
        for s in speeds(0.9 + 0.001 * i for i in range(20))
    ]
    state = World(tmp_path, answers, budget).run()
    assert state.ended is not None and (state.ended.state, state.ended.limit) == end
    assert state.current is None


def test_it_ends_when_the_goal_is_reached_by_the_measured_lower_bound(tmp_path: Path) -> None:
    state = World(tmp_path, speeds([1.2, 1.5, 1.6]), task_changes={"target_ratio": 1.45}).run()
    assert state.ended is not None and state.ended.state == "goal_reached"
    assert verdicts(state) == ["promoted", "promoted"]


def test_time_counts_only_while_something_runs(tmp_path: Path) -> None:
    world = World(tmp_path, speeds([0.9, 0.91, 0.92, 0.93]), replace(NO_LIMIT, attempts=2))
    used = world.run().spent.seconds
    world.clock.tick(86_400)
    world.clock.tick(-3 * 86_400)  # people set clocks back; a budget must not notice
    go_on(world.log, ID, "someone", replace(NO_LIMIT, attempts=4))
    state = world.run()
    assert used < state.spent.seconds < 60 and len(state.attempts) == 4


def test_a_larger_budget_reopens_a_campaign_and_the_same_one_does_not(tmp_path: Path) -> None:
    world = World(tmp_path, speeds([0.9, 0.91, 0.92]), replace(NO_LIMIT, attempts=1))
    world.run()
    go_on(world.log, ID, "someone", None)
    assert len(world.run().attempts) == 1
    go_on(world.log, ID, "someone", replace(NO_LIMIT, attempts=2))
    assert len(world.run().attempts) == 2


def test_a_person_stops_and_pauses_through_the_inbox(tmp_path: Path) -> None:
    world = World(tmp_path, speeds([0.9, 0.91, 0.92])).open()
    leave(world.log, home_of(ID), PersonDecided("pause", ID, "ada"))
    state = world.run()
    assert state.paused and state.ended is None and not state.attempts
    go_on(world.log, ID, "ada", None)
    leave(world.log, home_of(ID), PersonDecided("stop", ID, "ada"))
    state = world.run()
    assert state.ended is not None and (state.ended.state, state.ended.limit) == ("stopped", "ada")


def test_without_a_loop_the_word_is_taken_up_at_once(tmp_path: Path) -> None:
    world = World(tmp_path).open()
    leave(world.log, home_of(ID), PersonDecided("stop", ID, "ada"))
    take_up(world.log, ID)
    assert world.state().ended is not None


def test_a_task_that_changed_is_refused_at_resume(tmp_path: Path) -> None:
    world = World(tmp_path, speeds([1.1])).open()
    world.task_changes = {"digest": "f" * 64}
    with pytest.raises(HeadwayError, match=r"folder of the task world has changed since this campaign began"):
        world.run()


def test_a_task_that_changes_while_the_campaign_runs_stops_it_and_nothing_is_measured_on_the_new_one(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, speeds([1.1, 1.2, 1.3])).open()
    seen = iter(["0" * 64] * 4 + ["f" * 64] * 99)
    with pytest.raises(HeadwayError, match=r"has changed since this campaign began. Put it back and resume"):
        replace(world.loop(), fingerprint=lambda: Digest(next(seen))).run()
    assert len(world.events(JobDone)) == 3
    assert len(world.run().attempts) == 3, "put back, it goes on"


def test_agent_failures_end_it_only_after_several_in_a_row_and_count_as_no_attempt(tmp_path: Path) -> None:
    few = [nothing("provider_error", "502"), nothing("timed_out"), *speeds([1.2])]
    state = World(tmp_path, few).run()
    assert verdicts(state) == ["promoted"] and state.ended is not None and state.ended.state == "exhausted"
    state = World(tmp_path, [nothing("died", "signal 9")] * 9).run()
    assert state.ended is not None and (state.ended.state, state.ended.limit) == ("could_not_run", "agent")
    assert state.agent_calls == 5 and not state.attempts
    state = World(tmp_path, [nothing("provider_error", "401", permanent=True), *speeds([1.2])]).run()
    assert state.ended is not None and state.agent_calls == 1


def test_a_context_that_was_too_long_is_shorter_the_next_time(tmp_path: Path) -> None:
    world = World(tmp_path, [nothing("context_overflow"), nothing("context_overflow"), *speeds([1.1])])
    world.run()
    assert [shown.budget for shown in world.events(ContextShown)] == [32_000, 24_000, 18_000, 18_000]


def test_a_worker_that_falls_over_is_asked_again_and_then_the_attempt_is_undecided(tmp_path: Path) -> None:
    world = World(tmp_path, [proposal("speed 1.2\nlost 1\n"), proposal("speed 1.3\nlost 5\n")])
    state = world.run()
    assert verdicts(state) == ["promoted", "undecided"]
    keys = [j.key for j in world.events(JobDone) if j.attempt == 2]
    digest = state.attempts[1].digest[:8]
    assert keys == [f"{ID}-a2-{digest}-screen-1", f"{ID}-a2-{digest}-screen-2"]


def test_three_undecided_in_a_row_mean_that_the_worker_is_gone(tmp_path: Path) -> None:
    state = World(tmp_path, [proposal(f"speed 1.{n}\nlost 9\n") for n in range(6)]).run()
    assert verdicts(state) == ["undecided"] * 3
    assert state.ended is not None and (state.ended.state, state.ended.limit) == ("could_not_run", "worker")


def test_a_baseline_that_cannot_run_decides_nothing_and_one_that_fails_refuses_the_task(tmp_path: Path) -> None:
    state = World(tmp_path, speeds([1.2]), task_changes={"baseline": "lost 9\n"}).run()
    assert state.ended is not None and state.ended.state == "could_not_run" and not state.attempts
    state = World(tmp_path, speeds([1.2]), task_changes={"baseline": "refuse vacuous_task\n"}).run()
    assert state.ended is not None and (state.ended.state, state.ended.reason) == ("task_refused", "vacuous_task")


def test_a_task_that_the_judge_would_not_take_up_is_refused_and_not_tried_again(tmp_path: Path) -> None:
    from benchmarks.tune_world import result
    from headway.core.ports.worker import WorkerRefusal

    world = World(tmp_path, speeds([1.2]))
    vacuous = WorkerRefusal("vacuous_task", "Case small is vacuous: zeros pass it.", "Correct the task.")
    world.worker._answer = lambda job: result(job, "could_not_run", refusal=vacuous)
    state = world.run()
    assert state.ended is not None and (state.ended.state, state.ended.reason) == ("task_refused", "vacuous_task")
    assert len(world.events(JobDone)) == 1


def test_a_metric_that_is_no_number_refuses_task_or_candidate(tmp_path: Path) -> None:
    state = World(tmp_path, speeds([1.2]), task_changes={"baseline": "noise nan\n"}).run()
    assert state.ended is not None and (state.ended.state, state.ended.reason) == ("task_refused", "not_finite")
    state = World(tmp_path, [proposal("noise nan\n")]).run()
    assert verdicts(state) == ["not_finite"]


def test_every_intent_has_an_end_and_no_recovery_event_stands_in_an_undisturbed_run(tmp_path: Path) -> None:
    world = World(tmp_path, speeds([1.2, 0.7, 1.4]))
    world.run()
    assert len(world.events(IntentNamed)) == len(world.events(IntentDone)) and not world.events(IntentSettled)
