"""Builds the demo's upstream and fork as real git repositories with pinned authors and dates."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from headway.adapters.processes import run
from headway.core.names import Sha
from headway.demo.recipe import BASE, FORK, UPSTREAM, Commit

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Pair:
    """The two repositories, and the upstream sha of every recipe key."""

    upstream: Path
    fork: Path
    shas: dict[str, Sha]


def build_pair(folder: Path, changes: Sequence[Commit] = UPSTREAM) -> Pair:
    """Create `folder/upstream` and `folder/fork`. The same call gives the same commit ids on every machine.

    `changes` are upstream's since the fork point; the fork's own commits need `shift` among them.
    """
    upstream, fork = folder / "upstream", folder / "fork"
    _init(upstream)
    shas = _commit_all(upstream, BASE, START, "Upstream Author", {})
    run(["git", "clone", "--quiet", "--no-hardlinks", str(upstream), str(fork)])
    run(["git", "remote", "rename", "origin", "upstream"], cwd=fork)
    _identify(fork, "Fork Owner")
    shas |= _commit_all(upstream, changes, START + timedelta(days=1), "Upstream Author", shas)
    _commit_all(fork, FORK, START + timedelta(days=2, hours=1), "Fork Owner", shas)
    # the fork's owner keeps its own side of the toolchain pin, as forks of compilers do
    run(["git", "config", "merge.ours.driver", "true"], cwd=fork)
    return Pair(upstream, fork, shas)


def _init(path: Path) -> None:
    path.mkdir(parents=True)
    run(["git", "init", "--quiet", "--initial-branch=main", str(path)])
    _identify(path, "Upstream Author")


def _identify(path: Path, name: str) -> None:
    run(["git", "config", "user.name", name], cwd=path)
    run(["git", "config", "user.email", _email(name)], cwd=path)
    run(["git", "config", "commit.gpgSign", "false"], cwd=path)


def _email(name: str) -> str:
    return f"{name.lower().replace(' ', '.')}@example.org"


def _commit_all(
    repo: Path, commits: Iterable[Commit], start: datetime, author: str, known: dict[str, Sha]
) -> dict[str, Sha]:
    made: dict[str, Sha] = {}
    for number, commit in enumerate(commits):
        _write(repo, commit)
        body = _message(commit, known | made)
        when = (start + timedelta(days=number)).isoformat()
        run(["git", "add", "--all"], cwd=repo)
        run(["git", "commit", "--quiet", "--no-verify", "-m", body], cwd=repo, set_env=_identity(author, when))
        made[commit.key] = Sha(run(["git", "rev-parse", "HEAD"], cwd=repo).text)
    return made


def _identity(name: str, when: str) -> dict[str, str]:
    fields = {"NAME": name, "EMAIL": _email(name), "DATE": when}
    return {f"GIT_{role}_{field}": value for role in ("AUTHOR", "COMMITTER") for field, value in fields.items()}


def _write(repo: Path, commit: Commit) -> None:
    for name, content in commit.files.items():
        path = repo / name
        if content is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)


def _message(commit: Commit, shas: dict[str, Sha]) -> str:
    parts = [commit.subject]
    if commit.body:
        parts.append(commit.body)
    if commit.reverts:
        parts.append(f"This reverts commit {shas[commit.reverts]}.")
    if commit.picks:
        parts.append(f"(cherry picked from commit {shas[commit.picks]})")
    return "\n\n".join(parts)
