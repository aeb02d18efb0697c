"""The executor's fake: answers from a list of rules, writes the files a real suite would write, remembers what it was
asked. Deterministic, so that a killed run can be compared with an undisturbed one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from headway.adapters.output_cut import OutputCut
from headway.core.ports.executor import Command, Outcome, Resources


@dataclass(frozen=True, slots=True)
class Reply:
    """How a scripted command ends. At most one of `died`, `timed_out` and `not_started` replaces `exit`."""

    exit: int = 0
    output: bytes = b""
    died: str | None = None
    timed_out: bool = False
    not_started: str | None = None
    writes: Mapping[str, bytes] = field(default_factory=dict)
    """Files to write, relative to the command's cwd."""


Rule = Callable[[Command], Reply | None]
"""Answers a command, or leaves it to the next rule."""


class ScriptedExecutor:
    """`Executor` from rules. A command that no rule answers is `not_started`: a test must say what it means."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(rules)
        self.commands: list[Command] = []

    def run(self, command: Command) -> Outcome:
        self.commands.append(command)
        replies = (rule(command) for rule in self._rules)
        reply = next((said for said in replies if said is not None), Reply(not_started="no rule answers it"))
        for path, content in reply.writes.items():
            target = command.cwd / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        output = OutputCut(command.limits.output_bytes)
        output.feed(reply.output)
        ended_itself = reply.died is None and not reply.timed_out and reply.not_started is None
        return Outcome(
            exit=reply.exit if ended_itself else None,
            output=output.text(),
            timed_out=reply.timed_out,
            died=reply.died,
            truncated=output.truncated,
            resources=Resources(0.0, 0.0, 0.0, 0),
            sandbox=("scripted",),
            not_started=reply.not_started,
        )


def argv_is(argv: Sequence[str], reply: Reply) -> Rule:
    """The rule for exactly this command line."""
    wanted = tuple(argv)
    return lambda command: reply if command.argv == wanted else None
