"""One contract for clones, run on the real ones and on the fake; then what only real git can show."""

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from headway.adapters.clones import GitClones
from headway.adapters.memory_workspaces import MemoryWorkspaces
from headway.adapters.processes import run
from headway.core.errors import HeadwayError
from headway.core.names import Sha
from headway.core.ports.workspace import CloneRequest, Workspaces
from tests.sync.repos import Repo, new_repo

FILES: dict[str, str | bytes | None] = {"engine/a.py": "A = 1\n", "README": "hello\n"}


@dataclass
class World:
    workspaces: Workspaces
    owner: Path
    commit: Sha


def real(tmp_path: Path) -> World:
    repo = new_repo(tmp_path / "fork", "Fork Owner")
    return World(GitClones(tmp_path / "pool"), repo.path, repo.commit("base", FILES))


def fake(tmp_path: Path) -> World:
    commit = Sha("1" * 40)
    content = {name: str(text).encode() for name, text in FILES.items()}
    return World(MemoryWorkspaces({commit: content}), tmp_path, commit)


@pytest.fixture(params=[real, fake], ids=["real", "fake"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    make: Callable[[Path], World] = request.param
    return make(tmp_path)


def test_a_checkout_holds_the_commits_files_and_names_them(world: World) -> None:
    with world.workspaces.checkout(CloneRequest(world.owner, world.commit)) as checkout:
        assert (checkout.path / "engine/a.py").read_text() == "A = 1\n"
        assert checkout.tracked == ("README", "engine/a.py") and checkout.commit == world.commit


def test_what_one_use_leaves_behind_the_next_does_not_see(world: World) -> None:
    with world.workspaces.checkout(CloneRequest(world.owner, world.commit)) as checkout:
        (checkout.path / "dropped").write_text("x")
        (checkout.path / "engine/a.py").write_text("A = 2\n")
    with world.workspaces.checkout(CloneRequest(world.owner, world.commit)) as checkout:
        assert not (checkout.path / "dropped").exists() and (checkout.path / "engine/a.py").read_text() == "A = 1\n"


def test_an_overlay_lies_over_the_commit_and_changes_no_identity(world: World) -> None:
    with world.workspaces.checkout(CloneRequest(world.owner, world.commit)) as plain:
        tree = plain.tree
    with world.workspaces.checkout(CloneRequest(world.owner, world.commit, overlay={"README": b"bad"})) as checkout:
        assert (checkout.path / "README").read_bytes() == b"bad" and checkout.tree == tree
    with world.workspaces.checkout(CloneRequest(world.owner, world.commit)) as checkout:
        assert (checkout.path / "README").read_bytes() == b"hello\n"


def test_two_checkouts_at_once_are_two_folders(world: World) -> None:
    request = CloneRequest(world.owner, world.commit)
    with world.workspaces.checkout(request) as one, world.workspaces.checkout(request) as two:
        assert one.path != two.path and (two.path / "README").exists()


def test_a_commit_that_is_not_there_is_named(world: World) -> None:
    with pytest.raises(HeadwayError, match=r"The commit 2{40} is not in"):
        with world.workspaces.checkout(CloneRequest(world.owner, Sha("2" * 40))):
            pass


def test_a_fingerprint_equals_itself(world: World) -> None:
    before = world.workspaces.fingerprint(world.owner)
    assert before.differences(world.workspaces.fingerprint(world.owner)) == ()


# --- real git only


@pytest.fixture
def fork(tmp_path: Path) -> Repo:
    repo = new_repo(tmp_path / "fork", "Fork Owner")
    repo.commit("base", FILES)
    return repo


def git_in(folder: Path, *args: str) -> str:
    return run(("git", "-C", str(folder), *args)).text


def test_tests_see_a_repository_of_their_own(fork: Repo, tmp_path: Path) -> None:
    fork.git("tag", "-a", "v1.0", "-m", "one")
    fork.git("remote", "add", "origin", "https://someone:secret@example.org/fork.git")
    with GitClones(tmp_path / "pool").checkout(CloneRequest(fork.path, fork.head())) as checkout:
        assert git_in(checkout.path, "rev-parse", "HEAD") == fork.head()
        assert git_in(checkout.path, "status", "--porcelain") == ""
        assert git_in(checkout.path, "describe") == "v1.0"
        assert git_in(checkout.path, "remote") == "" and git_in(checkout.path, "for-each-ref", "refs/heads") == ""
        assert git_in(checkout.path, "config", "core.hooksPath") == "/dev/null"
        git_in(checkout.path, "update-ref", "refs/heads/main", f"{fork.head()}")
        assert "secret" not in (checkout.path / ".git/config").read_text()
    assert git_in(fork.path, "for-each-ref", "refs/heads").count("\n") == 0


def test_a_commit_in_a_quarantine_is_checked_out_and_the_owner_does_not_grow(fork: Repo, tmp_path: Path) -> None:
    quarantine = tmp_path / "quarantine"
    quarantine.mkdir()
    borrowed = {
        "GIT_OBJECT_DIRECTORY": str(quarantine),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(fork.path / ".git/objects"),
    }
    blob = run(("git", "hash-object", "-w", "--stdin"), cwd=fork.path, stdin=b"new\n", set_env=borrowed).text
    tree = run(("git", "mktree"), cwd=fork.path, stdin=f"100644 blob {blob}\tnew\n".encode(), set_env=borrowed).text
    commit = run(
        ("git", "-c", "user.name=x", "-c", "user.email=x@example.org", "commit-tree", tree, "-m", "q"),
        cwd=fork.path,
        set_env=borrowed,
    ).text
    objects = fork.objects()
    request = CloneRequest(fork.path, Sha(commit), extra_objects=(quarantine,))
    with GitClones(tmp_path / "pool").checkout(request) as checkout:
        assert checkout.tracked == ("new",) and git_in(checkout.path, "status", "--porcelain") == ""
    assert fork.objects() == objects


def test_the_owners_own_filters_hooks_and_aliases_are_not_run(fork: Repo, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    script = tmp_path / "hook"
    script.write_text(f"#!/bin/sh\ntouch {trap}\n")
    script.chmod(0o755)
    (fork.path / ".git/hooks").mkdir(exist_ok=True)
    (fork.path / ".git/hooks/post-checkout").write_bytes(script.read_bytes())
    (fork.path / ".git/hooks/post-checkout").chmod(0o755)
    fork.git("config", "filter.evil.smudge", str(script))
    fork.commit("attributes", {".gitattributes": "* filter=evil\n"})
    with GitClones(tmp_path / "pool").checkout(CloneRequest(fork.path, fork.head())):
        pass
    assert not trap.exists()


def test_what_a_suite_plants_in_its_clone_is_never_run_by_headway(fork: Repo, tmp_path: Path) -> None:
    """core.fsmonitor, filters and hooks of the clone would be run by the next `git checkout` there."""
    clones, trap = GitClones(tmp_path / "pool"), tmp_path / "trap"
    with clones.checkout(CloneRequest(fork.path, fork.head())) as checkout:
        script = checkout.path / "evil"
        script.write_text(f"#!/bin/sh\ntouch {trap}\ncat\n")
        script.chmod(0o755)
        for key in ("core.fsmonitor", "filter.evil.smudge", "core.sshCommand", "diff.external"):
            git_in(checkout.path, "config", key, str(script))
        git_in(checkout.path, "config", "core.hooksPath", ".git/hooks")
        (checkout.path / ".git/hooks").mkdir()
        (checkout.path / ".git/hooks/post-checkout").write_bytes(script.read_bytes())
        (checkout.path / ".git/hooks/post-checkout").chmod(0o755)
        (checkout.path / ".git/info/attributes").write_text("* filter=evil\n")
        (checkout.path / "README").write_text("changed\n")
    with clones.checkout(CloneRequest(fork.path, fork.head())) as checkout:
        assert (checkout.path / "README").read_text() == "hello\n"
        assert run(("git", "-C", str(checkout.path), "config", "core.fsmonitor"), ok=None).code == 1
    assert not trap.exists()


def test_a_vandalised_clone_is_rebuilt(fork: Repo, tmp_path: Path) -> None:
    clones = GitClones(tmp_path / "pool")
    with clones.checkout(CloneRequest(fork.path, fork.head())) as checkout:
        locked = checkout.path / "locked/inner"
        locked.mkdir(parents=True)
        (locked / "file").write_text("x")
        (checkout.path / "engine/a.py").unlink()
        (checkout.path / "engine/a.py").mkdir()
        (checkout.path / "nested").mkdir()
        git_in(checkout.path / "nested", "init", "-q")
        (checkout.path / "loop").symlink_to(checkout.path)
        locked.chmod(0)
        locked.parent.chmod(stat.S_IRUSR)
    with clones.checkout(CloneRequest(fork.path, fork.head())) as checkout:
        left = sorted(str(path.relative_to(checkout.path)) for path in checkout.path.iterdir())
        assert left == [".git", "README", "engine"] and (checkout.path / "engine/a.py").read_text() == "A = 1\n"


def test_locked_folders_and_files_of_one_use_are_open_to_the_next(fork: Repo, tmp_path: Path) -> None:
    clones, commit = GitClones(tmp_path / "pool"), fork.commit("more", {"engine/b.py": "B = 1\n"})
    with clones.checkout(CloneRequest(fork.path, commit)) as checkout:
        (checkout.path / "engine/a.py").chmod(0o000)
        (checkout.path / "engine").chmod(0o500)
        checkout.path.chmod(0o555)
    with clones.checkout(CloneRequest(fork.path, commit)) as checkout:
        for place, least in ((".", 0o700), ("engine", 0o700), ("engine/a.py", 0o600)):
            assert stat.S_IMODE((checkout.path / place).stat().st_mode) & least == least, place


def test_a_git_folder_replaced_by_a_link_is_removed_and_not_followed(fork: Repo, tmp_path: Path) -> None:
    clones, precious = GitClones(tmp_path / "pool"), tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    with clones.checkout(CloneRequest(fork.path, fork.head())) as checkout:
        (checkout.path / ".git").rename(checkout.path / "old-git")
        (checkout.path / ".git").symlink_to(precious)
        (checkout.path / "engine/link").symlink_to(precious)
    with clones.checkout(CloneRequest(fork.path, fork.head())):
        pass
    assert (precious / "file").read_text() == "x" and len(list(precious.iterdir())) == 1


def test_declared_cache_paths_survive_and_nothing_beside_them(fork: Repo, tmp_path: Path) -> None:
    clones = GitClones(tmp_path / "pool")
    request = CloneRequest(fork.path, fork.head(), cache=("build", ".venv"))
    with clones.checkout(request) as checkout:
        for folder in ("build", ".venv", "dist"):
            (checkout.path / folder).mkdir()
            (checkout.path / folder / "object").write_text("x")
    with clones.checkout(request) as checkout:
        assert (checkout.path / "build/object").exists() and (checkout.path / ".venv/object").exists()
        assert not (checkout.path / "dist").exists()
    with clones.checkout(CloneRequest(fork.path, fork.head())) as checkout:
        assert not (checkout.path / "build").exists(), "another suite that declares no cache starts clean"


@pytest.mark.parametrize("act", ["ref", "config", "hook", "headway.toml", "head", "alternates"])
def test_whatever_only_the_owner_may_change_is_in_the_fingerprint(fork: Repo, tmp_path: Path, act: str) -> None:
    clones = GitClones(tmp_path / "pool")
    before = clones.fingerprint(fork.path)
    if act == "ref":
        fork.git("update-ref", "refs/headway/x", "HEAD")
    elif act == "config":
        fork.git("config", "core.pager", "evil")
    elif act == "hook":
        (fork.path / ".git/hooks").mkdir(exist_ok=True)
        (fork.path / ".git/hooks/pre-push").write_text("#!/bin/sh\n")
    elif act == "headway.toml":
        (fork.path / "headway.toml").write_text("x = 1\n")
    elif act == "head":
        fork.git("checkout", "-q", "--detach")
    else:
        (fork.path / ".git/objects/info/alternates").write_text(f"{tmp_path}\n")
    assert len(before.differences(clones.fingerprint(fork.path))) == 1


def test_an_owner_whose_path_is_no_utf_8(fork: Repo, tmp_path: Path) -> None:
    owner = fork.path.rename(fork.path.with_name(os.fsdecode(b"caf\xe9")))
    with GitClones(tmp_path / "pool").checkout(CloneRequest(owner, fork.made["base"])) as checkout:
        assert (checkout.path / "engine/a.py").read_text() == "A = 1\n"


def test_a_folder_that_git_does_not_know_is_named(tmp_path: Path) -> None:
    with pytest.raises(HeadwayError, match="is not a git repository"):
        GitClones(tmp_path / "pool").fingerprint(tmp_path)


def test_a_linked_worktree_and_a_bare_repository_can_be_owners(fork: Repo, tmp_path: Path) -> None:
    fork.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "side")
    run(("git", "clone", "-q", "--bare", str(fork.path), str(tmp_path / "bare.git")))
    for owner in (tmp_path / "linked", tmp_path / "bare.git"):
        with GitClones(tmp_path / "pool").checkout(CloneRequest(owner, fork.head())) as checkout:
            assert checkout.tracked == ("README", "engine/a.py")
            assert os.fspath(owner) not in (checkout.path / ".git/config").read_text()
