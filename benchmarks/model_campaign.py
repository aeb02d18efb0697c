"""A campaign with the `model` agent over HTTP, through everything a provider does wrong, in both protocols.

    python -m benchmarks.model_campaign [--json] [--attempts 60]

A local server (`benchmarks/model_server.py`) speaks OpenAI's and Anthropic's streaming protocols and answers by
script: proposals, and between them a rate limit, a stall, a truncated stream, a context overflow, a refusal and a
malformed call. The tune world is scripted (no compiler), so only the agent and its provider are under test. A row says
whether the fastest candidate of the script became the incumbent, which troubles the log holds, and which share of a
prompt's bytes (tools, instructions, messages: the order in which providers cache) repeats those of the call before.
"""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.model_server import Call, Cut, Fault, ModelServer, Say, Silence, Step
from benchmarks.table import Row, show
from benchmarks.tune_world import ticking, world_task
from headway.adapters.clocks import HandClock
from headway.adapters.memory_blobs import MemoryBlobs
from headway.adapters.memory_log import MemoryLog
from headway.adapters.model_agent import ModelAgent, Policy
from headway.adapters.scripted_worker import ScriptedWorker
from headway.core.events_tune import AgentTrouble, BudgetSet, NothingProposed
from headway.core.ports.log import decoded
from headway.tune.campaign import Loop, Start, home_of, open_campaign
from headway.tune.state import Campaign, Ranked

ID = "model"
FASTEST = 1.6
POLICY = Policy(retries=4, backoff=0.01, silence=0.3)
KEY = "sk-benchmark-0123456789"
FAULTS = ("rate_limited", "stalled", "truncated", "context_overflow", "declined", "malformed_call")


def rows(attempts: int) -> Iterator[Row]:
    """One row a protocol."""
    for provider in ("openai", "anthropic"):
        with ModelServer(script(attempts, provider)) as server:
            state, troubles = drive(server, provider, attempts)
            prompts = [prompt(body) for body in server.requests]
        shares = [shared(old, new) for old, new in pairwise(prompts)]
        best = state.incumbent
        found = best.outcome.speed.ratio if best is not None and isinstance(best.outcome, Ranked) else 1.0
        yield {
            "protocol": provider,
            "attempts": len(state.attempts),
            "requests": len(prompts),
            "incumbent": round(found, 3),
            "right incumbent": abs(found / FASTEST - 1) < 0.02,
            "troubles": " ".join(f"{kind}={troubles[kind]}" for kind in FAULTS),
            "all troubles seen": all(troubles[kind] for kind in FAULTS),
            "mean prompt KiB": sum(map(len, prompts)) / len(prompts) / 1024,
            "same prefix, mean": sum(shares) / len(shares),
            "same prefix, least": min(shares),
        }


def script(attempts: int, provider: str) -> list[Step]:
    """Proposals of which the one in the middle is the fastest, with each fault once in every dozen of them."""
    code = "context_length_exceeded" if provider == "openai" else "invalid_request_error"
    faults: list[Step] = [
        Fault(429, "slow down", headers={"retry-after": "0.01"}),
        Silence(1.0),
        Cut(),
        Fault(400, "prompt is too long: 250000 tokens > 200000 maximum", code),
        Say("no", finish="content_filter"),
        Call("propose", {"files": "no"}),
    ]
    steps: list[Step] = []
    for number in range(1, attempts + 1):
        if number % 2 == 0:
            steps.append(faults[number // 2 % len(faults)])
        speed = FASTEST if number == attempts // 2 else 0.6 + 0.7 * (number * 37 % 100) / 100
        steps.append(proposal(number, speed))
    return steps


def proposal(number: int, speed: float) -> Call:
    """A candidate of about 1 kB whose true speed the tune world reads from its first line."""
    body = "".join(f"step_{number}_{line} = {line * number}\n" for line in range(40))
    files = [{"path": "candidate.py", "content": f"speed {speed:.3f}\n{body}"}]
    hypothesis = f"idea {number}: unroll by {number} and keep {number * 3} in flight"
    return Call("propose", {"hypothesis": hypothesis, "files": files})


def drive(server: ModelServer, provider: str, attempts: int) -> tuple[Campaign, Counter[str]]:
    """The campaign's end, and how often the log names each trouble."""
    clock = HandClock(datetime(2026, 1, 1, tzinfo=UTC))
    log, blobs, task = MemoryLog(clock), MemoryBlobs(), world_task(Path("world"))
    url = server.url if provider == "anthropic" else f"{server.url}/v1"
    env = {**os.environ, "OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
    agent = ModelAgent(f"{provider}:m", base_url=url, env=env, policy=POLICY)
    budget = BudgetSet(attempts, None, None, None, None, None)
    open_campaign(log, blobs, ID, task, Start("model", 1, 32_000, 0.03, 0.02, budget, ID))
    try:
        state = Loop(ID, task, log, blobs, agent, ScriptedWorker(ticking(clock, 2.0)), clock).run()
    finally:
        agent.close()
    events = list(decoded(log.read(home_of(ID))))
    troubles = Counter(e.kind for e in events if isinstance(e, AgentTrouble | NothingProposed))
    return state, troubles


def prompt(body: dict[str, Any]) -> bytes:
    """A request's prompt in the order in which providers cache it: tools, instructions, messages."""
    return json.dumps([body.get("tools"), body.get("system"), body["messages"]], ensure_ascii=False).encode()


def shared(old: bytes, new: bytes) -> float:
    """The share of `new` that is its common prefix with `old`."""
    same = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    return same / len(new)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--attempts", type=int, default=60)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    return show("headway.model-campaign/1", list(rows(options.attempts)), as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
