"""What differs between two trees, read in process, is what `git diff-tree` says."""

from pathlib import Path

from headway.adapters.git_trees import GitTrees
from headway.adapters.git_trial import Quarantine
from tests.sync.repos import new_repo


def test_every_kind_of_difference_is_as_diff_tree_has_it(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "r", "Someone")
    deep = {"a/b/c.txt": "1\n", "a/d.txt": "2\n", "gone/x.txt": "x\n", "gone/y/z.txt": "z\n", "same/s.txt": "s\n"}
    repo.commit("one", {**deep, "mode.sh": "m\n", "file": "was a file\n", "gr\udcf6sse.txt": "u\n"})
    (repo.path / "file").unlink()
    (repo.path / "mode.sh").chmod(0o755)
    (repo.path / "link").symlink_to("mode.sh")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{'5' * 40},sub")
    repo.write_all({"a/b/c.txt": "one\n", "gone/x.txt": None, "gone/y/z.txt": None, "file/in.txt": "now a folder\n",
                    "a.txt": "sorts before a/\n", "gr\udcf6sse.txt": "U\n"})  # fmt: skip
    for name in ("a", "gone", "file", "a.txt", "link", "mode.sh", "gr\udcf6sse.txt"):
        repo.git("add", "--all", name)
    two = repo.commit_staged("two")
    with Quarantine(repo.path) as quarantine:
        asked, read = GitTrees(quarantine.git), GitTrees(quarantine.git, lambda: quarantine.reader)
        one = repo.made["one"]
        for before, after in ((one, two), (two, one), (one, one)):
            found = read.changes(before, after)
            assert set(found) == set(asked.changes(before, after)) and len(found) == len(set(found))
        assert len(read.changes(one, two)) == 10
