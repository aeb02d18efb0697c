"""The survey of one proposal: every rail is asked, and every refusal is kept."""

from collections.abc import Mapping
from dataclasses import dataclass

from headway.core.gates import Refused
from headway.sync.rails import RAILS
from headway.sync.rails.facts import Proposal, Rail
from headway.sync.rails.residual import residual_of


@dataclass(frozen=True, slots=True)
class Survey:
    """`refusals` is empty exactly when every rail passed; residual lines are counted over conflicted files."""

    refusals: tuple[Refused, ...]
    missing_lines: int
    changed_lines: int

    @property
    def passed(self) -> bool:
        return not self.refusals


def survey(proposal: Proposal, rails: Mapping[str, Rail] = RAILS) -> Survey:
    """Ask every rail. Pure."""
    verdicts = [rail(proposal) for rail in rails.values()]
    missing, changed = residual_of(tuple(file for file in proposal.files if file.conflicted))
    return Survey(tuple(verdict for verdict in verdicts if isinstance(verdict, Refused)), missing, changed)
