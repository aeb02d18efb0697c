"""Rows of measurements: intervals, ratios within rounds, words and exit codes; KDA's comparison as rows."""

import json
from pathlib import Path

import pytest

from headway.tasks import bench
from headway.tasks.kda.measure import rows_of
from headway.tasks.rows import SCHEMA, could_not_run, interval, line, ratios, row, show

MEASUREMENTS = Path(__file__).parents[2] / "docs/measurements"


def test_the_interval_is_of_order_statistics_and_holds_the_median():
    assert interval([3.0, 1.0, 2.0]) == (1.0, 3.0)
    low, high = interval(range(100))
    assert (low, high) == (40, 59)
    found = row("w", "v", "burst", [4.0, 1.0, 2.0, 3.0, 5.0], error=0.5)
    assert found["low"] <= found["median"] <= found["high"] and found["n"] == 5


def test_ratios_are_taken_within_a_round():
    # whoever slows both down by half in a round does not touch the ratio
    found = ratios("w", "burst", {"gluon": [1.0, 1.5], "other": [2.0, 3.0]}, "gluon")
    assert [one["variant"] for one in found] == ["gluon / other"]
    assert found[0]["samples"] == [0.5, 0.5] and found[0]["mode"] == "burst ratio"


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([{"workload": "w", "variant": "v", "error": 0.1, "right": True}], 0),
        ([{"workload": "w", "variant": "v", "error": 0.1, "right": False}], 1),
        ([{"workload": "w", "variant": "v", "error": 0.1, "right": False}, could_not_run("w", "u", "no wheel")], 4),
    ],
)
def test_the_exit_code_is_that_of_the_worst_row(rows, code, capsys):
    assert show(rows, as_json=True) == code
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == SCHEMA and told["rows"] == rows


def test_a_row_in_words():
    assert line(row("b1", "gluon", "burst", [6.0, 6.0], 0.002)) == "b1: gluon burst 6 ms (6 to 6), error 0.0020"
    assert line({"workload": "b1", "variant": "v", "error": 0.1, "right": False}) == "b1: v, error 0.1000, WRONG"
    assert line(could_not_run("b1", "fa3", "no wheel")) == "b1: fa3 could not run: no wheel"


def test_a_comparison_of_kda_as_rows():
    result = json.loads((MEASUREMENTS / "kda-against-fla-all-shapes-2026-11-30.json").read_text())
    found = rows_of(result)
    assert len(found) == 28 * (4 + 2)
    first = [one for one in found if one["workload"] == "1,8192,64 registry"]
    assert [(one["variant"], one["mode"]) for one in first] == [
        ("headway", "gpu"),
        ("headway", "eager"),
        ("fla", "gpu"),
        ("fla", "eager"),
        ("fla / headway", "gpu ratio"),
        ("fla / headway", "eager ratio"),
    ]
    assert first[0]["error"] == result["errors"]["registry"]["headway"]["o"]
    assert first[4]["median"] == pytest.approx(3.42, abs=0.01)


def test_without_a_gpu_every_task_is_a_row_that_could_not_run(capsys, monkeypatch):
    monkeypatch.setattr(bench, "why_not", lambda: "no CUDA device")
    assert bench.main(["--json"]) == 4
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(one["task"], one["could_not_run"]) for one in rows] == [
        (name, "no CUDA device") for name in ("kda", "mla", "mla-decode")
    ]


def test_a_task_without_such_kernels_is_refused(capsys):
    with pytest.raises(SystemExit):
        bench.main(["softmax"])
    assert "softmax has no kernels to measure; these have: kda, mla, mla-decode" in capsys.readouterr().err
