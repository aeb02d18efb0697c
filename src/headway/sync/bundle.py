"""The bundle that a run is filling or testing, as the ledger holds it. Pure: only the ledger's fold makes new ones."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from headway.core.events_loop import Probed
from headway.core.events_sync import Attempted
from headway.core.names import Sha
from headway.sync.group_testing import Answers, Ask, Found, Question, next_step


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
        """What the search for a guilty member says now."""
        return next_step(len(self.members), self.answers)

    def question(self, changes: Iterable[Sha]) -> Question:
        """Members by number."""
        numbers = {change: number for number, change in enumerate(self.changes)}
        return tuple(numbers[change] for change in changes)

    def probe_of(self, question: Question) -> Probed:
        """L1's answer to a question that was asked."""
        return next(probe for probe in self.probes if self.question(probe.changes) == question)

    def stale_without(self, lands: int) -> tuple[Sha, ...]:
        """Answers given on top of members that do not land, if only the first `lands` do."""
        return tuple(change for change, members in self.answered if members > lands)

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
    return {"passed": True, "refused": False, "unstackable": None}[probe.verdict]
