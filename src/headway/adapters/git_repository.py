"""Opening a fork: what it is, and whether it is fit to work on."""

from dataclasses import dataclass
from pathlib import Path

from headway.adapters.git_command import Git
from headway.core.config import CONFIG_NAME
from headway.core.errors import HeadwayError
from headway.core.names import Sha


@dataclass(frozen=True, slots=True)
class ForkRepository:
    """A work tree of the fork. `top` is its root; `common_dir` is shared by all its work trees."""

    top: Path
    common_dir: Path
    git: Git

    def file_at(self, revision: str, path: str) -> bytes | None:
        """A file's content at a revision, or None."""
        ran = self.git.run("cat-file", "blob", f"{revision}:{path}", ok=None)
        return ran.stdout if ran.code == 0 else None

    def dirty(self) -> tuple[str, ...]:
        """Tracked files that differ from HEAD. headway.toml is the owner's business and never makes a fork dirty."""
        ran = self.git.run("status", "--porcelain", "-z", "--untracked-files=no", "--no-renames")
        paths = (entry[3:].decode("utf-8", "replace") for entry in ran.stdout.split(b"\0") if entry)
        return tuple(path for path in paths if path != CONFIG_NAME)


def open_fork(path: Path) -> ForkRepository:
    """The fork that `path` lies in. Raises HeadwayError for no repository, a bare, shallow or partial one."""
    if not path.is_dir():
        raise HeadwayError(f"The folder {path} does not exist.", "Give the fork's checkout with --fork.")
    git = Git(path)
    asked = ("--is-bare-repository", "--is-shallow-repository", "--git-common-dir", "--show-toplevel")
    ran = git.run("rev-parse", "--path-format=absolute", *asked, ok=None)
    facts = ran.text.split("\n")
    if facts[0] == "true":
        raise HeadwayError(f"{path} is a bare repository.", "Run headway in a checkout of the fork.")
    if ran.code != 0:
        raise HeadwayError(
            f"{path} is not a git repository ({ran.complaint}).", "Run headway in a checkout of the fork."
        )
    if len(facts) != len(asked):
        raise HeadwayError(f"The path {str(path.resolve())!r} has a line break in it.", "Give its folders other names.")
    _, shallow, common, top = facts
    if shallow == "true":
        raise HeadwayError(
            f"{path} is a shallow clone: its history is cut off.", "Complete it with `git fetch --unshallow`."
        )
    promised = git.run("config", "--get-regexp", r"^remote\..*\.promisor$|^extensions\.partialclone$", ok=None)
    if promised.code == 0:
        raise HeadwayError(
            f"{path} is a partial clone: objects are missing until somebody asks for them.",
            "Make a full clone, or run `git fetch --refetch --no-filter` and drop remote.*.promisor.",
        )
    return ForkRepository(Path(top), Path(common), Git(Path(top)))


def trunk_of(fork: ForkRepository) -> str:
    """The branch that is checked out: the guess for trunk at `init`. Raises HeadwayError where there is none."""
    ran = fork.git.run("symbolic-ref", "--quiet", "--short", "HEAD", ok=None)
    if ran.code != 0:
        raise HeadwayError(f"{fork.top} has no branch checked out.", "Name the fork's main branch with --trunk.")
    return ran.text


def known_commit(fork: ForkRepository, name: str) -> Sha:
    """A person's name for a commit, made full. Raises HeadwayError where it names nothing."""
    ran = fork.git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", ok=None)
    if ran.code != 0:
        raise HeadwayError(
            f"{name!r} names no commit in {fork.top}.", "Give a commit id, a branch or a tag that it has."
        )
    return Sha(ran.text)
