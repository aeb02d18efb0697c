"""Runs the suite several times, shuffled and in a process of its own each; leaves a report of each in $HEADWAY_OUT.

`run_suite.py RUNS`. What it leaves is believed only as far as `suite_reports.py` can check it.
"""

import json
import os
import random
import sys
import tempfile

import pytest

UNUSED = ("cacheprovider", "doctest", "junitxml", "pastebin", "unittest", "faulthandler", "logging", "stepwise", "nose")
QUICK = ["-q", "--tb=no", "--assert=plain", *(part for name in UNUSED for part in ("-p", f"no:{name}"))]
"""No rewriting of asserts and no plugin that is not needed: a run takes a third of the time."""


class Recorder:
    """Shuffles, notes what became of each test, and ends the process with the session: what comes after is costly."""

    def __init__(self, number, seed, out):
        self.number, self.out = number, out
        self.chance = random.Random(seed)
        self.ids = []
        self.outcomes = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        self.chance.shuffle(items)
        self.ids = [item.nodeid for item in items]

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            told = "xfail" if hasattr(report, "wasxfail") else report.outcome
            if self.outcomes.get(report.nodeid) != "failed":
                self.outcomes[report.nodeid] = told

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus):
        code = int(exitstatus)
        told = {"run": self.number, "code": code, "ids": self.ids, "outcomes": self.outcomes}
        with open(os.path.join(self.out, f"run-{self.number}.json"), "x") as file:
            json.dump(told, file)
        os._exit(code)


def once(number, seed, out):
    """In the child: never returns."""
    try:
        tempfile.tempdir = tempfile.mkdtemp()
        pytest.main([*QUICK, "tests"], plugins=[Recorder(number, seed, out)])
    finally:
        os._exit(70)


def warm():
    """Load what pytest loads late, once, so that not every run does."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "test_nothing.py"), "w") as file:
            file.write("def test_nothing(tmp_path, monkeypatch):\n    pass\n")
        pytest.main([*QUICK, f"--rootdir={folder}", folder])


def main():
    runs, out = int(sys.argv[1]), os.environ["HEADWAY_OUT"]
    seed = int(os.environ["HEADWAY_SEED"])
    sys.path.insert(0, os.getcwd())
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    warm()
    codes = []
    for number in range(runs):
        pid = os.fork()
        if pid == 0:
            once(number, seed * 1000 + number, out)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    with open(os.path.join(out, "codes.json"), "x") as file:
        json.dump(codes, file)


if __name__ == "__main__":
    main()
