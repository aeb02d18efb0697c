"""Builds small real pairs of repositories (an upstream and its fork) with pinned authors, dates and names."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from headway.adapters.processes import run
from headway.core.names import Sha

FIRST_DAY = 1_772_000_000  # 2026-02-25T05:33:20Z; every commit is one hour after the one before


@dataclass
class Repo:
    """One repository with a work tree. Every commit has its own pinned hour."""

    path: Path
    who: str
    hours: int = 0
    made: dict[str, Sha] = field(default_factory=dict)

    def git(self, *args: str, stdin: bytes = b"", ok: frozenset[int] | None = frozenset({0})) -> str:
        mail = f"{self.who.lower().replace(' ', '.')}@example.org"
        when = f"{FIRST_DAY + 3600 * self.hours} +0000"
        env = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
               for what, value in (("NAME", self.who), ("EMAIL", mail), ("DATE", when))}  # fmt: skip
        return run(["git", *args], cwd=self.path, stdin=stdin, set_env=env, ok=ok).text

    def write(self, **files: str | bytes | None) -> None:
        """Keyword form for plain names; see `commit` for any path."""
        self.write_all(files)

    def write_all(self, files: dict[str, str | bytes | None]) -> None:
        for name, content in files.items():
            path = self.path / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, message: str | bytes, files: dict[str, str | bytes | None] | None = None, *more: str) -> Sha:
        """Write `files`, stage everything, commit; the subject names the commit in `made`."""
        self.hours += 1
        self.write_all(files or {})
        self.git("add", "--all")
        return self.commit_staged(message, *more)

    def commit_staged(self, message: str | bytes, *more: str) -> Sha:
        """Commit what is in the index."""
        raw = message.encode() if isinstance(message, str) else message
        self.git("commit", "--quiet", "--no-verify", "--allow-empty-message", "-F", "-", *more, stdin=raw)
        sha = Sha(self.git("rev-parse", "HEAD"))
        self.made[os.fsdecode(raw).split("\n")[0]] = sha
        return sha

    def head(self, ref: str = "HEAD") -> Sha:
        return Sha(self.git("rev-parse", ref))

    def read(self, name: str, ref: str = "HEAD") -> str:
        return self.git("show", f"{ref}:{name}")

    def objects(self) -> int:
        """How many objects the repository holds, loose and packed."""
        facts = dict(line.split(": ") for line in self.git("count-objects", "-v").splitlines())
        return int(facts["count"]) + int(facts["in-pack"])

    def refs(self) -> str:
        return self.git("for-each-ref", "--format=%(refname) %(objectname)") + "\n" + self.git("rev-parse", "HEAD")


@dataclass
class Pair:
    """An upstream and a fork that was cloned from it."""

    upstream: Repo
    fork: Repo


def new_repo(path: Path, who: str) -> Repo:
    path.mkdir(parents=True)
    repo = Repo(path, who)
    repo.git("init", "--quiet", "--initial-branch=main")
    for key, value in (("user.name", who), ("user.email", f"{who.split()[0].lower()}@example.org"),
                       ("commit.gpgSign", "false"), ("core.autocrlf", "false")):  # fmt: skip
        repo.git("config", key, value)
    return repo


def new_pair(folder: Path, base: dict[str, str | bytes | None]) -> Pair:
    """An upstream with one commit of `base`, and a fork that starts there."""
    upstream = new_repo(folder / "upstream", "Upstream Author")
    upstream.commit("base", base)
    run(["git", "clone", "--quiet", "--no-hardlinks", str(upstream.path), str(folder / "fork")])
    fork = Repo(folder / "fork", "Fork Owner", hours=1000)
    for key, value in (("user.name", "Fork Owner"), ("user.email", "fork@example.org"),
                       ("commit.gpgSign", "false"), ("core.autocrlf", "false")):  # fmt: skip
        fork.git("config", key, value)
    return Pair(upstream, fork)


def lines(*numbers: int | str) -> str:
    return "".join(f"{n}\n" for n in numbers)
