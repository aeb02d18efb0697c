"""Where the state is: beside the repository or campaign, one for all worktrees, or where the user says."""

import subprocess
from pathlib import Path

import pytest

from headway.adapters.state_place import state_of_campaign, state_of_folder, state_of_fork
from headway.core.errors import HeadwayError


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    repository = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    return repository


def test_a_fork_keeps_it_in_its_git_folder_for_all_worktrees(repository: Path, tmp_path: Path) -> None:
    (repository / "sub").mkdir()
    commit = ["-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m", "m"]
    subprocess.run(["git", *commit], cwd=repository, check=True)
    subprocess.run(["git", "worktree", "add", "-q", str(tmp_path / "other")], cwd=repository, check=True)
    for folder in (repository, repository / "sub", tmp_path / "other"):
        assert state_of_fork(folder, None, {}) == repository / ".git" / "headway"


def test_a_campaign_keeps_it_beside_itself_and_log_verbs_find_both(repository: Path, tmp_path: Path) -> None:
    assert state_of_campaign(tmp_path, None, {}) == tmp_path / ".headway"
    assert state_of_folder(repository, None, {}) == repository / ".git" / "headway"
    (repository / ".headway").mkdir()
    assert state_of_folder(repository, None, {}) == repository / ".headway"


def test_the_option_wins_over_the_environment_and_both_over_the_default(repository: Path) -> None:
    env = {"HEADWAY_STATE": "/named/by/env"}
    for place in (state_of_fork, state_of_campaign, state_of_folder):
        assert place(repository, None, env) == Path("/named/by/env")
        assert place(repository, Path("/named/by/option"), env) == Path("/named/by/option")


def test_no_repository_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(HeadwayError, match=r"is not in a git repository\. Run headway in the fork's checkout\."):
        state_of_fork(tmp_path, None, {})
    with pytest.raises(HeadwayError, match="does not exist"):
        state_of_fork(tmp_path / "nowhere", None, {})
