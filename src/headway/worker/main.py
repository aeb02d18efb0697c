"""The worker's command line: drain a spool, and stop whole."""

import argparse
import faulthandler
import json
import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from . import doctor, sandbox
from .jobs import read_job
from .likeness import index_of
from .refusals import CouldNotRun
from .spool import Claim, Spool, without_figures

if TYPE_CHECKING:
    from .judge import Judge

POLL_SECONDS = 0.01
GATHER_SECONDS = 0.2
"""Jobs that belong together are sent one after the other: a batch begins when so long none has come."""
MARGIN_SECONDS = 1.0


class DeadlineReached(BaseException):
    """The time is up: the job under way is given back, without a result."""


def main(argv: list[str]) -> int:
    """0: the spool is drained or the deadline came; 1: no spool; 2: a wrong command line; 4: no numpy."""
    parser = argparse.ArgumentParser(prog="worker", description="Judge kernel candidates from a spool folder.")
    parser.add_argument("--spool", type=Path, help="folder with jobs/, claims/ and results/")
    parser.add_argument("--deadline", type=float, help="seconds after which nothing is started or continued")
    parser.add_argument("--wait", action="store_true", help="stay for further jobs until a file `stop` appears")
    parser.add_argument("--at-once", type=int, default=1, help="GPU jobs to compile and check side by side")
    parser.add_argument("--until-eof", action="store_true", help="end when standard input does")
    parser.add_argument("--index", type=Path, help="make an index of this package's folder, for a task's admission")
    parser.add_argument("--out", type=Path, help="with --index: the file to write")
    parser.add_argument("--doctor", action="store_true", help="say what this machine can do, and what to install")
    parser.add_argument("--json", action="store_true", help="with --doctor: one JSON document")
    options = parser.parse_args(argv)
    if options.doctor:
        return _tell_doctor(options.json)
    if options.index is not None:
        return _write_index(options.index, options.out or parser.error("--index FOLDER needs --out FILE"))
    if options.spool is None:
        parser.error("--spool DIR (or --doctor) is needed")
    try:
        from .judge import Judge
    except ImportError as missing:
        print(f"worker: {missing}; `--doctor` says what to install", file=sys.stderr)
        return 4
    sandbox.not_dumpable()
    faulthandler.register(signal.SIGUSR1)  # where it stands, for whoever wonders
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        spool = Spool(options.spool)
    except OSError as fault:
        print(f"worker: the spool {options.spool} cannot be used: {fault.strerror}; name another", file=sys.stderr)
        return 1
    judge = Judge()
    try:
        if options.until_eof:
            threading.Thread(target=_end_with_input, daemon=True).start()
        if options.wait:
            judge.reserve(2)
        if options.deadline is not None:
            signal.signal(signal.SIGALRM, _deadline)
            signal.setitimer(signal.ITIMER_REAL, max(options.deadline - MARGIN_SECONDS, 0.01))
        _drain(spool, judge, options.wait, max(options.at_once, 1))
    except DeadlineReached:
        print("deadline: the job under way was given back", file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        judge.close()
    return 0


def _write_index(folder: Path, target: Path) -> int:
    """0, or 1 with one sentence."""
    try:
        found = index_of(folder)
        if not found["files"]:
            print(f"worker: {folder} holds no Python file", file=sys.stderr)
            return 1
        target.write_text(json.dumps(found))
    except OSError as trouble:
        print(f"worker: {trouble.filename or folder}: {trouble.strerror}", file=sys.stderr)
        return 1
    print(f"{target}: {len(found['prints'])} prints of {found['files']} files")
    return 0


def _tell_doctor(as_json: bool) -> int:
    findings = doctor.findings()
    if as_json:
        print(json.dumps({"schema": "headway.worker-doctor/1", "findings": [one._asdict() for one in findings]}))
    else:
        for one in findings:
            print(f"{'yes' if one.ok else 'no ':3} {one.name:14} {one.found or one.install}  [{one.needed_for}]")
    return 0


def _deadline(_: int, __: "FrameType | None") -> None:
    raise DeadlineReached


def _end_with_input() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _drain(spool: Spool, judge: "Judge", wait: bool, at_once: int) -> None:
    while not spool.stopped():
        claims = _take(spool, at_once)
        if claims:
            _do(spool, judge, claims)
        elif wait:
            time.sleep(POLL_SECONDS)
        else:
            return


def _take(spool: Spool, at_once: int) -> dict[str, Claim]:
    """The oldest job; if it is a GPU's, up to `at_once` of the waiting ones of its task with it."""
    taken: dict[str, Claim] = {}
    first, until = "", 0.0
    while len(taken) < at_once:
        if (claim := spool.take(first)) is not None:
            taken[claim.key] = claim
            first = first or spool.kind_of(claim.key)
            until = time.monotonic() + GATHER_SECONDS
            if not first.startswith("triton "):
                break
        elif taken and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
        else:
            break
    return taken


def _do(spool: Spool, judge: "Judge", claims: dict[str, Claim]) -> None:
    """Do these jobs; each result is put in place as soon as it is there."""

    def finish(key: str, result: dict[str, Any]) -> None:
        spool.finish(claims.pop(key), result)
        print(f"{key}: {result['outcome']}", file=sys.stderr, flush=True)

    try:
        jobs = []
        for claim in list(claims.values()):
            try:
                jobs.append(read_job(spool.folder_of(claim)))
            except CouldNotRun as trouble:
                finish(claim.key, without_figures(claim.key, trouble.code, trouble.message, trouble.advice))
        if jobs:
            judge.evaluate_all(jobs, lambda job, result: finish(job.key, result))
    except Exception as bug:  # a fault of ours ends these jobs, not the worker
        traceback.print_exc()
        message = f"The worker has a bug: {type(bug).__name__}: {bug}"
        for key in list(claims):
            finish(key, without_figures(key, "infrastructure", message[:400], "Report it with worker.log."))
        if "CUDA" in str(bug):
            sys.exit(70)  # an error of the device sticks to a process; whoever started this one starts another
    finally:
        for claim in claims.values():
            spool.release(claim)
