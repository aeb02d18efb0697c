"""`validate fix`: an agent proposes a patch for a failure with a known culprit; rails, L1 and the failing tests decide.

The agent sees the facts and may edit only what the culprit touched and no test. What passes becomes a branch for a
person to look at; nothing is merged. The issue names the branch, and the agent's words stand apart from the facts.
"""

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase

from headway.adapters.command_agent import CommandAgent, CommandLine
from headway.adapters.git_history import GitHistory
from headway.adapters.git_landing import GitLanding
from headway.adapters.git_trial import GitTrialMerges, Quarantine
from headway.adapters.local_executor import LocalExecutor
from headway.adapters.model_agent import ModelAgent
from headway.core.errors import CouldNotRun, HeadwayError
from headway.core.events_validate_tiers import FixTried
from headway.core.gates import NotDecided, Refused
from headway.core.names import Sha, TestId
from headway.core.ports.agent import Agent, AgentLimits, NoProposal, Proposal, Request
from headway.core.ports.git import Draft
from headway.core.ports.log import decoded
from headway.core.ports.workspace import CloneRequest
from headway.core.reasons import Reason
from headway.sync.languages import is_test
from headway.sync.rails import RAILS
from headway.sync.rails.facts import FileFacts
from headway.sync.rails.facts import Proposal as Railed
from headway.validate.failures import signals
from headway.validate.overview import Failure
from headway.validate.suite_run import run_suite
from headway.validate.tier_ladder import ChangeToCheck, check_change, known_from
from headway.wiring.validate_room import Answer, Asked, Room, opened
from headway.wiring.validate_watch import overview_of

FIX_SCHEMA = "headway.fix/1"
FIX_RAILS = ("conflict_markers", "unparsable", "duplicated", "invariant_broken")
"""Of the rails for picks, those that ask nothing about an upstream."""
PATCH_BYTES, FILES_BYTES = 60_000, 400_000
AUTHOR = b"headway agent <agent@headway.invalid> %d +0000"


@dataclass(frozen=True)
class _Case:
    """One failure to be mended."""

    signature: str
    failure: Failure
    trunk: Sha
    tests: tuple[TestId, ...]
    files: Mapping[str, str]
    context: str


def propose_fix(
    asked: Asked, signature: str, agent: Agent, seconds: float, tries: int, say: Callable[[str], None]
) -> Answer:
    """Ask the agent at most `tries` times. Raises HeadwayError where there is no such failure, or no culprit."""
    with ExitStack() as stack:
        room = stack.enter_context(opened(asked))
        case = _case(room, signature)
        quarantine = stack.enter_context(Quarantine(room.repository.top))
        refusals: tuple[str, ...] = ()
        verdict: Refused | None = None
        for number in range(1, tries + 1):
            say(f"asking {agent.name} for a fix of {signature} ({number} of {tries}) …")
            proposal = agent.propose(Request("fix", case.context, case.files, AgentLimits(seconds), refusals))
            if isinstance(proposal, NoProposal):
                raise CouldNotRun(f"{agent.name} proposed nothing: {proposal.message}", "Ask again, or another agent.")
            verdict, commit = _tried(room, case, proposal, quarantine)
            event = _event(room, case, agent.name, proposal, verdict, commit)
            room.append(event)
            if verdict is None:
                said = {"branch": event.branch, "commit": commit, "hypothesis": proposal.hypothesis}
                return Answer({"schema": FIX_SCHEMA, "verdict": "passed", "signature": signature, **said}, room.notes)
            refusals = (*refusals, f"{verdict.message} {verdict.next}")
            say(f"refused ({verdict.reason.value}): {verdict.message}")
        assert verdict is not None
        words = {"reason": verdict.reason.value, "message": verdict.message, "next": verdict.next}
        return Answer({"schema": FIX_SCHEMA, "verdict": "refused", "signature": signature, **words}, room.notes)


def _case(room: Room, signature: str) -> _Case:
    failure = overview_of(room).failures.get(signature)
    if failure is None or failure.closed is not None:
        raise HeadwayError(f"There is no open failure {signature!r}.", "`headway validate show` lists them.")
    if failure.answer is None or len(failure.answer.suspects) != 1 or failure.found.kind != "test":
        raise HeadwayError(
            f"The failure {signature} has no single culprit, so an agent cannot be told what to mend.",
            "Run its tier until the search has answered, or mend it by hand.",
        )
    culprit, trunk = failure.answer.suspects[0], room.trunk()
    evidence = json.loads(room.text(failure.found.evidence))["suspicion"]
    shown = room.repository.git.run("show", "--format=commit %H%n%n%B", "--no-ext-diff", culprit).stdout
    patch, named = shown[:PATCH_BYTES].decode("utf-8", "replace"), ", ".join(evidence["tests"][:20])
    context = (
        f"Suite {failure.found.suite}. Since commit {culprit} these tests fail: {named}.\n"
        f"The first says: {evidence['words']}\n\nThe culprit's patch:\n\n{patch}"
    )
    tests = tuple(TestId(test) for test in evidence["tests"])
    return _Case(signature, failure, trunk, tests, _editable(room, culprit, trunk), context)


def _editable(room: Room, culprit: Sha, trunk: Sha) -> dict[str, str]:
    """What the culprit touched, as it is on trunk: no test, no protected path, nothing but text."""
    touched = GitHistory(room.repository.git).effects([culprit])[culprit]
    files: dict[str, str] = {}
    for change in touched:
        frozen = is_test(change.path) or any(fnmatchcase(change.path, p) for p in room.config.protected_paths)
        content = None if frozen else room.repository.file_at(trunk, change.path)
        try:
            text = content.decode() if content is not None else None
        except UnicodeDecodeError:
            continue
        if text is not None and sum(map(len, files.values())) + len(text) <= FILES_BYTES:
            files[change.path] = text
    if not files:
        raise HeadwayError(
            f"Nothing that {culprit[:12]} touched may be edited by an agent: tests and protected paths are frozen.",
            "Mend it by hand.",
        )
    return files


def _tried(room: Room, case: _Case, proposal: Proposal, quarantine: Quarantine) -> tuple[Refused | None, Sha | None]:
    changed = {path: text for path, text in proposal.files.items() if text != case.files.get(path)}
    foreign = sorted(changed.keys() - case.files.keys())
    if foreign:
        return Refused(Reason.OUTSIDE_EDITABLE, f"{foreign[0]} may not be edited.", "Edit only the given files."), None
    if not changed:
        return Refused(Reason.NOT_MENDED, "The proposal changes nothing.", "Change what the culprit broke."), None
    facts = tuple(
        FileFacts(path, case.files[path], case.files[path], case.files[path], text) for path, text in changed.items()
    )
    for name in FIX_RAILS:
        verdict = RAILS[name](Railed(facts, room.config.invariant))
        if isinstance(verdict, Refused):
            return verdict, None
    tree = GitTrialMerges(quarantine).write_tree(case.trunk, {path: text.encode() for path, text in changed.items()})
    landing = GitLanding(room.repository.git, quarantine, clock=room.clock, hooks=False)
    author = AUTHOR % int(room.clock.now().timestamp())
    message = f"Proposed fix of {case.failure.found.subject}\n\nFailure: {case.signature}\n".encode()
    commit = landing.compose(Draft(tree, case.trunk, author, message))
    verdict_ = _judged(room, case, commit, quarantine)
    if verdict_ is None:
        ref = f"refs/heads/{branch_of(case.signature)}"
        landing.land(ref, commit, case.trunk, landing.read(ref))
    return verdict_, commit


def _judged(room: Room, case: _Case, commit: Sha, quarantine: Quarantine) -> Refused | None:
    """The failing tests must be seen to pass, then L1 must pass: a fix of one that breaks another is none."""
    suite = room.suite(case.failure.found.suite)
    assert suite.steps is not None
    request = CloneRequest(room.repository.top, commit, (quarantine.objects,), suite.steps.cache)
    with room.ports.workspaces.checkout(request) as checkout:
        result = run_suite(suite.steps, checkout, room.ports)
    if not signals(case.tests, result):
        still = sorted(result.failed() & set(case.tests))
        named = f"{still[0]} still fails" if still else "the tests are not seen to pass"
        return Refused(Reason.NOT_MENDED, f"With the proposal {named}.", "Look at the failure's words again.")
    known = known_from(decoded(room.state.log.read(room.home)))
    asked = ChangeToCheck(room.repository.top, commit, case.trunk, (quarantine.objects,), prove=False)
    verdict = check_change(room.l1, asked, room.ports, known).verdict
    if isinstance(verdict, Refused | NotDecided):
        return Refused(verdict.reason, verdict.message, verdict.next)
    return None


def _event(
    room: Room, case: _Case, agent: str, proposal: Proposal, verdict: Refused | None, commit: Sha | None
) -> FixTried:
    evidence = {"files": dict(proposal.files), "message": verdict.message if verdict else ""}
    return FixTried(
        signature=case.signature,
        agent=agent,
        verdict="passed" if verdict is None else "refused",
        reason="" if verdict is None else verdict.reason.value,
        branch=branch_of(case.signature) if verdict is None else "",
        commit=commit or "",
        words=room.state.blobs.put(proposal.hypothesis),
        evidence=room.state.blobs.put(json.dumps(evidence, sort_keys=True)),
    )


def branch_of(signature: str) -> str:
    """Where a proposed fix lies."""
    return f"headway/fix-{signature}"


@contextmanager
def fixing_agent(command: str, model: str) -> Iterator[Agent]:
    """The agent that is asked. Raises HeadwayError unless exactly one is named, or for an absent program or key."""
    if bool(command) == bool(model):
        raise HeadwayError("Exactly one of --command and --model is needed.", "Name the agent that is to be asked.")
    if command:
        yield CommandAgent(CommandLine(tuple(shlex.split(command))), LocalExecutor())
        return
    agent = ModelAgent(model)
    try:
        yield agent
    finally:
        agent.close()
