"""Builds the forge that `[forge]` in headway.toml names."""

from collections.abc import Mapping
from pathlib import Path

from headway.adapters.counted import CountedForge
from headway.adapters.failpoints import OFF, Failpoints
from headway.adapters.folder_forge import FolderForge
from headway.adapters.github_forge import GitHubForge
from headway.core.config import Config
from headway.core.config_tiers import ForgeConfig
from headway.core.errors import HeadwayError
from headway.core.ports.forge import Forge


def forge_of(config: Config, top: Path, env: Mapping[str, str], failpoints: Failpoints = OFF) -> Forge:
    """Raises HeadwayError where there is no `[forge]`, no token, or no such folder; CouldNotRun without PyGithub."""
    found = forge_if_any(config, top, env, failpoints)
    if found is None:
        raise HeadwayError(
            f"{config.source} has no [forge] section, so there is nowhere to open a pull request.",
            'Add `[forge]` with `kind = "github"` and `repository = "owner/name"`.',
        )
    return found


def forge_if_any(config: Config, top: Path, env: Mapping[str, str], failpoints: Failpoints = OFF) -> Forge | None:
    """The same, or None where there is no `[forge]`: issues are then not filed."""
    wanted = config.tiers.forge
    return None if wanted is None else CountedForge(_forge(wanted, top, env), failpoints)


def _forge(wanted: ForgeConfig, top: Path, env: Mapping[str, str]) -> Forge:
    if wanted.kind == "folder":
        folder = top / wanted.repository
        if not (folder / "forge.json").is_file():
            raise HeadwayError(f"The forge folder {folder} does not exist.", "Mend `[forge] repository`.")
        return FolderForge(folder)
    token = env.get(wanted.token_variable, "")
    if not token:
        raise HeadwayError(
            f"The environment has no {wanted.token_variable}, the token for {wanted.repository}.",
            "Set it (contents, pull requests and issues: read and write), or name another in `[forge] token_variable`.",
        )
    return GitHubForge(wanted.repository, token, wanted.api_url, patience=wanted.pause_seconds)
