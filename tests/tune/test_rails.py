"""What may be done to a suite so that it fails less, and what may not. Pure, by syntax tree."""

import pytest

from headway.core.command_task import CommandTask, Metric, Step
from headway.core.gates import PASSED, Refused
from headway.tune.rails import admitted

SUITE = """import pytest
import time

from shop import sum_of


@pytest.mark.parametrize("n", [1, 2, 3])
def test_rows(n):
    assert sum_of(n) == n


def test_sum():
    time.sleep(0.1)
    total = sum_of(2)
    assert total == pytest.approx(2, rel=1e-6)
    assert total > 0


class TestMore:
    def test_raises(self):
        with pytest.raises(ValueError):
            sum_of(-1)
"""
STEP = Step("metric", ("x",), (), 1)


@pytest.fixture
def spec(tmp_path):
    metric = Metric(STEP, "lower", 1, False, 0.0, None)
    return CommandTask(tmp_path, ("**/*.py",), (), ("tests/*.py",), (), None, metric, (), (), ())


def verdict(spec, *swaps, shop="def sum_of(n): return n\n"):
    changed = SUITE
    for old, new in swaps:
        assert old in changed
        changed = changed.replace(old, new)
    before = {"tests/test_a.py": SUITE, "shop.py": "def sum_of(n): return n\n"}
    found = admitted(spec, before, {"tests/test_a.py": changed, "shop.py": shop})
    return str(found.reason) if isinstance(found, Refused) else found


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("def test_sum", "def sum_is_right", "test_deleted"),
        ("class TestMore", "class More", "test_deleted"),
        ("def test_sum", "@pytest.mark.skip\ndef test_sum", "test_skipped"),
        ("def test_sum", "@pytest.mark.xfail\ndef test_sum", "test_skipped"),
        ("    total = ", "    pytest.skip()\n    total = ", "test_skipped"),
        ("class TestMore:", "class TestMore:\n    __test__ = False\n", "test_skipped"),
        ("def test_sum", "def pytest_collection_modifyitems(items):\n    items.clear()\n\n\ndef test_sum", "test_skipped"),
        ("    assert total > 0\n", "", "test_weakened"),
        ("assert total > 0", "assert True", "test_weakened"),
        ("assert total > 0", "assert total == total", "test_weakened"),
        ("assert total > 0", "assert total > 0 or True", "test_weakened"),
        ("assert total > 0", "assert (total > 0, 'why')", "test_weakened"),
        ("    assert total > 0", "    if total:\n        assert total > 0", "test_weakened"),
        ("    assert total > 0", "    return\n    assert total > 0", "test_weakened"),
        ("    assert total > 0", "    try:\n        assert total > 0\n    except Exception:\n        pass", "test_weakened"),
        ("    assert total > 0", "    with suppress(AssertionError):\n        assert total > 0", "test_weakened"),
        ("rel=1e-6", "rel=0.5", "test_weakened"),
        ("== n", ">= n", "test_weakened"),
        ("[1, 2, 3]", "[1]", "test_weakened"),
        ("sum_of(2)", "(time.sleep(1), sum_of(2))[1]", "retry_added"),
        ("import time\n", "import time\nfrom tenacity import Retrying\n", "retry_added"),
        ("def test_sum", "@pytest.mark.flaky(reruns=3)\ndef test_sum", "retry_added"),
        ("def test_sum():\n", "def test_sum():\n    for _ in range(3):\n        try:\n            break\n        except OSError:\n            pass\n", "retry_added"),
        ("def test_sum():", "def test_sum(:", "syntax"),
    ],
)  # fmt: skip
def test_games(spec, old, new, reason):
    assert verdict(spec, (old, new)) == reason


@pytest.mark.parametrize(
    "swap",
    [
        ("    time.sleep(0.1)\n", ""),
        ("rel=1e-6", "rel=1e-9"),
        ("    assert total > 0\n", "    assert total > 0\n    assert total == 2\n"),
        ("    total = sum_of(2)\n", "    clock = iter(range(9))\n    total = sum_of(2)\n"),
        ("def test_sum():\n", "def test_sum(tmp_path, monkeypatch):\n    monkeypatch.setenv('A', 'b')\n"),
        ("[1, 2, 3]", "[1, 2, 3, 4]"),
        ("    assert total > 0\n", "    for value in (total,):\n        assert value > 0\n"),
    ],
)
def test_honest_changes_pass(spec, swap):
    assert verdict(spec, swap) is PASSED


def test_a_sleep_in_the_product_counts_too(spec):
    assert verdict(spec, shop="import time\n\n\ndef sum_of(n):\n    time.sleep(1)\n    return n\n") == "retry_added"
