"""What `headway tune` calls: one function per verb, with the real log, worker and agents."""

import difflib
import getpass
import itertools
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from headway.adapters.clocks import SystemClock
from headway.adapters.locks import LockHeld
from headway.adapters.outside_agent import OutsideAgent
from headway.adapters.state_place import named_state
from headway.adapters.task_files import load_task, task_digest
from headway.core.errors import CouldNotRun, HeadwayError
from headway.core.events_core import PersonDecided
from headway.core.events_tune import AgentChosen, BudgetSet, ContextShown
from headway.core.file_bundle import files_in, patch_between
from headway.core.inbox import leave
from headway.core.ports.log import decoded
from headway.core.ports.worker import Worker
from headway.core.task import Task
from headway.tune import campaign as campaigns
from headway.tune.context import DEFAULT_BUDGET
from headway.tune.evidence import machine_refusal, text_of
from headway.tune.scoreboard import scoreboard
from headway.tune.state import Campaign
from headway.wiring.agents import AgentOptions, Records, agent_args, at_once_of, check_agent, opened_agent
from headway.wiring.prior_runs import Earlier, priors
from headway.wiring.state import State, open_state
from headway.wiring.workers import worker_for

TASKS = Path(__file__).parents[1] / "tasks"
CAMPAIGNS = "headway-campaigns"
"""Folder under the current one where campaigns go that nobody gave a place."""


@dataclass(frozen=True)
class Place:
    """A campaign's address: its folder for people, its state folder, its id in there."""

    folder: Path
    state: Path
    id: str


@dataclass(frozen=True)
class RunOptions:
    """What `tune run` was asked for; None leaves a matter to the task."""

    agent: AgentOptions
    attempts: int | None = None
    calls: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    money: float | None = None
    stall: int | None = None
    seed: int = 1
    context_budget: int = DEFAULT_BUDGET
    alpha: float = campaigns.DEFAULT_ALPHA
    min_gain: float = campaigns.DEFAULT_MIN_GAIN
    prior: tuple[str, ...] = ()
    """Earlier campaigns to offer as evidence, by folder or id."""
    look_for_prior: bool = True
    """Also offer what lies beside the new campaign."""


def find_task(name: str) -> Task:
    """A shipped task by id, or a folder. Raises HeadwayError naming the nearest."""
    shipped = TASKS / name.replace("-", "_")
    folder = Path(name)
    for place in (shipped, shipped / "task"):
        if (place / "task.toml").is_file():
            return load_task(place)
    if folder.is_dir():
        return load_task(folder)
    near = difflib.get_close_matches(name, shipped_tasks(), 1)
    advice = f"Did you mean {near[0]}?" if near else f"These ship: {', '.join(shipped_tasks())}."
    raise HeadwayError(f"There is no task {name!r}: no folder of that name, and none that ships.", advice)


def shipped_tasks() -> list[str]:
    """Ids of the tasks that come with headway."""
    folders = [path.parent for path in TASKS.glob("*/task.toml")]
    folders += [path.parents[1] for path in TASKS.glob("*/task/task.toml")]  # beside kernels that ship
    return sorted(folder.name.replace("_", "-") for folder in folders)


def begin(task_name: str, options: RunOptions, folder: Path | None, state: Path | None) -> Place:
    """Check everything, make the campaign's place, and pin its goal. Nothing runs yet."""
    task = find_task(task_name)
    args = agent_args(options.agent)
    check_agent(task, options.agent.agent, args)
    named = [Earlier(p.state, p.id) for p in (find_campaign(name, state) for name in options.prior)]
    found = earlier_here(state) if options.look_for_prior else []
    evidence = priors(task, named, [one for one in found if one not in named])
    place = new_place(task.id, folder, state)
    start = campaigns.Start(
        options.agent.agent,
        options.seed,
        options.context_budget,
        options.alpha,
        options.min_gain,
        budget_of(options, task),
        str(place.folder),
        "campaign",
        args,
    )
    campaigns.check_start(task, start)
    with open_state(place.state) as opened, opened.lock():
        campaigns.open_campaign(opened.log, opened.blobs, place.id, task, start, evidence)
    return place


def earlier_here(state: Path | None) -> list[Earlier]:
    """Campaigns in the named state, else in the folder where campaigns go that nobody gave a place; oldest first."""
    named = named_state(state, os.environ)
    if named is not None:
        return [Earlier(named, one) for one in campaigns_in(named)]
    places = sorted((Path.cwd() / CAMPAIGNS).glob("*/.headway"), key=lambda path: path.stat().st_mtime)
    return [Earlier(place, one) for place in places for one in campaigns_in(place)]


def budget_of(options: RunOptions, task: Task) -> BudgetSet:
    """The command line's limits, else the task's."""
    return BudgetSet(
        task.budget.attempts if options.attempts is None else options.attempts,
        options.calls,
        task.budget.seconds if options.seconds is None else options.seconds,
        options.tokens,
        options.money,
        task.budget.stall if options.stall is None else options.stall,
    )


def new_place(task_id: str, folder: Path | None, state: Path | None) -> Place:
    """Where a new campaign goes: `--dir`, else `headway-campaigns/<task>-<n>` here; state inside it unless named."""
    named = named_state(state, os.environ)
    if named is not None:
        taken = set(campaigns_in(named))
        campaign_id = next(i for n in itertools.count(1) if (i := f"{task_id}-{n}") not in taken)
        return Place((folder or named / "campaigns" / campaign_id).absolute(), named, campaign_id)
    if folder is None:
        here = Path.cwd() / CAMPAIGNS
        folder = next(p for n in itertools.count(1) if not (p := here / f"{task_id}-{n}").exists())
        return Place(folder, folder / ".headway", folder.name)
    if (folder / ".headway").exists():
        raise HeadwayError(f"{folder} already holds a campaign.", "Use `headway tune resume`, or another --dir.")
    return Place(folder.absolute(), folder.absolute() / ".headway", f"{task_id}-1")


def campaigns_in(state: Path) -> list[str]:
    """Ids of the campaigns in a state folder, oldest first; empty where there is no log yet."""
    if not (state / "log.sqlite3").exists():
        return []
    with open_state(state, read_only=True) as opened:
        streams = list(opened.log.heads("campaign/"))
        first = {stream: next(iter(opened.log.read(stream))).position for stream in streams}
    return [stream.removeprefix("campaign/") for stream in sorted(streams, key=first.__getitem__)]


def find_campaign(name: str | None, state: Path | None) -> Place:
    """An existing campaign: an id or a folder; with no name the one in this folder, else the newest one here."""
    named = named_state(state, os.environ)
    if named is not None:
        return _in_state(named, name)
    here = Path.cwd()
    for folder in [Path(name), here / CAMPAIGNS / name] if name else [here]:
        if (folder / ".headway").is_dir():
            return _in_state(folder.absolute() / ".headway", None)
    if name is None and (known := sorted((here / CAMPAIGNS).glob("*/.headway"), key=lambda p: p.stat().st_mtime)):
        return _in_state(known[-1], None)
    what = f"no campaign {name!r}" if name else "no campaign"
    raise HeadwayError(f"There is {what} here.", "Name its folder, or start one with `headway tune run TASK`.")


def _in_state(state: Path, name: str | None) -> Place:
    known = campaigns_in(state)
    if name is not None and name not in known:
        name = _of_folder(state, known, Path(name)) or name
    if not known or (name is not None and name not in known):
        has = ", ".join(known) or "none"
        raise HeadwayError(f"The state folder {state} has no campaign {name or 'at all'!r}; it has {has}.")
    campaign_id = name or known[-1]
    if state.name == ".headway":  # the state lies in the campaign's folder, which people may have moved
        return Place(state.parent, state, campaign_id)
    with open_state(state, read_only=True) as opened:
        folder = Path(campaigns.settings_of(opened.log, campaign_id)[1].folder)
    return Place(folder, state, campaign_id)


def _of_folder(state: Path, known: list[str], folder: Path) -> str | None:
    """The newest campaign of a state that was begun for this folder."""
    with open_state(state, read_only=True) as opened:
        folders = {one: campaigns.settings_of(opened.log, one)[1].folder for one in known}
    return next((one for one in reversed(known) if folders[one] == str(folder.absolute())), None)


def drive(place: Place, watch: Callable[[Campaign], None], lent: Worker | None = None) -> Campaign:
    """Run the campaign as far as it goes, and leave its best candidate in its folder. A `lent` worker stays open."""
    with open_state(place.state) as opened, opened.lock():
        now = campaigns.read(opened.log, place.id).needed
        task = load_task(Path(now.task_dir))
        at_once = at_once_of(now.agent_args)
        worker = lent or worker_for(task, place.state / "worker", opened.failpoints, at_once)
        records = Records(opened.log, opened.blobs, campaigns.home_of(place.id))
        try:
            with opened_agent(task, now.agent, now.agent_args, records) as agent:
                outside = agent if isinstance(agent, OutsideAgent) else None
                loop = campaigns.Loop(
                    place.id,
                    task,
                    opened.log,
                    opened.blobs,
                    agent,
                    worker,
                    SystemClock(),
                    lambda: task_digest(task.folder),
                    lambda state: outside is None or outside.waits(state.taken),
                    at_once,
                )
                state = loop.run(watch)
        finally:
            if lent is None:
                worker.close()
        leave_best(place, opened, task, state)
        raise_trouble(opened, task, state)
        return state


def leave_best(place: Place, opened: State, task: Task, state: Campaign) -> None:
    """Write the incumbent's source to `best.c` or `best.py`, of many files `best.patch`: a copy, never read again."""
    if state.incumbent is None:
        return
    place.folder.mkdir(parents=True, exist_ok=True)
    if task.command is not None:
        patch = patch_between(files_in(task.baseline), files_in(text_of(opened.blobs, state.incumbent.source)))
        (place.folder / "best.patch").write_text(patch, "utf-8")
        return
    suffix = Path(task.candidate_file).suffix
    (place.folder / f"best{suffix}").write_bytes(opened.blobs.get(state.incumbent.source))


def raise_trouble(opened: State, task: Task, state: Campaign) -> None:
    """Turn an end in which nothing was decided, or a task that cannot be trusted, into the error that says so."""
    end = state.ended
    if end is None or end.state not in ("could_not_run", "task_refused"):
        return
    told = "" if end.evidence is None else text_of(opened.blobs, end.evidence)
    if end.state == "task_refused":
        raise HeadwayError(f"The task {task.id} was refused ({end.reason}): {told}")
    raise CouldNotRun(f"Nothing could be run ({end.reason}): {could_not_run_words(told)}")


def could_not_run_words(told: str) -> str:
    """The words of a stored worker answer, or the text itself."""
    try:
        return machine_refusal(json.loads(told))
    except (ValueError, AttributeError):
        return told


def resume(place: Place, options: Mapping[str, float | int | None], agent: AgentOptions | None = None) -> None:
    """Lift a pause or an end, raise the limits that are given, and put another agent to work if one is given."""
    with open_state(place.state) as opened, opened.lock():
        state = campaigns.read(opened.log, place.id)
        chosen = None
        if agent is not None:
            args = agent_args(agent)
            check_agent(load_task(Path(state.needed.task_dir)), agent.agent, args)
            chosen = AgentChosen(agent.agent, args, person())
        given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        old = {name: getattr(state.budget, name) for name in state.budget.__slots__}
        campaigns.go_on(opened.log, place.id, person(), BudgetSet(**{**old, **given}), chosen)


def tell(place: Place, verb: Literal["stop", "pause"]) -> str:
    """Leave a word for the loop; where no loop runs, take it up here. Returns what happened, for people."""
    with open_state(place.state) as opened:
        home = campaigns.home_of(place.id)
        leave(opened.log, home, PersonDecided(verb, place.id, person()))
        try:
            with opened.lock():
                campaigns.take_up(opened.log, place.id)
        except LockHeld:
            return f"Left word for {place.id} to {verb} at its next step."
    return f"No process was driving {place.id}; it is {'stopped' if verb == 'stop' else 'paused'} now."


def context_of(place: Place, attempt: int | None) -> dict[str, Any]:
    """The context that an attempt was proposed from, as it was stored, and how it was cut."""
    with open_state(place.state, read_only=True) as opened:
        state = campaigns.read(opened.log, place.id)
        shown = {}
        for event in decoded(opened.log.read(campaigns.home_of(place.id))):
            if isinstance(event, ContextShown):
                shown[event.call] = event
        number = attempt or state.spent.attempts
        try:
            seen = shown[state.attempt(number).call]
        except KeyError:
            raise HeadwayError(f"The campaign {place.id} has no attempt {attempt or 1}.") from None
        text = text_of(opened.blobs, seen.context)
    facts = {name: getattr(seen, name) for name in ("call", "renderer", "tokens", "budget", "goal", "full_from")}
    return {"campaign": place.id, "attempt": number, **facts, "text": text}


def board(place: Place) -> dict[str, Any]:
    """The scoreboard as data."""
    with open_state(place.state, read_only=True) as opened:
        state = campaigns.read(opened.log, place.id)
    return {**scoreboard(place.id, state), "dir": str(place.folder), "state_dir": str(place.state)}


def person() -> str:
    """Who is at the keyboard, for the record."""
    return getpass.getuser()
