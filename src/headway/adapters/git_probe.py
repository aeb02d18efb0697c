"""A first look at an upstream before anything is written: its branch is fetched into a quarantine only."""

import os

from headway.adapters.git_command import Git
from headway.adapters.git_landing import without_user_info
from headway.adapters.git_trial import Quarantine
from headway.core.names import Sha
from headway.core.ports.git import SourceUnreachable

PROBE_REF = "refs/headway/probe"


def probe_upstream(fork: Git, quarantine: Quarantine, source: str, branch: str) -> Sha:
    """Upstream's head, with its objects in the quarantine and `PROBE_REF` of the quarantine pointing at it.

    git runs in the owner's repository, so that his credentials and `url.insteadOf` apply, but writes elsewhere.
    Raises SourceUnreachable for an address that cannot be read or a branch that is not there.
    """
    wanted = branch if branch.startswith("refs/") else f"refs/heads/{branch}"
    listed = fork.run("ls-remote", "--quiet", "--end-of-options", source, wanted, ok=None)
    if listed.code != 0:
        raise SourceUnreachable(
            f"Upstream {without_user_info(source)} cannot be read: {_shown(listed.complaint, source)}.",
            "Check --upstream, the network and your access.",
        )
    if not listed.stdout.strip():
        raise SourceUnreachable(
            f"Upstream {without_user_info(source)} has no branch {branch!r}.", "Name one with --branch."
        )
    head = Sha(listed.text.split("\t")[0])
    elsewhere = {
        "GIT_OBJECT_DIRECTORY": os.fspath(quarantine.objects),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": quarantine.lender,
    }
    flags = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance")
    fetched = fork.run("fetch", *flags, "--refmap=", "--end-of-options", source, wanted, ok=None, env=elsewhere)
    if fetched.code != 0:
        raise SourceUnreachable(
            f"Upstream {without_user_info(source)} cannot be fetched: {_shown(fetched.complaint, source)}.",
            "Try again.",
        )
    quarantine.git.run("update-ref", PROBE_REF, head)
    return head


def default_branch(fork: Git, source: str) -> str:
    """The branch that upstream's HEAD names; `main` where it does not say (or cannot be read: the probe says why)."""
    listed = fork.run("ls-remote", "--quiet", "--symref", "--end-of-options", source, "HEAD", ok=None)
    for line in listed.text.splitlines():
        if line.startswith("ref: refs/heads/"):
            return line.removeprefix("ref: refs/heads/").split("\t")[0]
    return "main"


def _shown(complaint: str, source: str) -> str:
    return complaint.replace(source, without_user_info(source))
