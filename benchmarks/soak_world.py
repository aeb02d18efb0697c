"""The soak's world: an upstream of generated changes with known right answers, a diverged fork, and its suite. By dice.

Every change stands on lines of its own, so that its right answer does not depend on the others, but for the shapes that
are about dependence: chains, pairs that only fail together, reverts.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from headway.adapters.processes import run

FIRST_DAY = 1_772_000_000
AT_ONCE = 20
"""Changes that reach upstream between two turns."""
SLOTS = 40
"""Lines of a shared file between two changes to it: far enough apart that git never sees them together."""

CHECK = """import os, pathlib, random, sys
sys.path.insert(0, ".")
sys.dont_write_bytecode = True
import engine
flags = {p.stem for p in pathlib.Path("flags").glob("*.txt")} if pathlib.Path("flags").is_dir() else set()
pairs = {f[5:] for f in flags if f.startswith("left-")} & {f[6:] for f in flags if f.startswith("right-")}
tests = {"adds": engine.add(2, 2) == 4, "no_bad": not any(f.startswith("bad-") for f in flags), "no_pair": not pairs,
         "sometimes": random.SystemRandom().random() >= float(os.environ.get("SOAK_FLAKE", "0"))}
ends = {n: "" if ok else "<failure/>" for n, ok in tests.items()}
cases = "".join(f'<testcase classname="check" name="{n}">{end}</testcase>' for n, end in ends.items())
pathlib.Path("junit.xml").write_text(f"<testsuite>{cases}</testsuite>")
print(tests)
sys.exit(not all(tests.values()))
"""
CONFIG = """[upstream]
url = "{upstream}"
branch = "main"

[fork]
id = "soak"
trunk = "main"

[landing]
mode = "branch"
branch = "headway/sync"

[l1]
test = "{python} -S check.py"
junit = ["junit.xml"]
reruns = 6
set_env = {{ SOAK_FLAKE = "{flake}" }}

[[policy]]
paths = [".github/*"]
decide = "wont_port"
reason = "the fork has its own CI"
"""


@dataclass
class Made:
    """One generated commit: what it does to files (None deletes), its message, and the answer that is right for it."""

    subject: str
    files: dict[str, bytes | None]
    truth: str
    body: str = ""


@dataclass
class World:
    """Both repositories in a folder, growing together by the same dice."""

    folder: Path
    dice: random.Random
    hours: int = 0
    made: list[tuple[str, Made]] = field(default_factory=list)

    @property
    def upstream(self) -> Path:
        """The project that is followed."""
        return self.folder / "upstream"

    @property
    def fork(self) -> Path:
        """The diverged copy."""
        return self.folder / "fork"

    def commit(self, repository: Path, made: Made, who: str) -> str:
        """Write, stage, commit with the next hour's date."""
        self.hours += 1
        for name, content in made.files.items():
            path = repository / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        self.git(repository, "add", "--all")
        message = f"{made.subject}\n\n{made.body}".strip() + "\n"
        self.git(repository, "commit", "-q", "--allow-empty", "-F", "-", who=who, stdin=message)
        return self.git(repository, "rev-parse", "HEAD")

    def git(self, repository: Path, *args: str, who: str = "Soak", stdin: str = "") -> str:
        """git with pinned names and dates."""
        when = f"{FIRST_DAY + 3600 * self.hours} +0000"
        names = {"NAME": who, "EMAIL": f"{who.split()[0].lower()}@example.org", "DATE": when}
        env = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in names.items()}
        quiet = ("-c", "commit.gpgSign=false", "-c", "gc.auto=0")
        return run(["git", *quiet, *args], cwd=repository, set_env=env, stdin=stdin.encode()).text


def text(name: str, lines: int, changed: dict[int, str] | None = None) -> bytes:
    """A file of numbered lines, some of them replaced."""
    return "".join(f"{(changed or {}).get(n, f'{name} {n}')}\n" for n in range(lines)).encode()


def build(world: World, changes: int) -> None:
    """Upstream with its whole future, the fork with what makes it diverge, and `truth.tsv`, before anything runs."""
    base = {"engine.py": b"def add(a, b):\n    return a + b\n", "check.py": CHECK.encode(),
            "shared.txt": text("shared", SLOTS * changes), "both.txt": text("both", SLOTS * changes),
            ".github/ci.yml": b"on: push\n", "legacy.txt": text("legacy", 30)}  # fmt: skip
    world.upstream.mkdir(parents=True)
    world.git(world.upstream, "init", "-q", "-b", "main")
    base_sha = world.commit(world.upstream, Made("base", dict(base), ""), "Upstream Author")
    run(["git", "clone", "-q", "--no-hardlinks", str(world.upstream), str(world.fork)])
    for name, value in (("user.name", "Fork Owner"), ("user.email", "fork@example.org")):
        world.git(world.fork, "config", name, value)
    ours = {"both.txt": text("both", SLOTS * changes, {SLOTS * n + 20: f"ours {n}" for n in range(changes)}),
            "taken.txt": b"", "own/kernel.py": b"KERNEL = 1\n"}  # fmt: skip
    future = _arriving(list(_future(world.dice, changes)))
    ours |= {name: content for made in future if made.truth == "present" for name, content in made.files.items()}
    world.commit(world.fork, Made("fork: what makes it another", ours, ""), "Fork Owner")
    world.git(world.upstream, "checkout", "-q", "--detach", base_sha)
    shas = [world.commit(world.upstream, made, "Upstream Author") for made in _with_reverts(future, world)]
    world.made = list(zip(shas, future, strict=True))
    rows = [f"{sha}\t{TRUTH[made.truth]}\t{made.truth}\t{made.subject}" for sha, made in world.made]
    (world.folder / "truth.tsv").write_text("change\tdisposition\tshape\tsubject\n" + "\n".join(rows) + "\n")


TRUTH = {
    "clean": "picked",
    "first": "picked",
    "bad": "deferred",
    "pair": "deferred",
    "conflict": "deferred",
    "blocked": "deferred",
    "policy": "wont_port",
    "protected": "deferred",
    "present": "already_present|picked",
    "nothing": "already_present",
    "reverted": "reverted_pair",
    "late": "picked",
}
"""Shape -> the dispositions that are right for it. `present`: `adopt` may find it as a pick of the fork's own."""


def _arriving(future: list[Made]) -> list[Made]:
    """A change whose revert arrives only at the next turn has landed by then; so both are picked."""
    for number, made in enumerate(future):
        last_of_turn = number % AT_ONCE == AT_ONCE - 1
        if last_of_turn and made.truth == "reverted" and not made.subject.startswith("Revert "):
            for one in future[number : number + 2]:
                one.truth = "late"
    return future


def _with_reverts(future: list[Made], world: World) -> Iterator[Made]:
    """A revert names the commit that it takes back, whose id is known only once it is made."""
    for made in future:
        if made.subject.startswith("Revert "):
            made.body = f"This reverts commit {world.git(world.upstream, 'rev-parse', 'HEAD')}.\n"
        yield made


def _future(dice: random.Random, changes: int) -> Iterator[Made]:
    """Exactly `changes` commits, of all shapes."""
    shared = {"shared.txt": dict[int, str](), "both.txt": dict[int, str]()}
    waiting: list[Made] = []
    number = 0
    lines = SLOTS * changes
    while number < changes:
        if waiting and dice.random() < 0.3:
            yield waiting.pop(0)
            number += 1
            continue
        for made in SHAPES[dice.choices(list(SHAPES), WEIGHTS)[0]](number, dice, shared, lines, waiting):
            if number < changes:
                yield made
                number += 1


Shared = dict[str, dict[int, str]]
Shape = Callable[[int, random.Random, Shared, int, list[Made]], list[Made]]


def _edit(shared: Shared, name: str, at: int, line: str, lines: int) -> dict[str, bytes | None]:
    shared[name][at] = line
    return {name: text(name.split(".")[0], lines, shared[name])}


def _new_file(n: int, dice: random.Random, *_: object) -> list[Made]:
    name = dice.choice(["new/{}.txt", "new/{} with space.txt", "new/ünï-{}.txt", "new/{}.bin"]).format(n)
    content = bytes(dice.randrange(256) for _ in range(40)) if name.endswith("bin") else f"content {n}\r\n".encode()
    return [Made(f"Add {name} (#{n})", {name: content}, "clean")]


def _edited(n: int, _: random.Random, shared: Shared, lines: int, __: list[Made]) -> list[Made]:
    return [Made(f"Edit line {n} (#{n})", _edit(shared, "shared.txt", SLOTS * n + 5, f"edited {n}", lines), "clean")]


def _code(n: int, *_: object) -> list[Made]:
    return [Made(f"Module {n} (#{n})", {f"mods/m{n}.py": f"def f{n}(a):\n    return a + {n}\n".encode()}, "clean")]


def _bad(n: int, *_: object) -> list[Made]:
    return [Made(f"Break it {n} (#{n})", {f"flags/bad-{n}.txt": b"bad\n"}, "bad")]


def _pair(n: int, _: random.Random, __: Shared, ___: int, waiting: list[Made]) -> list[Made]:
    waiting.append(Made(f"Right half {n}", {f"flags/right-{n}.txt": b"r\n"}, "pair"))
    return [Made(f"Left half {n} (#{n})", {f"flags/left-{n}.txt": b"l\n"}, "first")]


def _conflict(n: int, dice: random.Random, shared: Shared, lines: int, waiting: list[Made]) -> list[Made]:
    at = SLOTS * n + 20
    first = Made(f"Rewrite {n} (#{n})", _edit(shared, "both.txt", at, f"theirs {n}", lines), "conflict")
    if dice.random() < 0.5:
        return [first]
    again = Made(f"Rewrite {n} again", _edit(shared, "both.txt", at, f"theirs {n} better", lines), "blocked")
    return [first, again]


def _policy(n: int, *_: object) -> list[Made]:
    return [Made(f"ci: {n}", {".github/ci.yml": f"on: push  # {n}\n".encode()}, "policy")]


def _protected(n: int, *_: object) -> list[Made]:
    return [Made(f"Their own headway {n}", {"headway.toml": f"# {n}\n".encode()}, "protected")]


def _present(n: int, *_: object) -> list[Made]:
    return [Made(f"Known already {n} (#{n})", {f"taken/{n}.txt": f"taken {n}\n".encode()}, "present")]


def _nothing(n: int, *_: object) -> list[Made]:
    return [Made(f"Empty {n}", {}, "nothing")]


def _reverted(n: int, *_: object) -> list[Made]:
    name = f"tried/{n}.txt"
    return [Made(f"Try {n}", {name: b"try\n"}, "reverted"), Made(f'Revert "Try {n}"', {name: None}, "reverted")]


SHAPES: dict[str, Shape] = {
    "new file": _new_file,
    "edit": _edited,
    "code": _code,
    "bad": _bad,
    "pair": _pair,
    "conflict": _conflict,
    "policy": _policy,
    "protected": _protected,
    "present": _present,
    "nothing": _nothing,
    "reverted": _reverted,
}
WEIGHTS = [30, 25, 15, 6, 3, 5, 4, 1, 4, 2, 3]
