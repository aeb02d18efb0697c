"""Durations and sizes as people write them."""

import pytest

from headway.core.errors import HeadwayError
from headway.core.quantities import bytes_of, seconds_of


def test_what_people_write() -> None:
    assert [seconds_of(t) for t in ("90s", "1.5m", "2h", "30d", "1w")] == [90.0, 90.0, 7200.0, 2592000.0, 604800.0]
    assert [bytes_of(t) for t in ("7", "7B", "64KiB", "1MiB", "2 MB", "1GiB")] == [
        7,
        7,
        65536,
        1 << 20,
        2 * 10**6,
        1 << 30,
    ]


@pytest.mark.parametrize("text", ["", "d", "30", "-1d", "3 y", "nan"])
def test_no_duration(text: str) -> None:
    with pytest.raises(HeadwayError, match="is not a duration"):
        seconds_of(text)


@pytest.mark.parametrize("text", ["", "MiB", "-1", "1mib", "1.5MiB"])
def test_no_size(text: str) -> None:
    with pytest.raises(HeadwayError, match="is not a size"):
        bytes_of(text)
