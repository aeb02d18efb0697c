"""The plugin's report -> test results: what was collected and has no outcome did not run, and says so."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.core.names import TestId
from headway.core.testid import from_node
from headway.validate.harness.sources import unseen_tests
from headway.validate.reports import Damaged, read_regular_file, report_paths
from headway.validate.results import Cause, TestResult, worst_of_same_name

PLUGIN_FOLDER = Path(__file__).parent / "pytest_plugin"
"""Alone in its folder: nothing else may become importable in the fork's tests."""
REPORT_PREFIX = ".headway-pytest"
REPORT_GLOBS = (f"{REPORT_PREFIX}.*.jsonl",)


def environment(env: Mapping[str, str], clone: Path) -> dict[str, str]:
    """`env` with the plugin loaded into every pytest of the test step."""
    path = [str(PLUGIN_FOLDER), *filter(None, [env.get("PYTHONPATH", "")])]
    addopts = ["-p headway_pytest", *filter(None, [env.get("PYTEST_ADDOPTS", "")])]
    return {
        **env,
        "PYTHONPATH": ":".join(path),
        "PYTEST_ADDOPTS": " ".join(addopts),
        "HEADWAY_PYTEST_REPORT": str(clone / REPORT_PREFIX),
    }


def read_pytest(root: Path, tracked: Collection[str]) -> tuple[TestResult, ...] | Damaged:
    """All tests of all pytest runs of the step, and those of sibling files that none of them looked at."""
    paths = report_paths(root, REPORT_GLOBS)
    if not paths:
        return Damaged("no pytest wrote a report: did the test step start one, and does it honour PYTEST_ADDOPTS?")
    runs: dict[str, PytestRun] = {}
    for path in paths:
        content = read_regular_file(root, path)
        if isinstance(content, Damaged):
            return content
        # `.headway-pytest.<pid>.jsonl` and, with xdist, `.headway-pytest.<pid>.gw0.jsonl` are one run
        run = runs.setdefault(path.name.removeprefix(f"{REPORT_PREFIX}.").split(".")[0], PytestRun())
        for line in content.decode("utf-8", "replace").splitlines():
            try:
                run.take(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError):
                run.torn = True
    tests = [test for run in runs.values() for test in run.tests()]
    return worst_of_same_name([*tests, *unseen_tests(root, tracked, tests)])


@dataclass
class PytestRun:
    """One pytest session as its lines come in, in any order. `ended`: it came to its own end."""

    collected: dict[str, None] = field(default_factory=dict)
    deselected: dict[str, str] = field(default_factory=dict)
    outcomes: dict[str, TestResult] = field(default_factory=dict)
    finished: set[str] = field(default_factory=set)
    files: list[TestResult] = field(default_factory=list)
    hidden: list[TestResult] = field(default_factory=list)
    ended: bool = False
    torn: bool = False

    def take(self, line: dict[str, Any]) -> None:
        """One line of the plugin's report. Raises KeyError or TypeError for one that is not."""
        kind = line["e"]
        if kind == "passed":
            self._passed(line)
        elif kind == "collected":
            self.collected.update(dict.fromkeys(line["ids"]))
        elif kind == "deselected":
            self.deselected.update(dict.fromkeys(line["ids"], line["reason"]))
        elif kind == "collect_failed":
            self.files.append(TestResult(from_node(line["id"]), "failed", line["reason"], cause="collection_failed"))
        elif kind == "collect_skipped":
            self.files.append(TestResult(from_node(line["id"]), "skipped", line["reason"], cause="module_skipped"))
        elif kind == "shadowed":
            name = TestId(f"{from_node(line['id'])} (line {line['line']})")
            reason = "a later definition of the same name hides it"
            self.hidden.append(TestResult(name, "not_run", reason, cause="shadowed"))
        elif kind == "result":
            self._result(line)
        elif kind == "end":
            self.ended = True

    def _passed(self, line: dict[str, Any]) -> None:
        """A phase that passed: by far the commonest line."""
        node, seconds = line["id"], line["seconds"]
        known = self.outcomes.get(node)
        if known is None:
            self.outcomes[node] = TestResult(from_node(node), "passed", "", seconds)
        else:
            seconds = round(known.seconds + seconds, 6)
            self.outcomes[node] = TestResult(known.id, known.state, known.reason, seconds, known.cause)
        if line["when"] == "teardown":
            self.finished.add(node)

    def _result(self, line: dict[str, Any]) -> None:
        node, when, outcome = line["id"], line["when"], line["outcome"]
        if when == "teardown":
            self.finished.add(node)
        known = self.outcomes.get(node)
        test = TestResult(from_node(node), *_state(outcome, line["reason"], line["xfail"]))
        seconds = line["seconds"] + (known.seconds if known else 0.0)
        worse = known is None or known.state == "passed"
        kept = test if worse and (when == "call" or outcome != "passed" or known is None) else known
        assert kept is not None
        self.outcomes[node] = TestResult(kept.id, kept.state, kept.reason, round(seconds, 6), kept.cause)

    def tests(self) -> Iterable[TestResult]:
        """What became of every test that was named; one identity may come more than once."""
        yield from self.files
        yield from self.hidden
        for node, test in self.outcomes.items():
            if node in self.finished or self.ended:
                yield test
            else:
                yield TestResult(test.id, "failed", "the run ended while this test was at work", cause="ended_early")
        for node in self.collected.keys() - self.outcomes.keys():
            reason = self.deselected.get(node)
            if reason is None:
                yield TestResult(from_node(node), "not_run", "the run ended before its turn", 0.0, "ended_early")
            else:
                yield TestResult(from_node(node), "not_run", reason, 0.0, "deselected")


def _state(outcome: str, reason: str, xfail: str | None) -> tuple[Any, str, float, Cause]:
    if outcome == "failed":
        return "failed", reason, 0.0, ""
    if xfail is not None and outcome == "skipped":
        return "passed", f"fails as expected: {xfail}".rstrip(": "), 0.0, "xfail"
    if outcome == "skipped":
        return "skipped", reason, 0.0, ""
    return "passed", "", 0.0, ""
