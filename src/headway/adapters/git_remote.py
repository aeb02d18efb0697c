"""The `Remote` port: the owner's own git with the owner's credentials, compare-and-swap by `--force-with-lease`."""

import re

from headway.adapters.failpoints import OFF, Failpoints
from headway.adapters.git_command import Git, without_user_info
from headway.adapters.git_probe import FETCH, IMPATIENT
from headway.adapters.processes import Ran
from headway.core.errors import HeadwayError
from headway.core.names import Sha
from headway.core.ports.remote import PushRefused, RemoteUnreachable

_DENIED = re.compile(
    r"Authentication failed|could not read (?:Username|Password)|Permission denied|[Aa]ccess denied|error: 40[13]"
)
_REJECTED = re.compile(r"^ ! .*?\((?P<why>.*)\)\s*$|^remote: (?P<said>.*\S)\s*$", re.MULTILINE)


class GitRemote:
    """`remote` is a name that the owner's git knows, a path or a URL. `hooks`: his pre-push hook is run."""

    def __init__(self, git: Git, remote: str, *, hooks: bool = True, failpoints: Failpoints = OFF) -> None:
        self._git = git
        self._remote = remote
        self._hooks = hooks
        self._failpoints = failpoints

    @property
    def name(self) -> str:
        return without_user_info(self._remote)

    def head(self, ref: str) -> Sha | None:
        ran = self._git.run(*IMPATIENT, "ls-remote", "--quiet", "--end-of-options", self._remote, ref, ok=None)
        if ran.code != 0:
            raise self._trouble(ran, f"read {ref}")
        return Sha(ran.text.split("\t")[0]) if ran.stdout.strip() else None

    def push(self, new: Sha, ref: str, old: Sha | None) -> None:
        self._failpoints.hit("git.push.before")
        if self.head(ref) != new:
            lease = f"--force-with-lease={ref}:{old or ''}"
            args = ("push", "--quiet", lease, "--end-of-options", self._remote, f"{new}:{ref}")
            ran = self._git.run(*IMPATIENT, *args, ok=None, hooks=self._hooks)
            if ran.code != 0:
                raise self._trouble(ran, f"take {ref}")
        self._failpoints.hit("git.push.after")

    def fetch(self, ref: str, to: str) -> Sha | None:
        head = self.head(ref)
        if head is None:
            return None
        ran = self._git.run(*FETCH, "--end-of-options", self._remote, f"+{ref}:{to}", ok=None)
        if ran.code != 0:
            raise self._trouble(ran, f"read {ref}")
        here = self._git.run("rev-parse", "--verify", "--quiet", to, ok=None)
        return Sha(here.text) if here.code == 0 else None

    def bring(self, ref: str) -> None:
        """The objects of a ref, and no ref: for a caller whose object directory is not the repository's own."""
        ran = self._git.run(*FETCH, "--end-of-options", self._remote, ref, ok=None)
        if ran.code != 0:
            raise self._trouble(ran, f"read {ref}")

    def _trouble(self, ran: Ran, what: str) -> HeadwayError:
        said = ran.stderr.decode("utf-8", "replace").replace(self._remote, self.name)
        if _DENIED.search(said):
            return PushRefused(
                f"The remote {self.name} refused access to {what}: {ran.complaint.replace(self._remote, self.name)}.",
                "The token or key is wrong, has expired, or lacks rights; renew it and run again.",
            )
        if "stale info" in said or "fetch first" in said or "non-fast-forward" in said:
            return PushRefused(
                f"The remote {self.name} did not {what}: somebody else moved it meanwhile.",
                "Look at what was pushed there; nothing of it was overwritten.",
            )
        if "[remote rejected]" in said or "[rejected]" in said:
            words = [found["why"] or found["said"] for found in _REJECTED.finditer(said)]
            return PushRefused(
                f"The remote {self.name} refused to {what}: {'; '.join(words)}.",
                "Allow headway to push that branch (a protected branch, or a hook there, says no), or name another.",
            )
        return RemoteUnreachable(
            f"The remote {self.name} could not {what}: {ran.complaint.replace(self._remote, self.name)}.",
            "Mend the address or the network and run again.",
        )
