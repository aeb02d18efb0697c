import tempfile
from pathlib import Path

from shop import receipts

PLACE = Path(tempfile.gettempdir()) / "receipts.txt"


def test_no_receipts_yet():
    assert receipts.count(PLACE) == 0


def test_two_receipts():
    receipts.append(PLACE, "one")
    receipts.append(PLACE, "two")
    assert receipts.count(PLACE) == 2
