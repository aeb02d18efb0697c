"""What an agent may ask while it thinks: the answers come from the log alone, and every question becomes a fact."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from headway.core.errors import HeadwayError
from headway.core.events_tune import DeskAsked
from headway.core.events_tune_agent import NoteKept, TriedOut
from headway.core.file_bundle import checked_path
from headway.core.ports.blobs import BlobStore
from headway.core.task import Task
from headway.tune.ledger import Texts, recall, strategy_line
from headway.tune.state import Campaign, Ranked

TryOut = Callable[[Campaign, int, Mapping[str, str]], tuple[str, TriedOut | None]]

ANSWER_CHARACTERS = 24_000
MOST_QUESTIONS = 20
"""In one call: an agent that only asks would never propose."""
MOST_TRIED = 3
NOTE_CHARACTERS = 2000


class LedgerDesk:
    """Answers for one agent call; `asked` are the facts of what was asked so far.

    `try_out` puts a candidate through the first gates and a rough look, without making it an attempt.
    """

    def __init__(
        self, campaign: Campaign, call: int, texts: Texts, blobs: BlobStore, task: Task, try_out: TryOut
    ) -> None:
        self._task = task
        self._try_out = try_out
        self._tried = 0
        self._campaign = campaign
        self._call = call
        self._texts = texts
        self._blobs = blobs
        self.asked: list[DeskAsked | NoteKept | TriedOut] = []

    def questions(self) -> Mapping[str, str]:
        """What may be asked."""
        questions = {
            "recall": "a strategy (S12), a group (S1-S50), an attempt (A7) or an earlier campaign (P1), whole",
            "profile": "the stored profile of an attempt (A7)",
            "ledger": "every strategy in one line each; with words, those that hold all of them",
            "note": "keep these words; later calls are shown them",
            "evaluate": f"a rough look at a candidate; {MOST_TRIED} a turn, and only `propose` makes it an attempt",
        }
        if self._task.command is not None:
            questions["file"] = "a file of the tree by its path; without one, all paths"
        return questions

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
        if question not in ("note", "evaluate"):  # they are facts of their own
            kept = self._blobs.put(answer.encode("utf-8", "surrogatepass"))
            self.asked.append(DeskAsked(self._call, question[:40], subject[:80], kept))
        return answer

    def _answer(self, question: str, subject: str) -> str:
        if question == "recall":
            return recall(self._campaign, subject, self._texts)
        if question == "profile":
            return profile_of(self._campaign, subject, self._texts)
        if question == "ledger":
            return ledger_lines(self._campaign, subject, self._texts)
        if question == "note":
            return self._note(subject)
        if question == "evaluate":
            return self._evaluate(subject)
        if question == "file" and self._task.command is not None:
            return file_of(self._task.command.tree, subject)
        raise HeadwayError(f"There is no question {question[:40]!r}.", f"Ask one of: {', '.join(self.questions())}.")

    def _note(self, words: str) -> str:
        if not words:
            raise HeadwayError("The note is empty.")
        if len(words) > NOTE_CHARACTERS:
            raise HeadwayError(f"A note may have {NOTE_CHARACTERS} characters.", "Make it shorter.")
        self.asked.append(NoteKept(self._call, self._blobs.put(words.encode("utf-8", "surrogatepass"))))
        return "Kept."

    def _evaluate(self, subject: str) -> str:
        if self._tried >= MOST_TRIED:
            raise HeadwayError(f"{MOST_TRIED} candidates were looked at in this turn.", "Propose one.")
        try:
            given = json.loads(subject)
            files = {str(path): str(text) for path, text in given.items()}
        except (ValueError, AttributeError) as wrong:
            raise HeadwayError("Give the candidate's files, path by path.") from wrong
        self._tried += 1
        answer, fact = self._try_out(self._campaign, self._call, files)
        if fact is not None:
            self.asked.append(fact)
        return answer


def ledger_lines(campaign: Campaign, words: str, texts: Texts) -> str:
    """Every strategy whose line holds all the words, newest last."""
    lines = [strategy_line(campaign, strategy, texts) for strategy in campaign.strategies]
    wanted = words.lower().split()
    found = [line for line in lines if all(word in line.lower() for word in wanted)]
    return "\n".join(found) or "No strategy holds all of these words."


def file_of(tree: Path, path: str) -> str:
    """A file of a task's tree as it was at the beginning, or all paths. Raises HeadwayError for what is not in it."""
    if not path:
        return "\n".join(sorted(p.relative_to(tree).as_posix() for p in tree.rglob("*") if p.is_file()))
    place = tree / checked_path(path)
    try:
        return place.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as wrong:
        raise HeadwayError(f"The tree has no text file {path[:80]!r}.", "Ask for the paths.") from wrong


def profile_of(campaign: Campaign, subject: str, texts: Texts) -> str:
    """The stored profile of attempt `subject` (A7). Raises HeadwayError if there is none."""
    number = subject.removeprefix("A")
    if number.isdigit() and 1 <= int(number) <= len(campaign.attempts):
        outcome = campaign.attempts[int(number) - 1].outcome
        if isinstance(outcome, Ranked) and outcome.profile is not None:
            return texts(outcome.profile)
        raise HeadwayError(f"Attempt {subject} has no profile.")
    raise HeadwayError(f"The campaign has no attempt {subject[:40]!r}.")
