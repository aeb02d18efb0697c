"""How a fork's ledger begins: fetch upstream, find the merge base, read what was taken before, write headway.toml."""

import re
from dataclasses import dataclass
from typing import Protocol

from headway.core.config import CONFIG_NAME
from headway.core.errors import HeadwayError
from headway.core.events_core import IntentNamed
from headway.core.events_sync import ConfigWritten, ForkOpened, UpstreamSeen
from headway.core.journey import Act, Decide, Facts, Journey, Settled, Stage, drive, effect_key, fold
from headway.core.names import Digest, Sha
from headway.sync.accounting import Ledger, apply
from headway.sync.history import UPSTREAM_REF, common_base, upstream_range
from headway.sync.reading import Reading
from headway.sync.room import Room
from headway.sync.scanning import scan_facts

_QUOTED = re.compile(r'["\\\x00-\x1f\x7f]')


class OwnersFile(Protocol):
    """headway.toml in the owner's work tree. Adapter: `adapters/config_source.py`."""

    def content(self) -> bytes | None:
        """What is there, or None."""
        ...

    def write(self, content: bytes) -> None:
        """Write it whole or not at all."""
        ...


@dataclass(frozen=True)
class Opening:
    """`to_write` is the headway.toml to leave in the owner's work tree; None where one exists already."""

    room: Room
    file: OwnersFile
    to_write: bytes | None
    upstream_shown: str
    """Upstream's address without user-info, for the log."""

    def open(self) -> Ledger:
        """Do what is left to do; calling it again changes nothing. Raises HeadwayError, and then nothing has begun."""
        return drive(self.journey(), self.room.log)

    def next_stage(self, ledger: Ledger) -> Stage[Ledger] | None:
        """The order of things."""
        if ledger.opened is None:
            return self._begin()
        if ledger.scanned is None:
            return Decide("scan", self._scan)
        if self.to_write is not None and ledger.config_written is None:
            return self._write_config()
        return None

    def journey(self) -> Journey[Ledger]:
        """The loop's view of it."""
        acts = {act.name: act for act in (self._begin(), self._write_config())}
        return Journey(self.room.home, Ledger(), apply, self.next_stage, acts)

    def _begin(self) -> Act[Ledger]:
        return Act("open", lambda _: IntentNamed("open", effect_key("open")), self._fetched, self._again)

    def _fetched(self, _: Ledger, __: IntentNamed) -> Facts:
        config, history = self.room.config, self.room.history
        head = self.room.landing.fetch(
            config.upstream.url, config.upstream.branch, UPSTREAM_REF + config.upstream.branch
        )
        base = common_base(history, self._trunk(), head)
        line = upstream_range(history, base, head, ())
        opened = ForkOpened(config.fork.trunk, base, self.upstream_shown, config.upstream.branch)
        return self.room.facts(opened, UpstreamSeen(head, len(line.commits), line.shas))

    def _scan(self, ledger: Ledger) -> Facts:
        assert ledger.opened is not None and ledger.head is not None
        line = upstream_range(self.room.history, ledger.opened.base, ledger.head, ledger.changes)
        return scan_facts(Reading(self.room), ledger, line, self._trunk())

    def _write_config(self) -> Act[Ledger]:
        return Act("write config", self._config_intent, self._written, self._settle_config)

    def _config_intent(self, _: Ledger) -> IntentNamed:
        digest = self.room.config.digest
        return IntentNamed("write config", effect_key("config", digest), {"digest": digest})

    def _written(self, _: Ledger, intent: IntentNamed) -> Facts:
        assert self.to_write is not None
        self.file.write(self.to_write)
        return self.room.facts(ConfigWritten(Digest(intent.args["digest"])))

    def _settle_config(self, _: Ledger, intent: IntentNamed) -> Settled:
        if self.file.content() is None:
            return Settled("again")
        return Settled("finished", self.room.facts(ConfigWritten(Digest(intent.args["digest"]))))

    def _again(self, _: Ledger, __: IntentNamed) -> Settled:
        return Settled("again")

    def _trunk(self) -> Sha:
        trunk = self.room.trunk()
        if trunk is None:
            raise HeadwayError(f"The fork has no branch {self.room.config.fork.trunk!r}.", "Give it with --trunk.")
        return trunk


def is_open(room: Room) -> bool:
    """Whether `init` came to its end: a ledger that is begun, and no step of `init` left open by a kill."""
    progress = fold(Journey(room.home, Ledger(), apply, lambda _: None, {}), room.log.read(room.home))
    waiting = progress.open_intent.kind if progress.open_intent is not None else ""
    return progress.state.scanned is not None and waiting not in ("open", "write config")


@dataclass(frozen=True)
class Answers:
    """What `init` was told; everything but `upstream` has a default."""

    upstream: str
    branch: str
    fork_id: str
    trunk: str
    setup: str = ""
    build: str = ""
    test: str = ""
    junit: tuple[str, ...] = ()


def config_text(answers: Answers) -> str:
    """A first headway.toml. Without a test command `[l1]` stays a comment, and `run` says that it is missing."""
    lines = [
        f"# {CONFIG_NAME}: commit it on {answers.trunk}; from then on only the committed version counts.",
        "[upstream]",
        f"url = {_toml(answers.upstream)}",
        f"branch = {_toml(answers.branch)}",
        "",
        "[fork]",
        f"id = {_toml(answers.fork_id)}",
        f"trunk = {_toml(answers.trunk)}",
        "",
        "[landing]",
        'mode = "branch"',
        'branch = "headway/sync"',
        "",
    ]
    if not answers.test:
        lines += ["# What must be green before anything lands:", "# [l1]", '# test = "python -m pytest -q"', ""]
        return "\n".join(lines)
    lines += ["[l1]"]
    steps = (("setup", answers.setup), ("build", answers.build), ("test", answers.test))
    lines += [f"{name} = {_toml(line)}" for name, line in steps if line]
    if answers.junit:
        lines.append(f"junit = [{', '.join(_toml(glob) for glob in answers.junit)}]")
    return "\n".join([*lines, ""])


def fork_id_of(folder: str) -> str:
    """A ledger's name from a folder's: letters, digits, dots, dashes."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", folder).strip("-._") or "fork"


def _toml(text: str) -> str:
    return '"' + _QUOTED.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + '"'
