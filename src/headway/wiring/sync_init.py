"""`headway init`: everything that can be refused is refused before anything is written; `--dry-run` ends there."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from headway.adapters.config_file import parse_config
from headway.adapters.config_source import ConfigFile, ConfigFound, find_config
from headway.adapters.git_command import without_user_info
from headway.adapters.git_history import GitHistory
from headway.adapters.git_probe import PROBE_REF, default_branch, probe_upstream
from headway.adapters.git_repository import ForkRepository, known_commit, open_fork, trunk_of
from headway.adapters.git_trial import Quarantine
from headway.core.config import Config
from headway.core.errors import HeadwayError
from headway.core.names import Sha
from headway.sync.adopt import scan
from headway.sync.history import common_base, upstream_range
from headway.sync.opening import Answers, Opening, config_text, fork_id_of, is_open
from headway.sync.status import Status
from headway.wiring.sync import open_session, refuse_dirty, session_of, status_now
from headway.wiring.world import World, real_world


@dataclass(frozen=True)
class _Checked:
    """A fork that may begin: upstream was read into `probe`, and there is a merge base."""

    fork: ForkRepository
    found: ConfigFound
    text: bytes | None
    """The headway.toml to write; None where there is one."""
    probe: Quarantine
    trunk: Sha
    head: Sha
    base: Sha


def init(path: Path, answers: Answers, state: Path | None, world: World | None = None) -> Status:
    """Begin a fork's ledger. Raises HeadwayError or CouldNotRun, and then nothing was written."""
    world = world or real_world()
    with _checked(path, answers) as ready:
        source = (str(ready.probe.directory), PROBE_REF)
        with session_of(ready.fork, ready.found, state, world, write=True, source=source) as session:
            file = ConfigFile(ready.fork.top, session.state.failpoints)
            shown = without_user_info(ready.found.config.upstream.url)
            opening = Opening(session.room, file, ready.text, shown)
            if not is_open(session.room) or ready.text is not None:
                opening.open()
    with open_session(path, state, world, write=False) as session:
        return status_now(session, world)


def preview(path: Path, answers: Answers) -> list[str]:
    """What `init` would do, a line each; nothing is written."""
    with _checked(path, answers) as ready:
        history, config = GitHistory(ready.probe.git), ready.found.config
        line = upstream_range(history, ready.base, ready.head, ())
        grades = Counter(match.grade for match in scan(history, line, ready.trunk, config.adopt).matches)
        taken = ", ".join(f"{count} {grade}" for grade, count in sorted(grades.items())) or "none"
        shown = without_user_info(config.upstream.url)
        said = [
            f"{config.fork.id}: would follow {shown} {config.upstream.branch} from {ready.base[:12]}",
            f"{len(line.commits)} changes in range, taken before: {taken}",
        ]
        if ready.text is None:
            return [*said, f"{config.source} would stay as it is"]
        return [*said, "headway.toml would be written:", *ready.text.decode().splitlines()]


@contextmanager
def _checked(path: Path, answers: Answers) -> Iterator[_Checked]:
    fork = open_fork(path)
    refuse_dirty(fork)
    found = find_config(fork)
    text = None
    if found is None:
        text = config_text(answers).encode()
        found = ConfigFound(parse_config(text, "headway.toml (new)"), ())
    config = found.config
    _refuse_other_upstream(fork.top, config, answers)
    with Quarantine(fork.top) as probe:
        head = probe_upstream(fork.git, probe, config.upstream.url, config.upstream.branch)
        trunk = known_commit(fork, f"refs/heads/{config.fork.trunk}")
        base = common_base(GitHistory(probe.git), trunk, head)
        yield _Checked(fork, found, text, probe, trunk, head, base)


def default_answers(path: Path, upstream: str, branch: str) -> Answers:
    """What `init` assumes: the folder's name, the branch that is checked out, an absolute path for a local upstream."""
    fork = open_fork(path)
    local = Path(upstream).expanduser()
    address = str(local.resolve()) if local.exists() else upstream
    branch = branch or default_branch(fork.git, address)
    return Answers(address, branch, fork_id_of(fork.top.name), trunk_of(fork))


def _refuse_other_upstream(top: Path, config: Config, answers: Answers) -> None:
    url = config.upstream.url
    if url != answers.upstream and (top / url).resolve() != Path(answers.upstream):  # git reads a path from the top
        raise HeadwayError(
            f"{config.source} already follows {without_user_info(config.upstream.url)}, "
            f"not {without_user_info(answers.upstream)}.",
            "Edit `[upstream]` there, or give the same --upstream.",
        )
