"""Tests may not be deleted, skipped or weakened, nor expected values be rewritten, to make a pick pass."""

import functools
import itertools
import re
from collections import Counter

from headway.core.gates import PASSED, Verdict
from headway.core.reasons import Reason
from headway.sync.conflict import lines_of
from headway.sync.languages import is_test, language_of
from headway.sync.rails.facts import FileFacts, Proposal, least_expected, most_expected, refused
from headway.sync.symbols import outline_of
from headway.sync.textmerge import lines_with

TEST_NAME = re.compile(r"^(test|Test)|Test$")
CPP_TEST = re.compile(r"\b(TEST|TEST_F|TEST_P|TYPED_TEST)\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)")
SKIP = re.compile(
    r"pytest\.(mark\.)?(skip|skipif|xfail|importorskip)\b|unittest\.(skip|expectedFailure)|\bGTEST_SKIP\b|\bDISABLED_"
    r"|^[ \t]*(?://|#|;)[ \t]*(?:XFAIL|UNSUPPORTED|REQUIRES)[ \t]*:",
    re.MULTILINE,
)
SKIP_SIGNS = ("skip", "xfail", "expectedFailure", "GTEST_SKIP", "DISABLED_", "XFAIL", "UNSUPPORTED", "REQUIRES")
"""One of these is in every line that `SKIP` matches: looking for plain words first is forty times cheaper."""
ASSERTION = re.compile(
    r"^[ \t]*assert\b|\b(EXPECT|ASSERT)_\w+\s*\(|\.assert\w*\(|\bassert_\w+\(|\b[A-Z]*CHECK(-[A-Z]+)?\s*:"
    r"|\bexpected-(error|warning|note|remark)\b|\b(assertEqual|assertRaises|raises)\(",
    re.MULTILINE,
)
ASSERTION_SIGNS = ("assert", "EXPECT_", "ASSERT_", "CHECK", "expected-", "raises(")
"""One of these is in every line that `ASSERTION` matches."""
GOLDEN = re.compile(
    r"^.*(?:\b[A-Z]\w*-?CHECK[A-Z-]*\s*:|\bCHECK[A-Z-]*\s*:|\bexpected-(?:error|warning|note|remark)\b"
    r"|^[ \t]*assert\b.*==).*$",
    re.MULTILINE,
)


def test_deleted(proposal: Proposal) -> Verdict:
    """Refuses a result without a test that both sides, or the side that brought it, have."""
    for file in _tests(proposal):
        if not file.conflicted:
            continue
        base, ours, theirs, result = (_test_names(file, text) for text in file.sides())
        for name in (ours | theirs) - result:
            dropped_by_a_side = name in base and not (name in ours and name in theirs)
            if not dropped_by_a_side:
                return refused(Reason.TEST_DELETED, f"{file.path}: the test {name} is gone.")
    return PASSED


def test_skipped(proposal: Proposal) -> Verdict:
    """Refuses new skips, expected failures and unsupported marks that no side has."""
    for file in _tests(proposal):
        base, ours, theirs, result = (_skips(text or "") for text in file.sides())
        if result > most_expected(base, ours, theirs):
            return refused(
                Reason.TEST_SKIPPED, f"{file.path}: {result} tests are skipped (fork {ours}, upstream {theirs})."
            )
    return PASSED


def test_weakened(proposal: Proposal) -> Verdict:
    """Refuses fewer assertions than an honest merge of both sides can have, in the file or in any one test of it."""
    for file in _tests(proposal):
        if not file.conflicted:
            continue
        base, ours, theirs, result = (_assertions(text or "") for text in file.sides())
        if result < least_expected(base, ours, theirs):
            return refused(
                Reason.TEST_WEAKENED, f"{file.path}: {result} assertions (fork {ours}, upstream {theirs}, both {base})."
            )
        if weaker := _weaker_test(file):
            return refused(Reason.TEST_WEAKENED, f"{file.path}: {weaker}")
    return PASSED


def _weaker_test(file: FileFacts) -> str:
    """A new test of one side must not make up for what another one lost."""
    base, ours, theirs, result = (_assertions_by_test(file, text) for text in file.sides())
    for name, count in result.items():
        sides = [side[name] for side in (ours, theirs) if name in side]
        if len(sides) == 2:
            least = least_expected(base.get(name, min(sides)), *sides)
        else:
            least = sides[0] if sides and name not in base else 0
        if count < least:
            return f"{name} has {count} assertions (fork {ours.get(name, 0)}, upstream {theirs.get(name, 0)})."
    return ""


def _assertions_by_test(file: FileFacts, text: str | None) -> dict[str, int]:
    """Assertions inside each definition, where a grammar tells where it ends."""
    if not text:
        return {}
    before = list(itertools.accumulate(_assertions_by_line(text), initial=0))
    spans = outline_of(text, language_of(file.path)).spans
    return {name: before[end + 1] - before[start] for start, end, name in spans if end > start}


def golden_rewritten(proposal: Proposal) -> Verdict:
    """Refuses an expected value that stands on neither side."""
    for file in _tests(proposal):
        if not file.conflicted or file.result is None:
            continue
        known = Counter(
            _squeezed(line) for text in (file.base, file.ours, file.theirs) for line in lines_of(text or "")
        )
        for line in GOLDEN.findall(file.result):
            if not known[_squeezed(line)]:
                return refused(Reason.GOLDEN_REWRITTEN, f"{file.path}: {line.strip()!r} is neither side's expectation.")
    return PASSED


def _tests(proposal: Proposal) -> list[FileFacts]:
    return [file for file in proposal.files if is_test(file.path)]


def _test_names(file: FileFacts, text: str | None) -> set[str]:
    if text is None:
        return set()
    language = language_of(file.path)
    named = {name for name in outline_of(text, language).names if TEST_NAME.search(name)}
    if language == "mlir":
        named = set(outline_of(text, language).names)
    return named | {f"{suite}.{name}" for _, suite, name in CPP_TEST.findall(text)}


@functools.lru_cache(maxsize=64)
def _skips(text: str) -> int:
    return sum(len(SKIP.findall(line)) for line in lines_with(text, SKIP_SIGNS))


def _assertions(text: str) -> int:
    return sum(_assertions_by_line(text))


@functools.lru_cache(maxsize=64)
def _assertions_by_line(text: str) -> tuple[int, ...]:
    """How many assertions each line holds; plain words are looked for first, as for skips."""
    return tuple(
        len(ASSERTION.findall(line)) if any(sign in line for sign in ASSERTION_SIGNS) else 0
        for line in text.split("\n")
    )


def _squeezed(line: str) -> str:
    return re.sub(r"\s+|[\"']", "", line)
