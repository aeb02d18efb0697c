"""How often a culprit search is right and what it costs, beside git_bayesect and plain bisection on the same draws.

    python -m benchmarks.culprit --trials 200 --seed 0 [--json]

64 commits; the culprit is drawn anew in each trial; `1.0/0.05` means that the test fails always from the culprit on and
5 % of the time before. `accuracy` and `runs` are without end verification (git_bayesect's own stopping rule at 0.95),
`*_verified` with it. Beyond the library: commits that do not build, two culprits, a test born red, an outage in time.

`on real git`: the same search as `headway validate culprit --command` makes it, on a repository of 64 commits, clone by
clone and event by event; only what the command answers is drawn. At most `GIT_TRIALS` of the trials.
"""

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from headway.adapters.clocks import HandClock
from headway.adapters.processes import run
from headway.adapters.scripted_executor import Reply, ScriptedExecutor
from headway.core.ports.executor import Command
from headway.validate.culprit import Answer, Outcome, Rules, Seen, next_step
from headway.wiring.validate_culprit import AskedCulprit, run_culprit
from headway.wiring.validate_room import Asked
from headway.wiring.world import World as Real

SCHEMA = "headway.bench.culprit/1"
COMMITS = 64
RATES = ((1.0, 0.05), (0.9, 0.05), (0.9, 0.0), (0.5, 0.05), (0.3, 0.0))
FLAT = 0.08
PEER_LIMIT = 400
GIT_TRIALS = 20
TOML = '[upstream]\nurl = "nowhere"\n[fork]\nid = "bench"\n[l1]\ntest = "ask"\n'

World = Callable[[int, int], Outcome]


@dataclass(frozen=True)
class Trial:
    """One draw: where the culprit is, and a fresh world of the same dice for whoever asks."""

    culprit: int
    world: Callable[[], World]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table. Exit code 4 if a peer is absent."""
    options = _options(argv)
    rows: dict[str, Mapping[str, Any]] = {}
    peers: dict[str, dict[str, Any]] = {}
    for new, old in RATES:
        name = f"{new}/{old}"
        trials = [_trial(options.seed, number, new, old) for number in range(options.trials)]
        plain = [_search(trial, Rules(verify=False)) for trial in trials]
        verified = [_search(trial, Rules()) for trial in trials]
        rows[name] = {
            "accuracy": _right(trials, plain),
            "runs": fmean(runs for _, runs in plain),
            "accuracy_verified": _right(trials, verified),
            "runs_verified": fmean(runs for _, runs in verified),
        }
        peers[name] = {
            "git_bayesect": _peer(trials, _bayesect),
            "bisect": _peer(trials, lambda world: _bisect(world, 1)),
            "bisect any of 3": _peer(trials, lambda world: _bisect(world, 3)),
        }
        _progress(name)
    rows[f"flat {FLAT}"] = _flat(options.seed, options.trials)
    rows |= {name: _beyond(name, options.seed, options.trials) for name in BEYOND}
    rows |= {f"{name}, on real git": _on_git(name, options.seed, min(GIT_TRIALS, options.trials)) for name in ON_GIT}
    if options.json:
        print(
            json.dumps({"schema": SCHEMA, "trials": options.trials, "seed": options.seed, "rows": rows, "peers": peers})
        )
    else:
        _print(rows, peers)
    return 0


def _search(trial: Trial, rules: Rules) -> tuple[Answer, int]:
    world, seen = trial.world(), list[Seen]()
    while True:
        step = next_step(COMMITS, seen, rules)
        if isinstance(step, Answer):
            return step, len(seen)
        seen.append(Seen(step.index, world(step.index, len(seen)), step.purpose))


def _trial(seed: int, number: int, new: float, old: float) -> Trial:
    culprit = random.Random(f"{seed} {number}").randrange(COMMITS)

    def world() -> World:
        dice = random.Random(f"{seed} {number} {new} {old}")
        return lambda index, _: "failed" if dice.random() < (new if index <= culprit else old) else "passed"

    return Trial(culprit, world)


def _right(trials: Sequence[Trial], found: Sequence[tuple[Answer, int]]) -> float:
    return fmean(answer.suspects == (trial.culprit,) for trial, (answer, _) in zip(trials, found, strict=True))


def _peer(trials: Sequence[Trial], method: Callable[[World], tuple[int, int]]) -> dict[str, float]:
    answers = [method(trial.world()) for trial in trials]
    right = fmean(found == trial.culprit for trial, (found, _) in zip(trials, answers, strict=True))
    return {"accuracy": right, "runs": fmean(runs for _, runs in answers)}


def _bayesect(world: World) -> tuple[int, int]:
    from git_bayesect import Bisector

    bisector, runs = Bisector([1.0] * COMMITS), 0
    while bisector.distribution.max() < 0.95 and runs < PEER_LIMIT:
        index = bisector.select()
        bisector.record(index, world(index, runs) == "failed")
        runs += 1
    return int(bisector.distribution.argmax()), runs


def _bisect(world: World, tries: int) -> tuple[int, int]:
    """Plain bisection; a step is red if any of `tries` runs fails."""
    newest_good, oldest_bad, runs = COMMITS, 0, 0
    while newest_good - oldest_bad > 1:
        middle = (newest_good + oldest_bad) // 2
        outcomes = [world(middle, runs + turn) for turn in range(tries)]
        runs += tries
        if "failed" in outcomes:
            oldest_bad = middle
        else:
            newest_good = middle
    return oldest_bad, runs


def _flat(seed: int, trials: int) -> dict[str, float]:
    found = [_search(_trial(seed, number, FLAT, FLAT), Rules()) for number in range(trials)]
    _progress("flat")
    return {
        "flake": fmean(answer.kind == "flake" for answer, _ in found),
        "culprit": fmean(answer.kind == "culprit" for answer, _ in found),
        "runs_verified": fmean(runs for _, runs in found),
    }


def _unbuildable(number: int, culprit: int, dice: random.Random) -> World:
    broken = set(random.Random(f"broken {number}").sample(range(1, COMMITS), 16))
    rate = {True: 0.9, False: 0.05}
    return lambda index, _: (
        "unbuildable" if index in broken else "failed" if dice.random() < rate[index <= culprit] else "passed"
    )


def _two(number: int, culprit: int, dice: random.Random) -> World:
    newer = culprit // 2
    return lambda index, _: (
        "failed" if dice.random() < (1.0 if index <= newer else 0.5 if index <= culprit else 0.0) else "passed"
    )


def _born_red(number: int, culprit: int, dice: random.Random) -> World:
    return lambda index, _: "absent" if index > culprit else "failed" if dice.random() < 0.95 else "passed"


def _outage(number: int, culprit: int, dice: random.Random) -> World:
    start = number % 12
    return lambda index, place: (
        "failed" if start <= place < start + 6 or dice.random() < (0.95 if index <= culprit else 0.02) else "passed"
    )


BEYOND: dict[str, Callable[[int, int, random.Random], World]] = {
    "a quarter does not build": _unbuildable,
    "two culprits": _two,
    "born red": _born_red,
    "outage of 6 runs": _outage,
}


def _beyond(name: str, seed: int, trials: int) -> dict[str, float]:
    right, runs = [], []
    for number in range(trials):
        culprit = random.Random(f"{seed} {name} {number}").randrange(COMMITS)
        dice = random.Random(f"{seed} {name} {number} dice")
        answer, spent = _search(Trial(culprit, lambda n=number, c=culprit, d=dice: BEYOND[name](n, c, d)), Rules())
        expected = {culprit, culprit // 2} if name == "two culprits" else {culprit}
        kind = "born_red" if name == "born red" and culprit < COMMITS - 1 else answer.kind
        right.append(bool(expected & set(answer.suspects)) and answer.kind == kind)
        runs.append(spent)
    _progress(name)
    return {"accuracy_verified": fmean(right), "runs_verified": fmean(runs)}


def _plain(number: int, culprit: int, dice: random.Random) -> World:
    return lambda index, _: "failed" if dice.random() < (0.9 if index <= culprit else 0.05) else "passed"


ON_GIT: dict[str, Callable[[int, int, random.Random], World]] = {
    "0.9/0.05": _plain,
    "a quarter does not build": _unbuildable,
    "outage of 6 runs": _outage,
}
EXITS: dict[Outcome, int] = {"passed": 0, "failed": 1, "unbuildable": 125}


def _on_git(name: str, seed: int, trials: int) -> dict[str, float]:
    right, runs = [], []
    with tempfile.TemporaryDirectory() as folder:
        fork, shas = _repository(Path(folder) / "fork")
        for number in range(trials):
            culprit = random.Random(f"{seed} git {name} {number}").randrange(COMMITS)
            world = ON_GIT[name](number, culprit, random.Random(f"{seed} git {name} {number} dice"))
            executor = ScriptedExecutor([_answering(world)])
            real = Real({"PATH": "/usr/bin:/bin"}, HandClock(datetime(2026, 1, 1, tzinfo=UTC)), executor)
            asked = Asked(fork, Path(folder) / f"state-{number}", world=real)
            found = run_culprit(asked, AskedCulprit(shas[COMMITS], shas[0], command="ask"), Rules(), lambda _: None)
            right.append(found.evidence["answer"] == "culprit" and shas[culprit] in found.evidence["suspects"])
            runs.append(len(executor.commands))
    _progress(f"{name}, on real git")
    return {"trials": trials, "accuracy_verified": fmean(right), "runs_verified": fmean(runs)}


def _answering(world: World) -> Callable[[Command], Reply]:
    """What the command says in a clone: its commit's number is the only file that differs."""
    asked = 0

    def answer(command: Command) -> Reply:
        nonlocal asked
        outcome = world(int((command.cwd / "number").read_text()), asked)
        asked += 1
        return Reply(exit=EXITS[outcome])

    return answer


def _repository(fork: Path) -> tuple[Path, list[str]]:
    """64 commits on top of a good one; their ids, newest first, the good one last."""
    run(["git", "init", "--quiet", "--initial-branch=main", str(fork)])
    (fork / "headway.toml").write_text(TOML)
    who = {f"GIT_{role}_{what}": "bench@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for number in range(COMMITS, -1, -1):
        (fork / "number").write_text(f"{number}\n")
        run(["git", "add", "--all"], cwd=fork)
        run(["git", "-c", "commit.gpgSign=false", "commit", "--quiet", "-m", f"number {number}"], cwd=fork, set_env=who)
    return fork, run(["git", "rev-list", "main"], cwd=fork).text.split()


def _print(rows: Mapping[str, Mapping[str, Any]], peers: Mapping[str, Mapping[str, Any]]) -> None:
    for name, row in rows.items():
        print(f"{name:<26} " + "  ".join(f"{key} {value:.3g}" for key, value in row.items()))
        for peer, figures in peers.get(name, {}).items():
            print(f"  {peer:<24} " + "  ".join(f"{key} {value:.3g}" for key, value in figures.items()))


def _progress(name: str) -> None:
    print(f"{name} done", file=sys.stderr)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
