"""A rough look at a candidate while an agent still thinks: the gates of admission and one screening, no attempt.

The job's key is bound to call and source: a call that is asked again after a kill finds the result of the same look.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from headway.core.events_tune import AttemptMeasured, AttemptRefused
from headway.core.events_tune_agent import TriedOut
from headway.core.file_bundle import files_in
from headway.core.gates import Refused
from headway.core.names import EffectKey
from headway.core.ports.agent import Proposal
from headway.core.ports.worker import WorkerJob
from headway.core.reasons import Reason
from headway.tune.attempt_journey import SCREEN_BLOCKS, Attempts, check_task
from headway.tune.candidate import candidate_of
from headway.tune.evidence import could_not_run, facts_of
from headway.tune.ledger import Texts
from headway.tune.measure.digest import profile_of
from headway.tune.rails import admitted
from headway.tune.sameness import digest_of
from headway.tune.state import Campaign


@dataclass(frozen=True)
class TryOuts:
    """Tries candidates with an attempt's own ports."""

    attempts: Attempts
    texts: Texts

    def try_out(self, campaign: Campaign, call: int, files: Mapping[str, str]) -> tuple[str, TriedOut | None]:
        """What a first look says, in words, and as a fact; no fact where nothing was looked at."""
        parent = campaign.promotions[-1] if campaign.promotions else None
        found = candidate_of(self.attempts.task, campaign, Proposal(files), parent, self.texts)
        if isinstance(found, str):
            return f"Nothing was looked at: {found}.", None
        if found.outside:
            return f"Refused (outside_editable): {found.outside[0]} may not be edited.", None
        if self.attempts.task.command is not None:
            before, after = files_in(self.attempts.task.baseline), files_in(found.source)
            verdict = admitted(self.attempts.task.command, before, after)
            if isinstance(verdict, Refused):
                return f"Refused ({verdict.reason}): {verdict.message} {verdict.next}", None
        job = self._job(campaign, call, found.source)
        check_task(campaign.needed, self.attempts.task, self.attempts.fingerprint())
        self.attempts.worker.submit(job)
        result = self.attempts.worker.collect(job.key, job.seconds * 2)
        if result is None:
            result = could_not_run(job.key, Reason.TIMED_OUT, "The worker gave no answer.")
        events = facts_of(self.attempts.task, campaign, 0, "screen", result, None, self.attempts.blobs)
        reason, ratio = None, None
        words = f"Could not run: {result.refusal.message if result.refusal else 'no answer'}"
        for event in events:
            if isinstance(event, AttemptRefused):
                reason = event.reason
                told = self.texts(event.evidence) if event.evidence is not None else ""
                words = f"Refused ({reason}): {told}"
            elif isinstance(event, AttemptMeasured):
                ratio = event.ratio
                words = f"A rough look: {ratio:.3f} times the baseline [{event.low:.3f}, {event.high:.3f}]."
        if told := profile_of(self.attempts.task, result):
            words += f"\n{told}"
        fact = TriedOut(
            call,
            self.attempts.blobs.put(found.source.encode("utf-8", "surrogatepass")),
            EffectKey(job.key),
            result.outcome,
            reason,
            ratio,
            self.attempts.stopwatch.lap(),
        )
        return words, fact

    def _job(self, campaign: Campaign, call: int, source: str) -> WorkerJob:
        task = self.attempts.task
        name = self.attempts.home.rpartition("/")[2]
        key = f"{name}-t{call}-{digest_of(source)[:12]}"
        seed = campaign.needed.seed * 1_000_003 + call
        return WorkerJob(key, task.folder, source, "screen", seed, SCREEN_BLOCKS, None, task.job_seconds)
