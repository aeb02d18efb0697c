"""What upstream has that the fork lacks: pure facts about commits and their messages."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headway.core.errors import HeadwayError
from headway.core.names import Sha
from headway.core.ports.git import Commit, History

_PR_AT_END = re.compile(r"\(#(\d+)\)\s*$")
_PR_MERGED = re.compile(r"^Merge pull request #(\d+) from ")
_REVERTS_COMMIT = re.compile(r"\bThis reverts commit ([0-9a-f]{7,64})\b")
_REVERTS_PR = re.compile(r"^\s*Reverts (?:[\w.-]+/[\w.-]+)?#(\d+)\s*$", re.MULTILINE)
_REVERT_SUBJECT = re.compile(r'^(?:Revert|Back out|Reverts) "(.*)"(?:\s*\(#\d+\))?\s*$')
_GITHUB = re.compile(r"github\.com[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?$")

UPSTREAM_REF = "refs/headway/upstream/"
"""Where headway keeps upstream's branches in the fork: out of the way of the owner's own remotes."""


@dataclass(frozen=True)
class Range:
    """Upstream's first-parent line past `base`, oldest first."""

    base: Sha
    head: Sha
    commits: tuple[Commit, ...]

    @property
    def shas(self) -> tuple[Sha, ...]:
        """The changes' ids in order."""
        return tuple(commit.sha for commit in self.commits)


class Rewritten(HeadwayError):
    """Upstream's branch no longer contains what was seen of it before (force-pushed)."""


def upstream_range(history: History, base: Sha, head: Sha, known: Sequence[Sha]) -> Range:
    """The line from `base` to `head`. Raises Rewritten if it does not begin with the changes known already."""
    line = Range(base, head, history.commits([head, f"^{base}"], first_parent=True))
    refuse_rewritten(line, known)
    return line


def refuse_rewritten(line: Range, known: Sequence[Sha]) -> None:
    """Raises Rewritten if the line does not begin with the changes known already."""
    for at, change in enumerate(known):
        if at >= len(line.commits) or line.commits[at].sha != change:
            raise Rewritten(
                f"Upstream was rewritten: change {change[:12]}, seen before, is not at its place on the line to "
                f"{line.head[:12]}.",
                "Ask upstream's people; if it is meant, begin anew: name `[fork] id` otherwise, then `headway init`.",
            )


def common_base(history: History, trunk: Sha, head: Sha) -> Sha:
    """The merge base of trunk and upstream. Raises HeadwayError where they share no history."""
    base = history.merge_base(trunk, head)
    if base is None:
        raise HeadwayError(
            f"The fork's trunk ({trunk[:12]}) and upstream ({head[:12]}) have no common history.",
            "Check --upstream and --branch, or graft the fork onto the commit it was cut from.",
        )
    return base


def pull_request_of(commit: Commit) -> int | None:
    """The number in `… (#123)` or `Merge pull request #123 from …`."""
    found = _PR_MERGED.search(commit.subject) or _PR_AT_END.search(commit.subject)
    return int(found[1]) if found else None


def pull_request_link(number: int, upstream_url: str) -> str:
    """A link where the address is GitHub's, else `#123` (which on the fork would mean the fork's own number)."""
    found = _GITHUB.search(upstream_url)
    return f"https://github.com/{found[1]}/pull/{number}" if found else f"#{number}"


def bare_subject(subject: str) -> str:
    """A subject without the number that the forge put at its end."""
    return _PR_AT_END.sub("", subject).strip()


@dataclass(frozen=True)
class Reverts:
    """By which message a commit says that it takes another one back."""

    shas: tuple[str, ...]
    prs: tuple[int, ...]
    subject: str


def reverts_in(commit: Commit) -> Reverts | None:
    """What the message says it reverts, or None. Words only: whether it does is shown by content elsewhere."""
    shas = tuple(_REVERTS_COMMIT.findall(commit.text))
    prs = tuple(int(n) for n in _REVERTS_PR.findall(commit.text))
    found = _REVERT_SUBJECT.match(commit.subject)
    if not (shas or prs or found):
        return None
    return Reverts(shas, prs, bare_subject(found[1]) if found else "")


def revert_candidates(commits: Iterable[Commit]) -> Mapping[Sha, tuple[Sha, ...]]:
    """Change -> later changes in the same range whose messages say that they revert it, oldest first."""
    earlier: list[Commit] = []
    found: dict[Sha, list[Sha]] = {}
    for commit in commits:
        said = reverts_in(commit)
        if said is not None:
            for target in earlier:
                if _names(said, target):
                    found.setdefault(target.sha, []).append(commit.sha)
        earlier.append(commit)
    return {change: tuple(by) for change, by in found.items()}


def _names(said: Reverts, target: Commit) -> bool:
    if any(target.sha.startswith(sha) for sha in said.shas):
        return True
    if pull_request_of(target) in said.prs:
        return True
    # a subject alone is the weakest name; it counts only when nothing better was said
    return not said.shas and not said.prs and said.subject == bare_subject(target.subject)
