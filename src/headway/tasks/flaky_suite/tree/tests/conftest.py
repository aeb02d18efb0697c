"""Frozen, as data/ is: what the tests have in common."""

from pathlib import Path

import pytest


@pytest.fixture
def rates():
    return Path(__file__).with_name("data") / "rates.json"
