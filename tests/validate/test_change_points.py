"""Change points on series whose truth is known. The figures beside peers are `python -m benchmarks.change_points`."""

import json

import numpy as np
import pytest

from benchmarks import change_points as benchmark
from headway.validate.change_points import Change, Policy, changes, newest_change, relocated


def series(seed: int, *levels: tuple[float, int], noise: float = 0.02) -> list[float]:
    """Levels of so many values each, with normal noise."""
    dice = np.random.default_rng(seed)
    return [level * (1 + noise * dice.standard_normal()) for level, count in levels for _ in range(count)]


def test_a_step_is_found_where_it_is_and_with_its_size() -> None:
    found = [changes(series(seed, (100.0, 50), (105.0, 30))) for seed in range(20)]
    first = [next(one for one in each if one.known_at >= 50) for each in found]
    assert sum(one.kind == "step" for one in first) >= 18
    assert sum(abs(one.index - 50) <= 2 for one in first) >= 16
    assert sum(one.earliest <= 50 <= one.latest for one in first) >= 18
    assert float(np.median([one.known_at - 49 for one in first])) <= 5
    assert all(0.02 < one.relative < 0.1 for one in first)
    assert first[0].worse(lower_is_better=True) and not first[0].worse(lower_is_better=False)


def test_a_step_down_and_back_up_is_two_changes() -> None:
    down, up = changes(series(3, (100.0, 40), (90.0, 40), (100.0, 40)))
    assert (abs(down.index - 40) <= 1, abs(up.index - 80) <= 1) == (True, True)
    assert down.relative < 0 < up.relative


def test_without_a_change_alarms_are_rare() -> None:
    alarms = sum(len(changes(series(seed, (100.0, 100)))) for seed in range(30))
    assert alarms <= 4  # 0.04 a series expected (docs/benchmarks.md)


@pytest.mark.parametrize("factor", [0.5, 1.2, 10.0, -3.0])
def test_one_outlier_is_no_change_however_large(factor: float) -> None:
    more = 0
    for seed in range(8):
        values = series(seed, (100.0, 90))
        honest = changes(values)
        values[50] *= factor
        more += len(changes(values)) - len(honest)
        assert all(one.index != 50 or one.known_at > 52 for one in changes(values))
    assert more <= 1  # drawn in, it still weighs as much as any bad value


def test_two_neighbouring_outliers_in_counts_without_noise_are_a_step_and_one_is_not() -> None:
    assert changes([34.0] * 60 + [40.0] + [34.0] * 30) == ()
    (step,) = changes([34.0] * 60 + [35.0] * 2)
    assert (step.index, step.known_at, step.before, step.after) == (60, 61, 34.0, 35.0)
    assert changes([34.0] * 100) == ()
    assert changes([0.0] * 30 + [4.0] * 3)[0].relative == float("inf")


def test_a_slow_drift_is_called_one_and_has_no_culprit() -> None:
    kinds: list[str] = []
    for seed in range(12):
        dice = np.random.default_rng(seed)
        values = [100 * (1 + 0.2 * i / 100) * (1 + 0.01 * dice.standard_normal()) for i in range(100)]
        found = changes(values)
        kinds += [one.kind for one in found]
        assert any(one.kind == "drift" for one in found)
    assert kinds.count("drift") > kinds.count("step"), kinds


def test_alarms_that_a_drift_has_raised_are_one_drift_once_all_is_seen() -> None:
    steps, joined = 0, 0
    for seed in range(12):
        dice = np.random.default_rng(100 + seed)
        values = [100 * (1 + 0.08 * i / 100) * (1 + 0.02 * dice.standard_normal()) for i in range(100)]
        found = changes(values)
        placed = relocated(values, found)
        steps += sum(one.kind == "step" for one in placed)
        joined += len(found) > len(placed) == 1 and placed[0].kind == "drift"
        assert [one.known_at for one in placed] == [one.known_at for one in found][: len(placed)]
    assert steps <= 4 and joined >= 1, (steps, joined)
    stairs = [100.0 + 0.1 * (i % 3) for i in range(40)] + [104.0 + 0.1 * (i % 3) for i in range(40)]
    stairs += [108.0 + 0.1 * (i % 3) for i in range(40)]
    assert [one.kind for one in relocated(stairs, changes(stairs))] == ["step", "step"]


def test_what_is_known_does_not_depend_on_what_comes_later() -> None:
    values = series(11, (100.0, 25), (104.0, 15), (90.0, 15))
    whole = changes(values)
    for seen in range(len(values) + 1):
        early = [one for one in whole if one.known_at < seen]
        told = changes(values[:seen])
        assert [(one.index, one.known_at) for one in told] == [(one.index, one.known_at) for one in early]


def test_later_values_place_a_step_better_and_take_no_alarm_back() -> None:
    early, late = [], []
    for seed in range(20):
        values = series(seed, (100.0, 50), (103.0, 50))
        found = changes(values)
        placed = relocated(values, found)
        assert [one.known_at for one in placed] == [one.known_at for one in found]
        early += [abs(one.index - 50) for one in found[:1]]
        late += [abs(one.index - 50) for one in placed[:1]]
    assert sum(late) < sum(early)
    assert relocated([], ()) == ()
    once = changes([34.0] * 60 + [35.0] * 2)
    assert relocated([34.0] * 60 + [35.0] * 2, once)[0].index == 60


def test_the_newest_value_tells_once() -> None:
    values = series(5, (100.0, 40), (120.0, 10))
    told = [seen for seen in range(len(values) + 1) if newest_change(values[:seen]) is not None]
    assert len(told) == 1 and 41 <= told[0] <= 44


def test_small_series_and_small_steps() -> None:
    assert changes([]) == changes([1.0]) == changes([1.0, 2.0, 3.0]) == ()
    values = series(7, (100.0, 60), (103.0, 40))
    assert changes(values) and changes(values, Policy(least=0.05)) == ()
    with pytest.raises(ValueError, match="finite"):
        changes([1.0, float("nan")])


def test_a_change_of_everything_has_the_same_relative_size_in_any_unit() -> None:
    values = series(9, (1e-6, 50), (1.1e-6, 20))
    small, large = changes(values)[0], changes([value * 1e12 for value in values])[0]
    assert (small.index, small.known_at) == (large.index, large.known_at)
    assert small.relative == pytest.approx(large.relative)


def test_the_benchmark_names_peers_that_are_absent(capsys: pytest.CaptureFixture[str]) -> None:
    code = benchmark.main(["--series", "1", "--json"])
    told = json.loads(capsys.readouterr().out)
    absent = [name for name, row in told["rows"].items() if "could_not_run" in row]
    assert told["schema"] == benchmark.SCHEMA
    assert code == (4 if absent else 0)
    assert set(told["rows"]["headway"]) == set(benchmark.SERIES)
    assert told["rows"]["headway"]["step 5 %"]["recall"] == 1.0


def test_alarms_are_counted_as_the_benchmark_says() -> None:
    tally = benchmark.Tally()
    alarms = [benchmark.Alarm(20, 30), benchmark.Alarm(51, 53), benchmark.Alarm(48, 60), benchmark.Alarm(80, 90)]
    tally.take(benchmark.Method(lambda _: alarms, lambda _: [50, 80]), [0.0] * 100, 50)
    row = tally.row(True)
    assert (row["recall"], row["near"], row["delay_median"], row["false"]) == (1.0, 1.0, 3.0, 2.0)
    assert (row["end_recall"], row["end_false"]) == (1.0, 1.0)


def test_a_change_is_plain_values() -> None:
    one = changes([1.0] * 20 + [2.0] * 2)[0]
    assert one == Change("step", 20, 20, 20, 21, 1.0, 2.0, one.deviate)
