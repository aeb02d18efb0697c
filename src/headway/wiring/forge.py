"""Builds the forge that `[forge]` in headway.toml names."""

from collections.abc import Mapping
from pathlib import Path

from headway.adapters.folder_forge import FolderForge
from headway.adapters.github_forge import GitHubForge
from headway.core.config import Config
from headway.core.errors import HeadwayError
from headway.core.ports.forge import Forge


def forge_of(config: Config, top: Path, env: Mapping[str, str]) -> Forge:
    """Raises HeadwayError where there is no `[forge]`, no token, or no such folder; CouldNotRun without PyGithub."""
    wanted = config.tiers.forge
    if wanted is None:
        raise HeadwayError(
            f"{config.source} has no [forge] section, so there is nowhere to open a pull request.",
            'Add `[forge]` with `kind = "github"` and `repository = "owner/name"`.',
        )
    if wanted.kind == "folder":
        folder = top / wanted.repository
        if not (folder / "forge.json").is_file():
            raise HeadwayError(f"The folder {folder} is no forge.", "Mend `[forge] repository`.")
        return FolderForge(folder)
    token = env.get(wanted.token_variable, "")
    if not token:
        raise HeadwayError(
            f"The environment has no {wanted.token_variable}, the token for {wanted.repository}.",
            "Set it (contents and pull requests: read and write), or name another one in `[forge] token_variable`.",
        )
    return GitHubForge(wanted.repository, token, wanted.api_url)
