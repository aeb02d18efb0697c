"""Fifty facts from a campaign's first hundred calls: where are they at call 1,000?

    python -m benchmarks.facts [--calls 1000] [--json]

Failed strategies with profiler numbers in their hypotheses are planted at the beginning; then the campaign goes on with
other ideas. At the end each fact must be in the last context, or in what `recall` gives for an entry that it lists.
"""

import argparse
import re
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.table import Row, show
from benchmarks.tune_world import answer, world_task
from headway.adapters.clocks import HandClock
from headway.adapters.memory_blobs import MemoryBlobs
from headway.adapters.memory_log import MemoryLog
from headway.adapters.scripted_worker import ScriptedWorker
from headway.core.events_tune import BudgetSet, ContextShown
from headway.core.ports.agent import Proposal, Request
from headway.core.ports.log import decoded
from headway.tune.campaign import CachedTexts, Loop, Start, home_of, open_campaign
from headway.tune.evidence import text_of
from headway.tune.ledger import recall

FACTS = 50
REFUSALS = ("wrong_result", "compile_failed", "not_finite", "timed_out")


def fact(number: int) -> str:
    """What must not be forgotten, in words that occur nowhere else."""
    return f"stall-{number * 7717} at {number * 37 % 101}.{number} % of DRAM"


@dataclass
class Planter:
    """Plants the facts first, then proposes other things."""

    name: str = "planter"

    def propose(self, request: Request) -> Proposal:
        """By the number of the call alone."""
        call = int(request.facts["call"])
        if call <= FACTS:
            refused = f"refuse {REFUSALS[call % 4]}\nx = {call}\n"
            return Proposal({"candidate.py": refused}, f"plan {call * 911} of its own: the profile says {fact(call)}")
        return Proposal({"candidate.py": f"speed 0.{call + 100}\n"}, f"later idea {call * 13} of the sort {call * 17}")


def row(calls: int, context_budget: int) -> Row:
    """One campaign under one budget."""
    clock = HandClock(datetime(2026, 1, 1, tzinfo=UTC))
    log, blobs, task = MemoryLog(clock), MemoryBlobs(), world_task(Path("world"))
    budget = BudgetSet(None, calls, None, None, None, None)
    open_campaign(log, blobs, "facts", task, Start("planter", 1, context_budget, 0.03, 0.02, budget, ""))
    state = Loop("facts", task, log, blobs, Planter(), ScriptedWorker(answer), clock).run()
    shown = [event for event in decoded(log.read(home_of("facts"))) if isinstance(event, ContextShown)][-1]
    text, texts = text_of(blobs, shown.context), CachedTexts(blobs)
    names = re.findall(r"^(S\d+(?:-S\d+)?):", text, re.M)
    recalled = "".join(recall(state, name, texts) for name in names)
    planted = [fact(number) for number in range(1, FACTS + 1)]
    seen = [one for one in planted if one in text]
    return {
        "context budget": context_budget,
        "calls": state.spent.calls,
        "attempts": len(state.attempts),
        "tokens": shown.tokens,
        "in the context": len(seen),
        "recallable": sum(one in recalled and one not in text for one in planted),
        "lost": sum(one not in recalled and one not in text for one in planted),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [row(options.calls, budget) for budget in (8_000, 32_000, 128_000)]
    code = show("headway.facts-benchmark/1", rows, as_json=options.json)
    return code or (1 if any(one["lost"] for one in rows) else 0)


if __name__ == "__main__":
    sys.exit(main())
