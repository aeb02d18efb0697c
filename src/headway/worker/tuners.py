"""The runner's hold on autotuners: they choose while nothing else runs, it is told, and pinned before the clock runs.

Loaded into the runner before the candidate. Triton's own way (each tuner times its configurations at the first call
that it has not seen) would choose while other candidates are checked beside it, and might choose again in a timed call.
"""

import statistics
from collections.abc import Callable
from typing import Any

from triton.runtime.autotuner import Autotuner

SHOWN = 200
UNKNOWN = float("inf")
AGREED = 3
"""A configuration is timed so often; the median counts, so that one disturbed look chooses nothing."""


class ChoosingLate(RuntimeError):
    """Raised into a candidate whose tuner wants to choose while the clock runs; the judge is told too."""


class Tuners:
    """How every autotuner of this process chooses. `bench(call)` gives a call's seconds; nothing else runs then."""

    def __init__(self, bench: Callable[[Callable[[], None]], float] | None) -> None:
        """`bench` None: there is no device to time on, and the first configuration that a tuner keeps stands."""
        self._bench = bench
        self._way = "first"
        self._given: list[dict[str, Any]] = []
        self._told: list[dict[str, Any]] = []
        self._running: list[tuple[Any, float]] = []
        self.late: list[str] = []
        """Kernels that wanted to choose after `pin`, as the judge is told of them."""
        self._seen: dict[int, Any] = {}
        self._take_over()

    def choose(self, given: list[dict[str, Any]], forget: bool) -> int:
        """From here on tuners choose in earnest, or as `given` says, in the same order; `forget`: also what they know.

        Returns how many tuners there are that have anything to choose.
        """
        self._way, self._given, self._told = "earnest", list(given), []
        for tuner in self._seen.values() if forget else ():
            tuner.cache.clear()
        return len(self._seen)

    def pin(self) -> list[dict[str, Any]]:
        """Nothing is chosen any more; what was, in the order of the choosing."""
        self._way = "pinned"
        return self._told

    def _take_over(self) -> None:
        """Once a process: whatever a source later makes of `triton.autotune` chooses through this."""
        run, bench, ours = Autotuner.run, Autotuner._bench, self

        def chosen(tuner: Any, *args: Any, **kwargs: Any) -> Any:
            if len(tuner.configs) > 1:
                ours._seen[id(tuner)] = tuner
            before = len(tuner.cache)
            ours._running = []
            result = run(tuner, *args, **kwargs)
            if len(tuner.cache) > before and ours._running:
                ours._note(tuner)
            return result

        def timed(tuner: Any, *args: Any, config: Any, **meta: Any) -> Any:
            if ours._way == "pinned":
                name = tuner.base_fn.__name__
                if len(ours.late) < SHOWN:
                    ours.late.append(name)
                raise ChoosingLate(f"the autotuner of {name} chooses again for a call like those before")
            tuner.__dict__["do_bench"] = ours._look  # over a cached property, and over what the source asked for
            found = ours._asked(tuner, config) if ours._given else bench(tuner, *args, config=config, **meta)
            ours._running.append((config, float(found[0])))
            return found

        Autotuner.run, Autotuner._bench = chosen, timed

    def _look(self, call: Callable[[], None], quantiles: Any = None, **_: Any) -> list[float]:
        """In the place of `do_bench`: milliseconds, as often as there are quantiles."""
        seconds = 0.0
        if self._bench is not None:
            call()  # compiles; what does not fit the device raises here
            if self._way == "earnest":
                seconds = statistics.median(self._bench(call) for _ in range(AGREED))
        return [1e3 * seconds] * len(quantiles or (0.5,))

    def _before(self, tuner: Any) -> dict[str, Any] | None:
        """What this tuner, asked for the same time of its, chose when the source was measured before."""
        name = tuner.base_fn.__name__
        nth, mine = (sum(one["kernel"] == name for one in self._told), [x for x in self._given if x["kernel"] == name])
        return mine[min(nth, len(mine) - 1)] if mine else None

    def _asked(self, tuner: Any, config: Any) -> list[float]:
        """The configuration that was chosen before is the only one of finite time."""
        before = self._before(tuner)
        return [0.0 if before is None or str(config)[:SHOWN] == before["config"] else UNKNOWN] * 3

    def _note(self, tuner: Any) -> None:
        if (before := self._before(tuner)) is not None:
            self._told.append(before)
            return
        ended = min(self._running, key=lambda one: one[1])[0]
        told = [[str(one)[:SHOWN], round(1e3 * ms, 2) if ms < UNKNOWN else None] for one, ms in self._running[:32]]
        name, chosen = tuner.base_fn.__name__, str(ended)[:SHOWN]
        self._told.append({"kernel": name, "config": chosen, "of": len(self._running), "microseconds": told})
