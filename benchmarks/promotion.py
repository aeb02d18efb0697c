"""How often is a candidate promoted that is not faster, and how often one that is? Simulated, with the real gates.

    python -m benchmarks.promotion [--repetitions 1000] [--submissions 200] [--json]

A campaign submits 200 candidates without any true gain; every timing has 10 % noise, and a block has two of each side.
Every one is put to the promotion test (the worst case: a campaign tests only what looked promising). The family-wise
error is the share of campaigns in which anything was promoted. `heavy` noise adds stalls: one timing in ten takes up
to three times as long. Then candidates that truly are 5 % faster go the whole way (measured in full, found promising,
tested), as the first test of a campaign and as its hundredth. The seed of every row is printed.
"""

import argparse
import math
import sys
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.table import Row, show
from headway.core.gates import Passed
from headway.core.ports.worker import Samples
from headway.tune.attempt_journey import BASELINE_BLOCKS
from headway.tune.campaign import DEFAULT_ALPHA, DEFAULT_MIN_GAIN
from headway.tune.measure import promotion
from headway.tune.measure.timing import log_ratios, ratio_of, spread

ASKED, NOISE = 0.05, 0.10
ALPHA, MIN_GAIN = DEFAULT_ALPHA, DEFAULT_MIN_GAIN


@dataclass(frozen=True)
class Machine:
    """Draws timings. `gain` 0.05 is a candidate that is 5 % faster."""

    rng: np.random.Generator
    heavy: bool

    def times(self, mean: float, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
        """Seconds of single timings."""
        values = mean * np.exp(NOISE * self.rng.standard_normal(shape))
        if self.heavy:
            values *= np.where(self.rng.random(shape) < 0.1, 1 + 2 * self.rng.random(shape), 1.0)
        return values

    def blocks(self, count: int, gain: float) -> Samples:
        """`count` A-B-B-A blocks."""
        ours = self.times(1e-3 / (1 + gain), (count, 2)).mean(axis=1)
        theirs = self.times(1e-3, (count, 2)).mean(axis=1)
        return Samples("one", tuple(ours), tuple(theirs), False, 1, 0.0)

    def noise(self) -> float:
        """What the baseline against itself shows at a campaign's start."""
        return spread(log_ratios(self.blocks(BASELINE_BLOCKS, 0.0)))


def false_promotions(repetitions: int, submissions: int, heavy: bool, seed: int) -> Row:
    """Family-wise error over simulated campaigns."""
    wrong = 0
    for repetition in range(repetitions):
        machine = Machine(np.random.default_rng([seed, repetition]), heavy)
        noise = machine.noise()
        for number in range(1, submissions + 1):
            test = promotion.plan(number, ALPHA, noise, 1, MIN_GAIN)
            if isinstance(promotion.decide([machine.blocks(test.blocks, 0.0)], test).verdict, Passed):
                wrong += 1
                break
    low, high = wilson(wrong, repetitions)
    return {
        "what": f"no gain, {submissions} submissions, {'heavy' if heavy else 'normal'} noise",
        "share": wrong / repetitions,
        "interval": f"[{low:.3f}, {high:.3f}]",
        "asked": f"<= {ASKED}",
        "repetitions": repetitions,
        "seed": seed,
    }


def true_promotions(repetitions: int, number: int, gain: float, heavy: bool, seed: int) -> Row:
    """Share of truly faster candidates that are promoted, as the `number`-th test of their campaign."""
    right, spent = 0, 0
    for repetition in range(repetitions):
        machine = Machine(np.random.default_rng([seed, repetition]), heavy)
        noise = machine.noise()
        look = promotion.blocks_for_a_look(noise, 1)
        full = ratio_of([machine.blocks(look, gain)], repetition)
        if not promotion.promising(full.point, full.high, 1.0, MIN_GAIN):
            continue
        test = promotion.plan(number, ALPHA, noise, 1, promotion.sized_for(full.point, MIN_GAIN))
        spent += test.blocks
        right += isinstance(promotion.decide([machine.blocks(test.blocks, gain)], test).verdict, Passed)
    low, high = wilson(right, repetitions)
    return {
        "what": f"{100 * gain:g} % faster, test {number}, {'heavy' if heavy else 'normal'} noise",
        "share": right / repetitions,
        "interval": f"[{low:.3f}, {high:.3f}]",
        "asked": ">= 0.8" if gain >= 0.05 and not heavy else "",
        "repetitions": repetitions,
        "seed": seed,
        "blocks": round(spent / max(repetitions, 1)),
    }


def wilson(hits: int, of: int) -> tuple[float, float]:
    """95 % interval of a share."""
    share, z = hits / of, 1.96
    middle, half = share + z * z / (2 * of), z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return (middle - half) / (1 + z * z / of), (middle + half) / (1 + z * z / of)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--submissions", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    times, many = options.repetitions, options.submissions
    rows = [false_promotions(times, many, heavy, seed) for heavy, seed in ((False, 11), (True, 12))]
    rows += [true_promotions(times, number, 0.05, False, 20 + number) for number in (1, 10, 100)]
    rows += [true_promotions(times, 1, 0.05, True, 31), true_promotions(times, 1, 0.02, False, 32)]
    code = show("headway.promotion-benchmark/1", rows, as_json=options.json)
    good = all(row["share"] <= ASKED for row in rows[:2]) and all(row["share"] >= 0.8 for row in rows[2:5])
    return code or (0 if good else 1)


if __name__ == "__main__":
    sys.exit(main())
