"""The agent without a model: Optuna's TPE over the knobs a task declares.

It remembers nothing. Every request carries the trials so far, and the sampler is seeded by campaign and call, so a
process that was killed proposes the same as one that was not.
"""

import contextlib
import itertools
import json
import random
import warnings
from collections.abc import Iterator, Mapping, Sequence
from math import log
from typing import Any

from headway.core.ports.agent import NoProposal, Proposal, Request
from headway.core.task import Knob, Task, fill, space_size

STARTUP = 24
"""Random trials before the model of the space is trusted."""
REFUSED_VALUE = log(0.02)
"""What a trial without a speed counts as: worse than anything that runs."""
MOST_ASKS = 8
"""How often TPE may repeat what was tried. Then one of the fastest is varied in one knob, and where that was tried too,
an untried combination is drawn at random."""
FASTEST = 5
MOST_DRAWS = 10_000

Values = dict[str, int | str]
Trials = Sequence[tuple[Values, float | None]]


class SearchAgent:
    """Proposes one untried combination of knobs a call; exhausted when none is left."""

    name = "search"

    def __init__(self, task: Task, at_once: int = 1) -> None:
        """`at_once`: so many proposals are certain before the results of as many others are there."""
        self._task = task
        self._at_once = at_once
        self._made: dict[int, Values] = {}
        self._study: Any = None
        self._told = 0

    def propose(self, request: Request) -> Proposal | NoProposal:
        """The next combination, filled into the task's template."""
        if not self._task.knobs:
            return NoProposal("exhausted", f"The task {self._task.id} declares no knobs to search over.")
        if (values := self._values(request, 0)) is None:
            return NoProposal("exhausted", "Every combination of the declared knobs was tried.")
        return self._proposal(values, request)

    def ahead(self, request: Request, count: int) -> tuple[Proposal, ...]:
        """The next ones of which no result that is still open can change anything."""
        found: list[Proposal] = []
        for n in range(min(count, self._at_once - 1)):
            if not self._task.knobs or (values := self._values(request, n)) is None:
                break
            found.append(self._proposal(values, request))
        return tuple(found)

    def _proposal(self, values: Values, request: Request) -> Proposal:
        return Proposal(
            files={self._task.candidate_file: fill(self._task.template, values)},
            hypothesis=hypothesis(self._task.knobs, values),
            parent=request.facts.get("parent", ""),
            knobs=values,
        )

    def _values(self, request: Request, later: int) -> Values | None:
        """What the call `later` calls after the request's proposes; None if nothing is left.

        With `at_once` > 1 a proposal knows the results up to two generations of that many calls ago, and of younger
        calls only what they proposed.
        """
        trials: Trials = json.loads(request.facts["trials"])
        turn, call = int(request.facts.get("turn", request.facts["call"])), int(request.facts["call"])
        others = max(len(trials) - (turn - 1 - int(request.facts.get("in_flight", "0"))), 0)
        wanted = turn + later
        first = 1 if self._at_once == 1 else max((wanted - 1) // self._at_once - 1, 0) * self._at_once + 1
        known = len(trials) if self._at_once == 1 else others + first - 1
        tried = {_key(self._task.knobs, values) for values, _ in trials}
        if self._at_once == 1:
            return self._one(request, call, trials, tried)
        tried = {_key(self._task.knobs, values) for values, _ in trials[:known]}
        values: Values | None = None
        for each in range(first, wanted + 1):
            if known + each - first < len(trials):
                values = trials[known + each - first][0]  # it was made so, whatever became of it
            elif each not in self._made:
                values = self._one(request, call - turn + each, trials[:known], tried)
                if values is None:
                    return None
                self._made[each] = values
            else:
                values = self._made[each]
            tried.add(_key(self._task.knobs, values))
        return values

    def _one(self, request: Request, call: int, trials: Trials, tried: set[tuple[int | str, ...]]) -> Values | None:
        knobs = self._task.knobs
        if len(tried) >= space_size(knobs):
            return None
        seed = (int(request.facts["seed"]) * 1_000_003 + call) % 2**32
        chance = random.Random(seed)
        values = self._asked(trials, tried, seed) or _beside_the_best(knobs, trials, tried, chance)
        return values or _drawn(knobs, tried, chance)

    def _asked(self, trials: Trials, tried: set[tuple[int | str, ...]], seed: int) -> Values | None:
        """What TPE wants to see next, unless it only repeats itself."""
        import optuna

        with _quiet():
            study = self._study_of(trials)
            study.sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP)
            for _ in range(MOST_ASKS):
                trial = study.ask(_distributions(self._task.knobs))
                values = _values(self._task.knobs, trial.params)
                study.tell(trial, state=optuna.trial.TrialState.FAIL)  # the log, not the study, holds the result
                if _key(self._task.knobs, values) not in tried:
                    return values
        return None

    def _study_of(self, trials: Trials) -> Any:
        """A study that knows all trials; the one of the last call is extended where the trials only grew."""
        import optuna

        if self._study is None or self._told > len(trials):
            self._study, self._told = optuna.create_study(direction="maximize"), 0
        distributions = _distributions(self._task.knobs)
        for values, ratio in trials[self._told :]:
            if all(values.get(knob.name) in knob.values for knob in self._task.knobs):
                value = REFUSED_VALUE if ratio is None else max(log(ratio), REFUSED_VALUE)
                params = _params(self._task.knobs, values)
                self._study.add_trial(
                    optuna.trial.create_trial(params=params, distributions=distributions, value=value)
                )
        self._told = len(trials)
        return self._study


def hypothesis(knobs: Sequence[Knob], values: Mapping[str, int | str]) -> str:
    """The strategy in words: the structural knobs, or all of them if none is."""
    named = [knob for knob in knobs if knob.structural] or list(knobs)
    return "; ".join(f"{knob.help.split(':')[0]}: {knob.name}={values[knob.name]}" for knob in named)


def _distributions(knobs: Sequence[Knob]) -> dict[str, Any]:
    """Numbers are searched by their place in the declared order, so that neighbours teach about each other."""
    import optuna

    return {
        knob.name: optuna.distributions.IntDistribution(0, len(knob.values) - 1)
        if _is_ordered(knob)
        else optuna.distributions.CategoricalDistribution(list(knob.values))
        for knob in knobs
    }


def _is_ordered(knob: Knob) -> bool:
    return not knob.structural and len(knob.values) > 1 and all(isinstance(value, int) for value in knob.values)


def _params(knobs: Sequence[Knob], values: Mapping[str, int | str]) -> dict[str, int | str]:
    return {k.name: k.values.index(values[k.name]) if _is_ordered(k) else values[k.name] for k in knobs}


def _values(knobs: Sequence[Knob], params: Mapping[str, Any]) -> Values:
    return {k.name: k.values[params[k.name]] if _is_ordered(k) else params[k.name] for k in knobs}


def _key(knobs: Sequence[Knob], values: Mapping[str, int | str]) -> tuple[int | str, ...]:
    return tuple(values.get(knob.name, "") for knob in knobs)


def _beside_the_best(
    knobs: Sequence[Knob], trials: Trials, tried: set[tuple[int | str, ...]], chance: random.Random
) -> Values | None:
    """One of the fastest with one knob changed; None if all of those were tried."""
    fastest = sorted((t for t in trials if t[1] is not None), key=lambda t: -(t[1] or 0))[:FASTEST]
    near = [
        changed
        for values, _ in fastest
        for knob in knobs
        for value in knob.values
        if _key(knobs, changed := {**values, knob.name: value}) not in tried
    ]
    return chance.choice(near) if near else None


def _drawn(knobs: Sequence[Knob], tried: set[tuple[int | str, ...]], chance: random.Random) -> Values:
    """An untried combination: by luck while there are many, else the first in order."""
    for _ in range(MOST_DRAWS):
        values = {knob.name: chance.choice(knob.values) for knob in knobs}
        if _key(knobs, values) not in tried:
            return values
    return _first_untried(knobs, tried)


def _first_untried(knobs: Sequence[Knob], tried: set[tuple[int | str, ...]]) -> Values:
    for combination in itertools.product(*(knob.values for knob in knobs)):
        if combination not in tried:
            return {knob.name: value for knob, value in zip(knobs, combination, strict=True)}
    raise AssertionError("the space was counted and is not exhausted")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Optuna says on stderr what is in the log anyway, and warns of features that are not used here."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        optuna.logging.set_verbosity(before)
