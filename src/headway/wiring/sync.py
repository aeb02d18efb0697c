"""Builds the sync room on real git, and does what `headway init` and `headway sync` ask, one function a verb."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from headway.adapters.clones import GitClones
from headway.adapters.config_source import ConfigFound, need_config
from headway.adapters.git_command import Git
from headway.adapters.git_history import GitHistory
from headway.adapters.git_landing import GitLanding
from headway.adapters.git_patches import GitPatches
from headway.adapters.git_remote import GitRemote
from headway.adapters.git_repository import ForkRepository, known_commit, open_fork
from headway.adapters.git_trees import GitTrees
from headway.adapters.git_trial import GitTrialMerges, Quarantine
from headway.adapters.local_executor import LocalExecutor
from headway.adapters.memory_blobs import MemoryBlobs
from headway.adapters.mergiraf import Mergiraf
from headway.adapters.state_place import state_of_fork
from headway.core.config import Config
from headway.core.errors import HeadwayError
from headway.core.events import decode
from headway.core.events_core import TailSetAside
from headway.core.names import Sha
from headway.core.ports.log import EventLog, decoded
from headway.core.upkeep import UPKEEP
from headway.sync.accounting import Ledger, apply
from headway.sync.commit_journey import say, take_changes
from headway.sync.liveness import note_liveness
from headway.sync.opening import is_open
from headway.sync.progress import TellingLog
from headway.sync.room import L1, Room
from headway.sync.show import Shown, shown
from headway.sync.status import Status, status_of
from headway.sync.steps import Orders, Steps
from headway.validate.known import KnownResults
from headway.validate.suite_run import Ports
from headway.validate.tier_ladder import ChangeToCheck, L1Answer, check_change
from headway.wiring.conflict_agent import with_agent
from headway.wiring.forge import forge_of
from headway.wiring.state import State, open_state, prove
from headway.wiring.world import World, real_world


@dataclass(frozen=True)
class Session:
    """An opened fork: its repository, its config with notes, its state and the room."""

    fork: ForkRepository
    found: ConfigFound
    state: State
    room: Room
    quarantine: Quarantine


def run(
    path: Path,
    state: Path | None,
    limit: int,
    world: World | None = None,
    *,
    tell: Callable[[str], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> Status:
    """`headway sync run`; `tell` hears each answer as it is recorded, `stop` is asked between two steps.

    Raises HeadwayError where nothing may be done; the status is that at the end.
    """
    world = world or real_world()
    with open_session(path, state, world, write=True) as session:
        try:
            refuse_unfit(session)
            with room_with_agent(session, world, tell) as room:
                take_changes(room, Orders(limit), stop)
        except HeadwayError:
            with suppress(HeadwayError):  # without a ledger there is no status
                _after_a_run(session, world, tell)
            raise
        return _after_a_run(session, world, tell)


def _after_a_run(session: Session, world: World, tell: Callable[[str], None]) -> Status:
    """The status; that the frontier stands still, or moves on again, is recorded, told and brought to the forge."""
    status, config = status_now(session, world), session.found.config
    if status.alarm is None and status.ledger.stood_still is None:
        return status
    room = replace(session.room, log=TellingLog(session.room.log, session.room.home, tell))
    try:
        forge = partial(forge_of, config, session.fork.top, world.env) if config.tiers.forge is not None else None
        note_liveness(status, forge, lambda event: say(room, lambda _: room.facts(event)))
    except HeadwayError as trouble:
        tell(str(trouble))
    return status_now(session, world)


def refuse_unfit(session: Session) -> None:
    """Raises HeadwayError where nothing may land: a dirty fork, an unready config, a branch that cannot be moved."""
    refuse_dirty(session.fork)
    _refuse_unready(session)


@contextmanager
def room_with_agent(session: Session, world: World, tell: Callable[[str], None] = lambda _: None) -> Iterator[Room]:
    """The room to land in, with the agent that headway.toml names for conflicts."""
    room, pool = room_to_land(session, world, tell), session.state.root / "clones"
    with with_agent(room, session.quarantine, session.fork.top, pool, world.env) as with_it:
        yield with_it


def room_to_land(session: Session, world: World, tell: Callable[[str], None] = lambda _: None) -> Room:
    """The room with everything that a landing needs: the forge too, and a log that `tell`s."""
    room = _with_forge(session, world)
    return replace(room, log=TellingLog(room.log, room.home, tell))


def _with_forge(session: Session, world: World) -> Room:
    """Mode `pull-request` needs a forge and a remote; the others have none."""
    fork, config = session.fork, session.found.config
    if config.landing.mode != "pull-request":
        return session.room
    hooks = config.landing.hooks == "run"
    remote = GitRemote(fork.git, config.landing.remote, hooks=hooks, failpoints=session.state.failpoints)
    return replace(session.room, forge=forge_of(config, fork.top, world.env, session.state.failpoints), remote=remote)


def status(path: Path, state: Path | None) -> Status:
    """`headway sync status`: reads, never fetches."""
    world = real_world()
    with open_session(path, state, world, write=False) as session:
        return status_now(session, world)


def show(path: Path, state: Path | None, name: str) -> Shown:
    """`headway sync show SHA`."""
    with open_session(path, state, real_world(), write=False) as session:
        change = change_named(session, name)
        [commit] = [c for c in session.room.history.commits([change, f"^{change}^@"]) if c.sha == change]
        journey = list(session.state.log.read(session.room.details(change)))
        return shown(commit, session.room.ledger(), journey, session.state.blobs)


def adopt(path: Path, state: Path | None, *, dry_run: bool = False) -> Status:
    """`headway sync adopt`: read trunk again, whether it moved or not. `dry_run`: the status as it would be."""
    world = real_world()
    with open_session(path, state, world, write=not dry_run) as session:
        room = session.room
        refuse_unopened(room)
        if not dry_run:
            say(room, Steps(room, Orders()).scan)
            return status_now(session, world)
        ledger = room.ledger()
        for event in Steps(replace(room, blobs=MemoryBlobs()), Orders()).scan(ledger)[room.home]:
            ledger = apply(ledger, event)
        return status_now(session, world, ledger)


@contextmanager
def open_session(
    path: Path, state: Path | None, world: World, *, write: bool, append: bool = False
) -> Iterator[Session]:
    """The fork at `path` with its room. `write` takes the writer lock; `append` opens the log for inboxes only."""
    fork = open_fork(path)
    with session_of(fork, need_config(fork), state, world, write=write, append=append) as session:
        yield session


@contextmanager
def session_of(
    fork: ForkRepository,
    found: ConfigFound,
    state_option: Path | None,
    world: World,
    *,
    write: bool,
    append: bool = False,
    source: tuple[str, str] | None = None,
) -> Iterator[Session]:
    root = state_of_fork(fork.top, state_option, world.env)
    if not write and not any((root / name).exists() for name in ("log.sqlite3", "log.tail")):
        raise HeadwayError(f"{fork.top} has no ledger yet.", "Run `headway init` in it.")
    with open_state(root, clock=world.clock, env=world.env, read_only=not (write or append)) as state:
        prove(state.log)
        if not write:
            with Quarantine(fork.top) as quarantine:
                room = _room(fork, found.config, state, quarantine, world, root, source)
                yield Session(fork, found, state, room, quarantine)
            return
        with state.lock(), Quarantine(fork.top, root / "quarantine" / found.config.fork.id) as quarantine:
            room = _room(fork, found.config, state, quarantine, world, root, source)
            session = Session(fork, found, state, room, quarantine)
            yield session
            if session.room.ledger().run is None:
                quarantine.clear()  # nothing composed waits for its landing


def _room(
    fork: ForkRepository,
    config: Config,
    state: State,
    quarantine: Quarantine,
    world: World,
    root: Path,
    source: tuple[str, str] | None,
) -> Room:
    landing = GitLanding(
        fork.git,
        quarantine,
        clock=world.clock,
        hooks=config.landing.hooks == "run",
        failpoints=state.failpoints,
        fetch_from=source,
    )
    merges = GitTrialMerges(quarantine)
    both = Git(fork.top, env={"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(quarantine.objects)})
    return Room(
        config=config,
        history=GitHistory(both),
        merges=merges,
        trees=GitTrees(both, lambda: quarantine.reader),
        patches=GitPatches(fork.git),
        landing=landing,
        log=state.log,
        blobs=state.blobs,
        l1=_l1(fork, config, state, quarantine, world, root),
        foresee=merges.foresee,
        structural=Mergiraf.installed(world.env),
    )


def _l1(
    fork: ForkRepository, config: Config, state: State, quarantine: Quarantine, world: World, root: Path
) -> L1 | None:
    if config.l1 is None:
        return None
    l1 = config.l1
    ports = Ports(world.executor or LocalExecutor(), GitClones(root / "clones"), state.blobs, world.env)

    def check(commit: Sha, base: Sha, known: KnownResults) -> L1Answer:
        state.failpoints.hit("l1.before")
        today, waivers = world.clock.now().date(), config.tiers.waivers
        asked = ChangeToCheck(fork.top, commit, base, (quarantine.objects,), waivers=waivers, today=today)
        answer = check_change(l1, asked, ports, known)
        state.failpoints.hit("l1.after")
        return answer

    return check


def status_now(session: Session, world: World, known: Ledger | None = None) -> Status:
    """Where the fork stands, with the series and the proof that the accounting closes."""
    room = session.room
    ledger = known or room.ledger()
    base = opened_at(ledger)
    assert ledger.head is not None
    if room.history.resolve(ledger.head) is None:
        raise HeadwayError(
            "This clone has not fetched upstream, which its log speaks of.", "Run `headway sync plan` or `run` in it."
        )
    commits = room.history.commits([ledger.head, f"^{base}"], first_parent=True)
    [first] = room.history.commits([base, f"^{base}^@"], first_parent=True)
    at, now = room.landing.read(room.branch_ref), world.clock.now().timestamp()
    records = ((record.ts, decode(record.type, record.payload)) for record in session.state.log.read(room.home))
    notes = (*session.found.notes, *_set_aside(session.state.log))
    return status_of(ledger, session.found.config, notes, first, commits, at, now, records)


def _set_aside(log: EventLog) -> tuple[str, ...]:
    """History was cut by a repair: whoever reads the figures must know it."""
    cut = [event for event in decoded(log.read(UPKEEP)) if isinstance(event, TailSetAside)]
    count = sum(event.count for event in cut)
    return (f"{count} damaged records were set aside ({cut[-1].file}): answers in them are lost",) if cut else ()


def refuse_dirty(fork: ForkRepository) -> None:
    dirty = fork.dirty()
    if dirty:
        more = f" and {len(dirty) - 1} more" if len(dirty) > 1 else ""
        raise HeadwayError(
            f"The fork {fork.top} has uncommitted changes in {dirty[0]}{more}.", "Commit or stash them and run again."
        )


def _refuse_unready(session: Session) -> None:
    config = session.found.config
    refuse_unopened(session.room)
    if config.landing.mode != "direct" and config.landing.branch == config.fork.trunk:
        raise HeadwayError(
            f"`[landing] branch` is trunk itself ({config.fork.trunk}).",
            'Name another branch, such as headway/sync, or set `[landing] mode = "direct"`.',
        )
    if config.l1 is None:
        raise HeadwayError(
            f"{config.source} has no [l1] section, so nothing could show a landing to be green.",
            'Add `[l1]` with `test = "…"`.',
        )
    name = session.room.branch
    alias = session.fork.git.run("symbolic-ref", "--quiet", f"refs/heads/{name}", ok=None)
    if alias.code == 0:
        raise HeadwayError(
            f"The landing branch {name} is only another name for {alias.text}, which would be moved.",
            f"Remove it with `git symbolic-ref -d refs/heads/{name}`.",
        )
    clash = _branch_in_the_way(session.fork, name)
    if clash is not None:
        raise HeadwayError(
            f"The branch {clash} is in the way: git cannot keep {name} beside it.",
            f"Rename it with `git branch -m {clash} …`, or name another `[landing] branch`.",
        )
    session.room.refuse_checked_out()


def _branch_in_the_way(fork: ForkRepository, branch: str) -> str | None:
    """A branch whose name is a folder of `branch`'s or the other way round: git could not make the ref after L1."""
    parts = branch.split("/")
    parents = ["/".join(parts[:count]) for count in range(1, len(parts))]
    names = [f"refs/heads/{parent}" for parent in parents]
    found = fork.git.text("for-each-ref", "--format=%(refname)", *names, f"refs/heads/{branch}/").splitlines()
    taken = [ref for ref in found if ref in names or ref.startswith(f"refs/heads/{branch}/")]
    return taken[0].removeprefix("refs/heads/") if taken else None


def refuse_unopened(room: Room) -> None:
    if not is_open(room):
        raise HeadwayError("This fork's ledger is not begun, or its `init` was interrupted.", "Run `headway init`.")


def tip_of(session: Session) -> Sha:
    landing, room = session.room.landing, session.room
    branch, trunk = landing.read(room.branch_ref), room.trunk()
    if trunk is None:
        raise HeadwayError(f"The fork has no branch {room.config.fork.trunk!r}.", "Set `[fork] trunk` in headway.toml.")
    return trunk if branch is None or room.history.merge_base(trunk, branch) == branch else branch


def opened_at(ledger: Ledger) -> Sha:
    if ledger.opened is None or ledger.head is None:
        raise HeadwayError("This fork has no ledger yet.", "Run `headway init` in its checkout.")
    return ledger.opened.base


def change_named(session: Session, name: str) -> Sha:
    """A change by its id or a beginning of it."""
    found = [change for change in session.room.ledger().changes if change.startswith(name)] if len(name) >= 4 else []
    if len(found) == 1:
        return found[0]
    if len(found) > 1:
        raise HeadwayError(f"{name!r} names {len(found)} changes.", "Give more digits.")
    return known_commit(session.fork, name)
