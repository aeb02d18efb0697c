"""The agents `search` and `script`: what they propose follows from the request alone."""

import json
from pathlib import Path

import pytest

from benchmarks.tune_world import speed_of, world_task
from headway.adapters.script_agent import ScriptAgent
from headway.adapters.search_agent import SearchAgent
from headway.core.errors import HeadwayError
from headway.core.ports.agent import AgentLimits, NoProposal, Proposal, Request
from headway.core.task import Knob, Task, space_size


def request(call: int, trials: list[object], seed: int = 1) -> Request:
    facts = {"call": str(call), "seed": str(seed), "trials": json.dumps(trials), "parent": ""}
    return Request("optimise", "context", {"candidate.py": ""}, AgentLimits(10), facts=facts)


def search(task: Task, calls: int, agent: SearchAgent | None = None) -> list[tuple[dict[str, object], float]]:
    trials: list[tuple[dict[str, object], float]] = []
    for call in range(1, calls + 1):
        answer = (agent or SearchAgent(task)).propose(request(call, trials))  # type: ignore[arg-type]
        if isinstance(answer, NoProposal):
            assert answer.kind == "exhausted"
            break
        trials.append((dict(answer.knobs), float(speed_of(answer.files["candidate.py"]))))
    return trials


def test_a_fresh_process_proposes_what_the_old_one_would_have(tmp_path: Path) -> None:
    task = world_task(tmp_path)
    assert search(task, 28, SearchAgent(task)) == search(task, 28, None)


@pytest.mark.parametrize("others", [0, 3])
def test_what_search_foresees_is_what_it_proposes_whatever_comes_of_the_jobs_under_way(
    tmp_path: Path, others: int
) -> None:
    """Also after a restart, and after trials by another agent; and it still tries nothing twice."""
    many = (Knob("WIDTH", (1, 2, 4, 8), "", True), Knob("DEPTH", tuple(range(1, 41)), "", False))
    task = world_task(tmp_path, knobs=many)
    trials: list[object] = [({"WIDTH": 1, "DEPTH": n + 1}, 1.0 + n) for n in range(others)]
    foreseen: dict[int, dict[str, object]] = {}
    agent = SearchAgent(task, at_once=8)
    for turn in range(1, 31):
        if turn == 17:
            agent = SearchAgent(task, at_once=8)  # killed, and another process goes on
        facts = {"call": str(others + turn), "turn": str(turn), "seed": "1", "trials": json.dumps(trials)}
        asked = Request("optimise", "", {"candidate.py": ""}, AgentLimits(10), facts=facts)
        answer = agent.propose(asked)
        assert isinstance(answer, Proposal)
        knobs = dict(answer.knobs)
        assert knobs == foreseen.get(turn, knobs), f"turn {turn} turned out otherwise"
        assert knobs not in [trial[0] for trial in trials]  # type: ignore[index]
        next_facts = {**facts, "call": str(others + turn + 1), "turn": str(turn + 1), "in_flight": "1"}
        later = agent.ahead(Request("optimise", "", {"candidate.py": ""}, AgentLimits(10), facts=next_facts), 7)
        assert len(later) == 7
        for n, proposal in enumerate(later, turn + 1):
            assert foreseen.setdefault(n, dict(proposal.knobs)) == dict(proposal.knobs)
        trials.append((knobs, float(speed_of(answer.files["candidate.py"]))))


def test_it_tries_every_combination_once_and_is_then_exhausted(tmp_path: Path) -> None:
    task = world_task(tmp_path, knobs=(Knob("WIDTH", (1, 2), "", True), Knob("DEPTH", (1, 2, 3), "", False)))
    tried = [tuple(knobs.values()) for knobs, _ in search(task, 99, SearchAgent(task))]
    assert len(tried) == len(set(tried)) == space_size(task.knobs) == 6
    no_knobs = SearchAgent(world_task(tmp_path, knobs=())).propose(request(1, []))
    assert isinstance(no_knobs, NoProposal) and no_knobs.message == "The task world declares no knobs to search over."


def test_it_learns_where_the_fast_ones_are(tmp_path: Path) -> None:
    many = (Knob("WIDTH", (1, 2, 4, 8), "", True), Knob("DEPTH", tuple(range(1, 41)), "", False))
    task = world_task(tmp_path, knobs=many)
    ratios = [ratio for _, ratio in search(task, 45, SearchAgent(task))]
    assert max(ratios) == pytest.approx(1.5), "the best of 160 combinations, among the first 45"
    random_ones, late = (sorted(part)[len(part) // 2] for part in (ratios[:24], ratios[24:]))
    assert late > random_ones


def test_the_hypothesis_names_the_structural_knobs(tmp_path: Path) -> None:
    answer = SearchAgent(world_task(tmp_path)).propose(request(1, []))
    assert isinstance(answer, Proposal)
    assert answer.hypothesis == f"lanes of a step: WIDTH={answer.knobs['WIDTH']}"


def test_a_script_is_taken_by_the_number_of_the_call(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("speed 2\n")
    lines = [
        {"file": "mine.py", "hypothesis": "mine"},
        {"knobs": {"WIDTH": 2, "DEPTH": 5}},
        {"none": "provider_error", "message": "502"},
        {"source": "speed 3\n", "tokens": 7, "money": 0.5},
    ]
    path = tmp_path / "script.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    agent = ScriptAgent.from_file(world_task(tmp_path), path)
    fourth, first, second, third, fifth = (agent.propose(request(call, [])) for call in (4, 1, 2, 3, 5))
    assert isinstance(first, Proposal) and first.files == {"candidate.py": "speed 2\n"}
    assert isinstance(second, Proposal) and second.knobs == {"WIDTH": 2, "DEPTH": 5}
    assert isinstance(third, NoProposal) and (third.kind, third.message) == ("provider_error", "502")
    assert isinstance(fourth, Proposal) and (fourth.usage.output_tokens, fourth.usage.money) == (7, 0.5)
    assert isinstance(fifth, NoProposal) and fifth.kind == "exhausted"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", r"script.jsonl:1 is no proposal"),
        ('{"sorce": "x"}', r"script.jsonl:1 is no proposal: Extra inputs are not permitted"),
        ("{}", r"script.jsonl:1 must give one of file, source, knobs, files, none; it gives none of them"),
        ('{"source": "x", "none": "died"}', r"it gives source, none"),
        ('{"file": "absent.py"}', r"names absent.py, which cannot be read"),
        ('{"knobs": {"WIDTH": 3, "DEPTH": 1}}', r"3 is no value of the knob WIDTH. Choose one of: 1, 2, 4, 8"),
        ('{"knobs": {"WIDTH": 2}}', r"gives no value for the knob DEPTH"),
        ('{"knobs": {"WIDTH": 2, "DEPTH": 1, "HEIGHT": 1}}', r"has no knob HEIGHT"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, words: str) -> None:
    (tmp_path / "script.jsonl").write_text(line + "\n")
    with pytest.raises(HeadwayError, match=words):
        ScriptAgent.from_file(world_task(tmp_path), tmp_path / "script.jsonl")
    with pytest.raises(HeadwayError, match=r"nowhere.jsonl cannot be read"):
        ScriptAgent.from_file(world_task(tmp_path), tmp_path / "nowhere.jsonl")
