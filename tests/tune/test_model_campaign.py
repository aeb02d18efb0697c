"""A whole campaign with the model agent over HTTP, in both protocols, through everything that goes wrong."""

import pytest

pytest.importorskip("pydantic_ai")

from benchmarks.model_campaign import rows, shared


def test_a_campaign_through_every_trouble_ends_with_the_right_incumbent() -> None:
    found = list(rows(14))
    assert [row["protocol"] for row in found] == ["openai", "anthropic"]
    for row in found:
        assert row["right incumbent"] and row["all troubles seen"], row
        assert row["attempts"] == 14 and row["requests"] > 14
        assert 0 < row["same prefix, least"] <= row["same prefix, mean"] < 1


def test_the_share_of_a_prefix_counts_bytes() -> None:
    assert (shared(b"abcd", b"abxy"), shared(b"", b"ab"), shared(b"ab", b"ab")) == (0.5, 0.0, 1.0)
