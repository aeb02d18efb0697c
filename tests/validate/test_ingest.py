"""Reports of pipelines elsewhere: four forms, each bound to a revision; damage and other people's results refused."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from headway.core.events_validate_tiers import SuiteReported
from headway.core.gates import PASSED, Refused
from headway.core.names import BlobId, Digest, Sha, TreeId
from headway.core.reasons import Reason
from headway.validate.harness.metric_report import parse_metrics
from headway.validate.ingest import HandedIn, Report, form_of, may_be_taken, read_report, together
from headway.validate.reports import Damaged

ONE, OTHER = Sha("1" * 40), Sha("2" * 40)
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
TRACKED = ("tests/test_ops.py", "lit/a.mlir")
JUNIT = """<testsuites><testsuite name="pytest" timestamp="2026-11-30T10:00:00+00:00"><properties>
<property name="revision" value="1111111111"/></properties>
<testcase classname="tests.test_ops" name="test_add" time="0.1"/>
<testcase classname="tests.test_ops" name="test_sub"><failure message="assert 1 == 2"/></testcase>
</testsuite></testsuites>"""
REPORTLOG = [
    {"pytest_version": "8", "$report_type": "SessionStart"},
    {"nodeid": "tests/test_off.py", "outcome": "skipped", "longrepr": ["f", 1, "Skipped: no torch"], "result": None,
     "$report_type": "CollectReport"},
    *({"nodeid": "tests/test_ops.py::test_add", "when": when, "outcome": "passed", "longrepr": None, "duration": 0.1,
       "start": 1764496800.0, "$report_type": "TestReport"} for when in ("setup", "call", "teardown")),
    {"nodeid": "tests/test_ops.py::test_sub", "when": "call", "outcome": "failed", "duration": 0.1,
     "longrepr": {"reprcrash": {"message": "assert 1 == 2\nmore"}}, "$report_type": "TestReport"},
    {"exitstatus": 1, "$report_type": "SessionFinish"},
]  # fmt: skip
LIT = {"__version__": [18], "elapsed": 1.0, "tests": [
    {"name": "toy :: a.mlir", "code": "UNSUPPORTED", "output": "Test requires the following unavailable features: gpu",
     "elapsed": 0.0}]}  # fmt: skip
BENCHMARK = {"machine_info": {}, "commit_info": {"id": "2" * 40, "dirty": False}, "datetime": "2026-11-30T11:00:00",
             "benchmarks": [{"fullname": "b.py::b", "stats": {"median": 0.5, "data": [0.4, 0.5, 0.6]}}]}  # fmt: skip


def lines(entries: list) -> bytes:
    return "\n".join(json.dumps(entry) for entry in entries).encode()


def read(content: bytes, form: str = "") -> Report:
    report = read_report(content, "r", form, TRACKED)
    assert isinstance(report, Report), report
    return report


def test_junit_says_its_revision_and_time() -> None:
    report = read(JUNIT.encode())
    assert report.revision == "1111111111" and report.started == datetime(2026, 11, 30, 10, tzinfo=UTC)
    assert [(test.id, test.state) for test in report.tests] == [
        ("tests/test_ops.py::test_add", "passed"), ("tests/test_ops.py::test_sub", "failed"),
    ]  # fmt: skip


def test_a_reportlog_has_reasons_and_its_end() -> None:
    report = read(lines(REPORTLOG))
    assert report.harness == "reportlog" and not report.trouble and report.started is not None
    assert {test.id: (test.state, test.reason) for test in report.tests} == {
        "tests/test_off.py": ("skipped", "no torch"),
        "tests/test_ops.py::test_add": ("passed", ""),
        "tests/test_ops.py::test_sub": ("failed", "assert 1 == 2"),
    }


def test_a_reportlog_without_its_end_is_a_run_that_died() -> None:
    report = read(lines(REPORTLOG[:-1]))
    assert report.trouble == "died" and report.detail == "r ends before its run did."


def test_lit_and_measurements() -> None:
    [test] = read(json.dumps(LIT).encode()).tests
    assert (test.id, test.cause) == ("lit/a.mlir", "unsupported")
    report = read(json.dumps(BENCHMARK).encode())
    assert report.revision == OTHER and report.metrics[0].value == 0.5 and report.metrics[0].unit == "s"
    plain = read(b"# comment\ncompile_time 12.5 s\nthroughput 1e3 tok/s\n")
    assert [(m.name, m.value, m.unit) for m in plain.metrics] == [
        ("compile_time", 12.5, "s"), ("throughput", 1000.0, "tok/s"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "form", "words"),
    [
        (JUNIT[:200].encode(), "", "r is not whole JUnit XML"),
        (b"", "", "is in no form that is known"),
        (b"hello world\n", "", "line 1 is not `name value unit`"),
        (b"a nan s\n", "metrics", "line 1 is not `name value unit`"),
        (b"a 1e999 s\n", "metrics", "line 1 is not `name value unit`"),
        (lines(REPORTLOG)[:-5], "", "is not pytest-reportlog's"),
        (b'{"tests": [{"name": 3}]}', "", "is not lit's JSON output"),
        (b'{"benchmarks": [{"fullname": "x"}], "machine_info": 1}', "", "is not pytest-benchmark's JSON"),
        (b"<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]><testsuite>&b;", "", "is not whole JUnit XML"),
        (b"\x00\xff\x00", "junit", "is not whole JUnit XML"),
    ],
    ids=range(10),
)
def test_damage_is_said_in_one_sentence(content: bytes, form: str, words: str) -> None:
    found = read_report(content, "r", form, TRACKED)
    assert isinstance(found, Damaged) and words in found.what and "\n" not in found.what


def test_shards_must_be_of_one_revision() -> None:
    assert isinstance(together([Report("junit", revision="1" * 40), Report("junit", revision="2" * 40)]), Damaged)
    whole = together([read(JUNIT.encode()), Report("lit")])
    assert isinstance(whole, Report) and whole.harness == "junit+lit" and len(whole.tests) == 2


def test_one_metric_in_two_units_is_damage() -> None:
    assert form_of(b"a 1 s\na 1 ms\n") == "metrics"
    assert not isinstance(parse_metrics(b"a 1 s\na 2 s\n", "r"), Damaged)


def handed(run: str = "r1", started: datetime = NOW, revision: Sha = ONE) -> HandedIn:
    return HandedIn("gpu", revision, run, started, NOW - timedelta(hours=1))


def known(run: str, started: datetime, revision: Sha = ONE) -> SuiteReported:
    nothing = Digest("0" * 64)
    return SuiteReported(
        "gpu", revision, TreeId("3" * 40), "", run, started.isoformat(), "claimed", nothing, nothing, "junit", "",
        1, 0, 0, 0, 0, 0.0, 0.0, BlobId("sha256:0"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("report", "said", "earlier", "reason", "words"),
    [
        (Report("junit"), handed(), [], None, ""),
        (Report("junit", revision="1111111"), handed(), [], None, ""),
        (Report("junit", revision="2" * 40), handed(), [], Reason.OTHER_REVISION, "says that it is of 222222222222"),
        (Report("junit", revision="111"), handed(), [], Reason.OTHER_REVISION, "says that it is of 111"),
        (Report("junit"), handed(started=NOW + timedelta(hours=1)), [], Reason.OLDER_RUN, "begun in the future"),
        (Report("junit"), handed(started=NOW - timedelta(days=1)), [], Reason.OTHER_REVISION, "was committed"),
        (Report("junit"), handed("r2"), [known("r9", NOW)], Reason.OLDER_RUN, "run 'r9' of the same revision"),
        (Report("junit"), handed("r9"), [known("r2", NOW - timedelta(minutes=1))], None, ""),
        (Report("junit"), handed("r2"), [known("r9", NOW, OTHER)], None, ""),
    ],
    ids=range(9),
)
def test_a_report_is_evidence_for_one_revision_and_the_newest_run(report, said, earlier, reason, words) -> None:
    verdict = may_be_taken(report, said, earlier, NOW)
    if reason is None:
        assert verdict == PASSED
    else:
        assert isinstance(verdict, Refused) and verdict.reason is reason and words in verdict.message
