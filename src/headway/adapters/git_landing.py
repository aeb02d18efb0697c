"""What headway changes in the owner's repository: its objects, one branch of its own, and refs/headway/upstream/*.

Hooks: nothing is checked out, so no hook can come from an untrusted tree, and `pre-commit` (which needs an index and
a work tree) is replaced by L1. The owner's `prepare-commit-msg` and `commit-msg` are run on the message, and his
`reference-transaction` on the landing, unless `[landing] hooks = "skip"`. `commit.gpgSign` is honoured. A hook or a
signature that fails is exit 128 in git and never an empty pick: it is raised here under its own name.
"""

import os
import tempfile
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

from headway.adapters.clocks import SystemClock
from headway.adapters.failpoints import OFF, Failpoints
from headway.adapters.git_command import Git
from headway.adapters.git_objects import ObjectMissing, write_loose
from headway.adapters.git_probe import FETCH, PROBE_REF, fetch_aside, remote_head, unreachable
from headway.adapters.git_trial import Quarantine
from headway.adapters.processes import ProcessFailed
from headway.core.errors import CouldNotRun, HeadwayError
from headway.core.names import Sha
from headway.core.ports.clock import Clock
from headway.core.ports.git import Draft, HookRefused, RefMoved, SigningFailed
from headway.core.trailers import read_trailers

DURABLE = ("-c", "core.fsync=committed")
"""git's default does not sync loose objects; a branch that survives a power cut must not point at nothing."""

MESSAGE_HOOKS = (("prepare-commit-msg", ("message",)), ("commit-msg", ()))


class GitLanding:
    """The `Landing` port: commits are composed in the quarantine and brought over whole."""

    def __init__(
        self,
        git: Git,
        quarantine: Quarantine,
        *,
        clock: Clock | None = None,
        hooks: bool = True,
        failpoints: Failpoints = OFF,
        fetch_from: tuple[str, str] | None = None,
    ) -> None:
        """`fetch_from` (folder, ref) is where `fetch` finds upstream's objects if they were fetched before."""
        self._git = git
        self._quarantine = quarantine
        self._clock = clock or SystemClock()
        self._hooks = hooks
        self._failpoints = failpoints
        self._fetch_from = fetch_from

    def compose(self, draft: Draft) -> Sha:
        message = self._through_hooks(draft.message) if self._hooks else draft.message
        return self._signed(draft, message) if self._signs else self._plain(draft, message)

    def read(self, ref: str) -> Sha | None:
        try:
            return Sha(self._quarantine.owners_reader.read(f"{ref}^{{commit}}")[0])
        except ObjectMissing:
            return None

    def land(self, ref: str, new: Sha, onto: Sha, old: Sha | None) -> None:
        self._failpoints.hit("git.objects.before")
        self._bring_over(new, onto)
        self._failpoints.hit("git.update-ref.before")
        ran = self._git.run(
            *DURABLE,
            "update-ref",
            "--create-reflog",
            "-m",
            "headway: land",
            ref,
            new,
            old or "",
            ok=None,
            hooks=self._hooks,
        )
        if ran.code != 0:
            if b"reference-transaction" in ran.stderr or b"aborted by hook" in ran.stderr:
                raise HookRefused(
                    f"The repository's reference-transaction hook refused to move {ref}.",
                    'Mend the hook, or set `[landing] hooks = "skip"`.',
                    ran.stderr,
                )
            stands = self.read(ref)
            raise RefMoved(
                f"{ref} could not be moved from {(old or 'nothing')[:12]} to {new[:12]}: it stands at "
                f"{(stands or 'nothing')[:12]} ({ran.complaint}).",
                "Look at who moved it, then run again.",
            )
        self._failpoints.hit("git.update-ref.after")

    def checked_out_at(self, branch: str) -> Path | None:
        where = None
        for line in self._git.text("worktree", "list", "--porcelain").split("\n"):
            if line.startswith("worktree "):
                where = Path(line.removeprefix("worktree "))
            elif line == f"branch refs/heads/{branch}":
                return where
        return None

    def fetch(self, source: str, branch: str, ref: str, accept: Callable[[Sha], None] = lambda _: None) -> Sha:
        """See the port. Objects go to the quarantine first, so that a head that is refused leaves nothing here."""
        self._failpoints.hit("git.fetch.before")
        if self._fetch_from is None:
            head = remote_head(self._git, source, branch)
            if head != self.read(ref):
                fetch_aside(self._git, self._quarantine, source, branch, head)
            accept(head)
            folder, there = str(self._quarantine.directory), PROBE_REF
        else:
            (folder, there), head = self._fetch_from, None
        if head is None or head != self.read(ref):
            ran = self._git.run(*FETCH, "--end-of-options", folder, f"+{there}:{ref}", ok=None)
            head = self.read(ref) if ran.code == 0 else None
            if head is None:
                raise unreachable(source, branch, ran)
        self._failpoints.hit("git.fetch.after")
        return head

    def _through_hooks(self, message: bytes) -> bytes:
        if not any((self._hooks_folder / name).is_file() for name, _ in MESSAGE_HOOKS):
            return message
        with tempfile.TemporaryDirectory(prefix="headway-message-") as folder:
            file = Path(folder) / "COMMIT_EDITMSG"
            file.write_bytes(message)
            for name, args in MESSAGE_HOOKS:
                ran = self._git.run(
                    "hook", "run", "--ignore-missing", name, "--", str(file), *args, ok=None, hooks=True
                )
                if ran.code != 0:
                    raise HookRefused(
                        f"The repository's {name} hook refused the commit (exit {ran.code}): {ran.complaint}.",
                        'Mend the hook or the message, or set `[landing] hooks = "skip"`; then `headway sync retry`.',
                        ran.stdout + ran.stderr,
                    )
            changed = file.read_bytes()
        kept = read_trailers(changed, anywhere=True)
        lost = [f"{key}: {value}" for key, value in read_trailers(message) if (key, value) not in kept]
        if lost or not changed.strip():
            raise HookRefused(
                f"The repository's message hooks took away {lost[0] if lost else 'the whole message'}.",
                'Let the hooks keep trailers, or set `[landing] hooks = "skip"`; then `headway sync retry`.',
                changed,
            )
        return changed

    @cached_property
    def _hooks_folder(self) -> Path:
        """Where the owner's hooks are, `core.hooksPath` followed."""
        return Path(self._git.run("rev-parse", "--path-format=absolute", "--git-path", "hooks", hooks=True).text)

    @cached_property
    def _signs(self) -> bool:
        return self._git.run("config", "--type=bool", "commit.gpgSign", ok=None).text == "true"

    @cached_property
    def _committer(self) -> bytes:
        """`Name <mail>` of whoever runs headway here."""
        ran = self._git.run("var", "GIT_COMMITTER_IDENT", ok=None)
        if ran.code != 0:
            raise HeadwayError(
                f"git does not know who commits here: {ran.complaint}.", "Set user.name and user.email with git config."
            )
        return ran.stdout.rsplit(b" ", 2)[0]

    def _now(self) -> str:
        return f"{int(self._clock.now().timestamp())} +0000"

    def _plain(self, draft: Draft, message: bytes) -> Sha:
        """Written by hand: `commit-tree` would refuse or rewrite an author line that git itself once accepted."""
        us = self._committer + b" " + self._now().encode()
        head = [
            f"tree {draft.tree}".encode(),
            f"parent {draft.parent}".encode(),
            b"author " + (draft.author or us),
            b"committer " + us,
            *([f"encoding {draft.encoding}".encode()] if draft.encoding else []),
        ]
        content = b"\n".join(head) + b"\n\n" + message
        return Sha(write_loose(self._quarantine.objects, "commit", content, self._quarantine.algorithm))

    def _signed(self, draft: Draft, message: bytes) -> Sha:
        encoding = ("-c", f"i18n.commitEncoding={draft.encoding}") if draft.encoding else ()
        author = _author_variables(draft.author) if draft.author else {"GIT_AUTHOR_DATE": self._now()}
        env = {"GIT_COMMITTER_DATE": self._now(), **author, **self._in_quarantine()}
        args = (*encoding, "commit-tree", "-S", draft.tree, "-p", draft.parent)
        ran = self._git.run(*args, stdin=message, ok=None, env=env)
        if ran.code != 0:
            raise SigningFailed(
                f"commit.gpgSign is on and the commit could not be signed (exit {ran.code}): {ran.complaint}.",
                "Mend the signing key or turn commit.gpgSign off; no change was decided by this.",
            )
        return Sha(ran.text)

    def _in_quarantine(self) -> dict[str, str]:
        lender = self._quarantine.lender
        return {"GIT_OBJECT_DIRECTORY": str(self._quarantine.objects), "GIT_ALTERNATE_OBJECT_DIRECTORIES": lender}

    def _bring_over(self, commit: Sha, parent: Sha) -> None:
        """Exactly what the commit adds to its parent; other trials' objects stay behind in the quarantine."""
        revisions = f"{commit}\n^{parent}\n".encode()
        pack = self._quarantine.git.run("pack-objects", "--revs", "--stdout", "-q", stdin=revisions)
        try:
            self._git.run(*DURABLE, "unpack-objects", "-q", stdin=pack.stdout)
        except ProcessFailed as failed:
            full = b"No space left on device" in failed.ran.stderr
            raise (CouldNotRun if full else HeadwayError)(
                f"The commit could not be written into {self._git.directory}: {failed.ran.complaint}.",
                "Make room or mend the permissions and run again; no branch was moved.",
            ) from failed


def _author_variables(author: bytes) -> Mapping[str, str]:
    name, _, rest = author.partition(b" <")
    mail, _, date = rest.partition(b"> ")
    return {
        "GIT_AUTHOR_NAME": os.fsdecode(name),
        "GIT_AUTHOR_EMAIL": os.fsdecode(mail),
        "GIT_AUTHOR_DATE": f"@{date.decode('ascii', 'replace')}",
    }
