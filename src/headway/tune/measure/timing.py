"""From paired samples to a ratio with an interval. Pure.

The unit is the A-B-B-A block: candidate and rival timed within the same block share the machine's mood, so their log
ratio is what varies little. What a scheduler does to a block now and then is no property of the candidate, so a case's
blocks are averaged by a trimmed mean; cases are averaged with equal weight (a geometric mean).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headway.core.ports.worker import Samples

RESAMPLES = 2000
TRIM = 0.2
"""Share of a case's blocks that is left out at either end."""


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
        total += centres(logs[picks])
        point += centre(logs)
        fewest = min(fewest, logs.size)
    low, high = np.quantile(total / len(samples), [0.025, 0.975])
    return Ratio(math.exp(point / len(samples)), math.exp(float(low)), math.exp(float(high)), int(fewest))


def centre(logs: npt.NDArray[np.float64]) -> float:
    """The trimmed mean of a case's log ratios."""
    return float(centres(logs[np.newaxis])[0])


def centres(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The trimmed mean of each row."""
    cut = int(TRIM * rows.shape[1])
    means: npt.NDArray[np.float64] = np.sort(rows, axis=1)[:, cut : rows.shape[1] - cut].mean(axis=1)
    return means


def spread(logs: npt.NDArray[np.float64]) -> float:
    """Standard deviation of one block as the trimmed mean feels it (winsorised; Tukey and McLaughlin 1963).

    The error of `centre` is spread / sqrt(blocks). Raises BadSamples for fewer than two blocks.
    """
    if logs.size < 2:
        raise BadSamples("one block says nothing about the noise")
    cut = int(TRIM * logs.size)
    ordered = np.sort(logs)
    winsorised = np.clip(ordered, ordered[cut], ordered[logs.size - 1 - cut])
    return float(winsorised.std(ddof=1)) / (1 - 2 * cut / logs.size)


def noise_of(samples: Sequence[Samples]) -> float:
    """The spread of one block's log ratio, root mean square over cases. Raises BadSamples."""
    if not samples:
        raise BadSamples("no timed case was measured")
    return math.sqrt(sum(spread(log_ratios(case)) ** 2 for case in samples) / len(samples))
