"""A pick whose failure somebody answers for: sync's L1 holds itself to the same waivers as `validate run L1`."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.sync.driver import CHECK, ENGINE, POLICY, new_fork

REPORT = """
fault = "<failure message='wrong'/>"
cases = [f"<testcase classname='check' name='{name}'>{'' if ok else fault}</testcase>" for name, ok in tests]
open("report.xml", "w").write(f"<testsuite>{''.join(cases)}</testsuite>")
"""
L1 = f"""
[l1]
test = "{sys.executable} -S check.py"
junit = ["report.xml"]
"""
OVER = """
[[waiver]]
tests = "check.py::doubles"
by = "Bob"
reason = "the doubling machine is being moved"
until = 2026-01-01
"""


def test_a_red_pick_lands_by_a_living_waiver_only_and_each_use_is_counted(tmp_path: Path) -> None:
    check = CHECK.replace("sys.exit(", REPORT + "sys.exit(")
    headway = new_fork(tmp_path, {"check.py": check})
    headway.begin(l1=L1, policy=POLICY + OVER)
    change = headway.pair.upstream.commit("thrice", {"engine.py": ENGINE.replace("a * 2", "a * 3")})
    headway.ok("sync", "run")
    assert headway.answer(change) == "deferred(tests_failed)", "Bob's day is over"

    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    headway.ok(
        "validate", "waive", "check.py::doubles", "--reason", "back on Monday", "--until", tomorrow, "--by", "Ann"
    )
    headway.ok("sync", "retry", change)
    headway.ok("sync", "run")
    assert headway.answer(change) == "picked(landed)"
    rows = headway.ok("validate", "show", "--json").json["waivers"]
    assert [(row["by"], row["state"], row["used"]) for row in rows] == [("Bob", "expired", 0), ("Ann", "alive", 1)]
