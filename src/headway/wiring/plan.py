"""Builds `headway sync plan`: forecasts, dependencies, risk, streams, and a cache of the last plan beside the log."""

import contextlib
import functools
import gc
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from headway import __version__
from headway.adapters.git_command import Git
from headway.adapters.git_patches import GitPatches
from headway.adapters.git_trial import GitTrialMerges, Quarantine
from headway.adapters.masking import Masker
from headway.adapters.process_pool import Workers
from headway.core.errors import CouldNotRun, HeadwayError
from headway.core.events_sync import Disposed
from headway.core.ports.git import SourceUnreachable
from headway.sync.calibration import Calibration, calibrated
from headway.sync.dependencies import dependencies
from headway.sync.history import upstream_range
from headway.sync.planning import FactsReader, Plan, RangeAsked, RangeFacts, facts_of_range, plan_of
from headway.sync.reading import refreshed
from headway.sync.streams import PlanRow
from headway.sync.triage import Triage
from headway.wiring.sync import Session, open_session, opened_at, tip_of
from headway.wiring.world import real_world

NAME = "plan-cache.json"
WORTH_A_PROCESS = 40
"""Changes of a range below which the start of a second process costs more than it saves."""


def plan(
    path: Path, state: Path | None, limit: int, *, fetch: bool, tell: Callable[[int], None] = lambda _: None
) -> tuple[Plan, SourceUnreachable | None]:
    """The plan, and the trouble if upstream could not be refreshed (a partial source).

    A plan is a function of the ledger, the two tips and the config; where none of them moved it is read from a cache.
    """
    with open_session(path, state, real_world(), write=False) as session:
        room, ledger, config = session.room, session.room.ledger(), session.found.config
        opened = opened_at(ledger)
        head, trouble = ledger.head, None
        if fetch:
            try:
                head = refreshed(room, ledger)
            except SourceUnreachable as unreachable:
                trouble = unreachable
        assert head is not None
        line = upstream_range(room.history, opened, head, ledger.changes)
        tip = tip_of(session)
        version = session.state.log.heads(room.home).get(room.home, 0)
        cache = PlanCache(session.state.root, (head, tip, str(version), config.digest, str(limit), __version__))
        if (known := cache.read()) is not None:
            return known, trouble
        with readers(session, len(line.commits)) as read, _uncollected():
            found = plan_of(room, ledger, line, tip, limit=limit, tell=tell, read=read)
        cache.write(found)
        return found, trouble


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Texts and trees of a plan hold no cycles and live to its end: a collector would only count them (5 % of it)."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextlib.contextmanager
def readers(session: Session, size: int) -> Iterator[FactsReader | None]:
    """A second process that reads patches and dependencies while this one tries picks; None where it is not worth it.

    It has a quarantine of its own. Where it dies, the same is read here.
    """
    if size < WORTH_A_PROCESS or (os.cpu_count() or 1) < 2:
        yield None
        return
    with Workers[RangeAsked, RangeFacts](functools.partial(_reader, session.fork.top), 1) as workers:

        def read(asked: RangeAsked) -> Callable[[], RangeFacts]:
            answer = workers.begin(asked)

            def wait() -> RangeFacts:
                try:
                    return answer()
                except CouldNotRun:
                    return facts_of_range(asked, session.room.patches, session.room.merges)

            return wait

        yield read


@contextlib.contextmanager
def _reader(fork: Path) -> Iterator[Callable[[RangeAsked], RangeFacts]]:
    with Quarantine(fork) as quarantine:
        merges = GitTrialMerges(quarantine)
        yield lambda asked: facts_of_range(asked, GitPatches(Git(fork)), merges)


def calibration(path: Path, state: Path | None) -> Calibration:
    """Predicted against happened, over every answered change of the range."""
    with open_session(path, state, real_world(), write=False) as session:
        room, ledger = session.room, session.room.ledger()
        opened = opened_at(ledger)
        assert ledger.head is not None
        line = upstream_range(room.history, opened, ledger.head, ledger.changes)
        triage = Triage.of(room.history, room.merges, room.trees, room.config, line)
        patches = dict(room.patches.patches(line.shas))
        states = {change: _state_of(session, found) for change, found in ledger.dispositions.items()}
        needs = dependencies(line.commits, patches.items())
        return calibrated(triage, ledger.dispositions, states, needs, patches)


def _state_of(session: Session, found: Disposed) -> str:
    """The commit that a change was answered on; "" where it is not here (any more)."""
    if found.landed:
        return f"{found.landed}^1"
    try:
        onto = json.loads(session.state.blobs.get(found.evidence)).get("onto", "")
    except (HeadwayError, ValueError):
        return ""
    return str(onto)


class PlanCache:
    """One plan, valid for exactly the facts it was made from."""

    def __init__(self, root: Path, facts: Sequence[str]) -> None:
        self._path = root / NAME
        self._key = hashlib.sha256("\0".join(facts).encode()).hexdigest()

    def read(self) -> Plan | None:
        """The plan, or None where there is none for these facts (or none that can be read)."""
        try:
            document = json.loads(self._path.read_text())
            if document["key"] != self._key:
                return None
            return Plan(tuple(PlanRow.from_json(row) for row in document["rows"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, plan: Plan) -> None:
        """Keep it; a state folder that cannot be written to (a read-only look) is no reason to fail.

        A plan that quotes a secret (subjects are upstream's words) is not kept: the cache would be the only place in
        the state folder that has it, and masked it would read otherwise the second time.
        """
        text = json.dumps({"key": self._key, "rows": [row.to_json() for row in plan.rows]})
        if Masker.from_environment(real_world().env).mask(text.encode()) != text.encode():
            return
        partial = self._path.with_name(f"{NAME}.{os.getpid()}")
        with contextlib.suppress(OSError):
            partial.write_text(text)
            partial.replace(self._path)
