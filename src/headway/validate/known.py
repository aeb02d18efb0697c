"""Results that need not be run again: the same tree, suite and environment gave them before. A fold of the log."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

from headway.core.config import L1Config
from headway.core.config_tiers import Waiver
from headway.core.events import Event
from headway.core.events_validate import L1Proven, SuiteRan
from headway.core.events_validate_tiers import WaiverGranted
from headway.core.names import BlobId, Digest, TreeId
from headway.validate.waivers import granted

PASSING_TROUBLES = frozenset({"timed_out", "died", "setup_failed", "no_command", "no_compiler"})
"""Troubles of a moment or a machine: such a run is recorded, and never recalled."""


@dataclass(frozen=True, slots=True)
class SuiteKey:
    """Which suite, in which environment; with a tree it names a result."""

    suite: Digest
    environment: Digest


@dataclass(slots=True)
class KnownResults:
    """Folded from `validation/<id>`; feed it every event of that stream, in order."""

    results: dict[tuple[TreeId, SuiteKey], BlobId] = field(default_factory=dict)
    proofs: dict[SuiteKey, L1Proven] = field(default_factory=dict)
    waivers: list[Waiver] = field(default_factory=list)
    """Granted by hand; those of headway.toml come beside them. Whether one is alive depends on the day."""

    def take(self, events: Iterable[Event]) -> "KnownResults":
        for event in events:
            if isinstance(event, SuiteRan) and event.trouble not in PASSING_TROUBLES:
                self.results[event.tree, SuiteKey(event.suite, event.environment)] = event.results
            elif isinstance(event, L1Proven):
                self.proofs[SuiteKey(event.suite, event.environment)] = event
            elif isinstance(event, WaiverGranted):
                self.waivers += granted((event,))
        return self

    def without_results(self) -> "KnownResults":
        """Proofs and waivers alone, for a question whose answer is to be seen again."""
        return KnownResults({}, dict(self.proofs), list(self.waivers))


def suite_digest(l1: L1Config) -> Digest:
    """Changes when anything changes that could change a result."""
    return _digest(asdict(l1))


def environment_digest(parts: Iterable[tuple[str, str]]) -> Digest:
    """Of named facts about the machine: the suite's variables, programs, platform, sandbox layers."""
    return _digest(sorted(parts))


def _digest(value: object) -> Digest:
    return Digest(hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest())
