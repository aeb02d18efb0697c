"""`validate ingest`, `quorum` and `waive`: what others report, whether harnesses agree, who answers for what."""

import json
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Literal

from headway.adapters.git_history import GitHistory
from headway.core.config_tiers import L1_SUITE, SuiteConfig
from headway.core.errors import CouldNotRun, HeadwayError
from headway.core.events import Event
from headway.core.events_validate_tiers import QuorumTaken, SuiteReported, WaiverGranted
from headway.core.gates import Refused
from headway.core.names import Sha, TestId
from headway.core.ports.log import decoded
from headway.core.reasons import Reason
from headway.validate.booking import Provenance, report_of
from headway.validate.census import Inventory, compare, losses
from headway.validate.environment import suite_key
from headway.validate.ingest import HandedIn, Report, may_be_taken, parse_time, read_report, together
from headway.validate.known import KnownResults
from headway.validate.quorum_run import take_quorum
from headway.validate.reports import REPORT_BYTES, Damaged
from headway.validate.results import SuiteResult, result_from_json
from headway.validate.suite_runs import SuiteRuns
from headway.validate.tier_ladder import known_from
from headway.validate.waivers import LONGEST_DAYS
from headway.wiring.validate_room import Answer, Asked, Room, opened

INGEST_SCHEMA = "headway.ingest/1"


@dataclass(frozen=True)
class Handed:
    """What the pipeline says about its files. `started` "" : the report's own time."""

    files: tuple[Path, ...]
    suite: str
    revision: str
    run: str
    started: str = ""
    form: str = ""
    gpu_hours: float = 0.0


def run_ingest(asked: Asked, handed: Handed) -> Answer:
    """Take a report in, or refuse it. Raises HeadwayError for unreadable files; a refusal is a value."""
    with opened(asked) as room:
        suite = room.config.tiers.suite(handed.suite)
        commit = room.commit(handed.revision)
        report = _read(handed.files, handed.form, room.tracked(commit))
        known = reports_of(room)
        result = SuiteResult(
            commit, room.tree(commit), report.trouble, report.detail, report.tests, (), (), report.harness,
            report.metrics,
        )  # fmt: skip
        said = _handed(room, handed, commit, report)
        content = result.to_json()
        twin = next((one for one in known if (one.suite, one.run) == (suite.name, handed.run)), None)
        if twin is not None:
            return _again(room, twin, commit, content)
        verdict = may_be_taken(report, said, known, room.clock.now())
        if isinstance(verdict, Refused):
            document = {"schema": INGEST_SCHEMA, "verdict": "refused", "reason": verdict.reason.value}
            return Answer({**document, "message": verdict.message, "next": verdict.next}, room.notes)
        bound: Literal["report", "claimed"] = "report" if report.revision else "claimed"
        seconds, began = sum(test.seconds for test in result.tests), said.started.astimezone(UTC).isoformat()
        of = Provenance(handed.run, began, bound, seconds, handed.gpu_hours)
        event = report_of(suite, result, room.state.blobs, of)
        room.append(event)
        return Answer(_taken(room, event, result, known), room.notes)


def _read(files: Sequence[Path], form: str, tracked: frozenset[str]) -> Report:
    parts = []
    for path in files:
        part = read_report(_content(path), str(path), form, tracked)
        if isinstance(part, Damaged):
            raise HeadwayError(f"{part.what[0].upper()}{part.what[1:]}.", "Hand in the whole report as it was written.")
        parts.append(part)
    whole = together(parts)
    if isinstance(whole, Damaged):
        raise HeadwayError(f"These are no shards of one run: {whole.what}.", "Hand in the files of one run at a time.")
    if not whole.tests and not whole.metrics:
        raise HeadwayError(
            f"{', '.join(map(str, files))} names no test and no measurement.",
            "A run without a test is no green run; look at what the pipeline did.",
        )
    return whole


def _content(path: Path) -> bytes:
    """A report's bytes, if it is a regular file of a sane size. Raises HeadwayError naming it."""
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise HeadwayError(f"{path} is no regular file.", "Name a report that a harness wrote.")
        if about.st_size > REPORT_BYTES:
            raise HeadwayError(
                f"{path} has {about.st_size >> 20} MiB, and at most {REPORT_BYTES >> 20} are read.",
                "Hand in the harness's report, not its log; or its shards one by one.",
            )
        return path.read_bytes()
    except OSError as fault:
        raise HeadwayError(f"{path} cannot be read: {fault.strerror}.", "Name a report that is there.") from fault


def _handed(room: Room, handed: Handed, commit: Sha, report: Report) -> HandedIn:
    if handed.started:
        try:
            started = parse_time(handed.started)
        except ValueError as fault:
            raise HeadwayError(
                f"{handed.started!r} is no time.", "Give --started in ISO 8601, as in 2026-01-31T22:15:00Z."
            ) from fault
    elif report.started is not None:
        started = report.started
    else:
        raise HeadwayError(
            "The report does not say when its run began.", "Give --started, in UTC: an older run must not win."
        )
    [about] = GitHistory(room.repository.git).commits([commit, f"^{commit}^@"])
    committed = datetime.fromtimestamp(about.committed, UTC)
    return HandedIn(handed.suite, commit, handed.run, started, committed)


def _again(room: Room, twin: SuiteReported, commit: Sha, content: str) -> Answer:
    """The same run handed in twice is one run; another result under its name is not believed."""
    known = result_from_json(room.text(twin.results))
    if twin.revision == commit and known == result_from_json(content):
        return Answer({**_document(twin, known), "already_known": True, "missing": []}, room.notes)
    message = f"The run {twin.run!r} of {twin.suite} is known, of {twin.revision[:12]}, with another result."
    return Answer(
        {
            "schema": INGEST_SCHEMA,
            "verdict": "refused",
            "reason": Reason.OLDER_RUN.value,
            "message": message,
            "next": "A run that was repeated needs an id of its own.",
        },
        room.notes,
    )


def _taken(room: Room, event: SuiteReported, result: SuiteResult, known: Sequence[SuiteReported]) -> dict[str, object]:
    """The document, with what the suite's last report ran and this one does not name and nobody allows."""
    before = next((one for one in reversed(known) if one.suite == event.suite and not one.trouble), None)
    missing: list[dict[str, object]] = []
    if before is not None and not result.trouble:
        lost = {found.subject for found in losses(result_from_json(room.text(before.results)), result)}
        holes = _uncovered(room, result, lost)
        missing = [dict(hole) for hole in holes]
    return {**_document(event, result), "already_known": False, "missing": missing}


def _uncovered(room: Room, result: SuiteResult, lost: set[str]) -> list[Mapping[str, object]]:
    """Of `lost`, those that no living `[[allowed_skip]]` covers."""
    expected = Inventory.of_tests(TestId(test) for test in lost)
    findings = compare(expected, result, room.config.allowed_skip, room.clock.now().date())
    return [asdict(found) for found in findings if found.subject in lost]


def _document(event: SuiteReported, result: SuiteResult) -> dict[str, object]:
    return {
        "schema": INGEST_SCHEMA,
        "verdict": "taken",
        "suite": event.suite,
        "revision": event.revision,
        "run": event.run,
        "started": event.started,
        "bound": event.bound,
        "harness": event.harness,
        "trouble": event.trouble,
        "detail": result.detail,
        "counts": dict(result.counts),
        "metrics": len(result.metrics),
        "failed": sorted(result.failed()),
        "silent": [test.id for test in result.tests if test.state == "not_run"],
    }


def reports_of(room: Room) -> tuple[SuiteReported, ...]:
    """Every report of every suite, in the order they came in."""
    return tuple(e for e in decoded(room.state.log.read(room.home)) if isinstance(e, SuiteReported))


def run_quorum(asked: Asked, name: str, revision: str, say: Callable[[str], None]) -> Answer:
    """Hold the harnesses of one quorum (or of all) together on a revision. Raises CouldNotRun if one says nothing."""
    with opened(asked) as room:
        rules = [rule for rule in room.config.tiers.quorums if name in ("", rule.name)]
        if not rules:
            there = ", ".join(rule.name for rule in room.config.tiers.quorums) or "none is declared"
            raise HeadwayError(f"There is no quorum {name!r}.", f"headway.toml has: {there}.")
        commit = room.commit(revision)
        known = known_from(decoded(room.state.log.read(room.home)))
        documents = []
        for rule in rules:
            results = _Results(room, commit, known, say)
            events = take_quorum(rule, commit, results.of, lambda said: room.state.blobs.put(json.dumps(said)))
            taken = events[-1]
            assert isinstance(taken, QuorumTaken)
            room.append(*results.events, *events)
            documents.append(json.loads(room.text(taken.evidence)))
        return Answer({"schema": "headway.quorums/1", "quorums": documents}, room.notes)


class _Results:
    """Results of suites on one revision: run or recalled here, or reported."""

    def __init__(self, room: Room, commit: Sha, known: KnownResults, say: Callable[[str], None]) -> None:
        self._room, self._commit, self._known, self._say = room, commit, known, say
        self._runs: list[SuiteRuns] = []

    @property
    def events(self) -> list[Event]:
        """What was run for this, to be appended."""
        return [event for runs in self._runs for event in runs.events]

    def of(self, name: str) -> SuiteResult:
        """One suite's result on the revision. Raises CouldNotRun for a remote one without a report."""
        suite = SuiteConfig(L1_SUITE, self._room.l1) if name == L1_SUITE else self._room.config.tiers.suite(name)
        if suite.steps is None:
            return self._reported(name)
        self._say(f"{name} on {self._commit[:12]}: `{suite.steps.test.run}` …")
        room = self._room
        key = suite_key(suite.steps, room.ports.environ)
        runs = SuiteRuns(suite.steps, room.repository.top, (), room.ports, self._known, key)
        self._runs.append(runs)
        return runs.result_of(self._commit, fresh=room.asked.fresh)

    def _reported(self, name: str) -> SuiteResult:
        mine = [one for one in reports_of(self._room) if (one.suite, one.revision) == (name, self._commit)]
        if not mine:
            raise CouldNotRun(
                f"The suite {name} runs elsewhere, and nothing has been reported of {self._commit[:12]}.",
                "Hand its report in with `headway validate ingest`.",
            )
        return result_from_json(self._room.text(max(mine, key=lambda one: parse_time(one.started)).results))


def grant_waiver(asked: Asked, tests: str, by: str, reason: str, until: str) -> Answer:
    """Record that `by` answers for failures of `tests`. Raises HeadwayError for a day that is over or too far away."""
    with opened(asked) as room:
        today = room.clock.now().date()
        try:
            last = date.fromisoformat(until)
        except ValueError as fault:
            raise HeadwayError(f"{until!r} is no day.", "Give --until as in 2026-01-31.") from fault
        if not today <= last <= today + timedelta(days=LONGEST_DAYS):
            raise HeadwayError(
                f"A waiver until {last} is {'over' if last < today else f'longer than {LONGEST_DAYS} days'}.",
                "Waivers end; renew one when its day has come, or remove the test openly.",
            )
        room.append(WaiverGranted(tests, by, reason, last.isoformat()))
        said = {"tests": tests, "by": by, "reason": reason, "until": last.isoformat()}
        return Answer({"schema": "headway.waiver/1", **said}, room.notes)


def devices_of(environ: Mapping[str, str]) -> frozenset[str]:
    """Devices that this machine says it offers (`HEADWAY_DEVICES`, comma separated)."""
    return frozenset(name.strip() for name in environ.get("HEADWAY_DEVICES", "").split(",") if name.strip())
