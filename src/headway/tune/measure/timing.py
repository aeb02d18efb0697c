"""From paired samples to a ratio with an interval. Pure.

The unit is the A-B-B-A block: candidate and rival timed within the same block share the machine's mood, so their log
ratio is what varies little. Blocks are averaged per case, cases are averaged with equal weight (a geometric mean).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headway.core.ports.worker import Samples

RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Ratio:
    """Rival's time / candidate's time: over 1 the candidate is faster. 95 % percentile bootstrap over blocks."""

    point: float
    low: float
    high: float
    blocks: int
    """The fewest blocks that any case has."""


class BadSamples(ValueError):
    """The samples are no measurement: none, unpaired, not finite or not positive. The message says which."""


def log_ratios(samples: Samples) -> npt.NDArray[np.float64]:
    """log(rival / candidate) of each block of one case. Raises BadSamples."""
    candidate = np.asarray(samples.candidate, dtype=np.float64)
    rival = np.asarray(samples.rival, dtype=np.float64)
    if candidate.size == 0 or candidate.shape != rival.shape:
        raise BadSamples(f"case {samples.case}: {candidate.size} candidate samples and {rival.size} of the rival")
    if not (np.isfinite(candidate).all() and np.isfinite(rival).all()):
        raise BadSamples(f"case {samples.case}: a time is not a finite number")
    if (candidate <= 0).any() or (rival <= 0).any():
        raise BadSamples(f"case {samples.case}: a time is not positive")
    return np.log(rival / candidate)


def ratio_of(samples: Sequence[Samples], seed: int) -> Ratio:
    """The ratio over all given cases. Same samples and seed, same answer. Raises BadSamples."""
    if not samples:
        raise BadSamples("no timed case was measured")
    rng = np.random.default_rng(seed)
    total = np.zeros(RESAMPLES)
    point, fewest = 0.0, math.inf
    for case in samples:
        logs = log_ratios(case)
        picks = rng.integers(0, logs.size, (RESAMPLES, logs.size))
        total += logs[picks].mean(axis=1)
        point += float(logs.mean())
        fewest = min(fewest, logs.size)
    low, high = np.quantile(total / len(samples), [0.025, 0.975])
    return Ratio(math.exp(point / len(samples)), math.exp(float(low)), math.exp(float(high)), int(fewest))


def noise_of(samples: Sequence[Samples]) -> float:
    """Standard deviation of a block's log ratio, pooled over cases. Raises BadSamples if no case has two blocks."""
    squares, freedom = 0.0, 0
    for case in samples:
        logs = log_ratios(case)
        squares += float(((logs - logs.mean()) ** 2).sum())
        freedom += logs.size - 1
    if freedom < 1:
        raise BadSamples("one block says nothing about the noise")
    return math.sqrt(squares / freedom)
