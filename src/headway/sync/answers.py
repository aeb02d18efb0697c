"""What the ledger knows of answers from outside the ladder: the conflict asked about, tries, what stands. A fold."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from headway.core.events import Event
from headway.core.events_resolve import Asked, ConflictMet, Resolved
from headway.core.events_sync import Disposed, Reopened, RunStarted
from headway.core.names import Sha


@dataclass(frozen=True)
class Answers:
    """`met` is the conflict that an agent is to be asked about next; None where there is none."""

    met: ConflictMet | None = None
    asked: Mapping[Sha, tuple[Asked, ...]] = field(default_factory=dict)
    """Proposals for a change since it was last put back among the pending ones, oldest first."""
    resolved: Mapping[Sha, tuple[Resolved, ...]] = field(default_factory=dict)
    """Answers that passed the rails, newest last; a person's stand as long as an agent's."""
    tokens: int = 0
    money: float = 0.0
    """What this run's proposals cost."""

    def after(self, event: Event) -> "Answers":
        """The same after one more event of the ledger's stream."""
        match event:
            case ConflictMet():
                return replace(self, met=event)
            case Asked():
                tries = {**self.asked, event.change: (*self.asked.get(event.change, ()), event)}
                met = None if event.outcome == "accepted" else self.met
                return replace(
                    self, met=met, asked=tries, tokens=self.tokens + event.tokens, money=self.money + event.money
                )
            case Resolved():
                stand = (*self.resolved.get(event.change, ()), event)
                return replace(self, resolved={**self.resolved, event.change: stand})
            case Disposed() if self.met is not None and self.met.change == event.change:
                return replace(self, met=None)
            case Reopened() if event.change in self.asked:
                left = {change: tries for change, tries in self.asked.items() if change != event.change}
                return replace(self, asked=left)
            case RunStarted():
                return replace(self, met=None, tokens=0, money=0.0)
            case _:
                return self

    def tries_of(self, change: Sha, conflict: str) -> tuple[Asked, ...]:
        """Proposals for exactly this conflict."""
        return tuple(one for one in self.asked.get(change, ()) if one.conflict == conflict)
