"""One suite on several revisions: run it, recall it, repeat it, prove that it sees; and remember what to append."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from headway.core.config import L1Config
from headway.core.config_tiers import Waiver
from headway.core.counts import Tally
from headway.core.events import Event
from headway.core.events_validate import OwnerTouched, Reran, SuiteRan
from headway.core.events_validate_tiers import WaiverUsed
from headway.core.gates import Refused, Verdict
from headway.core.names import BlobId, Sha, TestId
from headway.core.ports.workspace import CloneRequest
from headway.core.reasons import Reason
from headway.validate.attribution import BothTallies
from headway.validate.blindness import prove_not_blind
from headway.validate.harness.sources import standing_sources
from headway.validate.known import KnownResults, SuiteKey
from headway.validate.results import SuiteResult, result_from_json
from headway.validate.side_by_side import side_by_side
from headway.validate.suite_run import Ports, run_suite

CONSTANT_AFTER = 2
"""Reruns after which a test that has failed every time on the change is not taken for a flake."""


class SuiteRuns:
    """Runs, recalls and repeats one suite for one question, and collects the events to append."""

    def __init__(
        self,
        l1: L1Config,
        owner: Path,
        extra_objects: tuple[Path, ...],
        ports: Ports,
        known: KnownResults,
        key: SuiteKey,
    ) -> None:
        self._l1, self._owner, self._extra_objects = l1, owner, extra_objects
        self._ports, self._known, self._key = ports, known, key
        self.events: list[Event] = []
        self.recalled: set[Sha] = set()
        self._here: dict[Sha, SuiteResult] = {}

    def result_of(self, commit: Sha, *, fresh: bool = False) -> SuiteResult:
        """The suite's result on a commit: of this question, from the log, or by a run now."""
        if commit not in self._here:
            self._find(commit, fresh)
        return self._here[commit]

    def both(self, change: Sha, base: Sha, *, fresh: bool = False) -> None:
        """Run the suite on the two at once, unless one of them is known; `result_of` then has both."""
        if change == base or change in self._here or base in self._here:
            return
        mine, theirs = side_by_side(lambda: self._look(change, fresh), lambda: self._look(base, False))
        for commit, (result, recalled) in ((change, mine), (base, theirs)):
            self._take(commit, result, recalled)

    def _find(self, commit: Sha, fresh: bool) -> SuiteResult:
        result, recalled = self._look(commit, fresh)
        return self._take(commit, result, recalled)

    def _look(self, commit: Sha, fresh: bool) -> tuple[SuiteResult, bool]:
        """(the result, whether it was known); changes nothing of ours, so that two may look at once."""
        with self._ports.workspaces.checkout(self._request(commit)) as checkout:
            known = None if fresh else self._known.results.get((checkout.tree, self._key))
            if known is not None:
                return result_from_json(self._ports.blobs.get(known)), True
            return run_suite(self._l1, checkout, self._ports), False

    def _take(self, commit: Sha, result: SuiteResult, recalled: bool) -> SuiteResult:
        if recalled:
            self.recalled.add(commit)
        else:
            self._remember(result)
        self._here[commit] = result
        return result

    def once_more(self, commit: Sha) -> SuiteResult:
        """A second run, which is then the result; both are recorded."""
        return self._take(commit, self._run(commit), recalled=False)

    def still_standing(self, commit: Sha, tests: tuple[TestId, ...]) -> frozenset[TestId]:
        """Those of `tests` whose source is in the tree of `commit`."""
        if not tests:
            return frozenset()
        with self._ports.workspaces.checkout(self._request(commit)) as checkout:
            return standing_sources(checkout.path, checkout.tracked, tests)

    def proof(self, commit: Sha, verdict: Verdict) -> Verdict:
        """`verdict` if L1 is known to see, or shows it now; else why it may not be believed."""
        if self._key in self._known.proofs and self._l1.prove == "once":
            return verdict
        honest = self.result_of(commit)
        proof = prove_not_blind(self._l1, self._request(commit), self._key, honest, self._ports)
        if proof.proven is None:
            return proof.verdict
        self.events.append(proof.proven)
        self._known.take((proof.proven,))
        return verdict

    def rerun_tallies(
        self, change: SuiteResult, base: SuiteResult, tests: tuple[TestId, ...], reruns: int
    ) -> dict[TestId, BothTallies]:
        """How often each of `tests` failed on both sides, in at most `reruns` more runs a side, interleaved.

        The run that made us look is not counted: a test is looked at because it failed there. Stops as soon as the
        change has failed so often in a row that a flake is out of the question.
        """
        tallies = {test: BothTallies(Tally(0, 0), Tally(0, 0)) for test in tests}
        seconds = 0.0
        for turn in range(reruns):
            if turn >= CONSTANT_AFTER and all(t.change.failed == t.change.runs for t in tallies.values()):
                break
            for commit in (change.commit, base.commit):
                again = self._run(commit)
                seconds += sum(step.seconds for step in again.steps)
                if again.trouble:
                    continue
                failed = again.failed()
                for test in tests:
                    if commit == change.commit:
                        tallies[test] = replace(tallies[test], change=tallies[test].change.plus(test in failed))
                    else:
                        tallies[test] = replace(tallies[test], base=tallies[test].base.plus(test in failed))
        evidence = self.keep({test: asdict(both) for test, both in tallies.items()})
        runs = max(both.change.runs for both in tallies.values())
        self.events.append(Reran("L1", change.commit, base.commit, runs, evidence, round(seconds, 3)))
        return tallies

    def note_waivers(self, revision: Sha, waived: Mapping[TestId, Waiver]) -> None:
        """Every use of a waiver is a fact of its own, so that they can be counted."""
        for waiver in dict.fromkeys(waived.values()):
            tests = tuple(test for test, by in waived.items() if by == waiver)
            self.events.append(WaiverUsed(revision, waiver.tests, waiver.by, tests))

    def _run(self, commit: Sha) -> SuiteResult:
        with self._ports.workspaces.checkout(self._request(commit)) as checkout:
            return run_suite(self._l1, checkout, self._ports)

    def alarm(self, revision: Sha, touched: tuple[str, ...]) -> Refused:
        evidence = self._ports.blobs.put("\n".join(touched))
        self.events.append(OwnerTouched(revision, len(touched), evidence))
        more = f" (and {len(touched) - 1} more)" if len(touched) > 1 else ""
        return Refused(
            Reason.TAMPERED,
            f"While L1 ran, the owner's repository changed: {touched[0]}{more}.",
            "If it was not you, look at what the change's tests do; then put it right and run again.",
        )

    def _request(self, commit: Sha) -> CloneRequest:
        return CloneRequest(self._owner, commit, self._extra_objects, self._l1.cache)

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
