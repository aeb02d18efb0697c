"""The whole way of a change through the command line, on real git with a real suite."""

from pathlib import Path

from tests.sync.driver import ENGINE, Headway, new_fork, picture
from tests.sync.repos import Pair


def trees_green(pair: Pair, branch: str = "headway/sync") -> dict[str, bool]:
    """Runs the fork's suite at every position the branch ever had."""
    import subprocess
    import sys
    import tempfile

    verdicts = {}
    for sha in pair.fork.git("rev-list", "--reverse", f"main^..{branch}").split():
        with tempfile.TemporaryDirectory() as folder:
            tar = subprocess.run(["git", "archive", sha], cwd=pair.fork.path, capture_output=True, check=True).stdout
            subprocess.run(["tar", "-x", "-C", folder], input=tar, check=True)
            verdicts[sha] = (
                subprocess.run([sys.executable, "check.py"], cwd=folder, capture_output=True).returncode == 0
            )
    return verdicts


def test_every_change_gets_one_disposition_with_evidence(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    pair, up = headway.pair, headway.pair.upstream
    taken = pair.fork.commit("Answer is 42 (#7)", {"answer.txt": "42\n"})
    pair.fork.commit("fork: line 3 is ours", {"notes.txt": pair.fork.read("notes.txt").replace("line 3", "ours 3")})
    clean = up.commit("Add triple (#5)\n\nWith care.\n", {"triple.py": "def triple(a):\n    return a * 3\n"})
    conflict = up.commit("line 3 is theirs (#6)", {"notes.txt": up.read("notes.txt").replace("line 3", "their 3")})
    present = up.commit("Answer is 42 (#7)", {"answer.txt": "42\n"})
    ci = up.commit("ci: weekly (#8)", {".github/workflows/ci.yml": "on: schedule\n"})
    red = up.commit("Double is triple (#9)", {"engine.py": ENGINE.replace("a * 2", "a * 3")})
    wrong = up.commit("Cache (#10)", {"cache.py": "CACHE = {}\n"})
    revert = up.commit(f'Revert "Cache (#10)" (#11)\n\nThis reverts commit {wrong}.\n', {"cache.py": None})
    last = up.commit("Add half (#12)", {"half.py": "def half(a):\n    return a / 2\n"})

    headway.begin()
    before, refs = pair.fork.head("main"), pair.fork.refs().splitlines()
    plan = headway.ok("sync", "plan", "--json").json
    assert [p["would"] for p in plan["pending"]] == [
        "take",
        "deferred(conflict)",
        "wont_port(policy)",
        "take",  # only L1 can tell that it is red
        "reverted_pair(exact_revert)",
        "reverted_pair(exact_revert)",
        "take",
    ]
    assert pair.fork.refs().splitlines() == refs, "planning moves nothing"

    done = headway.ok("sync", "run", "--json").json
    assert done["closed"] and done["pending"] == 0 and done["days_behind"] == 0
    answers = {name: headway.answer(sha) for name, sha in up.made.items() if name != "base"}
    assert answers == {
        "Add triple (#5)": "picked(landed)",
        "line 3 is theirs (#6)": "deferred(conflict)",
        "Answer is 42 (#7)": "picked(same_effect)",
        "ci: weekly (#8)": "wont_port(policy)",
        "Double is triple (#9)": "deferred(tests_failed)",
        "Cache (#10)": "reverted_pair(exact_revert)",
        'Revert "Cache (#10)" (#11)': "reverted_pair(exact_revert)",
        "Add half (#12)": "picked(landed)",
    }
    assert picture(pair) == [
        f"Add triple (#5) | Upstream Author | {1_772_000_000 + 3600 * 2} | Upstream-Commit: {clean};Upstream-PR: #5",
        f"Add half (#12) | Upstream Author | {1_772_000_000 + 3600 * 9} | Upstream-Commit: {last};Upstream-PR: #12",
    ]
    assert "With care." in pair.fork.git("show", "-s", "--format=%B", "headway/sync~1")
    assert pair.fork.head("main") == before, "mode branch leaves trunk alone"
    assert all(trees_green(pair).values())

    assert headway.evidence(conflict)["paths"] == ["notes.txt"]
    assert "<<<<<<<" in headway.evidence(conflict)["files_with_markers"]["notes.txt"]
    assert headway.evidence(ci)["why"] == "our CI is our own"
    assert headway.evidence(red)["verdict"] == "refused" and headway.evidence(red)["counts"]["failed"] == 1
    assert headway.evidence(present)["match"]["commit"] == taken
    assert headway.ok("sync", "show", wrong, "--json").json["disposition"]["partner"] == revert


def test_status_measures_progress_and_debt_and_proves_the_sum(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    up = headway.pair.upstream
    up.commit("one", {"one.txt": "1\n"})
    bad = up.commit("two", {"engine.py": ENGINE.replace("a + b", "a - b")})
    up.hours += 47
    third = up.commit("three", {"three.txt": "3\n"})
    headway.begin()
    begun = headway.status()
    assert (begun["commits_behind"], begun["backlog"], begun["days_behind"]) == (3, 0, round(50 / 24, 2))
    after = headway.ok("sync", "run", "--limit", "2", "--json").json
    assert (after["commits_behind"], after["backlog"], after["days_behind"]) == (1, 1, 2.0)
    assert after["oldest_deferral"]["change"] == bad
    assert after["pin"]["change"] == up.made["one"] and after["frontier"]["change"] == bad
    assert after["closure"] == "3 changes in range = 1 picked + 1 deferred + 1 pending" and after["closed"]
    lines = headway.ok("sync", "status").out
    assert "backlog      1 deferred, the oldest" in lines and ": closed" in lines
    done = headway.ok("sync", "run", "--json").json
    assert done["frontier"]["change"] == third and done["pin"]["change"] == up.made["one"]


def test_running_again_changes_nothing_and_new_changes_are_taken_later(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    up, fork = headway.pair.upstream, headway.pair.fork
    up.commit("one", {"one.txt": "1\n"})
    headway.begin()
    headway.ok("sync", "run")
    stands = fork.head("headway/sync")
    headway.ok("sync", "run")
    assert fork.head("headway/sync") == stands
    up.commit("two", {"two.txt": "2\n"})
    headway.ok("sync", "run")
    assert fork.git("rev-parse", "headway/sync^") == stands
    assert [line.split(" | ")[0] for line in picture(headway.pair)] == ["one", "two"]


def test_a_merged_landing_is_gone_on_with_from_trunk(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    up, fork = headway.pair.upstream, headway.pair.fork
    up.commit("one", {"one.txt": "1\n"})
    headway.begin()
    headway.ok("sync", "run")
    fork.git("merge", "--quiet", "--ff-only", "headway/sync")
    fork.commit("fork: more", {"more.txt": "m\n"})
    up.commit("two", {"two.txt": "2\n"})
    headway.ok("sync", "run")
    assert fork.git("log", "--format=%s", "-3", "headway/sync").splitlines() == ["two", "fork: more", "one"]
    assert headway.status()["dispositions"]["picked"] == 2


def test_a_squashed_landing_keeps_the_cursor_and_picks_nothing_again(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    up, fork = headway.pair.upstream, headway.pair.fork
    for name in ("one", "two", "three"):
        up.commit(name, {f"{name}.txt": f"{name}\n"})
    headway.begin()
    headway.ok("sync", "run")
    fork.git("merge", "--quiet", "--squash", "headway/sync")
    message = "Sync\n\n" + fork.git("log", "--format=%B", "main..headway/sync")
    fork.hours += 1
    fork.commit_staged(message)
    fork.git("branch", "-D", "headway/sync")
    done = headway.ok("sync", "run", "--json").json
    assert done["dispositions"]["picked"] == 3 and done["pending"] == 0 and done["closed"]
    assert done["landing"]["at"] is None, "nothing is picked again"


def test_a_pick_that_is_backed_out_of_trunk_is_pending_again(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    up, fork = headway.pair.upstream, headway.pair.fork
    one = up.commit("one", {"one.txt": "1\n"})
    headway.begin()
    headway.ok("sync", "run")
    fork.git("merge", "--quiet", "--ff-only", "headway/sync")
    fork.hours += 1
    fork.git("revert", "--no-edit", "HEAD")
    headway.ok("sync", "adopt")
    assert headway.answer(one) == "pending"
    assert headway.status()["closed"]


def test_people_decide(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    up = headway.pair.upstream
    later = up.commit("later", {"later.txt": "1\n"})
    never = up.commit("never", {"never.txt": "1\n"})
    ci = up.commit("ci", {".github/workflows/ci.yml": "on: never\n"})
    headway.begin()
    assert (
        headway.ok("sync", "decide", later[:10], "later", "--reason", "after the release").out
        == f"{later[:12]}: done\n"
    )
    headway.ok("sync", "decide", never, "wont_port", "--reason", "not for us")
    headway.ok("sync", "run")
    assert [headway.answer(c) for c in (later, never, ci)] == [
        "deferred(policy)",
        "wont_port(policy)",
        "wont_port(policy)",
    ]
    assert headway.evidence(never)["why"] == "not for us"
    headway.ok("sync", "retry", later)
    headway.ok("sync", "decide", ci, "pick", "--reason", "we want this one")
    assert headway.answer(later) == headway.answer(ci) == "pending"
    headway.ok("sync", "run")
    assert [headway.answer(c) for c in (later, never, ci)] == ["picked(landed)", "wont_port(policy)", "picked(landed)"]
    again = headway("sync", "decide", later, "wont_port", "--reason", "changed my mind")
    assert again.code == 1 and "has landed as" in again.err
    idle = headway("sync", "retry", never)
    assert idle.code == 1 and "is wont_port, not deferred" in idle.err
    assert headway("sync", "decide", never, "perhaps", "--reason", "x").code == 1


def test_a_revert_of_a_deferred_change_makes_both_a_pair(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    up = headway.pair.upstream
    red = up.commit("red", {"engine.py": ENGINE.replace("a + b", "a - b")})
    headway.begin()
    headway.ok("sync", "run")
    assert headway.answer(red) == "deferred(tests_failed)"
    back = up.commit(f'Revert "red"\n\nThis reverts commit {red}.\n', {"engine.py": ENGINE})
    headway.ok("sync", "run")
    assert headway.answer(red) == headway.answer(back) == "reverted_pair(exact_revert)"
    assert headway.status()["closed"]


def test_headway_toml_on_trunk_alone_counts(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    up, fork = headway.pair.upstream, headway.pair.fork
    up.commit("ci", {".github/workflows/ci.yml": "on: never\n"})
    headway.begin()
    uncommitted = headway.status()["config"]
    assert (
        uncommitted["source"] == "headway.toml (uncommitted)" and uncommitted["digest"][:12] in uncommitted["notes"][0]
    )
    fork.git("add", "headway.toml")
    fork.commit("fork: follow upstream with headway")
    committed = headway.status()["config"]
    assert (committed["source"], committed["notes"]) == ("main:headway.toml", [])
    toml = fork.path / "headway.toml"
    toml.write_text(toml.read_text() + "\n[[policy]]\npaths = ['*']\ndecide = 'wont_port'\nreason = 'nothing'\n")
    edited = headway.status()["config"]
    assert edited["digest"] == committed["digest"] and "is ignored until it is committed" in edited["notes"][0]
    headway.ok("sync", "run")
    said = headway.ok("log", "show", "--json", "--stream", "fork/").json["records"]
    assert committed["digest"] in str(said), "the log names the config of every run"


def test_a_change_that_edits_headway_toml_is_never_landed(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    change = headway.pair.upstream.commit("take over", {"headway.toml": "[l1]\ntest = 'true'\n"})
    headway.begin()
    headway.ok("sync", "run")
    assert headway.answer(change) == "deferred(protected_path)"


def test_dry_run_is_a_plan(tmp_path: Path) -> None:
    headway: Headway = new_fork(tmp_path)
    headway.pair.upstream.commit("one", {"one.txt": "1\n"})
    headway.begin()
    records = len(headway.ok("log", "show", "--json").json["records"])
    refs, objects = headway.pair.fork.git("for-each-ref", "refs/heads"), headway.pair.fork.objects()
    assert "1 take" in headway.ok("sync", "run", "--dry-run").out
    assert headway.pair.fork.git("for-each-ref", "refs/heads") == refs
    assert len(headway.ok("log", "show", "--json").json["records"]) == records
    assert headway.pair.fork.objects() == objects
