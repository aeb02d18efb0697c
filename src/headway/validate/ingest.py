"""Results of a pipeline elsewhere -> one `SuiteResult`, bound to a revision, or refused with the reason. Pure.

A report is evidence only for the revision it was made of and only if no newer run is known: an older cycle's green,
picked by a number that looked newer, has hidden a red trunk before.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree

from headway.core.events_validate_tiers import SuiteReported
from headway.core.gates import PASSED, Refused, Verdict
from headway.core.names import Sha
from headway.core.reasons import Reason
from headway.validate.harness.lit_report import read_lit_entries
from headway.validate.harness.metric_report import parse_metrics
from headway.validate.harness.pytest_report import PytestRun
from headway.validate.reports import REASON_CHARACTERS, Damaged, parse_junit
from headway.validate.results import Metric, TestResult, Trouble, worst_of_same_name

REVISION_PROPERTIES = ("headway.revision", "revision", "git.commit", "git_commit", "commit", "GITHUB_SHA")
CLOCK_SKEW = timedelta(minutes=10)
SHORT_SHA = 7


@dataclass(frozen=True, slots=True)
class Report:
    """What one or more files say. `revision` and `started` are the report's own words, "" and None if it has none."""

    harness: str
    tests: tuple[TestResult, ...] = ()
    metrics: tuple[Metric, ...] = ()
    revision: str = ""
    started: datetime | None = None
    trouble: Trouble = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class HandedIn:
    """Who says what about a report: the suite and revision it is for, the run's id at its source, when it began."""

    suite: str
    revision: Sha
    run: str
    started: datetime
    committed: datetime
    """When the revision was committed: no run of it can have begun before."""


def read_report(content: bytes, shown: str, form: str, tracked: Collection[str]) -> Report | Damaged:
    """One file. `form` is a key of `FORMS`, or "" to be told from the content. Never raises."""
    form = form or form_of(content)
    if form not in FORMS:
        return Damaged(f"{shown} is in no form that is known ({', '.join(FORMS)})")
    return FORMS[form](content, shown, tracked)


def form_of(content: bytes) -> str:
    """The form by how the content begins; "" if it begins like none."""
    head = content[:4096].lstrip()
    if head.startswith(b"<"):
        return "junit"
    if head.startswith(b"{"):
        if b'"$report_type"' in head.split(b"\n", 1)[0]:
            return "reportlog"
        if b'"benchmarks"' in content[: 1 << 20] and b'"machine_info"' in content[: 1 << 20]:
            return "metrics"
        return "lit"
    return "metrics" if head else ""


def together(reports: Iterable[Report]) -> Report | Damaged:
    """Shards of one run as one report. They must agree on the revision; the run began when the first shard did."""
    parts = tuple(reports)
    revisions = sorted({part.revision for part in parts if part.revision})
    if len(revisions) > 1:
        return Damaged(f"the files are of different revisions ({', '.join(one[:12] for one in revisions)})")
    begun = [part.started for part in parts if part.started is not None]
    troubled = next((part for part in parts if part.trouble), None)
    return Report(
        harness="+".join(dict.fromkeys(part.harness for part in parts)),
        tests=worst_of_same_name(test for part in parts for test in part.tests),
        metrics=tuple(metric for part in parts for metric in part.metrics),
        revision=revisions[0] if revisions else "",
        started=min(begun) if begun else None,
        trouble=troubled.trouble if troubled else "",
        detail=troubled.detail if troubled else "",
    )


def may_be_taken(report: Report, handed: HandedIn, known: Iterable[SuiteReported], now: datetime) -> Verdict:
    """Whether the report is evidence for the revision it was handed in for, and the newest that is known of it."""
    said = report.revision.lower()
    if said and not (len(said) >= SHORT_SHA and handed.revision.startswith(said)):
        return Refused(
            Reason.OTHER_REVISION,
            f"The report says that it is of {report.revision[:12]}, not of {handed.revision[:12]}.",
            "Hand it in for the revision that it is of, or run the suite on this one.",
        )
    if handed.started > now + CLOCK_SKEW:
        return Refused(
            Reason.OLDER_RUN,
            f"The run {handed.run!r} is said to have begun in the future, at {handed.started.isoformat()}.",
            "Give the time at which it began in UTC; a false one would hide every later run.",
        )
    if handed.started < handed.committed - CLOCK_SKEW:
        return Refused(
            Reason.OTHER_REVISION,
            f"The run {handed.run!r} began at {handed.started.isoformat()}, before {handed.revision[:12]} was"
            f" committed ({handed.committed.isoformat()}).",
            "Hand it in for the revision that it is of.",
        )
    for earlier in known:
        same = earlier.suite == handed.suite and earlier.revision == handed.revision
        if same and earlier.run != handed.run and parse_time(earlier.started) >= handed.started:
            return Refused(
                Reason.OLDER_RUN,
                f"The run {handed.run!r} of {handed.suite} began at {handed.started.isoformat()}, and run"
                f" {earlier.run!r} of the same revision, which is known, began at {earlier.started}.",
                "Nothing need be done: the newer run counts.",
            )
    return PASSED


def parse_time(text: str) -> datetime:
    """ISO 8601; without a zone it is UTC. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    return moment.astimezone(UTC) if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _junit(content: bytes, shown: str, tracked: Collection[str]) -> Report | Damaged:
    tests = parse_junit(content, shown, frozenset(tracked))
    if isinstance(tests, Damaged):
        return tests
    revision, started = "", None
    for element in ElementTree.fromstring(content).iter():
        if element.tag == "property" and element.get("name") in REVISION_PROPERTIES:
            revision = revision or (element.get("value") or "").strip()
        elif element.tag == "testsuite" and started is None:
            started = _time_or_none(element.get("timestamp"))
    return Report("junit", worst_of_same_name(tests), revision=revision, started=started)


def _reportlog(content: bytes, shown: str, _: Collection[str]) -> Report | Damaged:
    """pytest-reportlog: one JSON object a line. Without its last line the run did not end, and what it says is kept."""
    run, began = PytestRun(), None
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), start=1):
        try:
            entry = json.loads(line)
            if (taken := _of_reportlog(entry)) is not None:
                run.take(taken)
            if entry.get("when") == "setup" and began is None and "start" in entry:
                began = datetime.fromtimestamp(float(entry["start"]), UTC)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as fault:
            return Damaged(f"{shown}, line {number} is not pytest-reportlog's: {str(fault)[:REASON_CHARACTERS]}")
    tests = worst_of_same_name(run.tests())
    if not run.ended:
        return Report("reportlog", tests, started=began, trouble="died", detail=f"{shown} ends before its run did.")
    return Report("reportlog", tests, started=began)


def _of_reportlog(entry: Mapping[str, Any]) -> dict[str, Any] | None:
    """A line of pytest-reportlog as our own plugin would have written it."""
    kind = entry["$report_type"]
    if kind == "SessionFinish":
        return {"e": "end"}
    words = entry.get("longrepr")
    if kind == "CollectReport" and entry["outcome"] != "passed":
        event = "collect_failed" if entry["outcome"] == "failed" else "collect_skipped"
        return {"e": event, "id": entry["nodeid"], "reason": _words(words)}
    if kind != "TestReport":
        return None
    return {
        "e": "result",
        "id": entry["nodeid"],
        "when": entry["when"],
        "outcome": entry["outcome"],
        "reason": _words(words),
        "seconds": float(entry.get("duration") or 0.0),
        "xfail": entry.get("wasxfail"),
    }


def _words(longrepr: Any) -> str:
    """The line that says why, of pytest's serialised representations."""
    if isinstance(longrepr, list) and len(longrepr) == 3:
        text = str(longrepr[2]).removeprefix("Skipped: ")
    elif isinstance(longrepr, dict):
        crash = longrepr.get("reprcrash") or {}
        text = str(crash.get("message") or "failed")
    else:
        lines = [line for line in str(longrepr or "").splitlines() if line.strip()]
        text = lines[-1].strip() if lines else ""
    return (text.splitlines() or [""])[0][:REASON_CHARACTERS]


def _lit(content: bytes, shown: str, tracked: Collection[str]) -> Report | Damaged:
    tests = read_lit_entries(content, shown, tracked)
    return tests if isinstance(tests, Damaged) else Report("lit", worst_of_same_name(tests))


def _metrics(content: bytes, shown: str, _: Collection[str]) -> Report | Damaged:
    metrics = parse_metrics(content, shown)
    if isinstance(metrics, Damaged):
        return metrics
    revision, started = "", None
    if content.lstrip().startswith(b"{"):
        about = json.loads(content)
        commit = about.get("commit_info") if isinstance(about.get("commit_info"), dict) else {}
        revision = str(commit.get("id") or "") if not commit.get("dirty") else ""
        started = _time_or_none(about.get("datetime"))
    return Report("metrics", metrics=tuple(metrics), revision=revision, started=started)


def _time_or_none(text: Any) -> datetime | None:
    try:
        return parse_time(str(text)) if text else None
    except ValueError:
        return None


FORMS: dict[str, Callable[[bytes, str, Collection[str]], Report | Damaged]] = {
    "junit": _junit,
    "reportlog": _reportlog,
    "lit": _lit,
    "metrics": _metrics,
}
"""The visible registry of what `validate ingest` reads."""
