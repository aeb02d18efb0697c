"""Where headway keeps its memory: beside what it is about, never in a work tree."""

from collections.abc import Mapping
from pathlib import Path

from headway.adapters.processes import run
from headway.core.errors import HeadwayError


def named_state(option: Path | None, env: Mapping[str, str]) -> Path | None:
    """`--state DIR`, else `HEADWAY_STATE`, else None."""
    if option is not None:
        return option.absolute()
    return Path(env["HEADWAY_STATE"]).absolute() if env.get("HEADWAY_STATE") else None


def state_of_fork(repository: Path, option: Path | None, env: Mapping[str, str]) -> Path:
    """The named state, else `$(git rev-parse --git-common-dir)/headway`, one for all worktrees of the repository.

    Raises HeadwayError if `repository` is not in a git repository.
    """
    if named := named_state(option, env):
        return named
    common = git_common_dir(repository)
    if common is None:
        raise HeadwayError(f"{repository} is not in a git repository.", "Run headway in the fork's checkout.")
    return common / "headway"


def state_of_campaign(campaign: Path, option: Path | None, env: Mapping[str, str]) -> Path:
    """The named state, else `<campaign dir>/.headway`."""
    return named_state(option, env) or campaign.absolute() / ".headway"


def state_of_folder(folder: Path, option: Path | None, env: Mapping[str, str]) -> Path:
    """For `headway log`, which serves both: the named state, else a campaign's in `folder`, else its repository's."""
    campaign = state_of_campaign(folder, option, env)
    if campaign.is_dir() or named_state(option, env):
        return campaign
    common = git_common_dir(folder)
    return campaign if common is None else common / "headway"


def git_common_dir(folder: Path) -> Path | None:
    """The repository's shared git folder, absolute; None outside a repository."""
    if not folder.is_dir():
        raise HeadwayError(f"The folder {folder} does not exist.")
    said = run(["git", "rev-parse", "--git-common-dir"], cwd=folder, ok=None)
    return (folder / said.text).resolve() if said.code == 0 else None
