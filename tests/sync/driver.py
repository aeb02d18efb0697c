"""Runs `headway` on a small fork as a person would: through the command line, real git, a real suite."""

import contextlib
import io
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.cli.main import exit_code_of
from headway.core.names import Sha
from tests.sync.repos import Pair, new_pair

ENGINE = "def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return a * 2\n"
CHECK = """import sys
sys.path.insert(0, ".")
sys.dont_write_bytecode = True
import engine
tests = [("adds", engine.add(2, 2) == 4), ("doubles", engine.double(3) == 6)]
for name, ok in tests:
    print(name, "ok" if ok else "FAILED")
print(f"{sum(ok for _, ok in tests)} passed, {sum(not ok for _, ok in tests)} failed")
sys.exit(not all(ok for _, ok in tests))
"""
BASE: dict[str, str | bytes | None] = {
    "engine.py": ENGINE,
    "check.py": CHECK,
    "notes.txt": "".join(f"line {n}\n" for n in range(12)),
    ".github/workflows/ci.yml": "on: push\n",
}
L1 = f"""
[l1]
test = "{sys.executable} -S check.py"
count_pattern = "(?P<passed>\\\\d+) passed, (?P<failed>\\\\d+) failed"
"""
POLICY = """
[[policy]]
paths = [".github/*"]
decide = "wont_port"
reason = "our CI is our own"
"""


@dataclass(frozen=True)
class Said:
    """How one command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Headway:
    """`headway …` in one fork. `state` None: the fork's own."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair

    def __call__(self, *args: str) -> Said:
        out, err, here = io.StringIO(), io.StringIO(), Path.cwd()
        os.chdir(self.pair.fork.path)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = exit_code_of(list(args))
        finally:
            os.chdir(here)
        assert code != 3, err.getvalue()
        return Said(code, out.getvalue(), err.getvalue())

    def ok(self, *args: str) -> Said:
        said = self(*args)
        assert said.code == 0, (args, said)
        return said

    def begin(self, *, l1: str = L1, policy: str = POLICY, upstream: str = "") -> None:
        """init, with a suite and a policy; headway.toml stays uncommitted."""
        self.ok("init", "--upstream", upstream or str(self.pair.upstream.path))
        toml = self.pair.fork.path / "headway.toml"
        head = toml.read_text().split("# What must be green")[0]
        toml.write_text(head + l1 + policy)

    def answer(self, change: Sha) -> str:
        """`kind(reason)` of a change, or `pending`."""
        found = self.ok("sync", "show", change, "--json").json["disposition"]
        return "pending" if found is None else f"{found['kind']}({found['reason']})"

    def evidence(self, change: Sha) -> Any:
        return self.ok("sync", "show", change, "--json").json["evidence"]

    def status(self) -> Any:
        return self.ok("sync", "status", "--json").json


def new_fork(folder: Path, extra: dict[str, str | bytes | None] | None = None) -> Headway:
    """A pair whose fork has one commit of its own."""
    pair = new_pair(folder, {**BASE, **(extra or {})})
    pair.fork.commit("fork: own file", {"own.txt": "ours\n"})
    return Headway(pair)


def picture(pair: Pair, branch: str = "headway/sync") -> list[str]:
    """The landing branch past the base, oldest first: subject, author, date, trailers."""
    form = "%s | %an | %at | %(trailers:unfold,separator=%x3B)"
    return pair.fork.git("log", "--reverse", f"--format={form}", f"main..{branch}").splitlines()
