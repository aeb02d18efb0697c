"""Bundles under fire and chains, through the command line on real git with a real suite."""

import sys
from pathlib import Path
from typing import Any

from headway.adapters.clocks import SystemClock
from headway.adapters.sqlite_log import SqliteLog
from headway.core.events import Event, decode
from headway.core.events_loop import BundleClosed, Ejected, Probed
from headway.core.names import Sha
from headway.sync.group_testing import least_runs
from tests.sync.driver import ENGINE, POLICY, Headway, new_fork, picture
from tests.sync.test_commit_journey import trees_green

FLAGS = """import pathlib, sys
here = {p.stem for p in pathlib.Path("flags").glob("*.txt")} if pathlib.Path("flags").is_dir() else set()
bad = [w for w in ("bad",) if w in here] + (["pair"] if {"left", "right"} <= here else [])
import engine
bad += [] if engine.add(2, 2) == 4 else ["add"]
print(f"{1 if not bad else 0} passed, {len(bad)} failed")
sys.exit(bool(bad))
"""


def flagged(folder: Path) -> Headway:
    """A fork whose suite is red with `flags/bad.txt`, and with `flags/left.txt` and `flags/right.txt` together."""
    return new_fork(
        folder, {"check.py": f"import sys\nsys.path.insert(0, '.')\nsys.dont_write_bytecode = True\n{FLAGS}"}
    )


def flag(headway: Headway, name: str) -> Sha:
    return headway.pair.upstream.commit(name, {f"flags/{name}.txt": f"{name}\n"})


def events(headway: Headway, *kinds: type) -> list[Any]:
    """The ledger's events of these kinds, in order."""
    log = SqliteLog(headway.pair.fork.path / ".git/headway/log.sqlite3", SystemClock(), read_only=True)
    try:
        found: list[Event] = [decode(r.type, r.payload) for r in log.read_all() if r.stream.startswith("fork/")]
    finally:
        log.close()
    return [event for event in found if isinstance(event, kinds)]


def positions(headway: Headway) -> list[str]:
    """Every commit the landing branch ever stood at, from git's own reflog, oldest first."""
    return headway.pair.fork.git("reflog", "show", "--format=%H", "headway/sync").splitlines()[::-1]


def test_a_green_bundle_lands_whole_after_one_run_of_l1(tmp_path: Path) -> None:
    headway = flagged(tmp_path)
    names = [f"n{number}" for number in range(5)]
    shas = [flag(headway, name) for name in names]
    headway.begin()
    done = headway.ok("sync", "run", "--json").json
    assert done["dispositions"]["picked"] == 5 and done["closed"]
    [bundle] = events(headway, BundleClosed)
    [probe] = events(headway, Probed)
    assert bundle.changes == probe.changes == tuple(shas) and probe.verdict == "passed"
    assert len(positions(headway)) == 1, "the branch moved once"
    lines = picture(headway.pair)
    assert [line.split(" | ")[0] for line in lines] == names
    assert [line.rsplit("Headway-Bundle: ", 1)[1] for line in lines] == [f"{bundle.bundle} {n}/5" for n in range(1, 6)]
    assert [line.split(" | ")[1] for line in lines] == ["Upstream Author"] * 5


def test_eight_with_one_bad_and_a_pair_that_fails_only_together(tmp_path: Path) -> None:
    headway = flagged(tmp_path)
    names = ["a", "b", "bad", "c", "left", "d", "right", "e"]
    made = {name: flag(headway, name) for name in names}
    headway.begin()
    done = headway.ok("sync", "run", "--json").json
    assert done["dispositions"] | {"picked": 6, "deferred": 2} == done["dispositions"] and done["closed"]
    assert [line.split(" | ")[0] for line in picture(headway.pair)] == ["a", "b", "c", "left", "d", "e"]
    bad, right = events(headway, Ejected)
    assert (bad.change, bad.alone, bad.partner) == (made["bad"], "red", "")
    assert (right.change, right.alone, right.partner) == (made["right"], "green", made["left"])
    assert headway.answer(made["bad"]) == headway.answer(made["right"]) == "deferred(tests_failed)"
    shown = headway.ok("sync", "show", made["right"], "--json").json
    assert shown["disposition"]["partner"] == made["left"] and shown["evidence"]["verdict"] == "refused"
    first, second, third = (b for b in events(headway, BundleClosed))
    assert (len(first.changes), len(second.changes), len(third.changes)) == (8, 5, 1)
    assert bad.runs <= 1 + least_runs(8) + 1
    assert all(trees_green(headway.pair).values())
    assert set(positions(headway)) <= set(headway.pair.fork.git("rev-list", "headway/sync").split())


def test_what_was_answered_on_top_of_an_ejected_change_is_asked_again(tmp_path: Path) -> None:
    headway = flagged(tmp_path)
    up = headway.pair.upstream
    bad = up.commit("bad", {"flags/bad.txt": "bad\n", "new.txt": "one\n"})
    same = up.commit("same again", {"flags/bad.txt": "worse\n", "new.txt": "two\n"})
    back = up.commit("one again", {"flags/bad.txt": "bad\n", "new.txt": "one\n"})
    headway.begin()
    headway.ok("sync", "run")
    assert headway.answer(bad) == "deferred(tests_failed)"
    assert {headway.answer(same), headway.answer(back)} <= {"deferred(needs_blocked)", "deferred(conflict)"}
    assert headway.status()["closed"] and headway.status()["pending"] == 0


def test_the_size_of_a_bundle_is_the_owners_choice(tmp_path: Path) -> None:
    headway = flagged(tmp_path)
    for number in range(4):
        flag(headway, f"n{number}")
    headway.begin(policy=POLICY + "\n[plan]\nbundle = 1\n")
    headway.ok("sync", "run")
    assert [len(bundle.changes) for bundle in events(headway, BundleClosed)] == [1, 1, 1, 1]
    assert len(positions(headway)) == 4 and "Headway-Bundle" not in "".join(picture(headway.pair))


def test_a_toolchain_pin_travels_alone(tmp_path: Path) -> None:
    headway = flagged(tmp_path)
    flag(headway, "before")
    headway.pair.upstream.commit("bump", {"cmake/llvm-hash.txt": "0" * 40 + "\n"})
    flag(headway, "after")
    headway.begin()
    headway.ok("sync", "run")
    assert [len(bundle.changes) for bundle in events(headway, BundleClosed)] == [1, 1, 1]


def test_dependants_of_a_deferred_change_wait_for_it_by_name_and_come_by_themselves(tmp_path: Path) -> None:
    headway = flagged(tmp_path)
    pair, up = headway.pair, headway.pair.upstream
    ours = pair.fork.read("notes.txt").replace("line 3\n", "ours 3\n")
    pair.fork.commit("fork: line 3 is ours", {"notes.txt": ours})
    theirs = up.read("notes.txt").replace("line 3\n", "their 3\n")
    first = up.commit("line 3 is theirs", {"notes.txt": theirs})
    second = up.commit("and now 33", {"notes.txt": theirs.replace("their 3\n", "their 33\n")})
    free = up.commit("free", {"free.txt": "f\n"})
    headway.begin()
    headway.ok("sync", "run")
    answers = [headway.answer(change) for change in (first, second, free)]
    assert answers == ["deferred(conflict)", "deferred(needs_blocked)", "picked(landed)"]
    shown = headway.ok("sync", "show", second, "--json").json
    assert shown["waits_for"] == first and shown["evidence"]["blockers"][0]["change"] == first
    pair.fork.commit("fork: line 3 is nobody's", {"notes.txt": ours.replace("ours 3\n", "line 3\n")})
    pair.fork.git("branch", "-D", "headway/sync")
    headway.ok("sync", "retry", first)
    headway.ok("sync", "run")
    assert [headway.answer(change) for change in (first, second, free)] == ["picked(landed)"] * 3


def test_a_user_of_a_name_that_the_fork_lacks_waits_though_its_pick_is_clean(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    pair, up = headway.pair, headway.pair.upstream
    pair.fork.commit("fork: own engine", {"engine.py": ENGINE.replace("a + b", "b + a")})
    theirs = ENGINE.replace("a + b", "add_helper(a, b)") + "\n\ndef add_helper(a, b):\n    return a + b\n"
    brings = up.commit("helper", {"engine.py": theirs})
    uses = up.commit("user", {"user.py": "import engine\n\n\ndef use():\n    return engine.add_helper(1, 2)\n"})
    headway.begin()
    headway.ok("sync", "run")
    assert headway.answer(brings) == "deferred(conflict)" and headway.answer(uses) == "deferred(needs_blocked)"
    headway.ok("sync", "decide", brings, "wont_port", "--reason", "ours is better")
    headway.ok("sync", "run")
    assert headway.answer(uses) == "picked(landed)", "the blocker is decided: tried again by itself, L1 judges"


def test_the_information_bound_is_reported(tmp_path: Path) -> None:
    headway = flagged(tmp_path)
    for name in ("a", "b", "bad", "c"):
        flag(headway, name)
    headway.begin()
    said = headway.ok("sync", "run").err
    assert "bundle of 4: " in said and f"the least possible is {least_runs(4)}" in said


FLAKING = """import pathlib, sys
pathlib.Path("kept").mkdir(exist_ok=True)
runs = pathlib.Path("kept/runs")
run = int(runs.read_text()) + 1 if runs.exists() else 1
runs.write_text(str(run))
sys.dont_write_bytecode = True
sys.path.insert(0, ".")
import engine
ends = {"adds": engine.add(2, 2) == 4, "sometimes": run not in RED}
cases = "".join(f'<testcase classname="t" name="{n}">{"" if ok else "<failure/>"}</testcase>' for n, ok in ends.items())
pathlib.Path("junit.xml").write_text(f"<testsuite>{cases}</testsuite>")
sys.exit(not all(ends.values()))
"""
JUNIT = f"""
[l1]
test = "{sys.executable} -S check.py"
junit = ["junit.xml"]
cache = ["kept"]
reruns = 2
"""


def flaking(folder: Path, red: set[int]) -> Headway:
    """A fork whose suite is red at certain runs, counted from the first, whatever it is run on."""
    return new_fork(folder, {"check.py": FLAKING.replace("RED", repr(red))})


def test_a_red_answer_that_the_reruns_do_not_repeat_is_asked_again_and_accuses_nobody(tmp_path: Path) -> None:
    """A soak of 500 with a test that fails in 3 of 100 runs deferred two innocent changes."""
    headway = flaking(tmp_path, {1})
    for name in ("a", "b", "c"):
        flag(headway, name)
    headway.begin(l1=JUNIT)
    said = headway.ok("sync", "run")
    assert "L1 is asked once more" in said.err
    assert [probe.verdict for probe in events(headway, Probed)] == ["unproven", "passed"]
    assert events(headway, Ejected) == [] and headway.status()["dispositions"]["picked"] == 3


def test_what_fails_in_every_rerun_is_believed_at_once(tmp_path: Path) -> None:
    headway = flaking(tmp_path, set())
    bad = headway.pair.upstream.commit("bad", {"engine.py": ENGINE.replace("a + b", "a - b")})
    headway.begin(l1=JUNIT)
    headway.ok("sync", "run")
    assert [probe.verdict for probe in events(headway, Probed)] == ["refused"]
    assert headway.answer(bad) == "deferred(tests_failed)"
