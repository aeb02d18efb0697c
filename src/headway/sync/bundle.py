"""The bundle that a run is filling or testing, as the ledger holds it. Pure: only the ledger's fold makes new ones."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from headway.core.events_loop import Probed
from headway.core.events_sync import Attempted
from headway.core.names import Sha
from headway.sync.group_testing import Answers, Ask, Found, Question, next_step

TIMES_RED = 3
"""So often must L1 be red without proof to be believed: a flake of 3 % is that often red in a row once in 30,000."""


@dataclass(frozen=True)
class Bundle:
    """Members are stacked in order: each was tried on the tree that the one before it left.

    `answered` are changes that were given a disposition on top of the stack, with how many members it then had: if one
    of those members does not land after all, the answer was about a tree that never was.
    """

    onto: Sha
    members: tuple[Attempted, ...] = ()
    id: str = ""
    """Set when the bundle is closed."""
    probes: tuple[Probed, ...] = ()
    answered: tuple[tuple[Sha, int], ...] = ()

    @property
    def changes(self) -> tuple[Sha, ...]:
        """The members' ids, in order."""
        return tuple(member.change for member in self.members)

    @property
    def top(self) -> str:
        """What the next change is tried on: a tree, or the base itself."""
        return self.members[-1].tree if self.members else self.onto

    @property
    def answers(self) -> Answers:
        """L1's answers so far, by member numbers."""
        return {self.question(probe.changes): _answer(probe) for probe in self.probes}

    def step(self) -> Ask | Found:
        """What the search for a guilty member says now. Nothing is concluded from a red answer that is in doubt."""
        return self._in_doubt() or next_step(len(self.members), self.answers)

    def question(self, changes: Iterable[Sha]) -> Question:
        """Members by number."""
        numbers = {change: number for number, change in enumerate(self.changes)}
        return tuple(numbers[change] for change in changes)

    def times_asked(self, question: Question) -> int:
        """How often L1 has answered this question."""
        return sum(self.question(probe.changes) == question for probe in self.probes)

    def probe_of(self, question: Question) -> Probed:
        """L1's last answer to a question that was asked."""
        return next(probe for probe in reversed(self.probes) if self.question(probe.changes) == question)

    def stale_without(self, lands: int) -> tuple[Sha, ...]:
        """Answers given on top of members that do not land, if only the first `lands` do."""
        return tuple(change for change, members in self.answered if members > lands)

    def _in_doubt(self) -> Ask | None:
        """The last question again, while its answers were red without proof and too few to be believed."""
        if not self.probes or self.probes[-1].verdict != "unproven":
            return None
        question = self.question(self.probes[-1].changes)
        return Ask(question) if self.times_asked(question) < TIMES_RED else None

    def joined(self, member: Attempted) -> "Bundle":
        """With one more member."""
        return replace(self, members=(*self.members, member))

    def with_answer(self, change: Sha) -> "Bundle":
        """After `change` was given a disposition on top of the stack."""
        return replace(self, answered=(*self.answered, (change, len(self.members))))


def bundle_id(onto: Sha, changes: Iterable[Sha]) -> str:
    """Eight digits that name a bundle: the same members on the same base are the same bundle."""
    return hashlib.sha256("\0".join((onto, *changes)).encode()).hexdigest()[:8]


def _answer(probe: Probed) -> bool | None:
    return {"passed": True, "refused": False, "unproven": False, "unstackable": None}[probe.verdict]
