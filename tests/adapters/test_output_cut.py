"""Output cut while it streams in: head and tail, and no secret cut into two halves that nobody recognises."""

import pytest

from headway.adapters.masking import Masker
from headway.adapters.output_cut import OutputCut

TOKEN = "ghp_" + "Zz9y" * 9
SECRET = "correct horse battery staple"


def test_what_fits_is_whole() -> None:
    output = OutputCut(10)
    output.feed(b"0123456789")
    assert output.text() == b"0123456789" and not output.truncated


@pytest.mark.parametrize("limit", range(20_000, 20_130, 9))
def test_a_secret_at_the_cut_is_gone_from_both_sides(limit: int) -> None:
    output = OutputCut(limit)
    for _ in range(2_000):
        output.feed(f"token {TOKEN} and {SECRET}\n".encode())
    assert output.truncated
    kept = Masker([SECRET]).mask(output.text())
    assert len(kept) > 5_000
    for piece in ("Zz9y", "ghp_", "horse", "correct", "battery"):
        assert piece.encode() not in kept
