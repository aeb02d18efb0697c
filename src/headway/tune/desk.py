"""What an agent may ask while it thinks: the answers come from the log alone, and every question becomes a fact."""

from collections.abc import Mapping

from headway.core.errors import HeadwayError
from headway.core.events_tune import DeskAsked
from headway.core.ports.blobs import BlobStore
from headway.tune.ledger import Texts, recall
from headway.tune.state import Campaign, Ranked

ANSWER_CHARACTERS = 24_000
MOST_QUESTIONS = 20
"""In one call: an agent that only asks would never propose."""


class LedgerDesk:
    """Answers for one agent call; `asked` are the facts of what was asked so far."""

    def __init__(self, campaign: Campaign, call: int, texts: Texts, blobs: BlobStore) -> None:
        self._campaign = campaign
        self._call = call
        self._texts = texts
        self._blobs = blobs
        self.asked: list[DeskAsked] = []

    def questions(self) -> Mapping[str, str]:
        """What may be asked."""
        return {
            "recall": "a strategy (S12), a listed group (S1-S50) or an attempt with its source (A7), whole",
            "profile": "the stored profile of an attempt (A7)",
        }

    def ask(self, question: str, subject: str) -> str:
        """The answer, cut at a fixed length; a sentence that says what is wrong for anything unknown."""
        if len(self.asked) >= MOST_QUESTIONS:
            return f"No further questions: {MOST_QUESTIONS} were asked in this call."
        try:
            answer = self._answer(question, subject.strip())
        except HeadwayError as unknown:
            answer = str(unknown)
        if len(answer) > ANSWER_CHARACTERS:
            answer = answer[:ANSWER_CHARACTERS] + "\n… (cut; ask for fewer at a time)"
        kept = self._blobs.put(answer.encode("utf-8", "surrogatepass"))
        self.asked.append(DeskAsked(self._call, question[:40], subject[:80], kept))
        return answer

    def _answer(self, question: str, subject: str) -> str:
        if question == "recall":
            return recall(self._campaign, subject, self._texts)
        if question == "profile":
            return profile_of(self._campaign, subject, self._texts)
        raise HeadwayError(f"There is no question {question[:40]!r}.", f"Ask one of: {', '.join(self.questions())}.")


def profile_of(campaign: Campaign, subject: str, texts: Texts) -> str:
    """The stored profile of attempt `subject` (A7). Raises HeadwayError if there is none."""
    number = subject.removeprefix("A")
    if number.isdigit() and 1 <= int(number) <= len(campaign.attempts):
        outcome = campaign.attempts[int(number) - 1].outcome
        if isinstance(outcome, Ranked) and outcome.profile is not None:
            return texts(outcome.profile)
        raise HeadwayError(f"Attempt {subject} has no profile.")
    raise HeadwayError(f"The campaign has no attempt {subject[:40]!r}.")
