"""A campaign of 2,000 tool calls over a simulated day, killed 100 times: is anything lost, counted twice or forgotten?

    python -m benchmarks.marathon --calls 2000 --kills 100 --keep DIR --json

The same campaign is run twice, once in peace (`undisturbed/`) and once under SIGKILL (`disturbed/`): agent and worker
are scripted, log, blobs, locks and fsyncs are the real ones. Half of the kills strike after a random time, the other
half at a random failpoint (in an append, a blob write, an evaluation). `kills.jsonl` has a line for each: time, pid,
the last event before, and the signal that the parent saw.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.marathon_agent import MarathonAgent, marathon_answer
from benchmarks.table import show
from benchmarks.tune_world import world_task
from headway.adapters.clocks import HandClock
from headway.adapters.failpoints import Failpoints
from headway.adapters.file_blobs import FileBlobs
from headway.adapters.scripted_worker import ScriptedWorker
from headway.adapters.sqlite_log import SqliteLog
from headway.core.events import Event, decode
from headway.core.events_core import RECOVERY_TYPES, IntentNamed
from headway.core.events_tune import BudgetSet, ContextShown, JobDone
from headway.core.ports.log import Record
from headway.core.ports.worker import WorkerJob, WorkerResult
from headway.tune.campaign import Loop, Start, home_of, open_campaign, read
from headway.tune.context import check_coverage
from headway.tune.evidence import text_of

ID = "marathon"
DAY = 86_400.0
START = datetime(2026, 1, 1, tzinfo=UTC)
CONTEXT_BUDGET = 32_000


def drive(folder: Path, calls: int, step: float, nap: float = 0.002) -> None:
    """Run the campaign in `folder` as far as it goes; begins it if it is not there yet.

    Each call takes `step` seconds of simulated time; each evaluation really takes `nap`, to be killed in.
    """
    failpoints = Failpoints.from_environment(dict(os.environ))
    clock = HandClock(START)
    log = SqliteLog(folder / "log.sqlite3", clock, failpoints=failpoints)
    blobs = FileBlobs(folder / "blobs", failpoints=failpoints)
    task = world_task(Path("world"))

    def answer(job: WorkerJob) -> WorkerResult:
        failpoints.hit("evaluation")
        clock.tick(step)
        time.sleep(nap)
        return marathon_answer(job, step)

    if not log.heads(home_of(ID)):
        budget = BudgetSet(None, calls, None, None, None, None)
        open_campaign(log, blobs, ID, task, Start("marathon", 1, CONTEXT_BUDGET, 0.05, 0.02, budget, ID))
    worker = ScriptedWorker(answer, folder / "worker")
    Loop(ID, task, log, blobs, MarathonAgent(clock, step), worker, clock).run()
    log.close()


def in_child(folder: Path, calls: int, env: dict[str, str]) -> int:
    """Drive in a forked child that has imported everything; returns its pid."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.environ.update(env)
        os.setsid()
        drive(folder, calls, DAY / calls)
        os._exit(0)
    except BaseException as trouble:  # a child must never fall through into the parent's code
        print(f"child: {type(trouble).__name__}: {trouble}", file=sys.stderr)
        os._exit(1)


def undisturbed(folder: Path, calls: int) -> float:
    """One run in peace; returns its seconds."""
    began = time.monotonic()
    _, status = os.waitpid(in_child(folder, calls, {}), 0)
    assert status == 0, "the undisturbed run must not fail"
    return time.monotonic() - began


def disturbed(folder: Path, calls: int, kills: int, seconds: float, seed: int, diary: Path) -> int:
    """Runs under SIGKILL until the campaign ends; returns how many struck."""
    chance, struck, began = random.Random(seed), 0, time.monotonic()
    with diary.open("w") as file:
        while True:
            env, delay = {}, None
            if struck < kills:
                mean = seconds / kills
                if struck % 2:
                    env["HEADWAY_FAILPOINT"] = str(chance.randrange(1, max(int(calls * 8 / kills), 4)))
                else:
                    delay = chance.uniform(0, 1.6 * mean)
            pid = in_child(folder, calls, env)
            status = wait_or_kill(pid, delay)
            if not os.WIFSIGNALED(status):
                assert os.WEXITSTATUS(status) == 0, "a child failed by itself"
                return struck
            struck += 1
            line = {
                "time": round(time.monotonic() - began, 4),
                "pid": pid,
                "how": "failpoint" if delay is None else "random time",
                "last_event": last_event(folder),
                "signal": signal.Signals(os.WTERMSIG(status)).name,
            }
            file.write(json.dumps(line) + "\n")
            file.flush()


def wait_or_kill(pid: int, delay: float | None) -> int:
    """The child's wait status; after `delay` seconds it is killed."""
    if delay is None:
        return os.waitpid(pid, 0)[1]
    end = time.monotonic() + delay
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        time.sleep(0.001)
    os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def last_event(folder: Path) -> str:
    """Type and version of the newest record, read beside whoever writes."""
    if not (folder / "log.sqlite3").exists():
        return ""
    pid = os.fork()  # a connection must not be inherited by the next child
    if pid == 0:
        try:
            log = SqliteLog(folder / "log.sqlite3", HandClock(START), read_only=True)
            *_, newest = [None, *log.read_all()]
            (folder / "last").write_text("" if newest is None else f"{newest.type} {newest.version}")
            os._exit(0)
        except BaseException:
            os._exit(1)
    os.waitpid(pid, 0)
    return (folder / "last").read_text() if (folder / "last").exists() else ""


def events(folder: Path) -> Iterator[tuple[Record, Event]]:
    """Every record of the campaign with its event."""
    log = SqliteLog(folder / "log.sqlite3", HandClock(START), read_only=True)
    for record in log.read(home_of(ID)):
        yield record, decode(record.type, record.payload)
    log.close()


def essence(folder: Path) -> list[tuple[str, str]]:
    """The log without time stamps, hashes, recovery events, and intents that were named again after a kill."""
    kept: list[tuple[str, str]] = []
    named: set[str] = set()
    for record, event in events(folder):
        if record.type in RECOVERY_TYPES:
            continue
        if isinstance(event, IntentNamed):
            if event.key in named:
                continue
            named.add(event.key)
        if record.type != "core.done.v1":  # a settled effect has its mark in `core.settled` instead
            kept.append((record.type, record.payload))
    return kept


def judge(keep: Path, calls: int) -> dict[str, Any]:
    """Compare the two runs."""
    sides = {}
    for name in ("undisturbed", "disturbed"):
        log = SqliteLog(keep / name / "log.sqlite3", HandClock(START), read_only=True)
        sides[name] = read(log, ID)
        log.close()
    peace, war = sides["undisturbed"], sides["disturbed"]
    jobs = {name: Counter(e.key for _, e in events(keep / name) if isinstance(e, JobDone)) for name in sides}
    same_log = essence(keep / "undisturbed") == essence(keep / "disturbed")
    contexts = examine_contexts(keep / "disturbed", war)
    return {
        "equal": peace == war and same_log,
        "fold_equal": peace == war,
        "log_equal": same_log,
        "lost": len(jobs["undisturbed"] - jobs["disturbed"]),
        "double_counted": sum(count - 1 for count in jobs["disturbed"].values()),
        "run_again": runs_again(keep / "disturbed"),
        "calls": war.spent.calls,
        "attempts": len(war.attempts),
        "strategies": len(war.strategies),
        "promotions": len(war.promotions),
        "simulated_hours": round(war.spent.seconds / 3600, 2),
        **contexts,
    }


def runs_again(folder: Path) -> int:
    """Evaluations that ran more than once because a kill came before their result was written: never counted twice."""
    ran = Counter((folder / "worker" / "runs.txt").read_text().split())
    return sum(count - 1 for count in ran.values())


def examine_contexts(folder: Path, state: Any) -> dict[str, Any]:
    """Goal block, budget and coverage of every context that was shown."""
    blobs = FileBlobs(folder / "blobs")
    goal = text_of(blobs, state.goal.goal)
    over, other_goal, uncovered, seen, calls_before = 0, 0, 0, {}, 0
    strategies = 0
    for _, event in events(folder):
        if isinstance(event, ContextShown):
            text = text_of(blobs, event.context)
            over += -(-len(text.encode()) // 3) > CONTEXT_BUDGET
            other_goal += not text.startswith(goal)
            uncovered += bool(check_coverage(text, strategies, state))
            seen[calls_before + 1] = text[: len(goal)]
        calls_before += event.TYPE in ("tune.job.v1", "tune.proposed.v1", "tune.nothing.v1", "tune.desk.v1")
        strategies = max(strategies, getattr(event, "strategy", 0))
    chosen = [min(seen, key=lambda number, at=at: abs(number - at)) for at in (1, 700, max(seen))]
    return {
        "goal_identical": other_goal == 0 and len({seen[number] for number in chosen}) == 1,
        "goal_compared_at_calls": chosen,
        "contexts": len(seen),
        "over_budget": over,
        "contexts_with_a_strategy_out_of_sight": uncovered,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=None)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    keep = options.keep or Path(tempfile.mkdtemp(prefix="headway-marathon-"))
    for name in ("undisturbed", "disturbed"):
        shutil.rmtree(keep / name, ignore_errors=True)
        (keep / name).mkdir(parents=True)
    began = time.monotonic()
    peace = undisturbed(keep / "undisturbed", options.calls)
    struck = disturbed(keep / "disturbed", options.calls, options.kills, peace, options.seed, keep / "kills.jsonl")
    found = judge(keep, options.calls)
    told = {
        **found,
        "kills": struck,
        "seed": options.seed,
        "seconds": round(time.monotonic() - began, 1),
        "keep": str(keep),
    }
    if options.json:
        print(json.dumps({"schema": "headway.marathon/1", **told}))
    else:
        show("headway.marathon/1", [{"what": name, "value": value} for name, value in told.items()], as_json=False)
    good = found["equal"] and not found["lost"] and not found["double_counted"] and not found["over_budget"]
    return 0 if good and found["goal_identical"] and struck >= options.kills else 1


if __name__ == "__main__":
    sys.exit(main())
