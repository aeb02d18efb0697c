"""Which commit made a test red, when the test fails only now and then and nobody knows how often: a pure search.

Commits are numbered from 0 (the newest, red) to n - 1; the old end, known to be good, is number n and no suspect. The
posterior over "commit i is the culprit" and the choice of the next probe are git-bayesect's `Bisector` (Beta-Bernoulli
rates on both sides, greedy expected entropy). Beyond it: commits that do not build are passed over and stay suspects;
"nothing changed, it is a flake" is a hypothesis of its own; what is found is verified by runs on both sides of it and
on both ends, in interleaved order, so that a slow drift of the machine cannot imitate a culprit; a streak of failures
is checked against the old end, so that an outage cannot either. The state is the list of probes: a killed search
resumes by reading them.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    pass

Outcome = Literal["failed", "passed", "absent", "unbuildable", "infrastructure"]
Purpose = Literal["search", "verify", "control"]
Kind = Literal["culprit", "born_red", "flake", "infrastructure", "undecided"]

PRIOR_OF_FLAKE = 0.4
"""Of 13,600 breakages in a published study of noisy culprit finding, 40 % were flakes (FACF, ICST 2023)."""
VERIFICATION_RUNS = 8
DOUBTFUL_AFTER = 24
"""Runs after which, while "nothing changed" is likelier than not, every other one goes to an end."""
STREAK = 4
"""So many failures in a row, wherever, are worth one run of the old end."""
OUTAGE_RUNS = 12
"""So many failed controls in a row, or probes lost to infrastructure, end the search."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Run the test once at commit `index` (`n`: the old end)."""

    index: int
    purpose: Purpose


@dataclass(frozen=True, slots=True)
class Seen:
    """A probe with what came out. The order of the list is the order in time."""

    index: int
    outcome: Outcome
    purpose: Purpose = "search"


@dataclass(frozen=True, slots=True)
class Answer:
    """`suspects` cannot be told apart (all but the oldest do not build). `posterior` is that of the answer itself."""

    kind: Kind
    suspects: tuple[int, ...]
    posterior: float
    runs: int
    why: str


@dataclass(frozen=True, slots=True)
class Rules:
    """When to stop. `verify` off: exactly git-bayesect's own stopping rule, without flakes and outages."""

    confidence: float = 0.95
    verify: bool = True
    max_runs: int = 300
    verify_from: float = 0.85
    """Verification begins here: its runs are near the suspect and tell as much as any other probe."""
    flake_at: tuple[tuple[float, int], ...] = ((0.95, 30), (0.9, 40), (0.7, 100), (0.5, 160))
    """(posterior, runs): "flake" is answered at this posterior after so many runs. The longer nothing is found, the
    less certainty is asked: two rates are told from one only slowly where both are small."""


def next_step(commits: int, seen: Sequence[Seen], rules: Rules) -> Probe | Answer:
    """The next probe, or the answer. Pure: the same list, the same step."""
    facts = _Facts(commits, seen, rules.verify)
    if rules.verify and (step := _outage(facts)) is not None:
        return step
    runs = len(facts.counted)
    group, mass = facts.strongest()
    flake = facts.flake() if rules.verify else 0.0
    certain = mass * (1 - flake)
    verified = sum(one.purpose == "verify" for one in seen)
    if mass >= rules.confidence and not rules.verify:
        return facts.culprit(group, mass, runs)
    if certain >= rules.confidence and verified >= VERIFICATION_RUNS // 2:
        return facts.culprit(group, certain, runs)
    if any(flake >= sure and runs >= after for sure, after in rules.flake_at):
        return Answer("flake", (), flake, runs, "it fails at one rate all over the range")
    if runs >= rules.max_runs:
        return _at_the_limit(group, certain, flake, runs)
    if rules.verify and mass >= rules.verify_from and verified < VERIFICATION_RUNS:
        return Probe(facts.verification_point(group, verified), "verify")
    if flake > 0.5 and runs >= DOUBTFUL_AFTER and runs % 2:
        # nothing tells a flake from a change better than the two ends, in turn
        return Probe(0 if runs % 4 == 1 else commits, "search")
    return Probe(facts.select(), "search")


class _Facts:
    """The list of probes, seen as a posterior."""

    def __init__(self, commits: int, seen: Sequence[Seen], guard: bool) -> None:
        from git_bayesect import Bisector  # numpy and scipy: not for `headway --help`

        self.commits = commits
        self.unbuildable = {one.index for one in seen if one.outcome == "unbuildable"}
        self.absent = {one.index for one in seen if one.outcome == "absent"}
        self.seen = seen
        self.lost = _outage_windows(seen, commits) if guard else frozenset[int]()
        self.counted = [
            one
            for place, one in enumerate(seen)
            if one.outcome in ("failed", "passed", "absent") and place not in self.lost
        ]
        # the old end is one more number, with no prior of its own: it is no suspect, but it says how often it fails
        self.bisector: Bisector = Bisector([1.0] * commits + [0.0])
        self._count()
        with _zero_weights_allowed():
            self.posterior: list[float] = [float(p) for p in self.bisector.distribution]

    def _count(self) -> None:
        """All observations at once: the same arrays as `record` makes one by one (in the number of probes squared)."""
        import numpy as np

        places = np.array([one.index for one in self.counted], dtype=np.int64)
        failed = np.array([one.outcome == "failed" for one in self.counted], dtype=np.int64)
        size = self.commits + 1
        self.bisector.obs_total = np.cumsum(np.bincount(places, minlength=size)).astype(np.int64)
        self.bisector.obs_yes = np.cumsum(np.bincount(places, weights=failed, minlength=size)).astype(np.int64)

    def group_of(self, index: int) -> tuple[int, ...]:
        """Suspects that no probe can tell from `index`: a culprit at i shows at i and not at i + 1; where i + 1 to j
        do not build, nothing separates i from j."""
        first = index
        while first > 0 and first in self.unbuildable:
            first -= 1
        last = index
        while last + 1 < self.commits and last + 1 in self.unbuildable:
            last += 1
        return tuple(range(first, last + 1))

    def strongest(self) -> tuple[tuple[int, ...], float]:
        best = max(range(self.commits), key=lambda i: self.posterior[i])
        group = self.group_of(best)
        return group, sum(self.posterior[i] for i in group)

    def flake(self) -> float:
        """Posterior of "nothing changed" against "some commit did", by their marginal likelihoods."""
        import numpy as np
        from scipy.special import betaln, logsumexp

        half = betaln(0.5, 0.5)
        yes, runs = self.bisector.obs_yes, self.bisector.obs_total
        no = runs - yes
        nothing = betaln(0.5 + yes[-1], 0.5 + no[-1]) - half
        inside = betaln(0.5 + yes[:-1], 0.5 + no[:-1]) - half
        outside = betaln(0.5 + yes[-1] - yes[:-1], 0.5 + no[-1] - no[:-1]) - half
        something = logsumexp(inside + outside) - log(self.commits)
        odds = float(np.exp(np.clip(nothing - something, -700, 700))) * PRIOR_OF_FLAKE / (1 - PRIOR_OF_FLAKE)
        return odds / (1 + odds)

    def select(self) -> int:
        """git-bayesect's choice, or the nearest commit that builds."""
        with _zero_weights_allowed():
            wanted = min(self.bisector.select(), self.commits)
        able = [i for i in range(self.commits + 1) if i not in self.unbuildable]
        return min(able, key=lambda i: (abs(i - wanted), i))

    def verification_point(self, group: tuple[int, ...], done: int) -> int:
        """Just inside, just outside, newest, oldest, and again: each side runs in every part of the time."""
        inside = max((i for i in range(group[0] + 1) if i not in self.unbuildable), default=0)
        outside = min(i for i in range(group[-1] + 1, self.commits + 1) if i not in self.unbuildable)
        return (inside, outside, 0, self.commits)[done % 4]

    def culprit(self, group: tuple[int, ...], mass: float, runs: int) -> Answer:
        outside = group[-1] + 1
        if outside in self.absent or (outside == self.commits and self.commits in self.absent):
            return Answer("born_red", group, mass, runs, "the test does not exist before, and fails since it does")
        why = "it fails from here on and not before"
        return Answer("culprit", group, mass, runs, why)


def _outage(facts: _Facts) -> Probe | Answer | None:
    """A streak of failures is checked at the old end; lost probes are made again, and too many of them end it."""
    tail = facts.seen[-OUTAGE_RUNS:]
    if len(tail) == OUTAGE_RUNS and all(
        one.outcome == "infrastructure" or (one.purpose == "control" and one.outcome == "failed") for one in tail
    ):
        runs = len(facts.counted)
        return Answer("infrastructure", (), 1.0, runs, f"{OUTAGE_RUNS} probes in a row were lost to the machine")
    if facts.seen and facts.seen[-1].purpose == "control" and facts.seen[-1].outcome == "failed":
        return Probe(facts.commits, "control")
    streak = 0
    for one in reversed(facts.seen):
        if one.outcome != "failed" or one.index == facts.commits:
            break
        streak += 1
    return Probe(facts.commits, "control") if streak and streak % STREAK == 0 else None


def _outage_windows(seen: Sequence[Seen], commits: int) -> frozenset[int]:
    """Places in the list of failures that a failed control right behind them makes worthless."""
    lost: set[int] = set()
    for place, one in enumerate(seen):
        if one.purpose == "control" and one.outcome == "failed":
            lost.add(place)
            back = place - 1
            while back >= 0 and seen[back].outcome == "failed":
                lost.add(back)
                back -= 1
    return frozenset(lost)


def _at_the_limit(group: tuple[int, ...], certain: float, flake: float, runs: int) -> Answer:
    if flake > 0.1:  # a commit that explains it would have left far less of this by now
        return Answer("flake", (), flake, runs, "no commit explains it better than one rate all over the range")
    return Answer("undecided", group, certain, runs, f"{runs} runs did not settle it")


def _zero_weights_allowed() -> AbstractContextManager[None]:
    """The old end has the weight zero, and git-bayesect takes its logarithm before it looks."""
    import numpy as np

    return np.errstate(divide="ignore", invalid="ignore")
