"""Trial merges against real `git cherry-pick`, in every shape a change can have; the owner's repository never grows."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.adapters.git_command import Git
from headway.adapters.git_trial import GitTrialMerges, Quarantine
from headway.adapters.processes import run
from headway.core.names import Sha
from headway.core.ports.git import Clean, Conflicted, Empty, Unknown
from tests.sync.repos import Pair, lines, new_pair

TEN = lines(*range(10))


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return new_pair(tmp_path, {"a.txt": TEN, "b.txt": TEN, "script.sh": "echo hi\n", "Readme": "read\n"})


@pytest.fixture
def trial(pair: Pair) -> Iterator[GitTrialMerges]:
    with Quarantine(pair.fork.path) as quarantine:
        yield GitTrialMerges(quarantine)


def bring(pair: Pair) -> None:
    pair.fork.git("fetch", "--quiet", "origin")


def really_picked(pair: Pair, change: Sha) -> str | None:
    """The tree `git cherry-pick` makes, or None where it stops; the fork is put back."""
    before = pair.fork.head()
    mainline = ["-m", "1"] if len(pair.fork.git("rev-list", "--parents", "-n1", change).split()) > 2 else []
    ran = run(["git", "cherry-pick", "--keep-redundant-commits", *mainline, change], cwd=pair.fork.path, ok=None)
    tree = pair.fork.git("rev-parse", "HEAD^{tree}") if ran.code == 0 else None
    pair.fork.git("cherry-pick", "--abort", ok=None)
    pair.fork.git("reset", "--quiet", "--hard", before)
    return tree


def test_a_clean_pick_gives_the_tree_of_git_cherry_pick_and_the_fork_does_not_grow(
    pair: Pair, trial: GitTrialMerges
) -> None:
    change = pair.upstream.commit("five", {"a.txt": TEN.replace("5", "five")})
    pair.fork.commit("one", {"a.txt": TEN.replace("1", "one")})
    bring(pair)
    before, refs = pair.fork.objects(), pair.fork.refs()
    answer = trial.pick(change, pair.fork.head())
    assert (pair.fork.objects(), pair.fork.refs()) == (before, refs)
    assert isinstance(answer, Clean) and answer.tree == really_picked(pair, change)


def test_the_base_is_the_changes_own_parent_not_the_common_history(pair: Pair, trial: GitTrialMerges) -> None:
    pair.upstream.commit("first", {"a.txt": TEN.replace("1", "one")})
    second = pair.upstream.commit("second", {"b.txt": TEN.replace("9", "nine")})
    bring(pair)
    answer = trial.pick(second, pair.fork.head())
    assert isinstance(answer, Clean) and answer.tree == really_picked(pair, second)
    assert trial.blob(f"{answer.tree}:a.txt").decode() == TEN, "the first change must not come along"


def test_a_conflict_names_paths_kinds_and_all_three_sides(pair: Pair, trial: GitTrialMerges) -> None:
    change = pair.upstream.commit("five", {"a.txt": TEN.replace("5", "five"), "b.txt": TEN.replace("2", "two")})
    pair.fork.commit("cinq", {"a.txt": TEN.replace("5", "cinq"), "b.txt": None})
    bring(pair)
    answer = trial.pick(change, pair.fork.head())
    assert isinstance(answer, Conflicted) and answer.paths == ("a.txt", "b.txt")
    assert {c.kind for c in answer.conflicts} == {"CONFLICT (contents)", "CONFLICT (modify/delete)"}
    assert [s.number for s in answer.stages if s.path == "a.txt"] == [1, 2, 3]
    assert b"<<<<<<<" in trial.blob(f"{answer.tree}:a.txt")


def test_empty_is_only_what_changes_nothing(pair: Pair, trial: GitTrialMerges) -> None:
    change = pair.upstream.commit("five", {"a.txt": TEN.replace("5", "five")})
    pair.fork.commit("five too", {"a.txt": TEN.replace("5", "five").replace("0", "zero")})
    bring(pair)
    answer = trial.pick(change, pair.fork.head())
    assert isinstance(answer, Empty) and answer.tree == pair.fork.git("rev-parse", "HEAD^{tree}")


def test_a_missing_object_is_unknown_never_empty_or_clean(pair: Pair, trial: GitTrialMerges) -> None:
    change = pair.upstream.commit("five", {"a.txt": TEN.replace("5", "five")})
    pair.fork.commit("one", {"a.txt": TEN.replace("1", "one")})
    bring(pair)
    blob = pair.fork.git("rev-parse", f"{change}:a.txt")
    (pair.fork.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    answer = trial.pick(change, pair.fork.head())
    assert isinstance(answer, Unknown) and "128" in answer.message
    assert isinstance(trial.pick(Sha("1" * 40), "HEAD"), Unknown)


@pytest.mark.parametrize("shape", ["mode", "case", "binary", "root-merge", "submodule", "link", "non-utf8"])
def test_every_shape_of_change_agrees_with_git_cherry_pick(pair: Pair, trial: GitTrialMerges, shape: str) -> None:
    up = pair.upstream
    if shape == "mode":
        (up.path / "script.sh").chmod(0o755)
        change = up.commit("mode")
    elif shape == "case":
        up.git("mv", "Readme", "README")
        change = up.commit("case")
    elif shape == "binary":
        change = up.commit("binary", {"b.bin": bytes(range(256)) * 8})
    elif shape == "root-merge":
        up.git("checkout", "-q", "-b", "side")
        up.commit("side", {"side.txt": "side\n"})
        up.git("checkout", "-q", "main")
        up.commit("main", {"a.txt": TEN.replace("5", "five")})
        up.hours += 1
        up.git("merge", "-q", "--no-ff", "-m", "merge side", "side")
        change = up.head()
    elif shape == "submodule":
        up.git("update-index", "--add", "--cacheinfo", f"160000,{'5' * 40},sub")
        up.hours += 1
        change = up.commit_staged("submodule")
    elif shape == "link":
        (up.path / "link").symlink_to("a.txt")
        change = up.commit("link")
    else:
        change = up.commit(b"caf\xe9", {"caf\udce9.txt": b"caf\xe9\r\n"})
    pair.fork.commit("one", {"a.txt": TEN.replace("1", "one")})
    bring(pair)
    answer = trial.pick(change, pair.fork.head())
    assert isinstance(answer, Clean) and answer.tree == really_picked(pair, change)


def test_merge_settings_of_the_owner_are_carried_over(pair: Pair, trial: GitTrialMerges, tmp_path: Path) -> None:
    change = pair.upstream.commit("five", {"a.txt": TEN.replace("5", "five")})
    pair.fork.commit("ours", {"a.txt": TEN.replace("5", "cinq"), ".gitattributes": "a.txt merge=ours\n"})
    bring(pair)
    assert isinstance(trial.pick(change, pair.fork.head()), Conflicted), "an undefined driver is git's own merge"
    pair.fork.git("config", "merge.ours.driver", "true")
    with Quarantine(pair.fork.path) as quarantine:
        assert isinstance(GitTrialMerges(quarantine).pick(change, pair.fork.head()), Empty)


def test_union_attributes_of_the_fork_are_honoured(pair: Pair, trial: GitTrialMerges) -> None:
    change = pair.upstream.commit("news", {"a.txt": TEN + "upstream\n"})
    pair.fork.commit("ours", {"a.txt": TEN + "fork\n", ".gitattributes": "a.txt merge=union\n"})
    bring(pair)
    answer = trial.pick(change, pair.fork.head())
    assert isinstance(answer, Clean) and answer.tree == really_picked(pair, change)


def test_unpick_takes_a_change_back_out(pair: Pair, trial: GitTrialMerges) -> None:
    change = pair.upstream.commit("five", {"a.txt": TEN.replace("5", "five")})
    bring(pair)
    before = pair.fork.git("rev-parse", "HEAD^{tree}")
    picked = trial.pick(change, pair.fork.head())
    assert isinstance(picked, Clean)
    assert trial.unpick(change, picked.tree) == Clean(before)


def test_files_can_be_put_into_a_tree(pair: Pair, trial: GitTrialMerges) -> None:
    tree = trial.write_tree(pair.fork.head(), {"a.txt": b"new\n", "b.txt": None, "deep/er.txt": b"x"})
    assert trial.blob(f"{tree}:a.txt") == b"new\n" and trial.blob(f"{tree}:deep/er.txt") == b"x"
    assert trial.blob(f"{tree}:Readme") == b"read\n"
    with pytest.raises(Exception, match="is not in"):
        trial.blob(f"{tree}:b.txt")


def test_a_tree_with_replaced_files_is_the_one_that_git_writes_through_an_index(
    pair: Pair, trial: GitTrialMerges
) -> None:
    fork = pair.fork
    fork.commit("shapes", {"a/b/only.txt": "1\n", "a-b": "2\n", "a/z": "3\n", "run.sh": "#!/bin/sh\n", "fold": "f\n"})
    fork.git("update-index", "--chmod=+x", "run.sh")
    fork.git("commit", "-qm", "mode")
    files: dict[str, bytes | None] = {
        "a/b/only.txt": None, "a.b": b"sorts before a/\n", "run.sh": b"kept executable\n",
        "new/deep/er.txt": b"x", "a0": b"after\n", "fold": None, "fold/in.txt": b"a folder now\n",
    }  # fmt: skip
    made = trial.write_tree(fork.head(), files)
    env = {"GIT_INDEX_FILE": str(fork.path / "by-hand.index")}
    git = Git(fork.path, env=env)
    git.run("read-tree", "HEAD")
    for path, content in files.items():
        if content is None:
            git.run("update-index", "--force-remove", path)
    for path, content in files.items():
        if content is not None:
            oid = git.text("hash-object", "-w", "--stdin", stdin=content)
            mode = "100755" if path == "run.sh" else "100644"
            git.run("update-index", "--add", "--cacheinfo", f"{mode},{oid},{path}")
    assert made == git.text("write-tree")
    everything = {path: None for path in git.text("ls-tree", "-r", "--name-only", "HEAD").split("\n")}
    assert trial.write_tree(fork.head(), everything) == git.text("hash-object", "-t", "tree", "/dev/null")
