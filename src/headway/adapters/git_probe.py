"""Upstream looked at before anything is written: its branch is fetched into a quarantine first.

git runs in the owner's repository, so that his credentials and `url.insteadOf` apply, but writes elsewhere.
"""

import os

from headway.adapters.git_command import Git, without_user_info
from headway.adapters.git_trial import Quarantine
from headway.adapters.processes import Ran
from headway.core.names import Sha
from headway.core.ports.git import SourceUnreachable

PROBE_REF = "refs/headway/probe"

IMPATIENT = ("-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=60")
"""A server that sends less than 1000 bytes a second for a minute is taken for gone: a run must not hang for ever."""

FETCH = (
    *IMPATIENT, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head",
    "--no-auto-maintenance", "--refmap=",
)  # fmt: skip


def probe_upstream(fork: Git, quarantine: Quarantine, source: str, branch: str) -> Sha:
    """Upstream's head, with its objects in the quarantine and `PROBE_REF` of the quarantine pointing at it.

    Raises SourceUnreachable for an address that cannot be read or a branch that is not there.
    """
    head = remote_head(fork, source, branch)
    fetch_aside(fork, quarantine, source, branch, head)
    return head


def remote_head(fork: Git, source: str, branch: str) -> Sha:
    """Where a branch of `source` stands now. Raises SourceUnreachable."""
    wanted = _full(branch)
    listed = fork.run(*IMPATIENT, "ls-remote", "--quiet", "--end-of-options", source, wanted, ok=None)
    if listed.code != 0:
        raise unreachable(source, branch, listed)
    if not listed.stdout.strip():
        raise SourceUnreachable(
            f"Upstream {without_user_info(source)} has no branch {branch!r}.",
            "Name one with --branch, or in `[upstream]` of headway.toml.",
        )
    return Sha(listed.text.split("\t")[0])


def fetch_aside(fork: Git, quarantine: Quarantine, source: str, branch: str, head: Sha) -> None:
    """Bring `head` with its objects into the quarantine, and point `PROBE_REF` there at it."""
    git = quarantine.git
    elsewhere = {
        "GIT_OBJECT_DIRECTORY": os.fspath(quarantine.objects),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": quarantine.lender,
    }
    fetched = fork.run(*FETCH, "--end-of-options", source, _full(branch), ok=None, env=elsewhere)
    if fetched.code == 0:
        fetched = git.run("update-ref", PROBE_REF, head, ok=None)  # fails where upstream was moved in between
    if fetched.code != 0:
        raise unreachable(source, branch, fetched)


def unreachable(source: str, branch: str, ran: Ran) -> SourceUnreachable:
    """What git said, without the address's user-info."""
    shown = without_user_info(source)
    return SourceUnreachable(
        f"Upstream {shown} cannot be read (branch {branch}): {ran.complaint.replace(source, shown)}.",
        "What is known of it is a partial source; mend the address or the network and run again.",
    )


def default_branch(fork: Git, source: str) -> str:
    """The branch that upstream's HEAD names; `main` where it does not say (or cannot be read: the probe says why)."""
    listed = fork.run("ls-remote", "--quiet", "--symref", "--end-of-options", source, "HEAD", ok=None)
    for line in listed.text.splitlines():
        if line.startswith("ref: refs/heads/"):
            return line.removeprefix("ref: refs/heads/").split("\t")[0]
    return "main"


def _full(branch: str) -> str:
    return branch if branch.startswith("refs/") else f"refs/heads/{branch}"
