"""Which jobs later attempts will need: a worker compiles and checks them beside the one that is waited for.

Nothing here decides anything. A foreseen job has the key that its attempt will ask for, bound to the source; if the
attempt turns out otherwise, the job answers nobody.
"""

from dataclasses import dataclass

from headway.core.ports.worker import WorkerJob
from headway.tune.asking import Asking
from headway.tune.attempt_journey import Attempts
from headway.tune.sameness import digest_of
from headway.tune.state import Campaign


@dataclass(frozen=True)
class Foresight:
    """The screenings of the attempts beside the newest one in its batch, where the agent knows its next proposals."""

    asking: Asking
    attempts: Attempts
    at_once: int

    def jobs(self, campaign: Campaign) -> tuple[WorkerJob, ...]:
        """Oldest first; none where one job at a time is asked for, or the budget ends before."""
        last = len(campaign.attempts) + int(campaign.current is not None)
        most = later_in_batch(last, self.at_once)
        if campaign.budget.attempts is not None:
            most = min(most, campaign.budget.attempts - last)
        if most <= 0 or campaign.needed.purpose != "campaign":
            return ()
        known = {attempt.digest for attempt in campaign.attempts}
        file = self.asking.task.candidate_file
        return tuple(
            self.attempts.screening(campaign, last + n, source, proposal.knobs)
            for n, proposal in enumerate(self.asking.foreseen(campaign, most), 1)
            if (source := proposal.files.get(file)) is not None and digest_of(source) not in known
        )


def later_in_batch(attempt: int, at_once: int) -> int:
    """How many attempts after this one belong to its batch of `at_once`; the baseline, 0, is the first of the first.

    Whole batches: were one job sent for each that came back, a worker would find as few waiting as it did last time,
    and a batch that was small once (after a promotion, say, or a second try) would stay small.
    """
    return at_once - 1 - attempt % at_once
