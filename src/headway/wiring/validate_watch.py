"""`validate watch`, `validate run` of a scheduled tier, and `validate show`: the clock, in the real world."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from headway.adapters.git_history import GitHistory
from headway.core.config_steps import L1Config, StepConfig
from headway.core.config_tiers import SuiteConfig, TierConfig
from headway.core.errors import HeadwayError
from headway.core.events import decode
from headway.core.events_validate import CanariesFlown
from headway.core.events_validate_tiers import HarnessCanaried, TierBegun
from headway.core.journey import drive, fold
from headway.core.names import Sha, StreamId
from headway.core.ports.log import Append, decoded
from headway.core.ports.workspace import CloneRequest
from headway.validate.canary import fly_canaries
from headway.validate.culprit import Rules
from headway.validate.culprit_run import Question, SearchState
from headway.validate.environment import suite_key
from headway.validate.ingest import parse_time
from headway.validate.issue_text import Suspect
from headway.validate.known import SuiteKey
from headway.validate.overview import Overview
from headway.validate.results import SuiteResult
from headway.validate.schedule import due_canaries, due_tiers
from headway.validate.show import document
from headway.validate.suite_run import run_suite
from headway.validate.tier_ladder import known_from
from headway.validate.trunk_steps import Bench, TrunkSteps
from headway.validate.trunk_watch import TierRun, watch_journey
from headway.wiring.forge import forge_if_any
from headway.wiring.validate_culprit import Search
from headway.wiring.validate_reports import devices_of, reports_of
from headway.wiring.validate_room import Answer, Asked, Room, opened, state_is_there

TIER_SCHEMA = "headway.tier/1"
POLL_SECONDS = 30.0
Say = Callable[[str], None]


def show(asked: Asked, about: str) -> Answer:
    """The room's state, or everything about one signature or request. Raises HeadwayError for an unknown one."""
    with opened(asked, read_only=state_is_there(asked)) as room:
        seen = overview_of(room)
        whole = document(room.config.tiers, seen, room.clock.now())
        if not about:
            return Answer(whole, room.notes)
        if about in seen.failures:
            found = seen.failures[about]
            evidence = json.loads(room.text(found.found.evidence))
            rows = whole["failures"]
            assert isinstance(rows, list)
            row: dict[str, object] = next((one for one in rows if one["signature"] == about), {})
            return Answer({"schema": "headway.failure/1", **row, **evidence}, room.notes)
        if about in seen.requests:
            request = seen.requests[about]
            text = room.text(request.asked.statement).decode()
            refusals = [{"by": one.by, "reason": one.reason} for one in request.refusals]
            rows = whole["requests"]
            assert isinstance(rows, list)
            row = next(one for one in rows if one["request"] == about)
            return Answer({"schema": "headway.request/1", **row, "statement": text, "refusals": refusals}, room.notes)
        raise HeadwayError(f"There is no failure and no request {about!r}.", "`headway validate show` lists both.")


def run_tier(asked: Asked, name: str, say: Say) -> Answer:
    """Run a tier on trunk now, or go on with its interrupted run. Raises HeadwayError for an unknown tier."""
    with opened(asked) as room:
        tier = room.config.tiers.tier(name)
        return Answer(_drive(room, tier, "asked", say), room.notes)


def watch(asked: Asked, once: bool, say: Say, sleep: Callable[[float], None] = time.sleep) -> list[Answer]:
    """Run what is due: tiers on trunk, then canaries. Without `once`, for ever; between looks nothing is locked."""
    done: list[Answer] = []
    while True:
        with opened(asked) as room:
            tiers, notes = room.config.tiers, room.notes
            seen = overview_of(room)
            for tier in due_tiers(tiers, seen, room.clock.now()):
                done.append(Answer(_drive(room, tier, "due", say), notes))
            for tier, suite in due_canaries(tiers, overview_of(room), room.clock.now()):
                done.append(Answer(_fly(room, tier, tiers.suite(suite), say), notes))
        if once:
            return done
        sleep(POLL_SECONDS)


def overview_of(room: Room) -> Overview:
    """The room's stream, folded."""
    records = room.state.log.read(room.home)
    return Overview().take((parse_time(one.ts), decode(one.type, one.payload)) for one in records)


def _drive(room: Room, tier: TierConfig, why: str, say: Say) -> dict[str, object]:
    home = StreamId(f"{room.home}.tier.{tier.name}")
    steps = TrunkSteps(tier, room.config.tiers, bench_of(room, say))
    journey = watch_journey(home, room.home, steps)
    log = room.state.log
    standing = fold(journey, log.read(home))
    if standing.state.begun is None or standing.state.ended is not None:
        trunk = room.trunk()
        number = 1 + sum(isinstance(event, TierBegun) for event in decoded(log.read(home)))
        begun = TierBegun(tier.name, trunk, f"{tier.name}-{number}", "due" if why == "due" else "asked")
        heads = log.heads(room.home)
        log.append([Append(home, standing.version, (begun,)), Append(room.home, heads.get(room.home, 0), (begun,))])
        say(f"{tier.name} on {trunk[:12]} …")
    else:
        say(f"{tier.name}: going on with the run {standing.state.begun.run} …")
    return _tier_document(drive(journey, log), steps)


def _tier_document(run: TierRun, steps: TrunkSteps) -> dict[str, object]:
    assert run.ended is not None
    return {
        "schema": TIER_SCHEMA,
        "tier": run.ended.tier,
        "run": run.ended.run,
        "revision": run.ended.revision,
        "verdict": run.ended.verdict,
        "seconds": run.ended.seconds,
        "gpu_hours": run.ended.gpu_hours,
        "suites": {
            name: {"passed": one.passed, "failed": one.failed, "metrics": one.metrics, "trouble": one.trouble}
            for name, one in run.reported.items()
        },
        "left_out": {name: one.message for name, one in run.left_out.items()},
        "findings": [
            {
                "signature": name,
                "suite": found.suite,
                "subject": found.subject,
                "tests": found.tests,
                "cause": found.cause,
                "why": steps.why(found),
                "good": found.good,
                "answer": run.culprits[name].kind if name in run.culprits else "",
                "suspects": list(run.culprits[name].suspects) if name in run.culprits else [],
                "issue": run.open_issues[name].url if name in run.open_issues else "",
            }
            for name, found in run.findings.items()
        ],
    }


def bench_of(room: Room, say: Say) -> Bench:
    """The world as a trunk run needs it."""
    owner = room.repository.top

    def run(
        suite: SuiteConfig, commit: Sha, seconds: float | None, overlay: Mapping[str, bytes] | None = None
    ) -> SuiteResult:
        assert suite.steps is not None
        steps = suite.steps if seconds is None else limited(suite.steps, seconds)
        request = CloneRequest(owner, commit, (), steps.cache, overlay or {})
        with room.ports.workspaces.checkout(request) as checkout:
            result = run_suite(steps, checkout, room.ports)
        say(f"{suite.name} on {commit[:12]}: {'green' if result.green else result.trouble or 'red'}")
        return result

    def swapped(suite: SuiteConfig, new: Sha, old: Sha) -> SuiteResult | None:
        overlay = _old_method(room, suite, new, old)
        return run(suite, new, None, overlay) if overlay else None

    def search(suite: SuiteConfig, question: Question, go_on: Callable[[], bool]) -> SearchState:
        return Search(room, suite, Rules(), say, go_on).answer(question)

    def suspect(commit: Sha) -> Suspect:
        [found] = GitHistory(room.repository.git).commits([commit, f"^{commit}^@"])
        author = found.author.decode("utf-8", "replace").rpartition("> ")[0] + ">"
        return Suspect(commit, found.subject, author)

    def key(suite: SuiteConfig) -> SuiteKey:
        assert suite.steps is not None
        return suite_key(suite.steps, room.ports.environ)

    def proposed(signature: str) -> tuple[str, str]:
        failure = overview_of(room).failures.get(signature)
        if failure is None or failure.fix is None:
            return "", ""
        return failure.fix.branch, room.text(failure.fix.words).decode("utf-8", "replace")

    return Bench(
        fork=room.config.fork.id,
        reports=lambda: reports_of(room),
        run=run,
        swapped=swapped,
        search=search,
        suspect=suspect,
        key=key,
        blobs=room.state.blobs,
        clock=room.clock,
        devices=devices_of(room.ports.environ),
        forge=forge_if_any(room.config, room.repository.top, room.ports.environ, room.state.failpoints),
        proposed=proposed,
    )


def limited(steps: L1Config, seconds: float) -> L1Config:
    """The same steps, none of which may take longer than `seconds`."""

    def cut(step: StepConfig | None) -> StepConfig | None:
        return replace(step, timeout_seconds=min(step.timeout_seconds, seconds)) if step else None

    test = cut(steps.test)
    assert test is not None
    return replace(steps, setup=cut(steps.setup), build=cut(steps.build), test=test)


def _old_method(room: Room, suite: SuiteConfig, new: Sha, old: Sha) -> dict[str, bytes]:
    """The suite's own measuring files as the old revision has them, where they differ. A file that is in only one of
    the two trees cannot be swapped, and is left as it is."""
    both = room.tracked(new) & room.tracked(old)
    found: dict[str, bytes] = {}
    for path in sorted(both):
        if any(fnmatchcase(path, pattern) for pattern in suite.method_paths):
            before, now = room.repository.file_at(old, path), room.repository.file_at(new, path)
            if before is not None and before != now:
                found[path] = before
    return found


def _fly(room: Room, tier: TierConfig, suite: SuiteConfig, say: Say) -> dict[str, object]:
    """Show one harness known-bad changes; other mutants each time."""
    assert suite.steps is not None
    revision = room.trunk()
    say(f"canaries of {suite.name} on {revision[:12]} …")
    told = list(decoded(room.state.log.read(room.home)))
    flights, known = sum(isinstance(e, HarnessCanaried) and e.suite == suite.name for e in told), known_from(told)
    events = fly_canaries(
        suite.steps, room.config.canary, room.repository.top, revision, room.ports, known, tier.mutants, flights
    )
    flown = events[-1]
    assert isinstance(flown, CanariesFlown)
    canaried = HarnessCanaried(
        suite.name, revision, flown.flown, flown.missed, flown.mutants, flown.mutants_caught, flown.evidence
    )
    room.append(*events[:-1], canaried)
    return {**json.loads(room.text(flown.evidence)), "suite": suite.name}
