"""headway's pytest plugin: writes down collection, deselection, every outcome, and a sentinel at the end of the run.

It runs in the fork's own Python, loaded with `-p headway_pytest`; it imports nothing of headway and works without any
other plugin. One JSON object a line, flushed at once: whatever ends the process, what was written stays. Under xdist
the controller writes outcomes and the first worker writes what was collected.
"""

import ast
import json
import os
import re
from json.encoder import encode_basestring_ascii as quoted

REPORT_VARIABLE = "HEADWAY_PYTEST_REPORT"
REASON_CHARACTERS = 200
TEST_CLASS = re.compile(r"^class[ \t]+\w", re.MULTILINE)
TEST_NAMES = re.compile(r"^([ \t]*)(?:async[ \t]+def|def|class)[ \t]+((?:test|Test)\w*)", re.MULTILINE)


class Census:
    """One open report. `worker` is "" in the controller or without xdist.

    A suite of a few thousand quick tests must not notice it: identities go out a file at a time, a test that passes
    makes two short lines and one flush, and nothing is formatted that nobody will read.
    """

    def __init__(self, path, worker):
        self.file = open(path, "x", encoding="utf-8")
        self.worker = worker
        self.fresh = []
        self.numbers = {}
        self.seconds = {}

    def write(self, event, **facts):
        self.file.write(json.dumps({"e": event, **facts}) + "\n")
        self.file.flush()

    # --- what was collected, and what was left out

    def pytest_itemcollected(self, item):
        self.numbers[item] = len(self.numbers)
        self.fresh.append(item.nodeid)

    def pytest_collection_finish(self):
        self.write_fresh()
        self.numbers = {}

    def write_fresh(self):
        if self.fresh:
            self.write("collected", ids=self.fresh)
            self.fresh = []

    def pytest_deselected(self, items):
        """By their numbers in the order of collection: a stress suite may deselect tens of thousands."""
        if items:
            self.write_fresh()
            known = sorted(self.numbers[item] for item in items if item in self.numbers)
            unknown = [item.nodeid for item in items if item not in self.numbers]
            self.write("deselected", ranges=_ranges(known), ids=unknown, reason=_selection(items[0].config))

    def pytest_collectreport(self, report):
        self.write_fresh()
        if report.failed:
            self.write("collect_failed", id=report.nodeid, reason=_last_line(str(report.longrepr)))
        elif report.skipped:
            self.write("collect_skipped", id=report.nodeid, reason=_skip_reason(report))
        elif report.nodeid.endswith(".py"):
            for name, line in shadowed(os.path.join(self.root, report.nodeid)):
                self.write("shadowed", id=f"{report.nodeid}::{name}", line=line)

    # --- how each test ended

    def pytest_runtest_logreport(self, report):
        if self.worker:
            return  # the controller gets the same report
        name = report.nodeid
        if report.passed and not hasattr(report, "wasxfail"):
            if report.when == "setup":
                self.seconds[name] = report.duration
                # out before the test's own code runs; what it leaves goes out with the next one's
                self.file.write(f'{{"e":"begun","id":{quoted(name)}}}\n')
                self.file.flush()
            elif report.when == "call":
                self.seconds[name] = self.seconds.get(name, 0.0) + report.duration
            else:
                seconds = self.seconds.pop(name, 0.0) + report.duration
                self.file.write(f'{{"e":"done","id":{quoted(name)},"seconds":{seconds:.6f}}}\n')
            return
        reason = _crash_line(report) if report.failed else _skip_reason(report) if report.skipped else ""
        xfail = getattr(report, "wasxfail", None)
        self.write(
            "result",
            id=report.nodeid,
            when=report.when,
            outcome=report.outcome,
            reason=reason[:REASON_CHARACTERS],
            seconds=round(getattr(report, "duration", 0.0), 6),
            xfail=None if xfail is None else str(xfail)[:REASON_CHARACTERS],
        )

    def pytest_sessionfinish(self, session, exitstatus):
        self.write("end", exit=int(exitstatus), collected=session.testscollected, failed=session.testsfailed)


def _ranges(numbers):
    """[first, last] of every run of neighbours."""
    found = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found


def pytest_configure(config):
    """Register, unless this is a pytest that a test of the outer run started (in a process of its own or in ours)."""
    prefix = os.environ.get(REPORT_VARIABLE)
    if not prefix:
        return
    worker = getattr(config, "workerinput", {}).get("workerid", "")
    controller = str(os.getppid() if worker else os.getpid())
    outermost = os.environ.setdefault(REPORT_VARIABLE + "_PID", controller)
    if controller != outermost or worker not in ("", "gw0"):
        return
    try:
        census = Census(f"{prefix}.{controller}{worker and '.' + worker}.jsonl", worker)
    except FileExistsError:
        return
    census.root = str(config.rootpath)
    census.write("start", schema=1, root=census.root)
    config.pluginmanager.register(census, "headway-census")


def shadowed(path):
    """(name, line) of each test that a later definition of the same name in the same scope hides."""
    try:
        with open(path, encoding="utf-8") as file:
            source = file.read()
        nested = TEST_CLASS.search(source) is not None
        names = [found for found in TEST_NAMES.findall(source) if nested or not found[0]]
        if len(names) == len(set(names)):
            return []  # no name stands twice at one depth: most files need not be parsed
        tree = ast.parse(source)
    except (OSError, SyntaxError, ValueError):
        return []
    found = []

    def scope(body, prefix):
        last = {}
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                if node.name in last and node.name.lower().startswith("test") and not node.decorator_list:
                    found.append((prefix + node.name, last[node.name]))
                last[node.name] = node.lineno
            if isinstance(node, ast.ClassDef):
                scope(node.body, prefix + node.name + "::")

    scope(tree.body, "")
    return found


def _selection(config):
    chosen = (("-k", config.option.keyword), ("-m", config.option.markexpr))
    parts = [f"{flag} {value!r}" for flag, value in chosen if value]
    return "deselected by " + (" ".join(parts) or "an option or a plugin")


def _skip_reason(report):
    longrepr = report.longrepr
    text = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr or "")
    return text.replace("Skipped: ", "", 1)[:REASON_CHARACTERS]


def _crash_line(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    message = str(crash.message) if crash is not None and crash.message else ""
    return message.splitlines()[0] if message else _last_line(str(report.longrepr))


def _last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].strip()[:REASON_CHARACTERS] if lines else ""
