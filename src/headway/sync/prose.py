"""Prose for a report's page: an agent writes it from the page's facts, a rail keeps out what is not among them. Pure.

What an agent says is evidence of nothing; it stands under a head of its own that names who wrote it. The same facts are
put to an agent once: an answer is recorded with their digest.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headway.core.events import Event
from headway.core.events_loop import ProseAsked
from headway.core.gates import PASSED, Refused, Verdict
from headway.core.names import Digest
from headway.core.ports.agent import AgentLimits, Request
from headway.core.reasons import Reason

FILE = "prose.md"
"""The one editable file of the request."""
LONGEST = 1_500
"""Characters."""
MESSAGE = 1_000
"""Characters of one change's message that the agent is shown."""
FIGURE = re.compile(r"\b(?:[0-9a-f]{7,40}|\d[\d.,:]*\d|\d)\b")
NAME = re.compile(r"`([^`\n]+)`")
STRUCTURE = re.compile(r"^\s*(?:#|\||```|~~~|---|<|>)|\]\(|https?://|<[a-z!/]", re.MULTILINE | re.IGNORECASE)
TASK = (
    "Write what a maintainer of the fork should know about this page: what landed or waits, why, and what to do next. "
    f"Put it into `{FILE}`: plain sentences, at most {LONGEST} characters, no headings, lists, tables, links or HTML. "
    "A program checks it: every figure, commit id and name in backquotes must stand in the facts below."
)


@dataclass(frozen=True)
class Facts:
    """What the page says, and the messages of the changes that it is about."""

    document: str
    markdown: str
    messages: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All that the agent is shown, and all that it may speak of."""
        return "\n\n".join([self.markdown, *(f"Message of a change:\n{text[:MESSAGE]}" for text in self.messages)])

    @property
    def digest(self) -> Digest:
        """The same facts have the same digest."""
        return Digest(hashlib.sha256(self.text.encode("utf-8", "surrogateescape")).hexdigest())


def request_for(facts: Facts, seconds: float, refusals: tuple[str, ...]) -> Request:
    """One call for one page."""
    return Request("write_report", f"{TASK}\n\n{facts.text}", {FILE: ""}, AgentLimits(seconds), refusals)


def founded(prose: str, facts: Facts) -> Verdict:
    """Refuses prose that is empty, too long, would break the page, or has a figure or a name that the facts lack."""
    if not prose.strip():
        return _refused("It is empty.")
    if len(prose) > LONGEST:
        return _refused(f"It has {len(prose)} characters.", f"At most {LONGEST} are allowed.")
    if found := STRUCTURE.search(prose):
        return _refused(f"It holds {found.group().strip()!r}.", "Plain sentences only: no headings, tables or links.")
    text = facts.text
    known = {figure.rstrip(".,:") for figure in FIGURE.findall(text)}
    for figure in FIGURE.findall(prose):
        if figure not in known and not (len(figure) >= 7 and any(one.startswith(figure) for one in known)):
            return _refused(f"{figure} does not stand in the facts.", "Give only figures and ids that do.")
    for name in NAME.findall(prose):
        if name not in text:
            return _refused(f"`{name}` does not stand in the facts.", "Name only what does.")
    return PASSED


def written(events: Iterable[Event]) -> Mapping[Digest, ProseAsked]:
    """Facts -> the prose that was accepted for them."""
    return {one.facts: one for one in events if isinstance(one, ProseAsked) and one.outcome == "accepted"}


def with_prose(markdown: str, prose: str, by: str) -> str:
    """The page with its prose at the end, under a head that says whose words they are."""
    return f"{markdown.rstrip()}\n\n## In words\n\n{prose.strip()}\n\n*Written by {by} from the facts above.*\n"


def _refused(message: str, next_step: str = "Write some sentences.") -> Refused:
    return Refused(Reason.PROSE_UNFOUNDED, message, next_step)
