"""What `headway mcp` offers: eight tools over one campaign, and a thread that drives it while the server lives.

The tools only read the log and append submissions; verdicts come from the loop. Nothing is kept here that a kill could
lose: the next server, or `headway tune resume`, goes on where the log stands.
"""

import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.adapters.locks import LockHeld
from headway.adapters.task_files import load_task
from headway.core.errors import HeadwayError
from headway.core.events_tune import SubmissionTaken, Submitted
from headway.core.file_bundle import changes_in
from headway.core.ports.log import decoded
from headway.core.ports.worker import Worker
from headway.core.submissions import submissions_of, submit
from headway.core.task import Task
from headway.tune import campaign as campaigns
from headway.tune.context import Renderer
from headway.tune.desk import profile_of
from headway.tune.evidence import text_of
from headway.tune.ledger import evidence_text, recall
from headway.tune.scoreboard import attempt_row, scoreboard, standing
from headway.tune.state import Attempt, Campaign
from headway.wiring.state import State, open_state
from headway.wiring.tune import Place, drive
from headway.wiring.workers import worker_for

LONGEST_WAIT = 20.0
"""Of one `job` call: clients give up on a call after 10 to 60 seconds."""
POLL_SECONDS = 0.2
RETRY_SECONDS = 2.0
HYPOTHESIS_BYTES = 10_000
PARENT_BYTES = 20
KEY_BYTES = 200

INSTRUCTIONS = """headway holds one fixed goal and decides by measurement. Read `goal` first, then `ledger` and
`incumbent`. `submit` a whole candidate with one hypothesis; it answers at once with a job. Poll `job` (it may wait up
to 20 s) until its state is `done`. Only the verdict counts. Give `submit` a key of your own to repeat it safely after a
lost answer."""


class Closing(Exception):
    """The server goes; the loop stops between two steps."""


class Driver:
    """Drives the campaign in a thread of its own whenever something waits, with one warm worker."""

    def __init__(self, place: Place, task: Task, watch: Callable[[Campaign], None]) -> None:
        self._place = place
        self._task = task
        self._watch = watch
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="campaign", daemon=True)
        self.trouble = ""
        """What the last drive ended with, in words; "" if it was well."""

    def start(self) -> None:
        """Begin: what a killed server left open is settled first."""
        self._wake.set()
        self._thread.start()

    def wake(self) -> None:
        """Something was submitted."""
        self._wake.set()

    def close(self, seconds: float = 5.0) -> None:
        """Stop between two steps; a job that takes longer is left to the next server, as after a kill."""
        self._closing.set()
        self._wake.set()
        self._thread.join(seconds)

    def _run(self) -> None:
        worker = worker_for(self._task, self._place.state / "worker")
        try:
            while not self._closing.is_set():
                # woken, or after a while anyway: somebody else may have driven it and gone
                self._wake.wait(RETRY_SECONDS if self.trouble else None)
                self._wake.clear()
                self._once(worker)
        finally:
            worker.close()

    def _once(self, worker: Worker) -> None:
        try:
            drive(self._place, self._look, worker)
            self.trouble = ""
        except Closing:
            return
        except LockHeld as held:
            self.trouble = str(held)
        except HeadwayError as wrong:
            self.trouble = str(wrong)

    def _look(self, state: Campaign) -> None:
        if self._closing.is_set():
            raise Closing
        self._watch(state)


@dataclass(frozen=True)
class Room:
    """The tools. Each call opens the log for itself: they run in threads, and beside the loop."""

    place: Place
    task: Task
    driver: Driver

    def tools(self) -> tuple[Callable[..., dict[str, Any]], ...]:
        """Everything a client may call."""
        return (
            self.goal,
            self.submit,
            self.job,
            self.profile,
            self.ledger,
            self.recall,
            self.incumbent,
            self.budget,
        )

    def goal(self) -> dict[str, Any]:
        """The goal and its rules, word for word; they never change. Read this first."""
        with self._reading() as opened:
            pinned, _ = campaigns.settings_of(opened.log, self.place.id)
            goal = text_of(opened.blobs, pinned.goal)
        return {
            "campaign": self.place.id,
            "goal": goal,
            "digest": pinned.digest,
            "candidate_file": self.task.candidate_file,
            "most_bytes": self.task.source_bytes,
        }

    def submit(self, source: str, hypothesis: str, parent: str = "", key: str = "") -> dict[str, Any]:
        """Submit the whole source of a candidate, with one sentence on what it should gain and why.

        `parent` names the attempt it builds on (A7). The same `key` again is the same submission. Answers at once;
        poll `job` for the verdict.
        """
        self._check(source, hypothesis, parent, key)
        home = campaigns.home_of(self.place.id)
        with open_state(self.place.state) as opened:
            state = campaigns.read(opened.log, self.place.id)
            if state.ended is not None or state.paused:
                raise HeadwayError(f"The campaign {standing_words(state)}.", "A person may `headway tune resume` it.")
            said = Submitted(
                key or uuid.uuid4().hex,
                opened.blobs.put(source),
                opened.blobs.put(hypothesis),
                parent,
            )
            number = submit(opened.log, home, said, state.taken)
            told = self._job(opened, number)
        self.driver.wake()
        return told

    def job(self, job: str, wait_seconds: float = 0.0) -> dict[str, Any]:
        """What became of a submission: `queued`, `running` or `done` with its verdict. May wait up to 20 seconds."""
        number = _number(job)
        deadline = time.monotonic() + min(max(wait_seconds, 0.0), LONGEST_WAIT)
        while True:
            with self._reading() as opened:
                told = self._job(opened, number)
            if told["state"] == "done" or time.monotonic() >= deadline:
                return told
            time.sleep(POLL_SECONDS)

    def profile(self, attempt: str) -> dict[str, Any]:
        """The stored profile of a ranked attempt (A7)."""
        with self._reading() as opened:
            state = campaigns.read(opened.log, self.place.id)
            return {"attempt": attempt, "profile": profile_of(state, attempt, campaigns.CachedTexts(opened.blobs))}

    def ledger(self) -> dict[str, Any]:
        """Every strategy tried, in full or in a listed group that `recall` resolves."""
        with self._reading() as opened:
            state = campaigns.read(opened.log, self.place.id)
            assert state.goal is not None
            texts = campaigns.CachedTexts(opened.blobs)
            goal = text_of(opened.blobs, state.goal.goal)
            shown = Renderer(self.task, goal, texts, state.needed.context_budget).render(state)
        return {"strategies": len(state.strategies), "ledger": shown.ledger}

    def recall(self, name: str) -> dict[str, Any]:
        """A strategy (S12), a listed group (S1-S50) or an attempt with its source (A7), whole."""
        with self._reading() as opened:
            state = campaigns.read(opened.log, self.place.id)
            return {"name": name, "text": recall(state, name.strip(), campaigns.CachedTexts(opened.blobs))}

    def incumbent(self) -> dict[str, Any]:
        """The best candidate so far, with its source; the task's baseline until something was promoted."""
        with self._reading() as opened:
            best = campaigns.read(opened.log, self.place.id).incumbent
            if best is None:
                return {"attempt": None, "source": self.task.baseline}
            return {**attempt_row(best), "source": text_of(opened.blobs, best.source)}

    def budget(self) -> dict[str, Any]:
        """What was used, what the limits are, and whether the campaign still runs."""
        with self._reading() as opened:
            state = campaigns.read(opened.log, self.place.id)
            waiting = self._submitted(opened) - state.taken
        board = scoreboard(self.place.id, state)
        chosen = ("campaign", "agent", "state", "end", "spent", "budget", "refused", "promotions")
        return {**{name: board[name] for name in chosen}, "waiting": waiting, "trouble": self.driver.trouble}

    def _reading(self) -> State:
        return open_state(self.place.state, read_only=True)

    def _check(self, source: str, hypothesis: str, parent: str, key: str) -> None:
        if not source.strip():
            raise HeadwayError("The submission has no source.", "Give the whole candidate.")
        limits = {
            "source": (source, self.task.source_bytes),
            "hypothesis": (hypothesis, HYPOTHESIS_BYTES),
            "parent": (parent, PARENT_BYTES),
            "key": (key, KEY_BYTES),
        }
        for name, (text, most) in limits.items():
            try:
                size = len(text.encode())
            except UnicodeEncodeError as wrong:
                raise HeadwayError(f"The {name} holds half a character (a lone surrogate).", "Send text.") from wrong
            if size > most:
                raise HeadwayError(f"The {name} has {size} bytes, and {most} are allowed.", "Make it shorter.")
        if self.task.command is not None and not changes_in(source):
            raise HeadwayError("The submission changes no file.", "Give each under a head, `=== file: PATH`.")

    def _submitted(self, opened: State) -> int:
        stream = submissions_of(campaigns.home_of(self.place.id))
        return opened.log.heads(stream).get(stream, 0)

    def _job(self, opened: State, number: int) -> dict[str, Any]:
        told: dict[str, Any] = {"job": f"J{number}"}
        if not 1 <= number <= self._submitted(opened):
            raise HeadwayError(f"There is no job J{number}.", "`submit` names the job it made.")
        state = campaigns.read(opened.log, self.place.id)
        if number > state.taken:
            ended = {"campaign": standing_words(state)} if state.ended is not None or state.paused else {}
            return {**told, "state": "queued", "before_it": number - state.taken - 1, **ended, **self._trouble()}
        events = decoded(opened.log.read(campaigns.home_of(self.place.id)))
        call = next(e.call for e in events if isinstance(e, SubmissionTaken) and e.submission == number)
        attempt = next(a for a in _attempts(state) if a.call == call)
        running = attempt is state.current
        evidence = evidence_text(attempt, campaigns.CachedTexts(opened.blobs))
        trouble = self._trouble() if running else {}
        return {
            **told,
            "state": "running" if running else "done",
            **attempt_row(attempt),
            "evidence": evidence,
            **trouble,
        }

    def _trouble(self) -> dict[str, str]:
        return {"trouble": self.driver.trouble} if self.driver.trouble else {}


def open_room(place: Place, watch: Callable[[Campaign], None]) -> Room:
    """The tools of a campaign and its driver, not yet started."""
    with open_state(place.state, read_only=True) as opened:
        _, settings = campaigns.settings_of(opened.log, place.id)
    task = load_task(Path(settings.task_dir))
    return Room(place, task, Driver(place, task, watch))


def standing_words(state: Campaign) -> str:
    """`has ended (budget spent: attempts)`, `is paused` or `is running`."""
    if state.ended is None:
        return f"is {standing(state)}"
    limit = f": {state.ended.limit}" if state.ended.limit else ""
    return f"has ended ({state.ended.state.replace('_', ' ')}{limit})"


def _attempts(state: Campaign) -> list[Attempt]:
    return [*state.attempts, *([state.current] if state.current is not None else [])]


def _number(job: str) -> int:
    digits = job.strip().removeprefix("J")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise HeadwayError(f"{job[:40]!r} is no job.", "`submit` names the job it made, like J3.")
    return int(digits)
