"""The number a metric command prints stands alone or is none; patterns match whole paths."""

import math

import pytest

from headway.core.command_task import Metric, Step, Unreadable, matches, number_in

STEP = Step("metric", ("x",), (), 1)


@pytest.mark.parametrize(("output", "value"), [("3\n", 3), (" -1.5e3 ", -1500), ("0", 0)])
def test_one_number_alone(output: str, value: float) -> None:
    assert number_in(output) == value


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("", "printed nothing"),
        (" \n\n", "printed nothing"),
        ("3 4\n", "printed 2 numbers"),
        ("3\n4\n", "printed 2 numbers"),
        ("size: 123 bytes", "a number among other words"),
        ("v1.2.3", "is no number"),
        ("1_000", "is no number"),
        ("all is well", "words and no number"),
        ("nan", "it printed 'nan'"),
        ("-inf", "it printed '-inf'"),
    ],
)
def test_anything_else_is_no_number_and_says_why(output: str, words: str) -> None:
    found = number_in(output)
    assert isinstance(found, Unreadable) and words in found.message
    assert found.finite == ("nan" not in output and "inf" not in output)


@pytest.mark.parametrize(
    ("path", "pattern", "whether"),
    [
        ("src/a.py", "src/*.py", True),
        ("src/b/a.py", "src/*.py", False),
        ("src/b/a.py", "src/**/*.py", True),
        ("src/a.py", "src/**/*.py", True),
        ("src/a.pyc", "src/**/*.py", False),
        ("tests/data/x/y", "tests/data/**", True),
        ("a+b.py", "a+b.py", True),
        ("aab.py", "a+b.py", False),
    ],
)
def test_patterns(path: str, pattern: str, whether: bool) -> None:
    assert matches(path, (pattern,)) is whether


def test_costs_are_positive_and_smaller_is_better() -> None:
    lower, higher = (Metric(STEP, way, 1, False, 1.0, 0.0) for way in ("lower", "higher"))
    assert lower.cost(0) == 1 and lower.cost(3) > lower.cost(2)
    assert higher.cost(3) < higher.cost(2) and higher.beyond_floor(1) and lower.beyond_floor(-1)
    assert math.isnan(lower.cost(-1)) and math.isnan(Metric(STEP, "lower", 1, False, 0.0, None).cost(0))
