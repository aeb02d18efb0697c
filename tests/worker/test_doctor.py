"""What the doctor says of a GPU's counters, from the driver's own file."""

from pathlib import Path

import pytest

from headway.worker.doctor import counters


@pytest.mark.parametrize(
    ("words", "root", "installed", "ok", "found"),
    [
        (None, True, True, False, ""),
        ("ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n", False, True, False, "could not run: the driver"),
        ("RmProfilingAdminOnly: 1\n", True, True, True, "may be read"),
        ("RmProfilingAdminOnly: 0\n", False, True, True, "may be read"),
        ("RmProfilingAdminOnly: 0\n", False, False, False, "may be read, but there is no ncu"),
    ],
)
def test_counters_may_be_read_or_the_reason_is_told(
    words: str | None, root: bool, installed: bool, ok: bool, found: str, tmp_path: Path
) -> None:
    params = tmp_path / "params"
    if words is not None:
        params.write_text(words)
    told = counters(params, root, installed)
    assert told.ok is ok and told.found.startswith(found)
    assert told.install
