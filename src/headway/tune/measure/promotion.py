"""When may a candidate take the incumbent's place? Pure.

An agent that submits a thousand candidates will be lucky. So nothing is promoted on the numbers that made it look
good: it is measured again in a fresh process, with the number of blocks fixed before, and the k-th such test of a
campaign may err with chance alpha * 6 / (pi^2 k^2). These sum to alpha however many tests there will be.

The number of blocks may depend on what was known before (the noise of the baseline against itself, the gain that the
first measurement promised), never on what the test itself sees.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from headway.core.gates import PASSED, Passed, Refused
from headway.core.ports.worker import Samples
from headway.core.reasons import Reason
from headway.tune.measure.timing import TRIM, centre, log_ratios, spread

FEWEST_BLOCKS = 8
MOST_BLOCKS = 400
POWER = 0.9
"""The chance, by design, to promote a candidate with the gain that a test is sized for, in the baseline's noise."""
BELIEVED = 0.5
"""Share of a promised gain that a test is sized for: what looked best was lucky."""
LOOK_ERROR = 0.03
FEWEST_LOOK_BLOCKS, MOST_LOOK_BLOCKS = 5, 16
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


def plan(
    number: int, alpha: float, noise: float, timed_cases: int, gain: float, most_blocks: int = MOST_BLOCKS
) -> Test:
    """Test `number` (from 1) of a campaign whose whole error is `alpha`, sized to find `gain` (0.02 for 2 %).

    `noise` is the spread of a block's log ratio. The blocks are per case, what a normal approximation needs to find
    the gain with chance POWER, within [FEWEST_BLOCKS, most_blocks].
    """
    share = alpha * 6 / (math.pi**2 * number**2)
    normal = NormalDist()
    distance = -normal.inv_cdf(share) + normal.inv_cdf(POWER)
    wanted = (distance * noise / math.log1p(gain)) ** 2 / max(timed_cases, 1)
    return Test(number, share, max(min(math.ceil(wanted), most_blocks), FEWEST_BLOCKS))


def blocks_for_a_look(noise: float, timed_cases: int) -> int:
    """Blocks per case of the full measurement: as many as bring its own error to about LOOK_ERROR, within bounds."""
    wanted = (noise / LOOK_ERROR) ** 2 / max(timed_cases, 1)
    return max(min(math.ceil(wanted), MOST_LOOK_BLOCKS), FEWEST_LOOK_BLOCKS)


def promising(ratio: float, high: float, incumbent: float, min_gain: float) -> bool:
    """Whether a measured ratio is worth a promotion test: within one standard error it is a gain of `min_gain`.

    To ask for the gain itself would send away, in noise, one in six of the candidates that have it.
    """
    error = math.log(high / ratio) / 1.96 if high > ratio else 0.0
    return ratio * math.exp(error) > incumbent * (1 + min_gain)


def sized_for(promised: float, min_gain: float) -> float:
    """The gain a test is sized for, where the first measurement promised the ratio `promised` over the incumbent."""
    return max(min_gain, math.pow(promised, BELIEVED) - 1)


def lower_bound(logs: Sequence[npt.NDArray[np.float64]], alpha: float) -> tuple[float, float]:
    """Log ratio over cases and its one-sided lower bound (Yuen's t on trimmed means, the fewest blocks' freedom)."""
    mean = sum(map(centre, logs)) / len(logs)
    error = math.sqrt(sum(spread(case) ** 2 / case.size for case in logs)) / len(logs)
    return mean, mean - t_quantile(1 - alpha, min(map(freedom, logs))) * error


def freedom(logs: npt.NDArray[np.float64]) -> int:
    """Degrees of freedom that trimming leaves."""
    return int(logs.size) - 2 * int(TRIM * logs.size) - 1


def t_quantile(probability: float, degrees: int) -> float:
    """Quantile of Student's t."""
    from scipy.special import stdtrit  # half a second of scipy.stats is not worth one quantile

    return float(stdtrit(degrees, probability))


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


def _worse(values: npt.NDArray[np.float64]) -> float | None:
    """The ratio of a case that got slower, else None."""
    mean = centre(values)
    error = spread(values) / math.sqrt(values.size)
    high = mean + t_quantile(0.975, freedom(values)) * error
    slower: bool = mean < math.log1p(-PROTECTED_MARGIN) or high < 0
    return math.exp(mean) if slower else None
