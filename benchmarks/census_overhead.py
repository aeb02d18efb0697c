"""What the census costs: a real project's suite with headway's plugin, with plain JUnit, and with neither, in turns.

    python -m benchmarks.census_overhead [--sdist click==8.5.1 | --project DIR] [--rounds 10] [--args tests] [--json]

Whole runs, in another order each round: `bare` (pytest alone), `junit` (pytest writes JUnit XML, which is read, kept,
and compared as `validate` does) and `census` (the plugin instead). A run's cost is the processor time of pytest and of
headway's reading; `overhead` is a round's run beside the same round's bare one. What is printed is the median of all
rounds with the interval that order statistics give it (at least 95 %). Nothing is timed inside. `--floor` adds a second
bare run to each round: its overhead should be nothing, and its interval is what the machine adds.

`--sdist` takes a project's source distribution from the package index; its test dependencies must be in this Python.
"""

import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from math import comb
from pathlib import Path
from statistics import median
from typing import Any

from headway.core.errors import HeadwayError
from headway.core.names import Sha, TreeId
from headway.validate.census import Inventory, compare, some_silent_skips
from headway.validate.harness.pytest_report import REPORT_GLOBS, environment, read_pytest
from headway.validate.reports import Damaged, read_junit, remove_stale_reports
from headway.validate.results import Named, SuiteResult
from headway.validate.tier_ladder import SILENT_SHOWN

SCHEMA = "headway.bench.census_overhead/2"
JUNIT = ".headway-bench.xml"
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Suite:
    """A checkout, its files, and how its tests are started."""

    root: Path
    tracked: tuple[str, ...]
    argv: tuple[str, ...]
    env: dict[str, str]

    def bare(self) -> float:
        """CPU seconds of pytest alone."""
        return self._cpu((), self.env)[0]

    def junit(self) -> float:
        """With JUnit XML, and its reading."""
        spent, _ = self._cpu((f"--junitxml={JUNIT}",), self.env)
        return spent + self._reading(lambda: read_junit(self.root, (JUNIT,), frozenset(self.tracked)))[0]

    def census(self) -> float:
        """With the plugin, and its reading."""
        spent, _ = self._cpu((), environment(self.env, self.root))
        return spent + self._reading(lambda: read_pytest(self.root, self.tracked))[0]

    def look(self) -> dict[str, object]:
        """One run with the census before anything is timed: what there is, and caches are warm."""
        _, code = self._cpu((), environment(self.env, self.root))
        _, result = self._reading(lambda: read_pytest(self.root, self.tracked))
        counts = dict(result.counts)
        return {"exit": code, "ran": len(result.ran()), "failed": counts["failed"], "identities": sum(counts.values())}

    def _cpu(self, more: tuple[str, ...], env: dict[str, str]) -> tuple[float, int]:
        remove_stale_reports(self.root, (*REPORT_GLOBS, JUNIT))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        code = subprocess.run([*self.argv, *more], cwd=self.root, env=env, capture_output=True, check=False).returncode
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, code

    def _reading(self, read: Callable[[], Any]) -> tuple[float, SuiteResult]:
        """CPU seconds to read, keep and compare, as a run of L1 does."""
        begun = time.process_time()
        found = read()
        if isinstance(found, Damaged):
            raise HeadwayError(f"The suite's report cannot be read: {found.what}.", "Try --args by hand.")
        named = found if isinstance(found, Named) else Named(found)
        nowhere = (Sha("0" * 40), TreeId("0" * 40), "", "")
        result = SuiteResult(*nowhere, named.tests, (), (), folded=named.folded)  # type: ignore[arg-type]
        result.to_json()
        some_silent_skips(result, SILENT_SHOWN)
        compare(Inventory.of(result), result, (), date.max)
        return time.process_time() - begun, result


def main(argv: Sequence[str] | None = None) -> int:
    """Print both series and the intervals. Exit code 4 where the project cannot be had or does not run."""
    options = _options(argv)
    with tempfile.TemporaryDirectory() as folder:
        try:
            root = options.project or _unpacked(options.sdist, Path(folder))
            suite = _suite(root.resolve(), options)
            about = suite.look()
            if not about["ran"]:
                raise HeadwayError(f"No test of {root.name} ran.", "Install what its tests need, or change --args.")
        except HeadwayError as trouble:
            print(str(trouble), file=sys.stderr)
            return 4
        print(f"{options.sdist or root.name}: {about}", file=sys.stderr)
        arms = {"bare": suite.bare, "junit": suite.junit, "census": suite.census}
        arms |= {"bare again": suite.bare} if options.floor else {}
        series: dict[str, list[float]] = {name: [] for name in arms}
        for number in range(options.rounds):
            order = [*list(arms)[number % len(arms) :], *list(arms)[: number % len(arms)]]
            for name in order if number // len(arms) % 2 == 0 else reversed(order):
                series[name].append(round(arms[name](), 3))
            print(f"round {number}: " + ", ".join(f"{k} {v[-1]:.2f}" for k, v in series.items()), file=sys.stderr)
        remove_stale_reports(suite.root, (*REPORT_GLOBS, JUNIT))
    overhead = {name: interval(series["bare"], series[name]) for name in arms if name != "bare"}
    document = {
        "schema": SCHEMA,
        "project": options.sdist or root.name,
        **about,
        "series": series,
        "overhead": overhead,
    }
    if options.json:
        print(json.dumps(document))
    else:
        for name, values in series.items():
            print(f"{name:<11}" + " ".join(f"{value:7.2f}" for value in values))
        for name, (middle, low, high) in overhead.items():
            print(f"{name:<11}{middle:+.1%} [{low:+.1%}, {high:+.1%}]")
    return 0


def interval(bare: Sequence[float], other: Sequence[float]) -> tuple[float, float, float]:
    """(median, low, high) of the paired overheads; the ends are order statistics, the range itself if there are few."""
    ratios = sorted(there / here - 1 for here, there in zip(bare, other, strict=True))
    count, cut = len(ratios), 0
    while 1 - 2 * sum(comb(count, below) for below in range(cut + 2)) / 2**count >= CONFIDENCE:
        cut += 1
    return round(median(ratios), 4), round(ratios[cut], 4), round(ratios[count - 1 - cut], 4)


def _suite(root: Path, options: argparse.Namespace) -> Suite:
    tracked = tuple(str(path.relative_to(root)) for path in sorted(root.rglob("*.py")) if ".git" not in path.parts)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    env["PYTHONPATH"] = str(root / "src" if (root / "src").is_dir() else root)
    argv = (options.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *shlex.split(options.args))
    return Suite(root, tracked, argv, env)


def _unpacked(wanted: str, folder: Path) -> Path:
    """The project's source distribution from the package index. Raises HeadwayError where it cannot be had."""
    argv = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--no-binary",
        ":all:",
        "-d",
        str(folder),
        wanted,
    ]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    files = sorted(folder.glob("*.tar.gz"))
    if done.returncode or not files:
        last = (done.stderr.strip().splitlines() or ["nothing was downloaded"])[-1]
        raise HeadwayError(f"{wanted} cannot be had from the package index: {last}", "Give a checkout with --project.")
    with tarfile.open(files[0]) as archive:
        archive.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--sdist", default="click==8.5.1", help="a requirement for pip")
    where.add_argument("--project", type=Path, help="or a checkout")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--args", default="tests")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--floor", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    options.sdist = "" if options.project else options.sdist
    return options


if __name__ == "__main__":
    sys.exit(main())
