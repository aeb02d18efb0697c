"""`headway log`, as a person or a script meets it: what it prints, and with which exit code it ends."""

import hashlib
import json
import sqlite3
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headway.adapters.clocks import HandClock, SystemClock
from headway.adapters.locks import WriterLock
from headway.cli.main import exit_code_of
from headway.core.events_core import PersonDecided
from headway.core.events_tune import GoalPinned
from headway.core.names import BlobId, Digest, StreamId
from headway.core.ports.log import one
from headway.wiring import State, open_state

ROOT = Path(__file__).resolve().parents[2]
FORK, CAMPAIGN = StreamId("fork/demo"), StreamId("campaign/c")
START = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Shell:
    """Runs `headway log …` on one state folder and keeps what it said."""

    def __init__(self, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.state = state
        self._capsys = capsys

    def __call__(self, *args: str, code: int = 0) -> str:
        self._capsys.readouterr()
        ended = exit_code_of(["log", *args, "--state", str(self.state)])
        said = self._capsys.readouterr()
        assert ended == code, said
        assert "Traceback" not in said.err
        return said.out if code == 0 or said.out else said.err

    def json(self, *args: str, code: int = 0) -> dict:
        return json.loads(self(*args, "--json", code=code))


@pytest.fixture
def log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    root, clock = tmp_path / "state", HandClock(START)
    with open_state(root, clock=clock) as state:
        fill(state, clock)
    return Shell(root, capsys)


def fill(state: State, clock: HandClock) -> None:
    goal = state.blobs.put("the goal " * 100)
    state.log.append(one(CAMPAIGN, 0, GoalPinned(goal, Digest("d" * 64))))
    clock.tick(3600)
    state.log.append(one(FORK, 0, PersonDecided("decide", "a" * 40, "me", {"reason": "not ours"})))


def test_show_prints_a_line_per_event_with_time_place_and_fields(log: Shell) -> None:
    goal = "sha256:" + hashlib.sha256(b"the goal " * 100).hexdigest()[:12]
    assert log("show").splitlines() == [
        f"2026-01-01 12:00:00Z  campaign/c#1  tune.goal.v1  digest=dddddddddddd… goal={goal}…",
        '2026-01-01 13:00:00Z  fork/demo#1  core.inbox.v1  args={"reason":"not ours"} by=me subject=aaaaaaaaaaaa…'
        " verb=decide",
    ]


def test_show_picks_by_stream_time_and_number(log: Shell) -> None:
    assert [r["stream"] for r in log.json("show")["records"]] == [CAMPAIGN, FORK]
    assert [r["stream"] for r in log.json("show", "--stream", "fork/")["records"]] == [FORK]
    assert [r["stream"] for r in log.json("show", "--last", "1")["records"]] == [FORK]
    for since in ("2026-01-01T12:30", "2026-01-01T14:30:00+02:00"):
        assert [r["stream"] for r in log.json("show", "--since", since)["records"]] == [FORK]
    assert log("show", "--since", "1m") == ""
    assert "'soon' is not a time" in log("show", "--since", "soon", code=1)


def test_verify_says_whole_and_what_it_counted(log: Shell) -> None:
    assert log("verify") == "whole: 2 records in 2 streams; blobs: 1 whole.\n"
    report = log.json("verify")
    assert report["schema"] == "headway.log-verify/1" and report["ok"] and report["problems"] == []
    assert (report["records"], report["streams"], report["last_position"]) == (2, 2, 2)


def test_verify_names_damage_and_set_aside_goes_on_without_it(log: Shell) -> None:
    db = sqlite3.connect(log.state / "log.sqlite3")
    db.execute("UPDATE records SET payload = replace(payload, 'not ours', 'was ours')")
    db.commit()
    db.close()
    place = (
        "The log is damaged at stream fork/demo version 1 (position 2): its content does not hash to what was written."
    )
    assert log("verify", code=1).splitlines() == [place, "1 problem: 2 records in 2 streams; blobs: 1 whole."]
    report = log.json("verify", code=1)
    assert not report["ok"]
    assert report["problems"] == [
        {"kind": "record", "message": place, "stream": FORK, "version": 1, "position": 2, "blob": ""}
    ]
    assert place in log("show", "--stream", "fork/", code=1)
    aside, verdict = log("verify", "--set-aside").splitlines()
    assert aside.startswith("Set aside 1 records of stream fork/demo from version 1 on: ")
    file = Path(aside.split(": ")[1])
    assert file.is_file() and "was ours" in file.read_text()
    assert verdict == "whole: 2 records in 2 streams, 1 set aside earlier; blobs: 1 whole."
    assert "core.tail_set_aside.v1" in log("show", "--stream", "log/")


def test_a_missing_or_damaged_blob_is_named_with_who_names_it(log: Shell) -> None:
    (blob,) = (log.state / "blobs").glob("?/*")
    raw = bytearray(blob.read_bytes())
    raw[-3] ^= 1
    blob.write_bytes(raw)
    assert f"({blob}) is damaged" in log("verify", code=1)
    blob.unlink()
    assert "is missing; stream campaign/c version 1 names it." in log("verify", code=1)


def test_a_stranger_can_recount_and_prove_an_export_with_the_program_in_the_docs(log: Shell, tmp_path: Path) -> None:
    log("export", "--output", str(tmp_path / "export.jsonl"))
    exported = (tmp_path / "export.jsonl").read_text()
    assert exported == log("export") and len(exported.splitlines()) == 2
    program = (ROOT / "docs" / "log.md").read_text().split("```python\n")[1].split("```")[0]

    def prove(text: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-I", "-c", program], input=text, capture_output=True, text=True)

    assert prove(exported).stdout.startswith("whole: {'campaign/c': (1, ")
    first, second = exported.splitlines(keepends=True)
    for altered in (exported.replace("not ours", "was ours"), exported.replace('"position": 2', '"position": 3')):
        assert "AssertionError: " in prove(altered).stderr
    assert prove(first).returncode == prove(second).returncode == 0, "streams are chains of their own"


def test_redact_removes_the_content_and_the_chain_still_verifies(log: Shell) -> None:
    blob = "sha256:" + hashlib.sha256(b"the goal " * 100).hexdigest()
    assert log("redact", blob[:16], "--reason", "leaked", "--by", "ann") == f"Redacted {blob}.\n"
    assert log("verify") == "whole: 3 records in 3 streams; blobs: 1 redacted.\n"
    (told,) = log.json("show", "--stream", "log/upkeep")["records"]
    assert told["payload"] == {"blob": blob, "by": "ann", "reason": "leaked"}
    log("redact", blob, "--reason", "again")
    assert len(log.json("show", "--stream", "log/upkeep")["records"]) == 1
    assert "No blob's id begins with sha256:beef" in log("redact", "beef", "--reason", "x", code=1)


def test_gc_removes_what_no_event_names_and_by_policy_what_is_old_and_big(log: Shell) -> None:
    with open_state(log.state) as state:
        state.blobs.put("young and unused")
        old = state.blobs.put("old and unused")
        age(state, old, hours=2)
        goal = BlobId("sha256:" + hashlib.sha256(b"the goal " * 100).hexdigest())
        age(state, goal, hours=100)
    log("gc", "--dry-run")
    assert log.json("verify")["blobs"]["unused"] == 2
    assert log("gc").startswith("Removed 1 unused blobs and 0 old bulky ones")
    assert log.json("verify")["blobs"] == counts(whole=1, unused=1)
    assert log("gc", "--older-than", "30d", "--bulky", "1MiB").startswith("Removed 0 unused blobs and 0 old")
    out = log("gc", "--older-than", "2d", "--bulky", "10B")
    assert out.startswith("Removed 0 unused blobs and 1 old bulky ones") and goal in out
    assert log.json("verify")["blobs"] == counts(collected=1, unused=1)
    (told,) = log.json("show", "--stream", "log/upkeep")["records"]
    assert told["payload"] == {"blobs": [goal], "older_than_seconds": 172800.0, "stored_bytes_at_least": 10}
    assert "make one policy" in log("gc", "--bulky", "1MiB", code=1)
    assert "'1XB' is not a size" in log("gc", "--older-than", "2d", "--bulky", "1XB", code=1)


def test_gc_keeps_evidence_that_evidence_names_and_verify_looks_for_it(log: Shell) -> None:
    with open_state(log.state) as state:
        output = state.blobs.put("5 tests, 0 failed")
        evidence = state.blobs.put(json.dumps({"output": output}))
        state.log.append(one(StreamId("fork/e"), 0, GoalPinned(evidence, Digest("0"))))
        age(state, output, hours=5)
    assert log("gc").startswith("Removed 0 unused blobs")
    assert log.json("verify")["blobs"] == counts(whole=3)
    with open_state(log.state) as state:
        state.blobs.remove(output)
    assert f"Blob {output} is missing; blob {evidence} names it." in log("verify", code=1)


def test_gc_and_repair_leave_a_log_alone_that_is_being_written(log: Shell) -> None:
    with WriterLock(log.state / "lock", SystemClock()).held():
        for verb in (("gc",), ("verify", "--set-aside")):
            assert "is writing this log since" in log(*verb, code=1)
        log("verify")
        log("show")


def age(state: State, blob: BlobId, *, hours: float) -> None:
    then = time.time() - hours * 3600
    subprocess.run(["touch", "-d", f"@{then}", str(state.blobs.path_of(blob))], check=True)


def counts(**given: int) -> dict[str, int]:
    return dict.fromkeys(("whole", "redacted", "collected", "unused", "missing", "damaged"), 0) | given


def test_a_log_of_a_newer_headway_is_refused_with_the_version_needed(log: Shell) -> None:
    db = sqlite3.connect(log.state / "log.sqlite3")
    db.execute("INSERT INTO types VALUES ('sync.seen.v7', '9.1.0')")
    db.commit()
    said = log("redact", "sha256:00", "--reason", "x", code=1)
    assert said == (
        "headway: The log holds an event of type 'sync.seen.v7', which this headway does not know."
        " Read it with headway 9.1.0 or newer.\n"
    )
    log("show")
    log("verify")
    db.execute("UPDATE meta SET value = '2' WHERE key = 'format'")
    db.execute("UPDATE meta SET value = '9.1.0' WHERE key = 'written_by'")
    db.commit()
    db.close()
    for verb in ("show", "verify", "export", "gc"):
        said = log(verb, code=1)
        assert "has format 2; this headway" in said and said.endswith("Use headway 9.1.0 or newer.\n")


@pytest.mark.parametrize("verb", [["show"], ["verify"], ["verify", "--set-aside"], ["export"], ["gc"]])
def test_a_folder_without_a_log_is_named_and_nothing_is_made_in_it(
    verb: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Shell(tmp_path / "none", capsys)
    assert log(*verb, code=1) == (
        f"headway: There is no headway log at {tmp_path}/none/log.sqlite3. Name its state folder with --state.\n"
    )
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "none").mkdir()
    other = sqlite3.connect(tmp_path / "none" / "log.sqlite3")
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    assert "is not a headway log" in log(*verb, code=1)
    (tmp_path / "none" / "log.sqlite3").write_text("some text that is no database\n" * 9)
    assert "damaged" in log(*verb, code=1)
    assert (tmp_path / "none" / "log.sqlite3").read_text().startswith("some text")


def test_since_counts_back_from_now(log: Shell) -> None:
    with open_state(log.state) as state:
        state.log.append(one(StreamId("fork/new"), 0, PersonDecided("stop", "s", "me")))
    assert [r["stream"] for r in log.json("show", "--since", "10m")["records"]] == ["fork/new"]
    later = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%d")
    assert log.json("show", "--since", later)["records"] == []


def test_a_blob_is_printed_byte_for_byte(log: Shell) -> None:
    goal = BlobId("sha256:" + hashlib.sha256(b"the goal " * 100).hexdigest())
    assert log("blob", goal) == "the goal " * 100
