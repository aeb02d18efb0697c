"""The result must be readable where both sides were: tree-sitter where a grammar ships, plainer checks elsewhere."""

import json
import tomllib
from collections.abc import Callable
from pathlib import PurePosixPath

from headway.core.gates import PASSED, Verdict
from headway.core.reasons import Reason
from headway.sync.languages import language_of
from headway.sync.rails.facts import FileFacts, Proposal, refused
from headway.sync.symbols import outline_of, parsed_by_grammar

PAIRS = ("()", "[]", "{}")


def unparsable(proposal: Proposal) -> Verdict:
    """Refuses a result with more syntax errors than either side."""
    for file in proposal.files:
        if file.result is not None and (why := _broken(file)):
            return refused(Reason.UNPARSABLE, f"{file.path}: {why}.")
    return PASSED


def _broken(file: FileFacts) -> str:
    assert file.result is not None
    language = language_of(file.path)
    if not file.conflicted and _brackets_add_up(file):
        return ""  # git applied both sides' edits whole: what a parser could find shows in the brackets first
    if parsed_by_grammar(language):
        errors = outline_of(file.result, language).errors
        if not errors:
            return ""
        allowed = max(outline_of(text or "", language).errors for text in (file.ours, file.theirs))
        return "the result has a syntax error that neither side has" if errors > allowed else ""
    reader = READERS.get(PurePosixPath(file.path).suffix.lower(), _balanced)
    sides = [text for text in (file.ours, file.theirs) if text is not None]
    if all(reader(text) for text in sides) and not reader(file.result):
        return "the result cannot be read as both sides can"
    return ""


def _brackets_add_up(file: FileFacts) -> bool:
    """Every bracket is there as often as both sides' edits together give."""
    base, ours, theirs, result = (text or "" for text in file.sides())
    return all(
        result.count(sign) == ours.count(sign) + theirs.count(sign) - base.count(sign)
        for pair in PAIRS
        for sign in pair
    )


def _balanced(text: str) -> bool:
    return all(text.count(pair[0]) == text.count(pair[1]) for pair in PAIRS)


def _json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except ValueError:
        return False
    return True


READERS: dict[str, Callable[[str], bool]] = {".json": _json, ".toml": _toml}
