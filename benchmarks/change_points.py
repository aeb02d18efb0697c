"""How well changes of level are found in a series that grows by one value a night, beside Apache Otava and ruptures.

    python -m benchmarks.change_points [--series 100] [--seed 0] [--json]

A hundred values of level 100 with 2 % normal noise; a step comes at a place drawn from 40 to 59, up or down. Every
method sees the same series, and every prefix of each from 10 values on: an alarm is a place that it names for the
first time (5 places or fewer from a known one are the same alarm). `recall`: an alarm was raised after the step;
`near`: the first such one lies within 2 places of it; `delay`: values of the new level that were needed; `false`:
alarms per series that are neither the step nor near it, `drifts` apart; `end_*`: one look at the whole series.
Peers: pip install 'headway[peers]'. A peer that is absent is a row of its own, and the exit code is then 4.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np

from headway.validate.change_points import Policy, changes, relocated
from headway.validate.change_statistics import as_series, best_split

SCHEMA = "headway.bench.change_points/1"
LENGTH, NOISE, FIRST = 100, 0.02, 10
SAME = 5
NEAR = 2
STEPS = {"step 5 %": 0.05, "step 3 %": 0.03, "step 2 %": 0.02}
SERIES = (*STEPS, "none", "one outlier", "drift 5 %")


@dataclass(frozen=True)
class Alarm:
    """A place, the number of values that had been seen, and whether it is called a drift."""

    place: int
    seen: int
    drift: bool = False


Places = Callable[[Sequence[float]], Sequence[int]]


@dataclass(frozen=True)
class Method:
    """`alarms` on a growing series (None: it raises none); `places` on the whole of it."""

    alarms: Callable[[Sequence[float]], list[Alarm]] | None
    places: Places


def ours(policy: Policy) -> Method:
    """One pass: an alarm of ours depends on the values before it only (tests/validate/test_change_points.py)."""
    return Method(
        lambda values: [Alarm(one.index, one.known_at + 1, one.kind == "drift") for one in changes(values, policy)],
        lambda values: [one.index for one in relocated(values, changes(values, policy)) if one.kind == "step"],
    )


def asked_again(places: Places) -> Method:
    """A method for whole series, asked again with every new value."""

    def alarms(values: Sequence[float]) -> list[Alarm]:
        found: list[Alarm] = []
        for seen in range(FIRST, len(values) + 1):
            for place in places(values[:seen]):
                if all(abs(place - known.place) > SAME for known in found):
                    found.append(Alarm(int(place), seen))
        return found

    return Method(alarms, places)


def otava(window: int, p: float) -> Method:
    """Raises ImportError."""
    from otava.analysis import compute_change_points

    return asked_again(
        lambda values: [one.index for one in compute_change_points(list(values), window_len=window, max_pvalue=p)[0]]
    )


def ruptures(penalty: float) -> Method:
    """PELT's exact optimum for changes of the mean (its C form), with noise estimated from neighbours."""
    from ruptures import KernelCPD

    def places(values: Sequence[float]) -> list[int]:
        series = np.asarray(values)
        scatter = 1.0483 * np.median(np.abs(np.diff(series)))
        fitted = KernelCPD(kernel="linear", min_size=2).fit((series / scatter).reshape(-1, 1))
        return [int(one) for one in fitted.predict(pen=penalty * np.log(len(series)))[:-1]]

    return asked_again(places)


def told() -> Method:
    """Knows that there is exactly one step, and places it by likelihood: what no method can do much better than."""

    def places(values: Sequence[float]) -> list[int]:
        return [best_split(as_series(values), 2, len(values) - 2, 0.0)[0]]

    return Method(None, places)


METHODS: dict[str, Callable[[], Method]] = {
    "headway": partial(ours, Policy()),
    "headway, bar 3.5": partial(ours, Policy(bar=3.5)),
    "Otava, window 50, p 0.001 (its defaults)": partial(otava, 50, 0.001),
    "Otava, window 30, p 0.001": partial(otava, 30, 0.001),
    "Otava, window 50, p 0.00001": partial(otava, 50, 0.00001),
    "ruptures, penalty 3 log n": partial(ruptures, 3.0),
    "ruptures, penalty 5 log n": partial(ruptures, 5.0),
    "told that there is one step": told,
}


def drawn(name: str, seed: int, number: int) -> tuple[list[float], int | None]:
    """A series, and where its step begins."""
    dice = np.random.default_rng([seed, SERIES.index(name), number])
    values = 100 * (1 + NOISE * dice.standard_normal(LENGTH))
    place, up = int(dice.integers(40, 60)), bool(dice.random() < 0.5)
    if name in STEPS:
        values[place:] *= 1 + STEPS[name] * (1 if up else -1)
        return values.tolist(), place
    if name == "one outlier":
        values[place] *= 1.2 if up else 0.8
    elif name == "drift 5 %":
        values *= 1 + (1 if up else -1) * 0.05 * np.arange(LENGTH) / LENGTH
    return values.tolist(), None


@dataclass
class Tally:
    """Of one method on one kind of series."""

    series: int = 0
    found: int = 0
    near: int = 0
    drifts: int = 0
    false: int = 0
    delays: list[int] = field(default_factory=list)
    end_found: int = 0
    end_false: int = 0
    seconds: float = 0.0
    raises: bool = True

    def take(self, method: Method, values: list[float], step: int | None) -> None:
        self.series += 1
        self.raises = method.alarms is not None
        if method.alarms is not None:
            began = time.process_time()
            self._take_alarms(method.alarms(values), step)
            self.seconds += time.process_time() - began
        places = method.places(values)
        self.end_found += step is not None and any(abs(place - step) <= SAME for place in places)
        self.end_false += sum(step is None or abs(place - step) > SAME for place in places)

    def _take_alarms(self, alarms: Sequence[Alarm], step: int | None) -> None:
        first: Alarm | None = None
        for alarm in alarms:
            if step is not None and alarm.seen > step and first is None:
                first = alarm
            elif step is not None and alarm.seen > step and abs(alarm.place - step) <= SAME:
                continue
            elif alarm.drift:
                self.drifts += 1
            else:
                self.false += 1
        if first is not None and step is not None:
            self.found += 1
            self.near += abs(first.place - step) <= NEAR
            self.delays.append(first.seen - step)

    def row(self, step: bool) -> dict[str, float | None]:
        share = self.series
        looked_at_once: dict[str, float | None] = {
            "end_recall": self.end_found / share if step else None,
            "end_false": self.end_false / share,
        }
        if not self.raises:
            return looked_at_once
        return {
            "recall": self.found / share if step else None,
            "near": self.near / share if step else None,
            "delay_median": float(np.median(self.delays)) if self.delays else None,
            "delay_p90": float(np.percentile(self.delays, 90)) if self.delays else None,
            "false": self.false / share,
            "drifts": self.drifts / share,
            **looked_at_once,
            "cpu_ms": 1000 * self.seconds / share,
        }


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table. Exit code 4 if a peer is absent."""
    options = _options(argv)
    rows: dict[str, Any] = {}
    absent = False
    for name, make in METHODS.items():
        try:
            method = make()
        except ImportError as trouble:
            rows[name] = {"could_not_run": f"{trouble.name or trouble} is not installed (pip install 'headway[peers]')"}
            absent = True
            continue
        rows[name] = {}
        for kind in SERIES:
            tally = Tally()
            for number in range(options.series):
                tally.take(method, *drawn(kind, options.seed, number))
            rows[name][kind] = tally.row(kind in STEPS)
        print(f"{name} done", file=sys.stderr)
    if options.json:
        print(json.dumps({"schema": SCHEMA, "series": options.series, "seed": options.seed, "rows": rows}))
    else:
        _print(rows)
    return 4 if absent else 0


def _print(rows: dict[str, Any]) -> None:
    for name, kinds in rows.items():
        if "could_not_run" in kinds:
            print(f"{name}: could not run: {kinds['could_not_run']}")
            continue
        print(f"{name} ({fmean(one.get('cpu_ms', 0.0) for one in kinds.values()):.0f} ms of processor time a series)")
        for kind, row in kinds.items():
            print(f"  {kind:<12} " + "  ".join(f"{key} {value:.3g}" for key, value in row.items() if value is not None))


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
