"""Autotuners in the lab's hands: chosen alone, told, pinned, and the same again when the same source comes back."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")


def test_a_real_autotuner_chooses_when_it_is_told_to_and_never_later(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.worker.tuned_kernel"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["right"] and told["right_again"] and told["right_pinned"]
    assert (told["crowded"], told["timed_crowded"]) == (16, [])  # beside others nothing is timed: the first stands
    assert told["tuners"] == 1
    assert told["ran"] == 64  # the fastest by the clock, though it stands second
    (chosen,) = told["chosen"]
    assert chosen["kernel"] == "double" and chosen["of"] == 3 and chosen["config"].startswith("BLOCK: 64,")
    assert [us for _, us in chosen["microseconds"]] == [62500.0, 15625.0, 31250.0]
    assert told["timed_pinned"] == 0
    assert told["late"] == ["double"]
    assert told["ran_given"] == 32 and told["given"][0].startswith("BLOCK: 32,")
    assert told["timed_given"] == 0  # what was chosen once is not timed again
