"""Who may propose: the registry of agents, and from the command line's options to what a campaign records of them.

What is recorded (`agent_args`) makes the same agent again after a kill. It never holds a secret: a key is named by its
variable, and an argument that the log would mask is refused here, since a masked one could not be resumed.
"""

import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from headway.adapters.clocks import SystemClock
from headway.adapters.command_agent import SEEN, CommandAgent, CommandLine
from headway.adapters.local_executor import LocalExecutor
from headway.adapters.masking import Masker
from headway.adapters.memory_blobs import MemoryBlobs
from headway.adapters.memory_log import MemoryLog
from headway.adapters.model_agent import ModelAgent
from headway.adapters.outside_agent import OutsideAgent
from headway.adapters.script_agent import ScriptAgent
from headway.adapters.search_agent import SearchAgent
from headway.core.config import AgentConfig
from headway.core.errors import HeadwayError
from headway.core.names import StreamId
from headway.core.ports.agent import Agent
from headway.core.ports.blobs import BlobStore
from headway.core.ports.log import EventLog
from headway.core.task import Task

Args = Mapping[str, str]


@dataclass(frozen=True)
class AgentOptions:
    """What the command line says of an agent; None or empty where it says nothing."""

    agent: str
    script: Path | None = None
    model: str | None = None
    base_url: str | None = None
    command: str | None = None
    env: tuple[str, ...] = ()
    seconds: float | None = None
    at_once: int = 1
    reviewer: str | None = None


@dataclass(frozen=True)
class Records:
    """Where the outside agent finds what was submitted."""

    log: EventLog
    blobs: BlobStore
    home: StreamId


def _search(task: Task, args: Args, _: Records) -> Agent:
    return SearchAgent(task, at_once_of(args))


def _script(task: Task, args: Args, _: Records) -> Agent:
    if "script" not in args:
        raise HeadwayError("The agent `script` replays a file, and none was given.", "Add --script FILE.")
    return ScriptAgent.from_file(task, Path(args["script"]))


def _model(_: Task, args: Args, __: Records) -> Agent:
    if "model" not in args:
        raise HeadwayError("The agent `model` was given no model.", "Add --model provider:name.")
    at_once, reviewer = at_once_of(args), args.get("reviewer")
    return ModelAgent(args["model"], base_url=args.get("base_url"), at_once=at_once, reviewer=reviewer)


def _command(_: Task, args: Args, __: Records) -> Agent:
    return _cli(args.get("command", ""), tuple(filter(None, args.get("env", "").split(","))), os.environ)


def _cli(command: str, names: Sequence[str], env: Mapping[str, str]) -> Agent:
    argv = _argv(command)
    absent = next((name for name in names if name not in env), None)
    if absent is not None:
        raise HeadwayError(f"The variable {absent} that the agent may see is not set.", f"Set {absent} and try again.")
    return CommandAgent(CommandLine(argv, (*SEEN, *names)), LocalExecutor(), env)


def _outside(task: Task, _: Args, records: Records) -> Agent:
    return OutsideAgent(records.log, records.blobs, records.home, task.candidate_file)


AGENTS: dict[str, Callable[[Task, Args, Records], Agent]] = {
    "search": _search,
    "script": _script,
    "model": _model,
    "command": _command,
    "outside": _outside,
}
"""Who may propose."""

OWN_OPTIONS: dict[str, frozenset[str]] = {
    "search": frozenset(),
    "script": frozenset({"script"}),
    "model": frozenset({"model", "base_url", "reviewer"}),
    "command": frozenset({"command", "env"}),
    "outside": frozenset(),
}
"""The recorded options of each agent, beside `seconds`, which each has."""

FLAGS = {
    "script": "--script",
    "model": "--model",
    "base_url": "--base-url",
    "reviewer": "--reviewer",
    "command": "--command",
    "env": "--agent-env",
}


def agent_args(options: AgentOptions) -> dict[str, str]:
    """What is recorded of the options. Raises HeadwayError for an unknown agent, another's option, or a secret."""
    if options.agent not in AGENTS:
        raise HeadwayError(f"There is no agent {options.agent!r}.", f"Choose one of: {', '.join(AGENTS)}.")
    args = {
        "script": str(options.script.absolute()) if options.script is not None else "",
        "model": options.model or "",
        "base_url": options.base_url or "",
        "reviewer": options.reviewer or "",
        "command": options.command or "",
        "env": ",".join(options.env),
    }
    given = {name: value for name, value in args.items() if value}
    foreign = next((name for name in given if name not in OWN_OPTIONS[options.agent]), None)
    if foreign is not None:
        owner = next(agent for agent, own in OWN_OPTIONS.items() if foreign in own)
        raise HeadwayError(
            f"{FLAGS[foreign]} is an option of the agent `{owner}`.", f"Add --agent {owner}, or drop it."
        )
    masker = Masker.from_environment(os.environ)
    for name, value in given.items():
        content = value.encode("utf-8", "surrogatepass")
        if masker.mask(content) != content:
            raise HeadwayError(
                f"The value of {FLAGS[name]} holds a secret, which must not get into the log.",
                "Put it into a variable of the environment; --agent-env NAME shows one to a program.",
            )
    if options.at_once > 1:
        given["at_once"] = str(options.at_once)
    if options.seconds is not None:
        given["seconds"] = f"{options.seconds:g}"
    return given


def at_once_of(args: Args) -> int:
    """How many candidates may be on their way at a time."""
    return int(args.get("at_once", "1"))


@contextmanager
def opened_resolver(config: AgentConfig, env: Mapping[str, str]) -> Iterator[Agent]:
    """The agent of `[agent]` in headway.toml, for conflicts; closed at the end. Raises HeadwayError as below."""
    if config.use == "command":
        yield _cli(config.command, config.env, env)
        return
    agent = ModelAgent(config.model, base_url=config.base_url or None, env=env)
    try:
        yield agent
    finally:
        agent.close()


@contextmanager
def opened_agent(task: Task, name: str, args: Args, records: Records) -> Iterator[Agent]:
    """The agent of that name, closed at the end.

    Raises HeadwayError for an unknown one, a bad script, a missing key, an unknown provider or an absent program.
    """
    if name not in AGENTS:
        raise HeadwayError(f"There is no agent {name!r}.", f"Choose one of: {', '.join(AGENTS)}.")
    agent = AGENTS[name](task, args, records)
    try:
        yield agent
    finally:
        if isinstance(agent, ModelAgent):
            agent.close()


def check_agent(task: Task, name: str, args: Args) -> None:
    """Make the agent and let it go: everything that can be wrong is said before a campaign exists."""
    nowhere = Records(MemoryLog(SystemClock()), MemoryBlobs(), StreamId(""))
    with opened_agent(task, name, args, nowhere):
        pass


def _argv(command: str) -> tuple[str, ...]:
    try:
        argv = tuple(shlex.split(command))
    except ValueError as wrong:
        raise HeadwayError(f"The command {command!r} is no command line: {wrong}.") from wrong
    if not argv:
        raise HeadwayError("The agent `command` was given no command.", "Add --command 'PROGRAM ARGUMENTS'.")
    found = shutil.which(argv[0])
    if found is None:
        raise HeadwayError(f"The agent's program {argv[0]!r} is not on PATH.", "Install it, or give its whole path.")
    # it runs in a folder of its own, where a path relative to this one would mean something else
    return (str(Path(found).absolute()), *argv[1:])
