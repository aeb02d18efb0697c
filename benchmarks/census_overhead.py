"""What the census costs: a real project's suite with and without it, in CPU seconds, through pytest and plain JUnit.

    python -m benchmarks.census_overhead --project DIR [--python PYTHON] [--args 'tests'] [--pairs 5] [--json]

Runs alternate. `pytest`: headway's plugin in the run, and the report read, kept and held against an inventory, over a
plain run. `junit`: the same reading of the run's own JUnit XML, over the run that wrote it.
"""

import argparse
import os
import resource
import shlex
import subprocess
import sys
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


def main(argv: Sequence[str] | None = None) -> int:
    """Print the two rows; overhead is a share of the run's own CPU seconds, by the least of each over pairs."""
    options = _options(argv)
    root, argv_ = options.project.resolve(), [options.python, "-m", "pytest", "-q", *shlex.split(options.args)]
    tracked = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout.split()
    plain_env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    plain_env |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    plain_env["PYTHONPATH"] = str(root / "src")
    bare, census, wrote, reading, junit = [], [], [], [], []
    tests = 0
    for _ in range(options.pairs):
        remove_stale_reports(root, (*REPORT_GLOBS, JUNIT))
        bare.append(_cpu(argv_, root, plain_env))
        census.append(_cpu(argv_, root, environment(plain_env, root)))
        wrote.append(_cpu([*argv_, f"--junitxml={JUNIT}"], root, plain_env))
        for seconds, read in ((reading, lambda: read_pytest(root, tracked)), (junit, lambda: _junit(root, tracked))):
            took, tests = _reading(read)
            seconds.append(took)
    remove_stale_reports(root, (*REPORT_GLOBS, JUNIT))
    # the least of several: what else runs on the machine only ever adds to CPU seconds
    run = min(bare)
    rows: list[Row] = [
        {"row": "pytest", "overhead": round((min(census) + min(reading) - run) / run, 4), "reading": min(reading)},
        {"row": "junit", "overhead": round(min(junit) / min(wrote), 4), "reading": min(junit)},
    ]
    return show(SCHEMA, [{**row, "tests": tests, "bare": bare, "census": census} for row in rows], as_json=options.json)


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
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
