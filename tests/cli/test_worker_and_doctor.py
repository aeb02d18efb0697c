"""`headway worker --pack` and the packed file, and `headway doctor`, from the outside."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from headway.adapters.spool_worker import SpoolWorker
from headway.cli.main import exit_code_of
from headway.core.ports.worker import WorkerJob
from tests.worker.tiny_task import BASELINE, tiny_task


def test_the_packed_worker_drains_a_spool_far_from_headway(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = tmp_path / "away" / "worker.pyz"
    packed.parent.mkdir()
    assert exit_code_of(["worker", "--pack", str(packed)]) == 0
    assert "worker.pyz --spool DIR" in capsys.readouterr().out
    spool = SpoolWorker(tmp_path / "spool")
    spool.submit(WorkerJob("a", tiny_task(tmp_path / "tiny"), BASELINE, "full", seed=1, pairs=2))
    argv = [sys.executable, str(packed), "--spool", str(spool.folder), "--deadline", "60"]
    done = subprocess.run(argv, cwd=packed.parent, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr
    result = spool.collect("a", 0)
    assert result is not None and result.outcome == "measured", done.stderr


def test_packing_twice_gives_the_same_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert exit_code_of(["worker", "--pack", str(tmp_path / name)]) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_worker_without_orders_and_a_pack_to_nowhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(["worker", "--pack", str(tmp_path / "no" / "where.pyz")]) == 1
    assert exit_code_of(["worker", "--no-wait"]) == 1
    said = capsys.readouterr().err
    assert "could not be packed" in said
    assert "--spool DIR, or --pack FILE" in said


def test_the_doctor_names_what_is_here_and_what_to_install(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(["doctor", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    rows = {row["name"]: row for row in told["findings"]}
    assert told["schema"] == "headway.doctor/1"
    assert rows["git"]["ok"] and rows["numpy"]["ok"]
    assert "stopped-between-calls" in rows["sandbox"]["found"]
    assert all(row["ok"] or row["install"] or row["found"] for row in rows.values())
