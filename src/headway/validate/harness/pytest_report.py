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
from headway.validate.results import Cause, Folded, Named, TestResult, worst_of_same_name

PLUGIN_FOLDER = Path(__file__).parent / "pytest_plugin"
"""Alone in its folder: nothing else may become importable in the fork's tests."""
REPORT_PREFIX = ".headway-pytest"
FOLD_FROM = 200
"""So many tests that were deselected for one reason are kept as one."""
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


def read_pytest(root: Path, tracked: Collection[str]) -> Named | Damaged:
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
        run.take_all(content.decode("utf-8", "replace").splitlines())
    tests = [test for run in runs.values() for test in run.tests()]
    # what one pytest of the step deselected another may have run
    ran = {test.id for test in tests} if len(runs) > 1 else frozenset[TestId]()
    folded = tuple(fold for run in runs.values() for fold in run.folded(ran))
    files = (name.partition("::")[0] for fold in folded for name in fold.names.split("\n"))
    return Named(worst_of_same_name([*tests, *unseen_tests(root, tracked, tests, frozenset(files))]), folded)


@dataclass
class PytestRun:
    """One pytest session as its lines come in, in any order. `ended`: it came to its own end."""

    collected: list[str] = field(default_factory=list)
    """In the order of collection, which numbers refer to."""
    deselected: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """(reason, the line)."""
    outcomes: dict[str, TestResult] = field(default_factory=dict)
    finished: set[str] = field(default_factory=set)
    files: list[TestResult] = field(default_factory=list)
    hidden: list[TestResult] = field(default_factory=list)
    ended: bool = False
    torn: bool = False

    def take_all(self, lines: list[str]) -> None:
        """A whole report; lines that are none are passed over."""
        try:
            entries = json.loads(f"[{','.join(lines)}]")  # at once: twice as quick as line by line
        except ValueError:
            entries = filter(None, map(_entry, lines))
        for entry in entries:
            try:
                self.take(entry)
            except (KeyError, TypeError, AttributeError, ValueError):
                self.torn = True

    def take(self, line: dict[str, Any]) -> None:
        """One line of the plugin's report. Raises KeyError or TypeError for one that is not."""
        kind = line["e"]
        if kind == "begun":
            self.outcomes.setdefault(line["id"], TestResult(from_node(line["id"]), "passed"))
        elif kind == "done":
            self._done(line["id"], line["seconds"])
        elif kind == "collected":
            self.collected += line["ids"]
        elif kind == "deselected":
            self.deselected.append((line["reason"], line))
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

    def _done(self, node: str, seconds: float) -> None:
        """Its last phase passed, and it took so long in all phases that passed: by far the commonest end."""
        known = self.outcomes.get(node)
        self.finished.add(node)
        if known is None:
            self.outcomes[node] = TestResult(from_node(node), "passed", "", seconds)
        else:
            seconds = round(known.seconds + seconds, 6)
            self.outcomes[node] = TestResult(known.id, known.state, known.reason, seconds, known.cause)

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
        """What became of every test that was named, but for those that `folded` has; one may come more than once."""
        yield from self.files
        yield from self.hidden
        for node, test in self.outcomes.items():
            if node in self.finished or self.ended:
                yield test
            else:
                yield TestResult(test.id, "failed", "the run ended while this test was at work", cause="ended_early")
        left_out = self._left_out()
        missing = set(self.collected) - self.outcomes.keys()
        for reason, nodes in left_out.items():
            missing -= nodes
            if len(nodes) < FOLD_FROM:
                yield from (TestResult(from_node(node), "not_run", reason, 0.0, "deselected") for node in nodes)
        for node in missing:
            yield TestResult(from_node(node), "not_run", "the run ended before its turn", 0.0, "ended_early")

    def folded(self, ran: Collection[TestId] = ()) -> Iterable[Folded]:
        """What was deselected for one reason, where it is much; without what is among `ran`."""
        for reason, nodes in self._left_out().items():
            names = sorted({from_node(node) for node in nodes}.difference(ran)) if len(nodes) >= FOLD_FROM else []
            if names:
                yield Folded(reason, "deselected", "\n".join(names))

    def _left_out(self) -> dict[str, set[str]]:
        """Deselected and not run all the same, by reason."""
        found: dict[str, set[str]] = {}
        for reason, line in self.deselected:
            nodes = found.setdefault(reason, set())
            nodes.update(line.get("ids", ()))
            for first, last in line.get("ranges", ()):
                nodes.update(self.collected[first : last + 1])
        return {reason: nodes - self.outcomes.keys() for reason, nodes in found.items()}


def _entry(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _state(outcome: str, reason: str, xfail: str | None) -> tuple[Any, str, float, Cause]:
    if outcome == "failed":
        return "failed", reason, 0.0, ""
    if xfail is not None and outcome == "skipped":
        return "passed", f"fails as expected: {xfail}".rstrip(": "), 0.0, "xfail"
    if outcome == "skipped":
        return "skipped", reason, 0.0, ""
    return "passed", "", 0.0, ""
