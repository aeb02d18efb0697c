"""Killed, starved and disturbed campaigns end as undisturbed ones do. (Real SIGKILLs: tests/kill and the marathon.)"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from headway.adapters.durable_files import DiskFull
from headway.core.errors import CouldNotRun
from headway.core.events_core import IntentNamed, IntentSettled
from headway.core.events_tune import JobDone
from headway.core.names import BlobId
from headway.core.ports.agent import NoProposal, Proposal, Request
from headway.core.ports.blobs import BlobInfo, BlobStore
from headway.core.ports.worker import WorkerJob, WorkerResult
from headway.tune.state import Campaign
from tests.tune.campaigns import World, proposal, verdicts

ANSWERS = [
    proposal("speed 1.3\n"),
    proposal("refuse raised\n"),
    proposal("speed 1.6\n", "more"),
    proposal("speed 0.4\n", "less"),
]


HERE = Path("world")
"""No file is written: log, blobs and worker are in memory."""


class Killed(BaseException):
    """Stands for SIGKILL."""


class DyingWorker:
    """Dies at its n-th submit, before or after the job ran; what ran before is still there afterwards."""

    def __init__(self, world: World, at: int, *, after: bool) -> None:
        self._inner, self._left, self._after = world.worker, at, after

    def submit(self, job: WorkerJob) -> None:
        self._left -= 1
        if self._left == 0 and not self._after:
            raise Killed
        self._inner.submit(job)
        if self._left == 0:
            raise Killed

    def collect(self, key: str, wait_seconds: float) -> WorkerResult | None:
        return self._inner.collect(key, wait_seconds)

    def close(self) -> None:
        pass


class DyingAgent:
    """Dies at its n-th call, when it has its answer already."""

    name = "script"

    def __init__(self, world: World, at: int) -> None:
        self._inner, self._left = world.loop().agent, at

    def propose(self, request: Request) -> Proposal | NoProposal:
        self._left -= 1
        answer = self._inner.propose(request)
        if self._left == 0:
            raise Killed
        return answer


class FullDisk:
    """A blob store that has no room at its n-th put."""

    def __init__(self, inner: BlobStore, at: int) -> None:
        self._inner, self._left = inner, at

    def put(self, content: str | bytes) -> BlobId:
        self._left -= 1
        if self._left == 0:
            raise DiskFull(Path("blobs"))
        return self._inner.put(content)

    def get(self, blob: BlobId) -> bytes:
        return self._inner.get(blob)

    def info(self, blob: BlobId) -> BlobInfo | None:
        return self._inner.info(blob)


def essence(state: Campaign) -> Campaign:
    """Without the seconds, which a kill takes from what ran before it."""
    used = [replace(a, used=0.0) for a in state.attempts]
    return replace(state, attempts=tuple(used), spent=replace(state.spent, seconds=0.0), phases=type(state.phases)())


@pytest.fixture(scope="module")
def peaceful() -> World:
    world = World(HERE, ANSWERS)
    world.run()
    return world


def finish(world: World, peaceful: World) -> None:
    """Go on undisturbed, and end like the other one, with each evaluation counted once."""
    state = world.run()
    assert essence(state) == essence(peaceful.state())
    keys = [job.key for job in world.events(JobDone)]
    assert keys == [job.key for job in peaceful.events(JobDone)] and len(keys) == len(set(keys))


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", range(1, 11))
def test_killed_around_any_evaluation(peaceful: World, at: int, after: bool) -> None:
    world = World(HERE, ANSWERS).open()
    with pytest.raises(Killed):
        replace(world.loop(), worker=DyingWorker(world, at, after=after)).run()
    finish(world, peaceful)
    (settled,) = world.events(IntentSettled)
    assert settled.outcome == ("finished" if after else "again")
    assert len(world.worker.runs) == len(set(world.worker.runs)), "what had a result is not run again"


@pytest.mark.parametrize("at", range(1, 6))
def test_killed_in_any_agent_call(peaceful: World, at: int) -> None:
    world = World(HERE, ANSWERS).open()
    with pytest.raises(Killed):
        replace(world.loop(), agent=DyingAgent(world, at)).run()
    finish(world, peaceful)
    asks = [i.key for i in world.events(IntentNamed) if i.kind == "ask"]
    assert len(asks) == len(set(asks)) + 1, "it was asked again, and both are kept"


@pytest.mark.parametrize("at", range(2, 30, 3))
def test_a_full_disk_stops_it_and_nothing_is_lost(peaceful: World, at: int) -> None:
    world = World(HERE, ANSWERS).open()
    with pytest.raises(CouldNotRun):
        replace(world.loop(), blobs=FullDisk(world.blobs, at)).run()
    finish(world, peaceful)


def test_killed_again_and_again_it_still_ends(peaceful: World) -> None:
    world, kills = World(HERE, ANSWERS).open(), 0
    disturbances: list[Callable[[], object]] = [
        lambda: replace(world.loop(), worker=DyingWorker(world, 2, after=True)).run(),
        lambda: replace(world.loop(), agent=DyingAgent(world, 2)).run(),
        lambda: replace(world.loop(), worker=DyingWorker(world, 1, after=False)).run(),
    ]
    while kills < 9 and world.state().ended is None:
        try:
            disturbances[kills % 3]()
        except Killed:
            kills += 1
    assert kills >= 5
    finish(world, peaceful)


def test_a_worker_without_an_answer_is_trouble_of_the_machine() -> None:
    class Silent:
        def submit(self, job: WorkerJob) -> None:
            pass

        def collect(self, key: str, wait_seconds: float) -> WorkerResult | None:
            return None

        def close(self) -> None:
            pass

    world = World(HERE, ANSWERS).open()
    state = replace(world.loop(), worker=Silent()).run()
    assert state.ended is not None and (state.ended.state, state.ended.reason) == ("could_not_run", "timed_out")
    assert verdicts(state) == []
