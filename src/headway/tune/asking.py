"""One agent call: render the context, keep it, ask, and turn the answer into facts.

The context is stored before the intent that names it, so what the agent saw is known even if the call is killed. A
call without a recorded answer is asked again; both intents stay in the log. While it thinks, the agent may ask the
desk for what compaction folded away; each question is a fact and counts as a tool call.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from headway.core.events import Event
from headway.core.events_core import IntentNamed
from headway.core.events_tune import AgentTrouble, ContextShown, NothingProposed, Proposed, SubmissionTaken
from headway.core.events_tune_agent import ProposalWaiting
from headway.core.file_bundle import files_in
from headway.core.journey import Act, Decide, Facts, Settled
from headway.core.names import BlobId, EffectKey, StreamId
from headway.core.ports.agent import Agent, AgentLimits, Foreseeable, NoProposal, Proposal, Request
from headway.core.ports.blobs import BlobStore
from headway.core.task import Task
from headway.tune.candidate import Candidate, candidate_of
from headway.tune.context import RENDERER, Renderer
from headway.tune.desk import LedgerDesk, TryOut
from headway.tune.evidence import Stopwatch, text_of
from headway.tune.ledger import failed, outcome_text
from headway.tune.sameness import digest_of, nearest, normal_digest, same_words, words
from headway.tune.state import Campaign, Ranked, Refusal, Strategy

AGENT_SECONDS = 600.0
"""For one call, unless the campaign says otherwise (`--agent-seconds`)."""
REFUSALS_SHOWN = 5
WATCHED_FAILURES = 300
"""Against the failed ones among this many of the newest strategies a new hypothesis is compared."""


@dataclass(frozen=True)
class Asking:
    """The `ask` stage with its ports."""

    home: StreamId
    task: Task
    agent: Agent
    blobs: BlobStore
    renderer: Renderer
    stopwatch: Stopwatch
    try_out: TryOut
    known_words: dict[str, frozenset[str]] = field(default_factory=dict)
    """A cache: the words of each idea."""

    def ask(self) -> Act[Campaign]:
        """The stage: one call of the agent."""
        return Act("ask", self._intend, self._effect, lambda _state, _intent: Settled("again"))

    def _intend(self, campaign: Campaign) -> IntentNamed:
        shown = self.renderer.render(campaign)
        call = campaign.agent_calls + 1
        args = {
            "call": str(call),
            "context": self.blobs.put(shown.text.encode("utf-8", "surrogatepass")),
            "tokens": str(shown.tokens),
            "budget": str(shown.budget),
            "full_from": str(shown.full_from),
            "group_size": str(shown.group_size),
            "tail_from": str(shown.tail_from),
        }
        return IntentNamed("ask", EffectKey(f"{self.home.partition('/')[2]}.ask.{call}"), args)

    def _effect(self, campaign: Campaign, intent: IntentNamed) -> Facts:
        call = int(intent.args["call"])
        desk = LedgerDesk(campaign, call, self.renderer.texts, self.blobs, self.task, self.try_out)
        answer = self.agent.propose(self.request(campaign, intent, desk))
        troubles = [AgentTrouble(call, i.kind, self._put(i.detail), i.waited_seconds) for i in answer.incidents]
        origin = answer.origin if isinstance(answer, Proposal) else 0
        taken = [SubmissionTaken(call, origin)] if origin else []
        others = answer.others if isinstance(answer, Proposal) else ()
        waiting = [kept for other in others if (kept := self._waiting(campaign, call, other)) is not None]
        fact = self._fact(campaign, call, answer)
        return {self.home: (self._shown(campaign, intent), *desk.asked, *troubles, *taken, fact, *waiting)}

    def take(self) -> Decide[Campaign]:
        """The stage that makes the oldest waiting proposal an attempt; the call that made it was counted then."""
        return Decide("take", lambda campaign: {self.home: (self._taken(campaign, campaign.waiting[0]),)})

    def _taken(self, campaign: Campaign, waiting: ProposalWaiting) -> Proposed:
        source = text_of(self.blobs, waiting.source)
        answer = Proposal({}, self.renderer.texts(waiting.hypothesis), knobs=waiting.knobs)
        found = Candidate(source, waiting.outside)
        made = self._proposed(campaign, waiting.call, answer, found, waiting.parent, 0, 0.0)
        return replace(made, waited=True, review=waiting.review)

    def _waiting(self, campaign: Campaign, call: int, other: Proposal) -> ProposalWaiting | None:
        """None for one that holds no candidate: the others are worth no less for it."""
        parent = self._parent(campaign, other.parent)
        found = candidate_of(self.task, campaign, other, parent, self.renderer.texts)
        if not isinstance(found, Candidate):
            return None
        hypothesis, source = self._put(other.hypothesis), self._put(found.source)
        review = self._put(other.review) if other.review else None
        return ProposalWaiting(call, hypothesis, source, parent, found.outside, dict(other.knobs), review)

    def foreseen(self, campaign: Campaign, count: int) -> tuple[Proposal, ...]:
        """What the agent will answer to its next calls, as far as that is certain while an attempt is under way."""
        if not isinstance(self.agent, Foreseeable):
            return ()
        call = campaign.agent_calls + 1
        request = Request("optimise", "", {self.task.candidate_file: ""}, AgentLimits(0.0), facts={
            **self._facts(campaign, call), "in_flight": str(int(campaign.current is not None)),
        })  # fmt: skip
        return self.agent.ahead(request, count)

    def request(self, campaign: Campaign, intent: IntentNamed, desk: LedgerDesk) -> Request:
        """What the agent is given: the context as stored, the incumbent's source, and small facts for `search`."""
        best = campaign.incumbent
        source = self.task.baseline if best is None else text_of(self.blobs, best.source)
        command = self.task.command
        budget, spent = campaign.budget, campaign.spent
        left = None if budget.tokens is None else max(budget.tokens - spent.tokens, 0)
        patience = float(campaign.needed.agent_args.get("seconds", AGENT_SECONDS))
        seconds = patience if budget.seconds is None else max(budget.seconds - spent.seconds, 1.0)
        refusals = [a for a in campaign.attempts[-REFUSALS_SHOWN:] if isinstance(a.outcome, Refusal)]
        return Request(
            purpose="optimise",
            context=text_of(self.blobs, BlobId(intent.args["context"])),
            files={self.task.candidate_file: source} if command is None else files_in(source),
            limits=AgentLimits(min(seconds, patience), left, self.task.source_bytes),
            refusals=tuple(f"A{a.id}: {outcome_text(a)}" for a in refusals),
            facts=self._facts(campaign, int(intent.args["call"])),
            desk=desk,
            beside=command.tree if command else None,
            editable=command.editable if command else (),
            frozen=command.frozen if command else (),
        )

    def _facts(self, campaign: Campaign, call: int) -> dict[str, str]:
        best = campaign.incumbent
        return {
            "call": str(call),
            "turn": str(call - campaign.agent_from),
            "taken": str(campaign.taken),
            "seed": str(campaign.needed.seed),
            "trials": json.dumps(trials(campaign)),
            "parent": "" if best is None else f"A{best.id}",
        }

    def _shown(self, campaign: Campaign, intent: IntentNamed) -> ContextShown:
        assert campaign.goal is not None
        args = intent.args
        return ContextShown(
            int(args["call"]),
            BlobId(args["context"]),
            RENDERER,
            int(args["tokens"]),
            campaign.goal.digest,
            int(args["budget"]),
            int(args["full_from"]),
            int(args["group_size"]),
            int(args["tail_from"]),
        )

    def _fact(self, campaign: Campaign, call: int, answer: Proposal | NoProposal) -> Event:
        tokens = answer.usage.input_tokens + answer.usage.output_tokens
        seconds = self.stopwatch.lap()
        transcript = self._put(answer.transcript) if answer.transcript else None
        if isinstance(answer, Proposal):
            parent = self._parent(campaign, answer.parent)
            found = candidate_of(self.task, campaign, answer, parent, self.renderer.texts)
            if isinstance(found, Candidate):
                return self._proposed(campaign, call, answer, found, parent, tokens, seconds)
            answer = NoProposal("malformed", f"The proposal is unusable: {found}.", answer.usage)
        told = self._put(answer.message)
        money = answer.usage.money
        return NothingProposed(call, answer.kind, answer.permanent, told, tokens, money, seconds, transcript)

    def _proposed(
        self,
        campaign: Campaign,
        call: int,
        answer: Proposal,
        candidate: Candidate,
        parent: int | None,
        tokens: int,
        seconds: float,
    ) -> Proposed:
        assert campaign.goal is not None
        hypothesis = answer.hypothesis.strip() or "(no hypothesis given)"
        idea = digest_of(same_words(hypothesis))
        known = next((s.id for s in reversed(campaign.strategies) if s.idea == idea), None)
        strategy = known or len(campaign.strategies) + 1
        return Proposed(
            attempt=len(campaign.attempts) + 1,
            call=call,
            goal=campaign.goal.digest,
            strategy=strategy,
            idea=idea,
            hypothesis=self._put(hypothesis),
            source=self._put(candidate.source),
            digest=digest_of(candidate.source),
            normal=normal_digest(self.task.kind, candidate.source),
            parent=parent,
            outside=candidate.outside,
            resembles=self._resembles(campaign, strategy, hypothesis),
            knobs=dict(answer.knobs),
            tokens=tokens,
            money=answer.usage.money,
            seconds=seconds,
            transcript=self._put(answer.transcript) if answer.transcript else None,
            review=self._put(answer.review) if answer.review else None,
        )

    def _resembles(self, campaign: Campaign, own: int, hypothesis: str) -> int | None:
        watched: list[Strategy] = [
            s for s in campaign.strategies[-WATCHED_FAILURES:] if s.id != own and failed(campaign, s)
        ]
        return nearest(hypothesis, ((s.id, self._words(s)) for s in watched))

    def _words(self, strategy: Strategy) -> frozenset[str]:
        if strategy.idea not in self.known_words:
            self.known_words[strategy.idea] = words(self.renderer.texts(strategy.hypothesis))
        return self.known_words[strategy.idea]

    def _parent(self, campaign: Campaign, named: str) -> int | None:
        """The attempt that a proposal says it builds on; the incumbent where it says nothing that exists."""
        number = named.removeprefix("A")
        if number.isdigit() and 1 <= int(number) <= len(campaign.attempts):
            return int(number)
        return campaign.promotions[-1] if campaign.promotions else None

    def _put(self, text: str) -> BlobId:
        return self.blobs.put(text.encode("utf-8", "surrogatepass"))


def trials(campaign: Campaign) -> list[tuple[Mapping[str, int | str], float | None]]:
    """Every ended attempt made from knobs, with its ratio; None where it has none."""
    return [
        (dict(a.knobs), a.outcome.speed.ratio if isinstance(a.outcome, Ranked) else None)
        for a in campaign.attempts
        if a.knobs
    ]
