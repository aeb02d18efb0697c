"""The marathon's scripted agent and worker: every kind of proposal and of answer, as the call number says."""

import random
from dataclasses import replace

from benchmarks.tune_world import answer
from headway.adapters.clocks import HandClock
from headway.core.ports.agent import NoProposal, Proposal, Request, Usage
from headway.core.ports.worker import WorkerJob, WorkerResult

REFUSALS = ("wrong_result", "compile_failed", "raised", "timed_out", "banned_import", "not_finite")
IDEAS = ("widen the loads", "split the loop", "keep the sums in registers", "reorder the tiles", "fuse the passes")


class MarathonAgent:
    """Slowly finds better candidates among many that are wrong, slow or known."""

    name = "marathon"

    def __init__(self, clock: HandClock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds

    def propose(self, request: Request) -> Proposal | NoProposal:
        """The answer to this call; it depends on the call's number alone."""
        call = int(request.facts["call"])
        self._clock.tick(self._seconds)
        chance = random.Random(call)
        if chance.random() < 0.02:
            return NoProposal("provider_error", f"The provider answered 502 to call {call}.")
        heard = ""
        if request.desk is not None and chance.random() < 0.1:
            heard = request.desk.ask("recall", f"S{chance.randrange(1, 40)}")
        return Proposal(
            {"candidate.py": self._source(call, chance)},
            hypothesis=self._hypothesis(call, chance),
            usage=Usage(input_tokens=len(request.context) // 3, output_tokens=200, money=0.01),
            transcript=heard,
        )

    def _hypothesis(self, call: int, chance: random.Random) -> str:
        idea = chance.choice(IDEAS)
        if chance.random() < 0.25:
            return f"{idea} by {chance.choice((2, 4, 8))}"  # an idea that comes again
        return (
            f"{idea} by {call}: step {call % 7} of the {call % 11}th kind, because the profile says {call * 37 % 101} %"
        )

    def _source(self, call: int, chance: random.Random) -> str:
        draw = chance.random()
        if draw < 0.3:
            return f"refuse {chance.choice(REFUSALS)}\nx = {call}\n"
        if draw < 0.35:
            return "refuse wrong_result\nx = 1\n"  # a duplicate of itself, sooner or later
        speed = 0.7 + 0.4 * chance.random()
        if draw > 0.96:
            speed = 1 + call / 1000
        lost = "lost 1\n" if 0.35 < draw < 0.37 else ""
        body = "".join(f"y{n} = x * {chance.randrange(1000)}\n" for n in range(40))
        return f"speed {speed:.4f}\n{lost}x = {call}\n{body}"


def marathon_answer(job: WorkerJob, seconds: float) -> WorkerResult:
    """The world's answer, with the simulated time that it took."""
    parts = {"compile": seconds * 0.3, "correct": seconds * 0.2, "measure": seconds * 0.5, "total": seconds}
    return replace(answer(job), seconds=parts)
