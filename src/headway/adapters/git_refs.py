"""Branches of the owner's repository that a person's decision moves (`stable`): read, and compare-and-swap."""

from headway.adapters.git_command import Git
from headway.core.errors import HeadwayError
from headway.core.names import Sha
from headway.core.ports.git import ABSENT_OID, RefMoved


def stands_at(git: Git, ref: str) -> Sha | None:
    """The commit a full ref name stands at, None if there is no such ref."""
    ran = git.run("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", ok=None)
    return Sha(ran.text) if ran.code == 0 else None


def move(git: Git, ref: str, new: Sha, old: Sha | None) -> None:
    """Move `ref` from exactly `old` (None: it must not exist) to `new`. Raises RefMoved."""
    ran = git.run("update-ref", "-m", "headway: promote", ref, new, old or ABSENT_OID, ok=None)
    if ran.code != 0:
        raise RefMoved(f"{ref} was not moved: {ran.complaint}.", "Look at what moved it, and promote again.")


def refuse_checked_out(git: Git, ref: str) -> None:
    """Raises HeadwayError where a work tree has the branch checked out: moving it would leave that tree behind."""
    for block in git.run("worktree", "list", "--porcelain").text.split("\n\n"):
        lines = block.splitlines()
        if f"branch {ref}" in lines:
            where = lines[0].removeprefix("worktree ")
            raise HeadwayError(f"{ref} is checked out at {where}.", "Check out another branch there.")
