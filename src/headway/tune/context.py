"""What the agent sees: a projection of the campaign under a token budget. Pure, given the texts of blobs.

Order: goal (verbatim), earlier campaigns, ledger (groups, then strategies in full), the newest turns whole, notes,
incumbent, where we stand. What changes most stands last, so that a provider's cache finds what it saw before.
Nothing is ever lost from sight: what has no room in full is in a listed group, and `recall` resolves both. What was
folded stays folded (`full_from`, `group_size` and `tail_from` never fall), so compaction cannot loop.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from headway.core.errors import HeadwayError
from headway.core.task import Task
from headway.tune.ledger import (
    HYPOTHESIS_CHARACTERS,
    Group,
    Texts,
    attempts_of,
    cut,
    entry,
    evidence_text,
    group_line,
    groups_below,
    is_open,
    outcome_text,
    range_of,
)
from headway.tune.sameness import digest_of
from headway.tune.state import Aside, Attempt, Campaign, Ranked, Strategy

RENDERER = 2
"""Raised whenever the same state would be rendered in other words."""
ORDERS: Mapping[int, tuple[str, ...]] = {
    1: ("goal", "standing", "incumbent", "ledger", "turns", "ask"),
    2: ("goal", "prior", "ledger", "turns", "notes", "incumbent", "standing", "ask"),
}
"""The parts that each renderer shows, in order; older ones are kept, so that old logs can be replayed."""
DEFAULT_BUDGET = 32_000
FLOOR_BUDGET = 8_000
BYTES_PER_TOKEN = 3
NEWEST_IN_FULL = 200
SMALLEST_GROUP = 25
SHARES = {"goal": 0.20, "incumbent": 0.30, "groups": 0.10, "turns": 0.14}
"""Of the budget: what goal, incumbent and groups take at most, and the newest turns at least. Strategies in full may
have what is between; what these leave goes to the turns."""
SLACK = 0.75
"""When a part no longer fits it is cut to this share of its room, so that it is cut rarely and not at every turn."""
STAGNATION = 20
"""Attempts without a promotion after which the context says so and lists what was never tried."""
SQUEEZE = 0.75
"""What the budget shrinks to each time a provider says that a context was too long; never below the floor."""
TURN_SHARE = 0.10
"""Of the budget that one turn's change may take; the rest of it is left to `recall`."""
MOST_TURNS = 64
ASK = "\n## Now\nPropose one candidate ({file}) with its hypothesis in one sentence.\n"
MOST_NOTES = 12
NOTE_CHARACTERS = 300
PRIOR_SHARE = 0.06
"""Of the budget that one earlier campaign may take."""
RECENT = 500
"""Attempts among which gains to combine are looked for."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A rendered context and how it was cut; see `ContextShown`."""

    text: str
    tokens: int
    budget: int
    full_from: int
    group_size: int
    tail_from: int
    ledger: str
    """The part of `text` that lists strategies and groups, apart, so that no agent's words can pass for entries."""


def count_tokens(text: str) -> int:
    """ceil(bytes / 3): never fewer than a provider counts, and needs none."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)


@dataclass
class Renderer:
    """Renders contexts of one campaign. Holds only caches: a fresh one renders the same bytes."""

    task: Task
    goal: str
    texts: Texts
    budget: int

    def __post_init__(self) -> None:
        self._lines: dict[tuple[int, int, int], str] = {}
        self._diffs: dict[int, str] = {}
        self._turn_room = int(FLOOR_BUDGET * BYTES_PER_TOKEN * TURN_SHARE)
        if self.budget < FLOOR_BUDGET:
            raise HeadwayError(
                f"A context budget of {self.budget} tokens is below the floor of {FLOOR_BUDGET}.",
                f"Give at least --context-budget {FLOOR_BUDGET}.",
            )
        if count_tokens(self.goal) > self.budget * SHARES["goal"]:
            raise HeadwayError(
                f"The goal of {self.task.id} alone takes {count_tokens(self.goal)} of {self.budget} tokens.",
                "Shorten the task's goal or raise --context-budget.",
            )

    def render(self, state: Campaign, version: int = RENDERER) -> Shown:
        """The context of the next agent call. Raises AssertionError if its own check finds anything missing."""
        budget = max(int(self.budget * SQUEEZE**state.squeezes), FLOOR_BUDGET)
        room = budget * BYTES_PER_TOKEN
        parts = {
            "goal": self.goal + "\n",
            "prior": self._prior(state, int(room * PRIOR_SHARE)),
            "notes": self._notes(state),
            "standing": ("\n" if version > 1 else "") + self._standing(state),
            "incumbent": self._incumbent(state, int(room * SHARES["incumbent"]), version),
            "ask": ASK.format(file=self.task.candidate_file if self.task.command is None else "the files it changes"),
        }
        order = ORDERS[version]
        fixed = sum(_bytes(text) for name, text in parts.items() if name in order)
        free = room - fixed - int(room * (SHARES["groups"] + SHARES["turns"]))
        full, full_from = self._full_entries(state, free)
        lines, size = self._group_lines(state, full_from, int(room * SHARES["groups"]))
        parts["ledger"] = "\n".join(["", "## Ledger of strategies", *lines, *full]) + "\n"
        parts["turns"], tail_from = self._tail(state, room - fixed - _bytes(parts["ledger"]))
        text = "".join(parts[name] for name in order)
        shown = Shown(text, count_tokens(text), budget, full_from, size, tail_from, parts["ledger"])
        problems = check(shown, state, self.goal)
        if problems:
            raise AssertionError("the context lost something: " + "; ".join(problems))
        return shown

    def _standing(self, state: Campaign) -> str:
        lines = ["## Where we stand", *budget_lines(state)]
        best = state.incumbent
        if best is not None and isinstance(best.outcome, Ranked):
            speed = best.outcome.speed
            lines.append(
                f"Incumbent: A{best.id} (S{best.strategy}), {speed.ratio:.3f} times the baseline "
                f"[{speed.low:.3f}, {speed.high:.3f}], re-measured; source sha256 {best.digest[:16]}."
            )
        else:
            lines.append("Incumbent: the baseline; nothing was promoted yet.")
        for number in state.promotions[-6:-1]:
            lines.append(f"Before it: A{number}, {outcome_text(state.attempt(number))}")
        if state.spent.stall >= STAGNATION:
            lines.append(f"No promotion in the last {state.spent.stall} attempts. The goal stands as it is.")
            lines += untried(state, self.task)
        return "\n".join(lines) + "\n"

    def _prior(self, state: Campaign, room: int) -> str:
        if not state.prior:
            return ""
        lines = ["", "## Earlier campaigns on this task (evidence; what is proposed again is tried again)"]
        for number, one in enumerate(state.prior, 1):
            recall = f"; recall P{number} for its best source" if one.best is not None else ""
            lines.append(f"P{number}: {one.campaign}{recall}")
            lines.append(_cut_bytes(self.texts(one.outcomes), room))
        return "\n".join(lines) + "\n"

    def _notes(self, state: Campaign) -> str:
        if not state.notes:
            return ""
        notes = [f"call {one.call}: {cut(self.texts(one.note), NOTE_CHARACTERS)}" for one in state.notes[-MOST_NOTES:]]
        return "\n".join(["", "## Notes of agents (their words, no evidence)", *notes]) + "\n"

    def _incumbent(self, state: Campaign, room: int, version: int) -> str:
        best = state.incumbent
        name, source = (f"A{best.id}", self.texts(best.source)) if best else ("the baseline", self.task.baseline)
        stored = best.outcome.profile if best is not None and isinstance(best.outcome, Ranked) else None
        if best is None and version > 1 and state.baseline is not None:
            stored = state.baseline.profile
        profile = "" if stored is None else "Profile: " + _cut_bytes(self.texts(stored), room // 4) + "\n"
        pointer = f"recall {name}" if best else "it is the task's baseline"
        body = _cut_bytes(source, room - _bytes(profile) - 120, f"… (cut; {pointer} for the whole)")
        return f"\n## Source of the incumbent ({name})\n{body.rstrip()}\n{profile}"

    def _full_entries(self, state: Campaign, room: int) -> tuple[list[str], int]:
        """Strategies in full, newest last, as far back as there is room; and the first that is among them."""
        newest = len(state.strategies)
        oldest = max(state.full_from, newest - NEWEST_IN_FULL + 1, 1)
        left = room - sum(_bytes(text) + 1 for text in self._older(state, oldest))
        texts, start = self._as_many_as_fit(state, oldest, left)
        if start > oldest:
            texts, start = self._as_many_as_fit(state, oldest, left - int(room * (1 - SLACK)))
        return [*self._older(state, start), *texts], start

    def _as_many_as_fit(self, state: Campaign, oldest: int, room: int) -> tuple[list[str], int]:
        kept: list[str] = []
        for strategy in reversed(state.strategies[oldest - 1 :]):
            text = entry(state, strategy, self.texts)
            room -= _bytes(text) + 1
            if room < 0 and kept:
                break
            kept.append(text)
        return kept[::-1], len(state.strategies) - len(kept) + 1

    def _older(self, state: Campaign, start: int) -> list[str]:
        return [entry(state, strategy, self.texts) for strategy in open_before(state, start)]

    def _group_lines(self, state: Campaign, full_from: int, room: int) -> tuple[list[str], int]:
        size = max(state.group_size, SMALLEST_GROUP)
        while True:
            lines = [self._group_line(state, g.first, g.last) for g in groups_below(full_from, size)]
            if len(lines) <= 1 or sum(_bytes(line) + 1 for line in lines) <= room:
                return lines, size
            size *= 2

    def _group_line(self, state: Campaign, first: int, last: int) -> str:
        count = sum(len(s.attempts) for s in state.strategies[first - 1 : last])
        if (first, last, count) not in self._lines:
            line = group_line(state, Group(first, last))
            if state.current is not None and first <= state.current.strategy <= last:
                return line
            self._lines[first, last, count] = line
        return self._lines[first, last, count]

    def _tail(self, state: Campaign, room: int) -> tuple[str, int]:
        title = "\n## The newest turns\n"
        room -= _bytes(title)
        turns = [turn for turn in newest_turns(state) if turn.call >= state.tail_from]
        texts: list[str] = []
        for turn in turns:
            texts.append(self.turn_text(state, turn))
            room -= _bytes(texts[-1])
            if room < 0:
                break
        if room < 0:  # one too many: cut deeper than needed, for the same reason as the ledger
            spare = int((room + sum(map(_bytes, texts))) * (1 - SLACK))
            while texts and (room < 0 or (room < spare and len(texts) > 1)):
                room += _bytes(texts.pop())
        if not texts:
            return "", state.tail_from
        return title + "".join(reversed(texts)), max(turns[len(texts) - 1].call, state.tail_from)

    def turn_text(self, state: Campaign, turn: Attempt | Aside) -> str:
        """A turn whole: what was proposed and what came of it, never one without the other."""
        if isinstance(turn, Aside):
            return f"call {turn.call}: no proposal ({turn.kind}): {cut(self.texts(turn.text), HYPOTHESIS_CHARACTERS)}\n"
        hypothesis = cut(self.texts(turn.hypothesis), HYPOTHESIS_CHARACTERS)
        builds = "the baseline" if turn.parent is None else f"A{turn.parent}"
        lines = [
            f"call {turn.call}: A{turn.id} (S{turn.strategy}), builds on {builds}: {hypothesis}",
            self._diff(state, turn),
            f"result: {outcome_text(turn)}",
        ]
        if turn.review is not None:
            lines.append(f"another model had said (advisory): {cut(self.texts(turn.review), HYPOTHESIS_CHARACTERS)}")
        if evidence := evidence_text(turn, self.texts):
            lines.append(f"evidence: {evidence}")
        if turn.resembles is not None:
            earlier = state.strategies[turn.resembles - 1]
            newest = list(attempts_of(state, earlier))[-1]
            lines.append(f"S{earlier.id} was nearly the same and failed: {outcome_text(newest)}")
        return "\n".join(line for line in lines if line) + "\n"

    def _diff(self, state: Campaign, turn: Attempt) -> str:
        if turn.id not in self._diffs:
            parent = self.task.baseline if turn.parent is None else self.texts(state.attempt(turn.parent).source)
            diff = difflib.unified_diff(parent.splitlines(), self.texts(turn.source).splitlines(), lineterm="", n=1)
            text = "\n".join(list(diff)[2:])
            self._diffs[turn.id] = _cut_bytes(text, self._turn_room, f"… (cut; recall A{turn.id} for the whole)")
        return self._diffs[turn.id]


def budget_lines(state: Campaign) -> list[str]:
    """What is left of each budget, from what was used."""
    spent, budget = state.spent, state.budget
    rows = [
        ("attempts", spent.attempts, budget.attempts),
        ("tool calls", spent.calls, budget.calls),
        ("seconds", round(spent.seconds), None if budget.seconds is None else round(budget.seconds)),
        ("tokens", spent.tokens, budget.tokens),
        ("money", round(spent.money, 2), budget.money),
        ("attempts without a promotion", spent.stall, budget.stall),
    ]
    shown = [f"{used} of {limit} {name}" for name, used, limit in rows if limit is not None]
    return [f"Budget used: {', '.join(shown) or 'no limits'}."]


def untried(state: Campaign, task: Task) -> list[str]:
    """Directions nobody went: values of structural knobs without an attempt, and pairs of gains not yet combined."""
    lines = []
    attempts = [*state.attempts, *([state.current] if state.current else [])]
    tried = {(name, value) for attempt in attempts for name, value in attempt.knobs.items()}
    for knob in task.knobs:
        missing = [str(value) for value in knob.values if (knob.name, value) not in tried]
        if missing:
            lines.append(f"Untried: {knob.name} = {', '.join(missing)} ({knob.help})")
    recent = [a for a in attempts[-RECENT:] if isinstance(a.outcome, Ranked) and a.outcome.speed.low > 1]
    ranked = sorted((a.outcome.speed.ratio, a.strategy) for a in recent if isinstance(a.outcome, Ranked))
    best = list(dict.fromkeys(strategy for _, strategy in reversed(ranked)))[:2]
    if len(best) == 2:
        lines.append(f"Untried: what S{best[0]} and S{best[1]} have in common with neither's loss, or both at once.")
    return lines or ["Untried: everything that is not in the ledger below."]


def open_before(state: Campaign, start: int) -> list[Strategy]:
    """Open strategies older than `start`: they stay in full."""
    numbers = set()
    for attempt in (state.current, state.incumbent):
        if attempt is not None:
            numbers.add(attempt.strategy)
    return [state.strategies[n - 1] for n in sorted(numbers) if n < start and is_open(state, state.strategies[n - 1])]


def newest_turns(state: Campaign) -> list[Attempt | Aside]:
    """Turns that have a result, newest first: a proposal under way has none yet."""
    turns: list[Attempt | Aside] = [*state.attempts[-MOST_TURNS:], *state.asides[-MOST_TURNS:]]
    return sorted(turns, key=lambda turn: -turn.call)[:MOST_TURNS]


def check(shown: Shown, state: Campaign, goal: str) -> list[str]:
    """What a context must not lack, whatever was cut; empty if all is there."""
    problems = []
    if not shown.text.startswith(goal):
        problems.append("the goal is not its first block")
    if state.goal is not None and digest_of(goal) != state.goal.digest:
        problems.append("the goal is not the one that was pinned")
    if shown.tokens > shown.budget:
        problems.append(f"{shown.tokens} tokens are over the budget of {shown.budget}")
    if state.incumbent is not None and state.incumbent.digest[:16] not in shown.text:
        problems.append("the incumbent is missing")
    if budget_lines(state)[0] not in shown.text:
        problems.append("the budget is missing")
    return problems + check_coverage(shown.ledger, len(state.strategies), state)


def check_coverage(ledger: str, strategies: int, state: Campaign) -> list[str]:
    """Whether each of the first `strategies` ids is in the ledger, or in a listed group that recall resolves."""
    names = {line.split(":", 1)[0] for line in ledger.splitlines() if line.startswith("S")}
    groups = {name for name in names if re.fullmatch(r"S\d+-S\d+", name)}
    covered = {int(name[1:]) for name in names if re.fullmatch(r"S\d+", name)}
    for name in groups:
        first, last = (int(part.removeprefix("S")) for part in name.split("-"))
        covered.update(range(first, last + 1))
    problems = [f"S{n} is neither shown nor in a group" for n in range(1, strategies + 1) if n not in covered]
    return problems + [f"{name} cannot be recalled" for name in groups if range_of(state, name) is None]


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _cut_bytes(text: str, room: int, mark: str = "…") -> str:
    """Whole lines from the start, at most `room` bytes, visibly cut."""
    if _bytes(text) <= room:
        return text
    kept: list[str] = []
    left = room - _bytes(mark) - 1
    for line in text.splitlines():
        left -= _bytes(line) + 1
        if left < 0:
            break
        kept.append(line)
    return "\n".join([*kept, mark])
