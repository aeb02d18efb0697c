"""Canaries: what a good suite catches, what a weak one misses, and mutants that are what they say."""

import ast
from pathlib import Path

import pytest

from headway.core.config import CanaryRule
from headway.core.errors import HeadwayError
from headway.core.events_validate import CanariesFlown
from headway.validate.canary import fly_canaries
from headway.validate.mutants import mutants_of, sample
from tests.validate.suites import CHECKS, L1, Fork, new_fork

SOURCE = b'''"""Doc 1."""
LIMIT = 3


def f(a: int = 2, *, on: bool = True) -> int:
    """Two 2."""
    name = f"{a + 1}" + "text"
    if a == 2 and on:  # \xc3\xa9
        return a * 2 + len(name)
    return 0 if a < LIMIT else -1
'''


def fly(fork: Fork, *rules: CanaryRule, mutants: int = 0) -> tuple[CanariesFlown, dict]:
    import json

    events = fly_canaries(L1, rules, fork.repo.path, fork.base, fork.ports, fork.known, mutants, 0)
    flight = events[-1]
    assert isinstance(flight, CanariesFlown)
    return flight, json.loads(fork.ports.blobs.get(flight.evidence))


def test_a_good_suite_catches_all_of_them(tmp_path: Path) -> None:
    fork = new_fork(tmp_path)
    flight, shown = fly(fork, CanaryRule("wrong sum", "engine/__init__.py", "a + b", "a - b"), mutants=3)
    assert (flight.missed, flight.mutants, flight.mutants_caught) == (0, 3, 3), shown["canaries"]
    assert [one["kind"] for one in shown["canaries"]] == ["written", "language", "mutant", "mutant", "mutant"]
    assert shown["canaries"][0]["by"] == "tests/checks.py::test_adds"


def test_a_weak_suite_misses_and_is_named(tmp_path: Path) -> None:
    fork = new_fork(tmp_path, files={"tests/checks.py": CHECKS.replace("== 4", "is not None")})
    flight, shown = fly(fork, CanaryRule("wrong sum", "engine/__init__.py", "a + b", "a - b"))
    assert flight.missed == 1 and shown["missed"] == ["wrong sum"]


def test_a_canary_that_does_not_fit_any_more_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HeadwayError, match="canary 'old' does not fit"):
        fly(new_fork(tmp_path), CanaryRule("old", "engine/__init__.py", "a ** b", "a"))


def test_mutants_parse_change_one_expression_and_leave_texts_alone() -> None:
    made = list(mutants_of("f.py", SOURCE))
    assert len({mutant.content for mutant in made}) == len(made) >= 7
    for mutant in made:
        changed = ast.dump(ast.parse(mutant.content))
        assert changed != ast.dump(ast.parse(SOURCE)), mutant.what
        assert b'"""Two 2."""' in mutant.content and b"LIMIT = 3" in mutant.content and b"\xc3\xa9" in mutant.content
        assert b'+ "text"' in mutant.content
    assert {"`a == 2` -> `(a != 2)`", "`a < LIMIT` -> `(a >= LIMIT)`"} <= {mutant.what for mutant in made}


def test_the_same_seed_gives_the_same_mutants_spread_over_files() -> None:
    files = {f"pkg/{name}.py": SOURCE for name in "abc"} | {"pkg/__init__.py": b"", "tests/test_x.py": SOURCE}
    one, two = (sample(files, files.__getitem__, 6, seed=4) for _ in range(2))
    assert one == two and len(one) == 6
    assert sorted({mutant.path for mutant in one}) == ["pkg/a.py", "pkg/b.py", "pkg/c.py"]
    assert sample(files, files.__getitem__, 6, seed=5) != one


def test_a_file_that_does_not_parse_has_no_mutants() -> None:
    assert list(mutants_of("x.py", b"def (:")) == []
