"""`headway sync report`: facts by the machine, and prose by the agent of `[agent]` where a person asks for it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from headway.adapters.durable_files import files_explained, write_text_durably
from headway.core.config import AgentConfig
from headway.core.errors import CouldNotRun, HeadwayError
from headway.core.events import decode
from headway.core.events_loop import ProseAsked
from headway.core.gates import Refused
from headway.core.journey import Facts as CoreFacts
from headway.core.names import BlobId, Sha
from headway.core.ports.agent import Agent, NoProposal, Proposal
from headway.core.ports.git import Commit
from headway.sync.accounting import Ledger
from headway.sync.asker import who_of
from headway.sync.commit_journey import say
from headway.sync.prose import FILE, Facts, founded, request_for, with_prose, written
from headway.sync.report import Document, documents
from headway.sync.room import Room
from headway.wiring.sync import Session, open_session, opened_at
from headway.wiring.world import real_world

Tell = Callable[[str], None]


def report(path: Path, state: Path | None, out: Path | None, *, prose: bool, tell: Tell) -> tuple[Document, ...]:
    """Every bundle and every deferral; with `out` also written there, a file each.

    `prose`: pages without words are put to the agent first; what it says is recorded, so nobody pays twice. Words that
    stand are shown in any case. Raises HeadwayError without an `[agent]`, CouldNotRun where it cannot be asked at all.
    """
    world = real_world()
    if prose:
        with open_session(path, state, world, write=True) as session:
            _ask_for_prose(session, world.env, tell)
    with open_session(path, state, world, write=False) as session:
        pages = tuple(page for page, _ in _pages(session))
    if out is not None:
        with files_explained(out):
            out.mkdir(parents=True, exist_ok=True)
            for page in pages:
                write_text_durably(out / f"{page.name}.md", [page.markdown])
    return pages


def _pages(session: Session) -> list[tuple[Document, Facts | None]]:
    """Each page as it is shown, and its facts where it has no words yet."""
    room, log, blobs = session.room, session.state.log, session.state.blobs
    ledger, base = room.ledger(), opened_at(room.ledger())
    commits = {c.sha: c for c in room.history.commits([str(ledger.head), f"^{base}"], first_parent=True)}
    records = [(record.ts, decode(record.type, record.payload)) for record in log.read(room.home)]
    words = written(event for _, event in records)
    found: list[tuple[Document, Facts | None]] = []
    for page in documents(records, ledger, commits, blobs):
        facts = _facts(page, commits)
        if (told := words.get(facts.digest)) is None:
            found.append((page, facts))
            continue
        text = blobs.get(BlobId(told.prose)).decode("utf-8", "replace")
        found.append((replace(page, markdown=with_prose(page.markdown, text, told.by)), None))
    return found


def _facts(page: Document, commits: Mapping[Sha, Commit]) -> Facts:
    messages = tuple(commits[change].text.strip() for change in page.changes if change in commits)
    return Facts(page.name, page.markdown, messages)


def _ask_for_prose(session: Session, env: Mapping[str, str], tell: Tell) -> None:
    config = session.found.config.agent
    if config is None:
        raise HeadwayError(
            f"{session.found.config.source} has no [agent] section, so there is nobody to write prose.",
            "Add `[agent]`, or leave out --prose: the facts need no agent.",
        )
    from headway.wiring.agents import opened_resolver  # a report without prose does not pay for it

    spent = 0
    with opened_resolver(config, env) as agent:
        for page, facts in _pages(session):
            if facts is None:
                continue
            if spent >= config.tokens:
                tell(f"{page.name}: left without prose, the {config.tokens} tokens of `agent.tokens` are spent")
                return
            spent += _ask(session, agent, config, facts, tell)


def _ask(session: Session, agent: Agent, config: AgentConfig, facts: Facts, tell: Tell) -> int:
    """At most `config.tries` calls for one page, each recorded; the tokens they took."""
    room, spent = session.room, 0
    refusals: tuple[str, ...] = ()
    for _ in range(config.tries):
        answer = agent.propose(request_for(facts, config.seconds, refusals))
        if isinstance(answer, NoProposal) and answer.permanent:
            raise CouldNotRun(f"The agent cannot be asked: {answer.message}", "Mend `[agent]` in headway.toml.")
        outcome, reason, text = _judged(answer, facts)
        tokens, blob = answer.usage.input_tokens + answer.usage.output_tokens, session.state.blobs.put(text)
        asked = ProseAsked(
            facts.document, facts.digest, who_of(config), outcome, reason, blob, tokens, answer.usage.money
        )
        say(room, partial(_recorded, room, asked))
        tell(f"{facts.document}: prose {outcome}{f' ({reason})' if reason else ''}")
        spent += tokens
        if outcome != "refused":
            break
        refusals = (*refusals, _why(text, facts))
    return spent


def _judged(answer: Proposal | NoProposal, facts: Facts) -> tuple[Literal["accepted", "refused", "nothing"], str, str]:
    """(outcome, reason, what was said)."""
    if isinstance(answer, NoProposal):
        return "nothing", answer.kind, answer.message
    text = answer.files.get(FILE, "")
    verdict = founded(text, facts)
    return ("refused", verdict.reason.value, text) if isinstance(verdict, Refused) else ("accepted", "", text)


def _why(text: str, facts: Facts) -> str:
    verdict = founded(text, facts)
    return f"{verdict.message} {verdict.next}" if isinstance(verdict, Refused) else ""


def _recorded(room: Room, asked: ProseAsked, _: Ledger) -> CoreFacts:
    return room.facts(asked)
