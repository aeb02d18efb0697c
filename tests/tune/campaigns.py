"""The tune room's test language: start a campaign in memory or on disk, drive it, read back what it says."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.tune_world import ticking, world_task
from headway.adapters.clocks import HandClock
from headway.adapters.memory_blobs import MemoryBlobs
from headway.adapters.memory_log import MemoryLog
from headway.adapters.script_agent import ScriptAgent, Scripted
from headway.adapters.scripted_worker import ScriptedWorker
from headway.core.events import Event
from headway.core.events_tune import BudgetSet
from headway.core.ports.agent import Agent, NoProposal, Proposal
from headway.core.ports.blobs import BlobStore
from headway.core.ports.log import EventLog, decoded
from headway.core.task import Task
from headway.tune.campaign import Loop, Start, home_of, open_campaign, read
from headway.tune.state import Campaign

ID = "world-1"
NO_LIMIT = BudgetSet(None, None, None, None, None, None)


def proposal(source: str, hypothesis: str = "", parent: str = "", **files: str) -> Scripted:
    return Scripted(
        Proposal({"candidate.py": source, **files}, hypothesis or f"try {source.split(chr(10))[0]}", parent)
    )


def nothing(kind: Any, message: str = "", **parts: Any) -> Scripted:
    return Scripted(NoProposal(kind, message, **parts))


@dataclass
class World:
    """One campaign with its ports; `run` drives it."""

    folder: Path
    answers: Sequence[Scripted] = ()
    budget: BudgetSet = NO_LIMIT
    task_changes: Mapping[str, Any] = field(default_factory=dict)
    context_budget: int = 32_000
    agent: Agent | None = None
    log: EventLog = field(init=False)
    blobs: BlobStore = field(init=False)

    def __post_init__(self) -> None:
        self.clock = HandClock(datetime(2026, 1, 1, tzinfo=UTC))
        self.log = MemoryLog(self.clock)
        self.blobs = MemoryBlobs()
        self.worker = ScriptedWorker(ticking(self.clock, 2.0))

    @property
    def task(self) -> Task:
        return world_task(self.folder, **self.task_changes)

    def open(self) -> "World":
        start = Start("script", 1, self.context_budget, 0.05, 0.02, self.budget, str(self.folder))
        open_campaign(self.log, self.blobs, ID, self.task, start)
        return self

    def loop(self) -> Loop:
        agent = self.agent or ScriptAgent(self.task, tuple(self.answers))
        return Loop(ID, self.task, self.log, self.blobs, agent, self.worker, self.clock)

    def run(self) -> Campaign:
        if not self.log.heads(home_of(ID)):
            self.open()
        return self.loop().run()

    def state(self) -> Campaign:
        return read(self.log, ID)

    def events(self, *kinds: type) -> list[Event]:
        return [e for e in decoded(self.log.read(home_of(ID))) if not kinds or isinstance(e, kinds)]


def verdicts(state: Campaign) -> list[str]:
    """One word an attempt: its reason, `promoted`, `ranked` or `undecided`."""
    from headway.tune.state import Ranked, Refusal

    words = []
    for attempt in state.attempts:
        match attempt.outcome:
            case Refusal(reason=reason):
                words.append(str(reason))
            case Ranked() as ranked:
                words.append("promoted" if ranked.promoted else "ranked")
            case _:
                words.append("undecided")
    return words


def speeds(values: Iterable[float]) -> list[Scripted]:
    return [proposal(f"speed {value}\n# {number}\nx = {number}\n") for number, value in enumerate(values)]
