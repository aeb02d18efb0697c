"""Which headway.toml counts: trunk's, once trunk has one; until then the owner's uncommitted file, named as such.

It is never read from a tree under test, and an uncommitted edit of a committed file is pointed out and ignored.
"""

from dataclasses import dataclass
from pathlib import Path

from headway.adapters.config_file import ConfigError, parse_config
from headway.adapters.durable_files import files_explained, write_durably
from headway.adapters.failpoints import OFF, Failpoints
from headway.adapters.git_repository import ForkRepository
from headway.core.config import CONFIG_NAME, Config
from headway.core.errors import HeadwayError

UNCOMMITTED = f"{CONFIG_NAME} (uncommitted)"


@dataclass(frozen=True, slots=True)
class ConfigFound:
    """The config that counts, and sentences about the one that does not."""

    config: Config
    notes: tuple[str, ...]


def find_config(fork: ForkRepository) -> ConfigFound | None:
    """The config of a fork, or None if it has none anywhere. Raises ConfigError for a malformed one that counts."""
    path = fork.top / CONFIG_NAME
    loose = path.read_bytes() if path.is_file() else None
    for trunk in _candidates(fork, loose):
        committed = fork.file_at(f"refs/heads/{trunk}", CONFIG_NAME)
        if committed is not None:
            config = parse_config(committed, f"{trunk}:{CONFIG_NAME}")
            if config.fork.trunk == trunk:
                return ConfigFound(config, _about_edit(fork, loose, committed, trunk))
    if loose is None:
        return None
    config = parse_config(loose, UNCOMMITTED)
    note = f"{CONFIG_NAME} is not committed on {config.fork.trunk} yet: the file in {fork.top} is used "
    return ConfigFound(config, (note + f"(sha256 {config.digest[:12]}).",))


def need_config(fork: ForkRepository) -> ConfigFound:
    """As `find_config`. Raises HeadwayError where there is none."""
    found = find_config(fork)
    if found is None:
        raise HeadwayError(f"{fork.top} has no {CONFIG_NAME}.", "Run `headway init --upstream PATH_OR_URL` first.")
    return found


class ConfigFile:
    """The owner's headway.toml in the work tree: written once, by `init`, and never over an existing one."""

    def __init__(self, top: Path, failpoints: Failpoints = OFF) -> None:
        self._path = top / CONFIG_NAME
        self._failpoints = failpoints

    def content(self) -> bytes | None:
        """What is there, or None."""
        return self._path.read_bytes() if self._path.is_file() else None

    def write(self, content: bytes) -> None:
        """Write it whole or not at all. Raises HeadwayError on a full disk or a read-only folder."""
        self._failpoints.hit("config.write.before")
        with files_explained(self._path):
            write_durably(self._path, content, self._path.with_name(f".{CONFIG_NAME}.tmp"))
        self._failpoints.hit("config.write.after")


def _candidates(fork: ForkRepository, loose: bytes | None) -> list[str]:
    """Branches that may be trunk: the one the owner's file names, the one checked out, the usual names."""
    named: list[str] = []
    if loose is not None:
        try:
            named.append(parse_config(loose, UNCOMMITTED).fork.trunk)
        except ConfigError:
            pass  # only trunk's version counts where there is one; if there is none, the fault is raised later
    head = fork.git.run("symbolic-ref", "--quiet", "--short", "HEAD", ok=None)
    current = [head.text] if head.code == 0 else []
    return list(dict.fromkeys([*named, *current, "main", "master"]))


def _about_edit(fork: ForkRepository, loose: bytes | None, committed: bytes, trunk: str) -> tuple[str, ...]:
    if loose is None or loose.replace(b"\r\n", b"\n") == committed.replace(b"\r\n", b"\n"):
        return ()
    return (f"{CONFIG_NAME} in {fork.top} differs from {trunk}'s and is ignored until it is committed there.",)
