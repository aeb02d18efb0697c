"""The ladder's last rung: an agent is asked about a conflict that no resolver was sure of, within a budget.

Every proposal goes through every rail; a refusal goes back to the agent with its reason. What was accepted becomes an
answer that stands (`given.py`), and the pick is then assessed like any other. A provider that cannot be reached says
nothing about the change: the run stops (`could_not_run`), and the change stays pending.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

from headway.core.config import AgentConfig
from headway.core.events import Event
from headway.core.events_core import IntentNamed
from headway.core.events_resolve import Asked, ConflictMet, Resolved
from headway.core.events_sync import RunEnded
from headway.core.journey import Facts, effect_key
from headway.core.names import Sha
from headway.core.ports.agent import AgentLimits, NoProposal, Proposal, Request
from headway.core.ports.git import Conflicted, shown_path
from headway.core.reasons import Reason
from headway.sync.accounting import Ledger
from headway.sync.conflict import ConflictedFile, encoded
from headway.sync.excerpts import excerpt, whole, with_markers
from headway.sync.given import Given, answered, conflict_digest, keep, learnt, merged_contents
from headway.sync.judgement import conflicted_files
from headway.sync.request import Intent, context_of
from headway.sync.room import Room
from headway.sync.triage import Assessment, Decided, Triage

OUTSIDE_AGENT = frozenset({"provider_error"})
"""Kinds of `NoProposal` that say nothing about the agent's work."""
HISTORY = 8
"""Commits of each side that are shown."""


def met(room: Room, ledger: Ledger, answer: Assessment) -> ConflictMet | None:
    """The conflict to ask about, where the ladder left one that an agent may be asked about and the budget allows."""
    asker = room.asker
    if asker is None or not isinstance(answer, Decided) or not answer.facts.get("askable"):
        return None
    if answer.reason == Reason.NEEDS_BLOCKED:
        return None  # what it needs is not there: nobody should make it up
    conflict = str(answer.facts["conflict"])
    if spent(ledger, asker.config, answer.change, conflict):
        return None
    return ConflictMet(answer.change, str(answer.facts["onto"]), conflict, room.keep(answer.facts))


def spent(ledger: Ledger, config: AgentConfig, change: Sha, conflict: str) -> str:
    """Which part of the budget is used up; "" where there is some left."""
    answers = ledger.answers
    if len(answers.tries_of(change, conflict)) >= config.tries:
        return f"{config.tries} proposals"
    if answers.tokens >= config.tokens:
        return f"{config.tokens} tokens a run"
    if config.money and answers.money >= config.money:
        return f"{config.money:g} of money a run"
    return ""


def with_history(room: Room, ledger: Ledger, answer: Decided) -> Decided:
    """The deferral of a conflict, with what became of each proposal; its reason is that of the last refusal."""
    if "conflict" not in answer.facts or room.asker is None:
        return answer
    conflict = str(answer.facts["conflict"])
    tries = ledger.answers.tries_of(answer.change, conflict)
    told: dict[str, Any] = {
        "engine": room.asker.engine,
        "budget_spent": spent(ledger, room.asker.config, answer.change, conflict),
        "proposals": [
            {
                "outcome": one.outcome,
                "reason": one.reason,
                "said": _said(json.loads(room.blobs.get(one.evidence))),
                "evidence": one.evidence,
                "tokens": one.tokens,
            }
            for one in tries
        ],
    }
    refused = [one.reason for one in tries if one.outcome == "refused"]
    return replace(answer, reason=refused[-1] if refused else answer.reason, facts={**answer.facts, "agent": told})


class Asking:
    """The act: one proposal, judged."""

    def __init__(self, room: Room, triage: Callable[[Ledger], Triage]) -> None:
        self.room = room
        self._triage = triage

    def goes_on(self, ledger: Ledger) -> bool:
        """Whether the conflict that was met is to be asked about (again)."""
        found, asker = ledger.answers.met, self.room.asker
        return found is not None and asker is not None and not spent(ledger, asker.config, found.change, found.conflict)

    def intent(self, ledger: Ledger) -> IntentNamed:
        """A model call that a kill lost is made again, and both are paid for."""
        found = ledger.answers.met
        assert found is not None
        tries = len(ledger.answers.tries_of(found.change, found.conflict))
        return IntentNamed("ask", effect_key("ask", found.change, found.conflict, str(tries)))

    def ask(self, ledger: Ledger, _: IntentNamed) -> Facts:
        """One request, one proposal, every rail."""
        found, asker = ledger.answers.met, self.room.asker
        assert found is not None and asker is not None
        trial = self.room.merges.pick(found.change, found.onto)
        if not isinstance(trial, Conflicted) or _digest(trial, self.room) != found.conflict:
            return self._nothing(found, "malformed", {"message": "The conflict is another one now."}, 0, 0.0)
        files = conflicted_files(trial, self.room.merges)
        tries = ledger.answers.tries_of(found.change, found.conflict)
        request = self._request(ledger, found, trial, files, tuple(map(self._refusal_of, tries)))
        answer = asker.agent.propose(request)
        told = _told(request, answer)
        if isinstance(answer, NoProposal):
            if answer.permanent or answer.kind in OUTSIDE_AGENT:
                return self._stopped(answer, told)
            usage = answer.usage
            return self._nothing(found, answer.kind, told, usage.input_tokens + usage.output_tokens, usage.money)
        return self._judged(ledger, found, trial, files, answer, told)

    def _judged(
        self,
        ledger: Ledger,
        found: ConflictMet,
        trial: Conflicted,
        files: tuple[ConflictedFile, ...],
        proposal: Proposal,
        told: dict[str, Any],
    ) -> Facts:
        asker = self.room.asker
        assert asker is not None
        by_path = {file.path: file for file in files}
        texts = {path: whole(by_path[path], text) if path in by_path else text for path, text in proposal.files.items()}
        given = Given(asker.engine, asker.who, found.conflict, texts, learnt(files, texts, asker.engine))
        bench = self._triage(ledger).bench()
        judged = answered(found.change, found.onto, trial, given, files, bench)
        tokens, money = proposal.usage.input_tokens + proposal.usage.output_tokens, proposal.usage.money
        told["refusals"] = [{"reason": r.reason, "message": r.message, "next": r.next} for r in judged.reasons]
        if judged.tree is None:
            asked = self._asked(found, "refused", judged.reasons[0].reason, told, tokens, money)
            return self.room.facts(about={found.change: (asked,)})
        blob = keep(given, self.room.blobs)
        if blob is None:
            told["message"] = "The proposal holds what looks like a secret, and no log may keep it."
            return self._nothing(found, "malformed", told, tokens, money)
        asked = self._asked(found, "accepted", "", told, tokens, money)
        resolved = Resolved(found.change, found.conflict, asker.engine, asker.who, blob)
        return self.room.facts(about={found.change: (asked, resolved)})

    def _request(
        self,
        ledger: Ledger,
        found: ConflictMet,
        trial: Conflicted,
        files: tuple[ConflictedFile, ...],
        refusals: tuple[str, ...],
    ) -> Request:
        asker = self.room.asker
        assert asker is not None
        config = asker.config
        context = context_of(files, self._intent_of(ledger, found, files))
        overlay = {file.path: encoded(with_markers(file)) for file in files}
        return Request(
            "resolve_conflict",
            context,
            {file.path: excerpt(file) for file in files},
            AgentLimits(config.seconds),
            refusals,
            place=lambda: asker.place(trial, found.onto, overlay),
        )

    def _intent_of(self, ledger: Ledger, found: ConflictMet, files: tuple[ConflictedFile, ...]) -> Intent:
        room, triage = self.room, self._triage(ledger)
        assert ledger.opened is not None and ledger.tip is not None
        base, paths = ledger.opened.base, [file.path for file in files]
        fork = room.trees.touching(paths, ledger.tip, base, HISTORY)
        upstream = room.trees.touching(paths, f"{found.change}^1", base, HISTORY)
        past = triage.past
        examples = past.examples(frozenset(paths)) if past is not None else ()
        return Intent(
            triage.commits[found.change],
            [triage.commits[sha] for sha in upstream if sha in triage.commits],
            [commit for sha in fork for commit in room.history.commits([sha, f"^{sha}^@"]) if commit.sha == sha],
            examples,
        )

    def _refusal_of(self, tried: Asked) -> str:
        told = json.loads(self.room.blobs.get(tried.evidence))
        if tried.outcome == "refused":
            return "; ".join(f"{one['reason']}: {one['message']} {one['next']}" for one in told["refusals"])
        return f"{tried.reason}: {told.get('message', '')}"

    def _asked(
        self,
        found: ConflictMet,
        outcome: Literal["accepted", "refused", "nothing"],
        reason: str,
        told: Mapping[str, Any],
        tokens: int,
        money: float,
    ) -> Asked:
        assert self.room.asker is not None
        evidence, engine = self.room.keep(told), self.room.asker.engine
        return Asked(found.change, found.conflict, engine, outcome, reason, evidence, tokens, money)

    def _nothing(self, found: ConflictMet, reason: str, told: Mapping[str, Any], tokens: int, money: float) -> Facts:
        asked: tuple[Event, ...] = (self._asked(found, "nothing", reason, told, tokens, money),)
        return self.room.facts(about={found.change: asked})

    def _stopped(self, answer: NoProposal, told: Mapping[str, Any]) -> Facts:
        """The provider or the program is not there: nothing was learnt about the change."""
        said = {**told, "message": f"The agent could not be asked: {answer.message}", "next": NEXT}
        return self.room.facts(RunEnded("could_not_run", Reason.INFRASTRUCTURE, self.room.keep(said)))


NEXT = "Mend `[agent]` in headway.toml or its environment and run again, or take the section out."


def _digest(trial: Conflicted, room: Room) -> str:
    return conflict_digest(trial, merged_contents(trial, room.merges))


def _said(told: Mapping[str, Any]) -> list[str]:
    """What the rails, or else the agent's adapter, said of a proposal."""
    refusals = [f"{one['reason']}: {one['message']}" for one in told.get("refusals", ())]
    return refusals or ([str(told["message"])] if "message" in told else [])


def _told(request: Request, answer: Proposal | NoProposal) -> dict[str, Any]:
    """What goes into the log of one conversation."""
    told: dict[str, Any] = {
        "context": request.context,
        "files": {shown_path(path): text for path, text in request.files.items()},
        "earlier_refusals": list(request.refusals),
        "transcript": answer.transcript,
        "incidents": [
            {"kind": one.kind, "detail": one.detail, "waited_seconds": one.waited_seconds} for one in answer.incidents
        ],
    }
    if isinstance(answer, NoProposal):
        return {**told, "message": answer.message}
    proposed = {shown_path(path): text for path, text in answer.files.items()}
    return {**told, "proposal": proposed, "hypothesis": answer.hypothesis}
