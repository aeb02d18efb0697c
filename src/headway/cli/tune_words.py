"""The words of `headway tune`: scoreboard, progress and verdicts as lines and JSON. Decides nothing."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from headway.tune.context import budget_lines
from headway.tune.ledger import outcome_text
from headway.tune.replay import Replayed
from headway.tune.state import Campaign, InFlight, Ranked, Refusal
from headway.wiring.tune_evaluate import Evaluation

SHOWN = 10


class Ticker:
    """Says on stderr what is new: the baseline's noise, each verdict, each new incumbent, what is left."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self._attempts = -1
        self._baseline = False

    def watch(self, state: Campaign) -> None:
        """One look at the state between two steps."""
        if self._attempts < 0:
            self._attempts, self._baseline = len(state.attempts), state.baseline is not None
            if self._attempts:
                self.say(f"going on after {self._attempts} attempts; {budget_lines(state)[0]}")
        if state.baseline is not None and not self._baseline:
            self._baseline = True
            self.say(f"baseline against itself: noise {100 * state.baseline.noise:.1f} % a block")
        for attempt in state.attempts[self._attempts :]:
            best = state.incumbent
            now = f"; best {best.outcome.speed.ratio:.3f}x" if best and isinstance(best.outcome, Ranked) else ""
            self.say(f"A{attempt.id} {outcome_text(attempt)}{now}{self._left(state)}")
        self._attempts = len(state.attempts)

    def _left(self, state: Campaign) -> str:
        """What is left of the two budgets that people watch."""
        spent, budget, left = state.spent, state.budget, []
        if budget.attempts is not None:
            left.append(f"{budget.attempts - spent.attempts} attempts")
        if budget.seconds is not None:
            left.append(f"{max(budget.seconds - spent.seconds, 0):.0f} s")
        return f"; left {', '.join(left)}" if left else ""


def end_lines(state: Campaign, folder: str) -> Iterator[str]:
    """What became of a run."""
    end = state.ended
    if end is not None:
        yield f"ended: {end.state.replace('_', ' ')}" + (f" ({end.limit})" if end.limit else "")
    elif state.paused:
        yield "paused; `headway tune resume` goes on"
    elif state.needed.agent == "outside":
        yield "waiting: nothing was submitted that is not decided; `headway mcp` takes submissions"
    best = state.incumbent
    if best is not None and isinstance(best.outcome, Ranked):
        speed = best.outcome.speed
        kind = "estimated" if speed.estimate else "re-measured"
        yield (
            f"best: A{best.id}, {speed.ratio:.3f} times the baseline [{speed.low:.3f}, {speed.high:.3f}], {kind} "
            f"over {speed.blocks} blocks a case"
        )
        yield f"its source is in {folder}"
    else:
        yield "nothing was faster than the baseline"
    yield budget_lines(state)[0]


def board_lines(board: dict[str, Any]) -> Iterator[str]:
    """The scoreboard for people."""
    end = board["end"]
    standing = board["state"] + (f": {end['state'].replace('_', ' ')}" if end else "")
    yield f"campaign {board['campaign']} ({board['task']}, agent {board['agent']}): {standing}"
    spent, limits = board["spent"], board["budget"]
    used = [f"{spent[k]:g} of {limits[k]:g} {k}" for k in spent if limits.get(k) is not None]
    yield "used: " + (", ".join(used) or f"{spent['attempts']} attempts, {spent['seconds']:.0f} s")
    refused = ", ".join(f"{count} {reason}" for reason, count in sorted(board["refused"].items()))
    yield f"refused: {refused or 'none'}; could not run: {board['undecided']}; strategies: {board['strategies']}"
    rows = [row for row in board["attempts"] if "ratio" in row]
    rows.sort(key=lambda row: (row["attempt"] not in board["promotions"][-1:], -row["ratio"]))
    for row in rows[:SHOWN]:
        mark = "*" if row["verdict"] == "promoted" else " "
        knobs = " ".join(f"{k}={v}" for k, v in row["knobs"].items())
        yield f"{mark} A{row['attempt']:<4} S{row['strategy']:<4} {row['summary']}  {knobs}".rstrip()
    if not rows:
        yield "no attempt has a speed yet"


def evaluation_json(found: Evaluation) -> dict[str, Any]:
    """`headway.evaluate/1`. A refused candidate has no ratio; `measured` is false for estimates and where none is."""
    outcome = found.attempt.outcome if found.attempt is not None else None
    told: dict[str, Any] = {
        "schema": "headway.evaluate/1",
        "task": found.task,
        "verdict": "could_not_run",
        "reasons": [],
        "ratio": None,
        "interval": None,
        "measured": False,
        "sandbox": found.result.get("sandbox", []),
        "cases": [case for case in found.result.get("cases", []) if not case["held_out"]],
        "held_out_cases": sum(case["held_out"] for case in found.result.get("cases", [])),
        "machine": found.result.get("machine", {}),
        "output": found.result.get("output", ""),
        "floors": list(found.floors),
        "tuned": found.result.get("compile", {}).get("tuned", {}),
        "profile": found.profile,
        "seconds": round(found.seconds, 3),
        "state": str(found.state),
    }
    match outcome:
        case Ranked(speed=speed):
            interval = [speed.low, speed.high]
            told |= {"verdict": "accepted", "ratio": speed.ratio, "interval": interval, "measured": not speed.estimate}
        case Refusal(reason=reason):
            message, _, advice = found.refusal.partition("\n")
            told |= {"verdict": "refused", "reasons": [{"code": reason, "message": message, "next": advice}]}
        case InFlight() | None:
            told["reasons"] = [{"code": "infrastructure", "message": "The evaluation did not end.", "next": ""}]
        case _:
            refusal = found.result.get("refusal") or {}
            told["reasons"] = [{"code": outcome.reason, **{k: refusal.get(k, "") for k in ("message", "next")}}]
    return told


def evaluation_lines(told: dict[str, Any]) -> Iterator[str]:
    """The verdict for people."""
    if told["verdict"] == "accepted":
        low, high = told["interval"]
        kind = "measured" if told["measured"] else "estimated"
        yield f"accepted: {told['ratio']:.3f} times the baseline [{low:.3f}, {high:.3f}], {kind}"
        yield from told["profile"].splitlines()
    for reason in told["reasons"]:
        yield f"{told['verdict'].replace('_', ' ')} ({reason['code']}): {reason['message']} {reason['next']}".rstrip()
    yield f"sandbox: {', '.join(told['sandbox']) or 'none'}; record: {told['state']}"


def replay_lines(rows: Sequence[Replayed], context_budget: int | None) -> Iterator[str]:
    """What a replay found, for people."""
    for row in rows:
        if row.why:
            yield f"call {row.call}: {row.why}"
    if context_budget is None:
        yield f"{len(rows)} contexts, {sum(bool(row.why) for row in rows)} different"
    elif rows:
        most = max(row.tokens for row in rows)
        last = rows[-1]
        yield (
            f"{len(rows)} contexts under {context_budget} tokens, the largest {most}; in the last, {last.in_full} "
            f"strategies stand in full and {last.in_groups} in listed groups; none is out of sight"
        )


def check_lines(found: dict[str, Any]) -> Iterator[str]:
    """What a check found, for people."""
    if found["kind"] == "command":
        yield f"{found['task']}: emptied files are noticed; on the baseline all {found['cases']} checks hold"
    else:
        yield f"{found['task']}: zeros, a copy, a constant and noise fail in every case; the baseline is right on all"
    runs = ", ".join(f"{r['ratio']:.4f} [{r['interval'][0]:.4f}, {r['interval'][1]:.4f}]" for r in found["runs"])
    noise = f"noise {100 * found['noise']:.1f} % a block"
    yield f"baseline against itself in {len(found['runs'])} fresh runs: {runs}; {noise}"
    if not found["ok"]:
        yield "too far apart to measure on this machine now; try again when it is quiet"
    for case, factor in found["above_floor"].items():
        yield f"case {case}: {factor:.1f} times the physical floor"
