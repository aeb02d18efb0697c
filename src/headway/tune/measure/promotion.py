"""When may a candidate take the incumbent's place? Pure.

An agent that submits a thousand candidates will be lucky. So nothing is promoted on the numbers that made it look
good: it is measured again in a fresh process, with the number of blocks fixed before, and the k-th such test of a
campaign may err with chance alpha * 6 / (pi^2 k^2). These sum to alpha however many tests there will be.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from headway.core.gates import PASSED, Passed, Refused
from headway.core.ports.worker import Samples
from headway.core.reasons import Reason
from headway.tune.measure.timing import log_ratios

FEWEST_BLOCKS = 8
MOST_BLOCKS = 600
POWER = 0.9
"""The chance, by design, to promote a candidate whose gain is `min_gain` where the noise is as the baseline's was."""
PROTECTED_MARGIN = 0.05
"""A protected case may look this much slower before it counts, unless even its interval lies below 1."""


@dataclass(frozen=True, slots=True)
class Test:
    """The plan of one promotion test, made before anything is measured."""

    number: int
    alpha: float
    blocks: int


@dataclass(frozen=True, slots=True)
class Decision:
    """What the re-measure says. `bound` is the one-sided lower confidence bound of the ratio at the test's alpha."""

    verdict: Passed | Refused
    ratio: float
    bound: float


def plan(number: int, alpha: float, noise: float, timed_cases: int, min_gain: float) -> Test:
    """Test `number` (from 1) of a campaign whose whole error is `alpha`.

    `noise` is the standard deviation of a block's log ratio. The blocks are per case and are what a normal
    approximation needs to find `min_gain` with chance POWER, within [FEWEST_BLOCKS, MOST_BLOCKS].
    """
    share = alpha * 6 / (math.pi**2 * number**2)
    normal = NormalDist()
    distance = -normal.inv_cdf(share) + normal.inv_cdf(POWER)
    wanted = (distance * noise / math.log1p(min_gain)) ** 2 / max(timed_cases, 1)
    return Test(number, share, min(max(math.ceil(wanted), FEWEST_BLOCKS), MOST_BLOCKS))


def lower_bound(logs: Sequence[np.ndarray], alpha: float) -> tuple[float, float]:
    """Mean log ratio over cases, and its lower bound by Student's t with the fewest blocks' degrees of freedom."""
    means = [float(case.mean()) for case in logs]
    variance = sum(float(case.var(ddof=1)) / case.size for case in logs) / len(logs) ** 2
    mean = sum(means) / len(means)
    return mean, mean - t_quantile(1 - alpha, min(case.size for case in logs) - 1) * math.sqrt(variance)


def t_quantile(probability: float, freedom: int) -> float:
    """Quantile of Student's t."""
    from scipy.special import stdtrit  # half a second of scipy.stats is not worth one quantile

    return float(stdtrit(freedom, probability))


def decide(samples: Sequence[Samples], test: Test) -> Decision:
    """Promote, or refuse with `not_faster` or `protected_case_worse`. Raises BadSamples."""
    logs = [log_ratios(case) for case in samples]
    mean, bound = lower_bound(logs, test.alpha)
    ratio, low = math.exp(mean), math.exp(bound)
    for case, values in zip(samples, logs, strict=True):
        if case.protected and (worse := _worse(values)) is not None:
            message = f"The protected case {case.case} runs at {worse:.3f} of the incumbent's speed."
            return Decision(
                Refused(Reason.PROTECTED_CASE_WORSE, message, "Keep this case as fast as it was."), ratio, low
            )
    if low <= 1.0:
        message = (
            f"Re-measured {ratio:.3f} times the incumbent's speed; with {test.blocks} blocks and an error of "
            f"{test.alpha:.2g} nothing better than {low:.3f} is certain."
        )
        return Decision(Refused(Reason.NOT_FASTER, message, "Find a larger gain, or leave this idea."), ratio, low)
    return Decision(PASSED, ratio, low)


def _worse(values: np.ndarray) -> float | None:
    """The ratio of a case that got slower, else None."""
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    high = mean + t_quantile(0.975, values.size - 1) * error
    return math.exp(mean) if mean < math.log1p(-PROTECTED_MARGIN) or high < 0 else None
