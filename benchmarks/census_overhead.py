"""What the census costs: a real project's suite, in CPU seconds, through headway's plugin and through plain JUnit.

    python -m benchmarks.census_overhead --project DIR [--python PYTHON] [--args 'tests'] [--pairs 3] [--json]

`pytest` is the time inside the plugin's hooks, plus reading, keeping and comparing the report, as a share of the rest
of the same run; `junit` is the reading of the run's own JUnit XML. Two runs with and without the plugin differ by more
than either costs as soon as anything else is at work on the machine, so the hooks are timed where they are; what pytest
spends on calling them is not in it.
"""

import argparse
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

from benchmarks.table import Row, show
from headway.core.names import Sha, TreeId
from headway.validate.census import Inventory, compare, silent_skips
from headway.validate.harness.pytest_report import REPORT_GLOBS, environment, read_pytest
from headway.validate.reports import Damaged, read_junit, remove_stale_reports
from headway.validate.results import SuiteResult, TestResult

SCHEMA = "headway.bench.census_overhead/1"
JUNIT = ".headway-bench.xml"
TIMER = """
import os, time
import headway_pytest

spent = 0

def timed(function):
    def run(*args):
        global spent
        begun = time.thread_time_ns()
        try:
            return function(*args)
        finally:
            spent += time.thread_time_ns() - begun
    return run

class Timed(headway_pytest.Census):
    def pytest_itemcollected(self, item): timed(super().pytest_itemcollected)(item)
    def pytest_collection_finish(self): timed(super().pytest_collection_finish)()
    def pytest_deselected(self, items): timed(super().pytest_deselected)(items)
    def pytest_collectreport(self, report): timed(super().pytest_collectreport)(report)
    def pytest_runtest_logreport(self, report): timed(super().pytest_runtest_logreport)(report)
    def pytest_sessionfinish(self, session, exitstatus):
        timed(super().pytest_sessionfinish)(session, exitstatus)
        with open(os.environ["HEADWAY_CENSUS_SECONDS"], "w") as file:
            file.write(str(spent / 1e9))

headway_pytest.Census = Timed
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Print a row a run."""
    options = _options(argv)
    root, argv_ = options.project.resolve(), [options.python, "-m", "pytest", "-q", *shlex.split(options.args)]
    tracked = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout.split()
    plain_env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    plain_env |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    plain_env["PYTHONPATH"] = str(root / "src")
    rows: list[Row] = []
    for number in range(options.pairs):
        remove_stale_reports(root, (*REPORT_GLOBS, JUNIT))
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "headway_census_timer.py").write_text(TIMER)
            env = environment(plain_env, root)
            env["PYTHONPATH"] = f"{folder}:{env['PYTHONPATH']}"
            env["HEADWAY_CENSUS_SECONDS"] = str(Path(folder, "seconds"))
            run = _cpu([*argv_, "-p", "headway_census_timer", f"--junitxml={JUNIT}"], root, env)
            hooks = float(Path(folder, "seconds").read_text())
        reading, tests = _reading(lambda: read_pytest(root, tracked))
        junit, _ = _reading(lambda: _junit(root, tracked))
        row = {"run": number, "tests": tests, "cpu_seconds": round(run - hooks, 2), "hooks": round(hooks, 4)}
        shares = {"pytest": (hooks + reading) / (run - hooks), "junit": junit / (run - hooks)}
        rows.append({**row, "reading": round(reading, 4), **{name: round(one, 4) for name, one in shares.items()}})
    remove_stale_reports(root, (*REPORT_GLOBS, JUNIT))
    return show(SCHEMA, rows, as_json=options.json)


def _junit(root: Path, tracked: list[str]) -> tuple[TestResult, ...] | Damaged:
    return read_junit(root, (JUNIT,), frozenset(tracked))


def _cpu(argv: list[str], cwd: Path, env: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, cwd=cwd, env=env, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _reading(read: Callable[[], tuple[TestResult, ...] | Damaged]) -> tuple[float, int]:
    """CPU seconds to read, keep and compare; how many tests there were."""
    begun = time.process_time()
    found = read()
    assert not isinstance(found, Damaged), found
    result = SuiteResult(Sha("0" * 40), TreeId("0" * 40), "", "", found, (), ())
    result.to_json()
    silent_skips(result)
    compare(Inventory.of(result), result, (), date.max)
    return time.process_time() - begun, len(found)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--project", type=Path, required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--args", default="tests -p no:cacheprovider")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
