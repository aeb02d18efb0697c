"""Every shape of change gets a disposition with evidence; what git cannot say is never rounded to empty or clean."""

from pathlib import Path

import pytest

from headway.core.names import Sha
from tests.sync.driver import BASE, Headway, new_fork
from tests.sync.repos import Pair, Repo


@pytest.fixture
def headway(tmp_path: Path) -> Headway:
    return new_fork(tmp_path, {"Readme": "read\n", "run.sh": "echo\n", "dos.txt": "a\r\nb\r\n", "blob.bin": bytes(200)})


def landed(headway: Headway, change: Sha) -> str:
    """The tree that the pick of `change` landed as, which must be git's own cherry-pick of it."""
    assert headway.answer(change) == "picked(landed)"
    fork = headway.pair.fork
    commit = headway.ok("sync", "show", change, "--json").json["disposition"]["landed"]
    fork.git("checkout", "--quiet", "--detach", f"{commit}^")
    mainline = ["-m", "1"] if len(fork.git("rev-list", "--parents", "-n1", change).split()) > 2 else []
    fork.git("cherry-pick", *mainline, change)
    assert fork.git("rev-parse", "HEAD^{tree}") == fork.git("rev-parse", f"{commit}^{{tree}}")
    fork.git("checkout", "--quiet", "main")
    return commit


def test_mode_case_link_binary_crlf_submodule_and_strange_names_land_as_git_would_pick_them(headway: Headway) -> None:
    up = headway.pair.upstream
    changes: dict[str, Sha] = {}
    (up.path / "run.sh").chmod(0o755)
    changes["mode"] = up.commit("run.sh is executable")
    up.git("mv", "Readme", "README")
    changes["case"] = up.commit("case-only rename")
    (up.path / "link").symlink_to("notes.txt")
    changes["link"] = up.commit("a link")
    changes["binary"] = up.commit("binary", {"blob.bin": bytes(range(256))})
    changes["crlf"] = up.commit("crlf", {"dos.txt": "a\r\nB\r\n"})
    up.hours += 1
    up.git("update-index", "--add", "--cacheinfo", f"160000,{'5' * 40},sub")
    changes["submodule"] = up.commit_staged("submodule")
    up.git("update-index", "--cacheinfo", f"160000,{'6' * 40},sub")
    changes["bump"] = up.commit_staged("submodule bump")
    headway.begin()
    headway.ok("sync", "run")
    commits = {name: landed(headway, change) for name, change in changes.items()}
    fork = headway.pair.fork
    assert fork.git("ls-tree", commits["mode"], "run.sh").startswith("100755")
    assert fork.git("ls-tree", "--name-only", commits["case"], "README", "Readme") == "README"
    assert fork.git("ls-tree", commits["bump"], "sub").startswith(f"160000 commit {'6' * 40}")
    assert headway.status()["closed"]


def test_messages_and_names_that_are_not_utf8_keep_their_bytes(headway: Headway) -> None:
    up, fork = headway.pair.upstream, headway.pair.fork
    up.git("config", "i18n.commitEncoding", "iso-8859-1")
    latin = up.commit("Größe".encode("iso-8859-1"), {"gr\udcf6sse.txt": b"gr\xf6\xdfe\r\n"})
    up.git("config", "--unset", "i18n.commitEncoding")
    headway.begin()
    assert "Größe" in headway.ok("sync", "plan").out
    headway.ok("sync", "run")
    commit = landed(headway, latin)
    raw = fork.git("cat-file", "commit", commit).encode("utf-8", "surrogateescape")
    assert b"encoding iso-8859-1" in raw and "Größe".encode("iso-8859-1") in raw
    assert f"Upstream-Commit: {latin}".encode() in raw
    assert "Größe" in headway.ok("sync", "show", latin).out


def test_an_author_line_that_git_would_refuse_today_is_kept(headway: Headway) -> None:
    up, fork = headway.pair.upstream, headway.pair.fork
    up.write_all({"odd.txt": "odd\n"})
    up.git("add", "--all")
    tree, parent = up.git("write-tree"), up.head()
    raw = f"tree {tree}\nparent {parent}\nauthor  <> 1 +0000\ncommitter x <x> 1772000000 +0000\n\nodd author\n"
    odd = Sha(up.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=raw.encode()))
    up.git("reset", "--quiet", "--hard", odd)
    headway.begin()
    headway.ok("sync", "run")
    assert headway.answer(odd) == "picked(landed)"
    assert "author  <> 1 +0000" in fork.git("cat-file", "commit", "headway/sync")


def test_an_empty_change_changes_nothing_and_says_so(headway: Headway) -> None:
    up = headway.pair.upstream
    up.hours += 1
    up.git("commit", "--quiet", "--allow-empty", "-m", "trigger the build")
    headway.begin()
    headway.ok("sync", "run")
    assert headway.answer(up.head()) == "already_present(changes_nothing)"
    assert headway.evidence(up.head())["result"] == "empty"


def test_a_merge_on_the_line_is_one_change_its_effect_that_against_the_first_parent(headway: Headway) -> None:
    up = headway.pair.upstream
    up.git("checkout", "--quiet", "-b", "topic")
    inner = up.commit("inner one", {"topic.txt": "1\n"})
    up.commit("inner two", {"topic.txt": "2\n", "more.txt": "m\n"})
    up.git("checkout", "--quiet", "main")
    up.commit("beside", {"beside.txt": "b\n"})
    up.hours += 1
    up.git("merge", "--quiet", "--no-ff", "-m", "Merge pull request #31 from x/topic\n\nTopic", "topic")
    merge = up.head()
    headway.begin()
    assert headway.status()["range"]["changes"] == 2, "inner commits are not on the first-parent line"
    headway.ok("sync", "run")
    commit = landed(headway, merge)
    fork = headway.pair.fork
    assert fork.git("show", "-s", "--format=%(trailers:key=Upstream-PR,valueonly)", commit).strip() == "#31"
    assert fork.read("topic.txt", commit) == "2"
    with pytest.raises(Exception, match="failed with exit code"):
        fork.git("merge-base", "--is-ancestor", inner, commit)


def test_empty_though_the_fork_lacks_the_effect_is_vanished_and_never_already_present(headway: Headway) -> None:
    up, fork = headway.pair.upstream, headway.pair.fork
    fork.git("config", "merge.ours.driver", "true")
    fork.commit("fork: keep our notes", {".gitattributes": "notes.txt merge=ours\n", "notes.txt": "ours\n"})
    gone = up.commit("line 3", {"notes.txt": str(BASE["notes.txt"]).replace("line 3", "LINE 3")})
    fork.commit("fork: seven", {"seven.txt": "7\nours\n"})
    there = up.commit("seven", {"seven.txt": "7\n"})
    headway.begin()
    headway.ok("sync", "run")
    assert headway.answer(gone) == "deferred(vanished)"
    evidence = headway.evidence(gone)
    assert evidence["differing"] == ["notes.txt"] and evidence["without_it"] == "empty"
    assert headway.answer(there) == "deferred(conflict)"


def test_a_change_that_is_there_among_other_edits_is_shown_by_a_round_trip(headway: Headway) -> None:
    up, fork = headway.pair.upstream, headway.pair.fork
    notes = str(BASE["notes.txt"]).replace("line 3", "LINE 3")
    fork.commit("fork: both", {"notes.txt": notes.replace("line 11", "ours 11")})
    change = up.commit("line 3", {"notes.txt": notes})
    headway.begin()
    headway.ok("sync", "run")
    assert headway.answer(change) == "already_present(round_trip)"
    assert headway.evidence(change)["put_back"] == "clean"


def test_what_git_cannot_say_is_unknown(headway: Headway) -> None:
    up, fork = headway.pair.upstream, headway.pair.fork
    change = up.commit("line 3", {"notes.txt": str(BASE["notes.txt"]).replace("line 3", "LINE 3")})
    fork.commit("fork: 11", {"notes.txt": str(BASE["notes.txt"]).replace("line 11", "ours 11")})
    fine = up.commit("fine", {"fine.txt": "f\n"})
    headway.begin()
    lose(fork, f"{change}:notes.txt")
    headway.ok("sync", "run")
    assert headway.answer(change) == "deferred(unknown)"
    assert "128" in headway.evidence(change)["git"]
    assert headway.answer(fine) == "picked(landed)", "one unreadable change does not stop the others"


def test_deleted_and_renamed_by_us_are_conflicts_with_their_kind_or_follow_the_rename(headway: Headway) -> None:
    up, fork = headway.pair.upstream, headway.pair.fork
    notes = str(BASE["notes.txt"])
    fork.git("mv", "notes.txt", "doc.txt")
    fork.git("rm", "--quiet", "Readme")
    fork.commit("fork: rename and delete")
    renamed = up.commit("line 3", {"notes.txt": notes.replace("line 3", "LINE 3")})
    deleted = up.commit("readme", {"Readme": "read me\n"})
    headway.begin()
    headway.ok("sync", "run")
    commit = landed(headway, renamed)
    assert "LINE 3" in fork.read("doc.txt", commit)
    assert headway.answer(deleted) == "deferred(conflict)"
    assert headway.evidence(deleted)["conflicts"][0]["kind"] == "CONFLICT (modify/delete)"


def test_conflicts_in_what_has_no_lines_are_deferred_with_their_kind_and_no_agent_is_asked(headway: Headway) -> None:
    """Binary, submodule, link, mode against deletion, added twice, line ends: each with git's own word as evidence."""
    up, fork = headway.pair.upstream, headway.pair.fork
    for repo, number in ((up, "5"), (fork, "6")):
        (repo.path / "sub").mkdir()
        repo.git("update-index", "--add", "--cacheinfo", f"160000,{number * 40},sub")
    sub = up.commit_staged("submodule")
    fork.commit_staged("fork: its own submodule")
    binary = up.commit("binary", {"blob.bin": bytes(range(256))})
    crlf = up.commit("line ends", {"dos.txt": "A\nb\n"})
    (up.path / "run.sh").chmod(0o755)
    mode = up.commit("executable")
    twice = up.commit("link", {"both": "text\n"})
    (fork.path / "both").symlink_to("notes.txt")
    fork.commit("fork", {"blob.bin": bytes(reversed(range(256))), "dos.txt": "ours\r\nb\r\n", "run.sh": None})
    headway.begin(policy="\n[agent]\nuse = 'command'\ncommand = 'false'\n")
    headway.ok("sync", "run")
    kinds = {}
    for name, change in {"submodule": sub, "binary": binary, "mode": mode, "link": twice}.items():
        evidence = headway.evidence(change)
        assert headway.answer(change) == "deferred(conflict)"
        assert evidence["not_askable"].endswith("is for a person") and evidence["agent"]["proposals"] == []
        kinds[name] = evidence["conflicts"][0]["kind"]
    assert kinds == {
        "submodule": "CONFLICT (submodule not initialized)",
        "binary": "CONFLICT (binary)",
        "mode": "CONFLICT (modify/delete)",
        "link": "CONFLICT (distinct modes)",
    }
    assert headway.answer(crlf) == "deferred(conflict)" and len(headway.evidence(crlf)["agent"]["proposals"]) == 3
    said = headway("sync", "resolve", sub)
    assert said.code == 1 and "conflicts in a submodule" in said.err
    assert headway.status()["closed"]


def test_a_file_added_to_a_folder_that_the_fork_renamed_follows_it_where_the_fork_says_so(headway: Headway) -> None:
    up, fork = headway.pair.upstream, headway.pair.fork
    up.commit("a folder", {"lib/a.txt": "a\n", "lib/b.txt": "b\n"})
    headway.begin(policy="")
    headway.ok("sync", "run")
    fork.git("merge", "--quiet", "--ff-only", "headway/sync")
    fork.git("mv", "lib", "src")
    fork.commit("fork: lib is src")
    first = up.commit("edit and add", {"lib/a.txt": "A\n", "lib/c.txt": "c\n"})
    headway.ok("sync", "run")
    assert headway.answer(first) == "deferred(conflict)"
    assert headway.evidence(first)["conflicts"][0]["kind"] == "CONFLICT (directory rename suggested)"
    fork.git("config", "merge.directoryRenames", "true")
    headway.ok("sync", "retry", first)
    headway.ok("sync", "run")
    commit = headway.ok("sync", "show", first, "--json").json["disposition"]["landed"]
    assert fork.read("src/a.txt", commit) == "A" and fork.read("src/c.txt", commit) == "c"
    assert "lib" not in fork.git("ls-tree", "--name-only", commit).split()


def lose(repo: Repo, name: str) -> None:
    """Remove a loose object, as a damaged or filtered copy lacks it."""
    oid = repo.git("rev-parse", name)
    (repo.path / ".git" / "objects" / oid[:2] / oid[2:]).unlink()


def test_a_sha256_pair_works_from_a_subfolder_and_a_linked_work_tree(tmp_path: Path) -> None:
    upstream = Repo(tmp_path / "upstream", "Upstream Author")
    upstream.path.mkdir()
    upstream.git("init", "--quiet", "--initial-branch=trunk", "--object-format=sha256")
    upstream.commit("base", {**BASE, "deep/er/x.txt": "x\n"})
    fork = Repo(tmp_path / "fork", "Fork Owner", hours=1000)
    upstream.git("clone", "--quiet", "--no-hardlinks", str(upstream.path), str(fork.path))
    fork.git("config", "user.name", "Fork Owner")
    fork.git("config", "user.email", "fork@example.org")
    fork.commit("fork: own", {"own.txt": "o\n"})
    one = upstream.commit("one", {"one.txt": "1\n"})
    fork.git("worktree", "add", "--quiet", "-b", "work", str(tmp_path / "linked"))
    headway = Headway(Pair(upstream, fork))
    headway.begin(upstream="origin")
    linked = Repo(tmp_path / "linked", "Fork Owner")
    toml = (fork.path / "headway.toml").read_text()
    (linked.path / "headway.toml").write_text(toml)
    (linked.path / "deep/er").mkdir(exist_ok=True, parents=True)
    Headway(Pair(upstream, Repo(linked.path / "deep/er", "Fork Owner"))).ok("sync", "run")
    assert headway.answer(one) == "picked(landed)" and len(one) == 64
    assert fork.git("log", "--format=%s", "-1", "headway/sync") == "one"
