"""The self-test's own rules, and the whole suite on this machine: every CPU cheat stopped, every control accepted."""

import json
import shutil
from pathlib import Path

import pytest

from headway.cli.main import exit_code_of
from headway.core.errors import HeadwayError
from headway.tune.measure.timing import Ratio
from headway.tune.selftest import Entry, Tried, read_entries, row_of, summary_of
from headway.wiring import lab


def entry(kind: str, *expected: str, twin: str | None = None) -> Entry:
    return Entry("x", kind, "cpu-softmax", "x.py", expected, twin)


def accepted(low: float, high: float) -> Tried:
    return Tried("accepted", None, "", Ratio((low + high) / 2, low, high, 6))


CHEAT, REPLAY = entry("replay", "wrong_result"), entry("protocol", "no_effect", twin="y")


@pytest.mark.parametrize(
    ("what", "found", "twin", "ok"),
    [
        (CHEAT, Tried("refused", "wrong_result", "", None), None, True),
        (CHEAT, Tried("refused", "raised", "", None), None, False),
        (CHEAT, accepted(0.9, 1.1), None, False),
        (CHEAT, Tried("could_not_run", "no_compiler", "", None), None, False),
        (REPLAY, accepted(0.95, 1.1), accepted(0.9, 1.0), True),
        (REPLAY, accepted(1.2, 1.4), accepted(0.9, 1.0), False),
        (REPLAY, accepted(0.9, 1.1), None, False),
        (entry("control", "accepted"), accepted(0.1, 0.2), None, True),
        (entry("control", "accepted"), Tried("refused", "raised", "", None), None, False),
    ],
)
def test_stopped_means_that_the_expected_came_true(what: Entry, found: Tried, twin: Tried | None, ok: bool) -> None:
    assert row_of(what, found, twin).ok is ok


def test_what_could_not_run_counts_against() -> None:
    rows = [row_of(CHEAT, Tried("could_not_run", "no_compiler", "", None), None)]
    summary = summary_of(rows)
    assert (summary.cheats, summary.stopped, summary.could_not_run, summary.passed) == (1, 0, 1, False)


def test_an_entry_that_expects_no_known_outcome_is_named() -> None:
    raw = {"entries": [{"id": "a", "class": "replay", "task": "t", "file": "f", "expected": ["sharp_look"]}]}
    with pytest.raises(HeadwayError, match="sharp_look"):
        read_entries(raw)


def test_the_index_and_the_files_agree() -> None:
    listed = {entry.file for entry in lab.entries()}
    there = {f"{path.parent.name}/{path.name}" for path in lab.SELFTEST.glob("*/*") if path.suffix in (".py", ".c")}
    assert listed == there
    controls = [entry for entry in lab.entries() if entry.kind == "control"]
    assert len(controls) >= 15
    assert len({entry.id for entry in lab.entries()}) == len(lab.entries())


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.timeout(600)
def test_every_cheat_is_stopped_and_every_control_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = exit_code_of(["tune", "selftest", "--pairs", "2", "--keep", str(tmp_path), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert [row for row in told["rows"] if not row["ok"]] == []
    assert code == 0
    summary = told["summary"]
    assert summary["stopped"] == summary["cheats"] >= 80
    assert summary["accepted"] == summary["controls"] >= 15
    assert json.loads((tmp_path / "rows.json").read_text())
