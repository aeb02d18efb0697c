"""An outside agent's campaign over MCP in which client and server are killed: is a submission lost or counted twice?

    python -m benchmarks.mcp_campaign [--json] [--submissions 24] [--kills 4] [--keep DIR]

`headway mcp --http` serves `cpu-softmax` with the real worker; the client is the SDK's own, in a process of its own.
Both are ended with SIGKILL in turns and started again with the same command line. The client remembers nothing: it
begins anew with the same keys. `transcript.jsonl` in DIR has every call with its answer, and every kill.
"""

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.table import Row, show
from headway.core.events import decode
from headway.core.events_tune import AttemptRanked, AttemptRefused, JobDone, Proposed, SubmissionTaken
from headway.core.submissions import submitted
from headway.tune.campaign import home_of
from headway.wiring.state import open_state
from headway.wiring.tune import TASKS

TASK = "cpu-softmax"
ID = f"{TASK}-1"
CALL_SECONDS = 40.0
BASELINE = (TASKS / "cpu_softmax/baseline.py").read_text()


def candidate(number: int) -> tuple[str, str]:
    """The n-th submission: right ones, wrong ones, and ones that are not admitted."""
    mark = f"\nNUMBER = {number}\n"
    if number == 12:
        return BASELINE + mark, "the baseline again, which is right and no faster"
    if number % 6 == 1:
        return f"def entry(x):\n    return x * {number}\n", f"scaling by {number} is quick"
    return f"import os\n{BASELINE}{mark}", f"read the answer from the disk, way {number}"


async def client(url: str, submissions: int, transcript: Path) -> None:
    """Submit everything and follow each job to its end; five calls and more for each submission."""
    from mcp import Client

    with transcript.open("a") as file:

        async def call(session: Any, tool: str, **arguments: Any) -> dict[str, Any]:
            async with asyncio.timeout(CALL_SECONDS):
                result = await session.call_tool(tool, arguments)
            answer: dict[str, Any] = result.structured_content or {"error": result.content[0].text}
            said = {"tool": tool, "arguments": {k: str(v)[:80] for k, v in arguments.items()}, "answer": answer}
            file.write(json.dumps({"at": time.time(), **said}) + "\n")
            file.flush()
            return answer

        async with Client(url) as session:
            assert "# GOAL" in (await call(session, "goal"))["goal"]
            for number in range(1, submissions + 1):
                source, hypothesis = candidate(number)
                key = f"key-{number}"
                job = (await call(session, "submit", source=source, hypothesis=hypothesis, key=key))["job"]
                while (await call(session, "job", job=job, wait_seconds=10))["state"] != "done":
                    pass
                for tool in ("ledger", "incumbent", "budget"):
                    await call(session, tool)


def persistent_client(url: str, submissions: int, transcript: Path) -> None:
    """The client, begun anew as often as the server goes away under it."""
    while True:
        try:
            asyncio.run(client(url, submissions, transcript))
            return
        except Exception as gone:  # whatever the SDK makes of a server that was killed
            with transcript.open("a") as file:
                file.write(json.dumps({"at": time.time(), "lost": type(gone).__name__}) + "\n")
            time.sleep(0.5)


def row(folder: Path, submissions: int, kills: int) -> Row:
    """Run the campaign under kills, then recount it from its log."""
    transcript, port = folder / "transcript.jsonl", free_port()
    began = time.monotonic()
    server, caller = start_server(folder, port), start_client(port, submissions, transcript)
    marks = [round((kill + 1) * submissions / (kills + 1)) for kill in range(kills)]
    killed = Counter[str]()
    try:
        while caller.poll() is None:
            time.sleep(0.05)
            if server.poll() is not None:
                raise AssertionError(f"the server ended by itself: {(folder / 'server.err').read_text()[-2000:]}")
            if marks and taken(transcript) >= marks[0]:
                marks.pop(0)
                side = "server" if killed["server"] <= killed["client"] else "client"
                killed[side] += 1
                note(transcript, side)
                if side == "server":
                    kill(server)
                    server = start_server(folder, port)
                else:
                    kill(caller)
                    caller = start_client(port, submissions, transcript)
        assert caller.returncode == 0, caller.returncode
    finally:
        kill(server)
        kill(caller)
    calls = [json.loads(line) for line in transcript.read_text().splitlines()]
    return {
        "submissions": submissions,
        "calls answered": sum("tool" in c for c in calls),
        "server killed": killed["server"],
        "client killed": killed["client"],
        **recount(folder),
        "longest gap s": round(max(b["at"] - a["at"] for a, b in pairwise(calls)), 1),
        "seconds": round(time.monotonic() - began, 1),
    }


def recount(folder: Path) -> dict[str, Any]:
    """What the log holds: each submission once, each job once, each attempt with one end."""
    home = home_of(ID)
    with open_state(folder / "campaign/.headway", read_only=True) as opened:
        events = [decode(r.type, r.payload) for r in opened.log.read(home)]
        waiting = submitted(opened.log, home)
    taken_up = [e.submission for e in events if isinstance(e, SubmissionTaken)]
    jobs = [e.key for e in events if isinstance(e, JobDone)]
    ends = [e.attempt for e in events if isinstance(e, AttemptRefused | AttemptRanked)]
    return {
        "in the log": len(waiting),
        "taken once each": taken_up == list(range(1, len(waiting) + 1)),
        "attempts": sum(isinstance(e, Proposed) for e in events),
        "ended once each": sorted(ends) == list(range(1, len(waiting) + 1)),
        "jobs counted twice": len(jobs) - len(set(jobs)),
    }


def start_server(folder: Path, port: int) -> "subprocess.Popen[bytes]":
    argv = [sys.executable, "-m", "headway", "mcp", "--task", TASK, "--dir", str(folder / "campaign")]
    argv += ["--attempts", "1000", "--seconds", "3600", "--stall", "1000", "--http", str(port)]
    with (folder / "server.err").open("ab") as said:
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=environment())


def start_client(port: int, submissions: int, transcript: Path) -> "subprocess.Popen[bytes]":
    argv = [sys.executable, "-m", "benchmarks.mcp_campaign", "--submissions", str(submissions)]
    argv += ["--client", f"http://127.0.0.1:{port}/mcp", "--keep", str(transcript)]
    return subprocess.Popen(argv, env=environment())


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def kill(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()


def note(transcript: Path, side: str) -> None:
    with transcript.open("a") as file:
        file.write(json.dumps({"at": time.time(), "killed": side}) + "\n")


def taken(transcript: Path) -> int:
    """The highest job that the client was told of so far."""
    if not transcript.exists():
        return 0
    lines = [json.loads(line) for line in transcript.read_text().splitlines() if line.endswith("}")]
    jobs = [int(line["answer"]["job"][1:]) for line in lines if line.get("tool") == "submit"]
    return max(jobs, default=0)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--submissions", type=int, default=24)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--client", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.client:
        persistent_client(options.client, options.submissions, options.keep)
        return 0
    with tempfile.TemporaryDirectory(prefix="headway-mcp-") as name:
        folder = options.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        return show("headway.mcp-campaign/1", [row(folder, options.submissions, options.kills)], as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
