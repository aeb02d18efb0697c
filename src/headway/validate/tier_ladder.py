"""How a change climbs the tiers.

L1, on every change: run the suite on the change; where it is not green, run it on the base too (or recall that run);
what fails only on the change is new, and refuses it. Before a fork's first landing L1 itself is put to the proof. And
whatever ran, the owner's repository must be as it was.
"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from headway.core.config import L1Config
from headway.core.events import Event
from headway.core.events_validate import L1Judged, OwnerTouched, SuiteRan
from headway.core.gates import NotDecided, Refused, Verdict
from headway.core.names import BlobId, Sha
from headway.core.ports.workspace import CloneRequest
from headway.core.reasons import Reason
from headway.validate.attribution import Attribution, attribute, judge
from headway.validate.blindness import prove_not_blind
from headway.validate.census import silent_skips
from headway.validate.environment import suite_key
from headway.validate.known import KnownResults, SuiteKey
from headway.validate.results import SuiteResult, result_from_json
from headway.validate.suite_run import Ports, run_suite

L1_SCHEMA = "headway.l1/1"


@dataclass(frozen=True, slots=True)
class ChangeToCheck:
    """One change of a fork. `base` None: the revision stands alone, and every failure counts.

    `prove`: L1 must have been shown not to be blind, now or before. `fresh`: run even what is known.
    """

    owner: Path
    change: Sha
    base: Sha | None
    extra_objects: tuple[Path, ...] = ()
    prove: bool = True
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class L1Answer:
    """The verdict with its evidence. `events` belong in the fork's `validation/<id>`; the caller appends them."""

    verdict: Verdict
    change: SuiteResult
    base: SuiteResult | None
    attribution: Attribution
    evidence: BlobId
    events: tuple[Event, ...]


def check_change(l1: L1Config, asked: ChangeToCheck, ports: Ports, known: KnownResults) -> L1Answer:
    """L1's answer on one change. Raises HeadwayError only for a commit or repository that is not there."""
    key = suite_key(l1, ports.environ)
    before = ports.workspaces.fingerprint(asked.owner)
    suite = _Suite(l1, asked, ports, known, key)

    change = suite.result_of(asked.change, fresh=asked.fresh)
    needs_base = not change.green or bool(l1.harness)  # with a harness the census is compared too
    base = suite.result_of(asked.base) if asked.base and needs_base else None
    attribution = attribute(change, base)
    verdict = judge(change, base, attribution)
    if verdict.kind == "passed" and asked.prove:
        verdict = suite.proof(asked.base or asked.change, verdict)

    touched = before.differences(ports.workspaces.fingerprint(asked.owner))
    if touched:
        verdict = suite.alarm(touched)
    return _answer(asked, verdict, change, base, attribution, suite)


class _Suite:
    """Runs or recalls the suite for one `check_change`, and collects the events to append."""

    def __init__(self, l1: L1Config, asked: ChangeToCheck, ports: Ports, known: KnownResults, key: SuiteKey) -> None:
        self._l1, self._asked, self._ports, self._known, self._key = l1, asked, ports, known, key
        self.events: list[Event] = []
        self.recalled: set[Sha] = set()
        self._here: dict[Sha, SuiteResult] = {}

    def result_of(self, commit: Sha, *, fresh: bool = False) -> SuiteResult:
        if commit not in self._here:
            self._here[commit] = self._find(commit, fresh)
        return self._here[commit]

    def _find(self, commit: Sha, fresh: bool) -> SuiteResult:
        with self._ports.workspaces.checkout(self._request(commit)) as checkout:
            known = None if fresh else self._known.results.get((checkout.tree, self._key))
            if known is not None:
                self.recalled.add(commit)
                return result_from_json(self._ports.blobs.get(known))
            result = run_suite(self._l1, checkout, self._ports)
        self._remember(result)
        return result

    def proof(self, commit: Sha, verdict: Verdict) -> Verdict:
        """`verdict` if L1 is known to see, or shows it now; else why it may not be believed."""
        if self._key in self._known.proofs:
            return verdict
        honest = self.result_of(commit)
        proof = prove_not_blind(self._l1, self._request(commit), self._key, honest, self._ports)
        if proof.proven is None:
            return proof.verdict
        self.events.append(proof.proven)
        self._known.take((proof.proven,))
        return verdict

    def alarm(self, touched: tuple[str, ...]) -> Refused:
        evidence = self._ports.blobs.put("\n".join(touched))
        self.events.append(OwnerTouched(self._asked.change, len(touched), evidence))
        more = f" (and {len(touched) - 1} more)" if len(touched) > 1 else ""
        return Refused(
            Reason.TAMPERED,
            f"While L1 ran, the owner's repository changed: {touched[0]}{more}.",
            "If it was not you, look at what the change's tests do; then put it right and run again.",
        )

    def _request(self, commit: Sha) -> CloneRequest:
        return CloneRequest(self._asked.owner, commit, self._asked.extra_objects, self._l1.cache)

    def _remember(self, result: SuiteResult) -> None:
        blob = self._ports.blobs.put(result.to_json())
        counts = result.counts
        event = SuiteRan(
            tier="L1",
            revision=result.commit,
            tree=result.tree,
            suite=self._key.suite,
            environment=self._key.environment,
            trouble=result.trouble,
            passed=counts["passed"],
            failed=counts["failed"],
            skipped=counts["skipped"],
            not_run=counts["not_run"],
            seconds=round(sum(step.seconds for step in result.steps), 3),
            results=blob,
        )
        self.events.append(event)
        self._known.take((event,))

    def keep(self, evidence: dict[str, object]) -> BlobId:
        return self._ports.blobs.put(json.dumps(evidence, sort_keys=True))


def _answer(
    asked: ChangeToCheck,
    verdict: Verdict,
    change: SuiteResult,
    base: SuiteResult | None,
    attribution: Attribution,
    suite: _Suite,
) -> L1Answer:
    evidence = suite.keep(evidence_of(asked, verdict, change, attribution, recalled=asked.change in suite.recalled))
    judged = L1Judged(
        revision=asked.change,
        base=asked.base,
        verdict=verdict.kind,
        reason=_reason(verdict),
        new=len(attribution.new),
        pre_existing=len(attribution.pre_existing),
        evidence=evidence,
    )
    return L1Answer(verdict, change, base, attribution, evidence, (*suite.events, judged))


def evidence_of(
    asked: ChangeToCheck, verdict: Verdict, change: SuiteResult, attribution: Attribution, *, recalled: bool
) -> dict[str, object]:
    """Everything a reader needs to believe the verdict or not; step outputs are blobs of their own."""
    refusal = verdict if isinstance(verdict, Refused | NotDecided) else None
    return {
        "schema": L1_SCHEMA,
        "revision": asked.change,
        "base": asked.base,
        "tree": change.tree,
        "recalled": recalled,
        "verdict": verdict.kind,
        "reason": _reason(verdict),
        "message": refusal.message if refusal else "",
        "next": refusal.next if refusal else "",
        "counts": dict(change.counts),
        "new": list(attribution.new),
        "pre_existing": list(attribution.pre_existing),
        "vanished": list(attribution.vanished),
        "lost": [asdict(found) for found in attribution.lost],
        "silent": [asdict(found) for found in silent_skips(change)],
        "failures": {test.id: test.reason for test in change.tests if test.state == "failed"},
        "skips": dict(Counter(test.reason for test in change.tests if test.state == "skipped")),
        "steps": [{"step": s.step, "ended": s.ended, "seconds": s.seconds, "output": s.output} for s in change.steps],
        "sandbox": list(change.sandbox),
    }


def _reason(verdict: Verdict) -> str:
    return verdict.reason.value if isinstance(verdict, Refused | NotDecided) else ""


def known_from(events: Iterable[Event]) -> KnownResults:
    """The results that a validation stream remembers."""
    return KnownResults().take(events)
