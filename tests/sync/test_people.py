"""Urgent picks, landings taken back, and `--dry-run`: what people tell the loop, through the command line."""

from pathlib import Path

from headway.core.events_loop import Hastened, LandingUndone
from tests.sync.driver import ENGINE, Headway, new_fork, picture
from tests.sync.test_bundles import events
from tests.sync.test_commit_journey import trees_green


def backlog(tmp_path: Path) -> Headway:
    headway = new_fork(tmp_path)
    up = headway.pair.upstream
    up.commit("one", {"one.txt": "1\n"})
    up.commit("two", {"two.txt": "2\n"})
    up.hours += 47
    up.commit("helper", {"helper.py": "def fresh_helper():\n    return 1\n"})
    up.commit("three", {"three.txt": "3\n"})
    up.commit("fix", {"fix.py": "import helper\n\n\ndef fix():\n    return helper.fresh_helper()\n"})
    up.commit("four", {"four.txt": "4\n"})
    headway.begin()
    return headway


def test_an_urgent_pick_comes_with_what_it_needs_and_moves_no_metric(tmp_path: Path) -> None:
    headway = backlog(tmp_path)
    made = headway.pair.upstream.made
    before = headway.status()
    would = headway.ok("sync", "pick", made["fix"], "--dry-run").out
    assert f"needs {made['helper'][:12]}" in would and headway.status()["dispositions"]["picked"] == 0
    said = headway.ok("sync", "pick", made["fix"][:10], "--reason", "customers wait", "--json")
    after = said.json
    assert [line.split(" | ")[0] for line in picture(headway.pair)] == ["helper", "fix"]
    assert (after["days_behind"], after["frontier"], after["pin"]) == (
        before["days_behind"],
        before["frontier"],
        before["pin"],
    )
    assert after["dispositions"]["picked"] == 2 and after["pending"] == 4 and after["closed"]
    [hastened] = events(headway, Hastened)
    assert hastened.needs == (made["helper"],)
    headway.ok("sync", "run")
    assert [line.split(" | ")[0] for line in picture(headway.pair)] == ["helper", "fix", "one", "two", "three", "four"]
    assert headway.status()["days_behind"] == 0 and all(trees_green(headway.pair).values())


def test_what_cannot_be_picked_ahead_is_one_sentence_and_changes_nothing(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    pair, up = headway.pair, headway.pair.upstream
    pair.fork.commit("ours", {"notes.txt": pair.fork.read("notes.txt").replace("line 3\n", "ours\n")})
    bad = up.commit("theirs", {"notes.txt": up.read("notes.txt").replace("line 3\n", "theirs\n")})
    headway.begin()
    said = headway("sync", "pick", bad)
    assert said.code == 1 and "cannot be picked ahead: conflict" in said.err
    assert headway.status()["pending"] == 1 and events(headway, Hastened) == []


def test_an_urgent_pick_that_is_red_is_deferred_and_the_rest_is_left_alone(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    up = headway.pair.upstream
    up.commit("one", {"one.txt": "1\n"})
    red = up.commit("red", {"engine.py": ENGINE.replace("a + b", "a - b")})
    headway.begin()
    headway.ok("sync", "pick", red)
    assert headway.answer(red) == "deferred(tests_failed)" and headway.status()["pending"] == 1


def test_a_landing_is_taken_back_by_commits_that_l1_has_seen(tmp_path: Path) -> None:
    headway = backlog(tmp_path)
    pair, made = headway.pair, headway.pair.upstream.made
    headway.ok("sync", "run", "--limit", "2")
    first = pair.fork.head("headway/sync")
    headway.ok("sync", "run")
    stands = pair.fork.head("headway/sync")
    assert f"{first[:12]}: would be taken back" in headway.ok("sync", "undo", first[:9], "--dry-run").out
    assert pair.fork.head("headway/sync") == stands
    said = headway.ok("sync", "undo", first, "--reason", "broke a customer")
    assert "pending again" in said.out and "decide" in said.out
    subjects = pair.fork.git("log", "--reverse", "--format=%s | %an", f"{stands}..headway/sync").splitlines()
    assert subjects == ['Revert "two" | Fork Owner', 'Revert "one" | Fork Owner']
    assert "broke a customer" in pair.fork.git("log", "-1", "--format=%B", "headway/sync")
    assert headway.answer(made["one"]) == headway.answer(made["two"]) == "pending"
    assert headway.status()["closed"] and len(events(headway, LandingUndone)) == 1
    assert not (pair.fork.path / "one.txt").exists()
    again = headway("sync", "undo", first)
    assert again.code == 1 and "is no landing of headway that still stands" in again.err
    headway.ok("sync", "run")
    assert headway.answer(made["one"]) == "picked(landed)" and all(trees_green(pair).values())


def test_undone_for_now_is_not_taken_by_the_next_run(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    one = headway.pair.upstream.commit("one", {"one.txt": "1\n"})
    headway.begin()
    headway.ok("sync", "run")
    headway.ok("sync", "undo", headway.pair.fork.head("headway/sync"), "--later")
    headway.ok("sync", "run")
    assert headway.answer(one) == "deferred(undone)" and headway.status()["backlog"] == 1
    headway.ok("sync", "retry", one)
    headway.ok("sync", "run")
    assert headway.answer(one) == "picked(landed)"


def test_a_landing_that_later_ones_need_is_not_taken_back(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    up, fork = headway.pair.upstream, headway.pair.fork
    up.commit("one", {"engine.py": ENGINE + "\n\ndef triple(a):\n    return a * 3\n"})
    headway.begin()
    headway.ok("sync", "run")
    first = fork.head("headway/sync")
    check = up.read("check.py").replace('("doubles"', '("triples", engine.triple(2) == 6), ("doubles"')
    up.commit("two", {"check.py": check})
    headway.ok("sync", "run")
    stands = fork.head("headway/sync")
    said = headway("sync", "undo", first)
    assert said.code == 1 and "Without that landing L1 is red" in said.err
    assert fork.head("headway/sync") == stands


def test_a_dry_init_says_what_it_would_write_and_writes_nothing(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    upstream, fork = headway.pair.upstream, headway.pair.fork
    upstream.commit("one", {"one.txt": "1\n"})
    upstream.commit("two", {"two.txt": "2\n"})
    fork.commit("one", {"one.txt": "1\n"})
    before = (fork.refs(), fork.objects(), sorted(path.name for path in (fork.path / ".git").iterdir()))
    said = headway.ok("init", "--upstream", str(upstream.path), "--test", "make check", "--dry-run").out
    assert "2 changes in range, taken before: 1 proven" in said and 'test = "make check"' in said.splitlines()
    assert f"from {upstream.made['base'][:12]}" in said and not (fork.path / "headway.toml").exists()
    assert (fork.refs(), fork.objects(), sorted(path.name for path in (fork.path / ".git").iterdir())) == before
    headway.begin()
    assert (
        "headway.toml (uncommitted) would stay" in headway.ok("init", "--upstream", str(upstream.path), "--dry-run").out
    )


def test_dry_runs_change_nothing(tmp_path: Path) -> None:
    headway = backlog(tmp_path)
    one = headway.pair.upstream.made["one"]
    log = headway.ok("log", "show").out
    refs = headway.pair.fork.refs()
    assert (
        "would be done (wont_port)" in headway.ok("sync", "decide", one, "wont_port", "--reason", "x", "--dry-run").out
    )
    headway.ok("sync", "adopt", "--dry-run")
    headway.ok("sync", "run", "--dry-run")
    headway.ok("sync", "retry", "--dry-run")
    assert headway.ok("log", "show").out == log and headway.pair.fork.refs() == refs
