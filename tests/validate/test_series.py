"""Series of measurements: their changes with a hint each, and what a nightly run takes up of them."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headway.cli.main import exit_code_of
from headway.core.names import Digest
from headway.validate.series import Point, Series, shifts_of
from headway.validate.shifts import Point as Measured
from headway.validate.shifts import got_worse
from tests.validate.shell_forks import TOML, new_shell_fork


def series(name: str, *values: float, lower_is_better: bool = True) -> Series:
    points = [
        Point(f"{number:040x}", f"2026-11-{number + 1:02d}", value, Digest("suite"), Digest("machine"))
        for number, value in enumerate(values)
    ]
    return Series("speed", name, "s", lower_is_better, tuple(points))


STEP = (1.0, 1.01, 0.99, 1.0, 1.02, 1.0, 0.98, 1.0, 1.01, 1.0, 1.2, 1.21, 1.19, 1.2)
FLAT = (1.0, 1.01, 0.99, 1.0, 1.02, 1.0, 0.98, 1.0, 1.01, 1.0, 1.0, 1.01, 0.99, 1.0)


def test_a_step_that_only_the_revision_explains_is_hinted_at_as_code() -> None:
    (found,) = shifts_of([series("a", *STEP), series("b", *FLAT)])["a"]
    assert (found.hint, found.worse) == ("code", True)
    assert (int(found.good, 16), int(found.bad, 16)) == (9, 10)
    assert "2026-11-11" < found.noticed <= "2026-11-14"
    assert found.change.before == pytest.approx(1.0) and found.change.after == pytest.approx(1.2, rel=0.01)
    (better,) = shifts_of([series("a", *STEP, lower_is_better=False)])["a"]
    assert not better.worse


@pytest.mark.parametrize(
    ("what", "hint", "why"),
    [
        ({"definition": Digest("other")}, "method", "definition"),
        ({"environment": Digest("other")}, "hardware", "environment"),
        ({"revision": f"{9:040x}"}, "hardware", "no commit"),
    ],
)
def test_what_changed_with_that_very_run_is_hinted_at_first(what: dict[str, Digest], hint: str, why: str) -> None:
    one = series("a", *STEP)
    changed = replace(one, points=(*one.points[:10], *(replace(point, **what) for point in one.points[10:])))
    (found,) = shifts_of([changed])["a"]
    assert found.hint == hint and why in found.why


def test_where_everything_moved_the_place_is_suspected_and_not_the_code() -> None:
    every = [series(name, *STEP) for name in "abc"] + [series("d", *FLAT)]
    found = shifts_of(every)
    assert {one.hint for name in "abc" for one in found[name]} == {"hardware"}
    assert "3 of the suite's 4 series" in found["a"][0].why
    opposite = [series("a", *STEP), series("b", *STEP, lower_is_better=False), series("c", *STEP)]
    assert {one.hint for name in "ac" for one in shifts_of(opposite)[name]} == {"code"}


def points(*values: float) -> list[Measured]:
    return [Measured(f"{number:040x}", value) for number, value in enumerate(values)]


def test_a_small_step_that_no_single_value_shows_is_taken_up_when_it_is_known() -> None:
    level = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 101.2, 98.8, 100.0, 100.3, 99.6]
    later = [102.6, 102.2, 103.0, 102.4, 102.8, 102.5]
    told = [got_worse(points(*level, *later[:count]), lower_is_better=True) for count in range(len(later) + 1)]
    taken_up = [shift for shift in told if shift is not None]
    assert len(taken_up) == 1
    assert int(taken_up[0].good, 16) in (10, 11)
    assert 1.01 < taken_up[0].ratio < 1.04
    assert got_worse(points(*level, *later), lower_is_better=False) is None


def test_a_count_that_was_nothing_is_worse_as_soon_as_two_runs_say_so() -> None:
    assert got_worse(points(*[0.0] * 12, 16.0, 16.0), lower_is_better=True) is not None
    assert got_worse(points(*[0.0] * 14), lower_is_better=True) is None


def test_series_are_shown_from_what_suites_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fork = new_shell_fork(tmp_path, TOML.replace('name = "unit"', 'name = "unit"\nmethod_paths = ["run.sh"]'))
    began = datetime.now(UTC) - timedelta(days=20)
    for number, value in enumerate(STEP):
        commit = fork.commit(f"night {number}", {"night": str(number)})
        (tmp_path / "speed.txt").write_text(f"engine_time {value} s\n")
        run = ["--run", f"night-{number}", "--started", (began + timedelta(days=number)).isoformat()]
        words = [str(tmp_path / "speed.txt"), "--fork", str(fork.repo.path), "--suite", "speed", "--revision", commit]
        assert exit_code_of(["validate", "ingest", *words, *run]) == 0, capsys.readouterr().err
    capsys.readouterr()
    assert exit_code_of(["validate", "series", "--fork", str(fork.repo.path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (row,) = told["series"]
    (change,) = row["changes"]
    assert (told["schema"], row["metric"], row["points"]) == ("headway.series/1", "engine_time", 14)
    assert (change["kind"], change["worse"], change["hint"]) == ("step", True, "code")
    assert change["good"] == row["newest"][9][0] and change["bad"] == row["newest"][10][0]
    assert exit_code_of(["validate", "series", "engine*", "--fork", str(fork.repo.path)]) == 0
    assert "worse by a step: 1 -> 1.2" in capsys.readouterr().out
    assert exit_code_of(["validate", "series", "nothing*", "--fork", str(fork.repo.path)]) == 1
    assert "No series is called like 'nothing*'" in capsys.readouterr().err
