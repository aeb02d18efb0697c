"""Exact statistics on small counts: no approximation, no dependency, nothing to import slowly."""

from dataclasses import dataclass
from math import comb


@dataclass(frozen=True, slots=True)
class Tally:
    """`failed` of `runs` runs failed."""

    failed: int
    runs: int

    def __post_init__(self) -> None:
        assert 0 <= self.failed <= self.runs

    @property
    def rate(self) -> float:
        return self.failed / self.runs if self.runs else 0.0

    def plus(self, failed: bool) -> "Tally":
        return Tally(self.failed + failed, self.runs + 1)


def chance_of_worse(change: Tally, base: Tally) -> float:
    """Fisher's exact test, one-sided: the chance of so many failures on the change if both fail alike; 1.0: no run."""
    total, failed = change.runs + base.runs, change.failed + base.failed
    if not change.runs or not base.runs:
        return 1.0
    most = min(failed, change.runs)
    ways = sum(comb(failed, k) * comb(total - failed, change.runs - k) for k in range(change.failed, most + 1))
    return ways / comb(total, change.runs)
