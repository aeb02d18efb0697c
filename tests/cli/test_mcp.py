"""`headway mcp` with the SDK's own client, over stdio and HTTP, with the real worker and real kills."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp import Client, StdioServerParameters

from benchmarks.mcp_campaign import environment, row
from headway.cli.main import exit_code_of
from headway.wiring.mcp import Limits, place_for

WRONG = "def entry(x):\n    return x * 2\n"
BANNED = "import os\n" + WRONG
TOOLS = {"goal", "submit", "job", "profile", "ledger", "recall", "incumbent", "budget"}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEADWAY_STATE", raising=False)


def server(folder: Path, *more: str) -> StdioServerParameters:
    args = ["-m", "headway", "mcp", "--task", "cpu-softmax", "--dir", str(folder), "--seconds", "600", *more]
    return StdioServerParameters(command=sys.executable, args=args, env={**os.environ, **environment()})


async def call(client: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    told: dict[str, Any] = result.structured_content
    return told


async def fails(client: Any, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    words: str = result.content[0].text
    return words


async def verdict(client: Any, job: str) -> dict[str, Any]:
    while (told := await call(client, "job", job=job, wait_seconds=10))["state"] != "done":
        pass
    return told


def test_an_outside_agent_over_stdio_meets_goal_gates_and_ledger(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "c"

    async def first() -> None:
        async with Client(server(folder)) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
            goal = await call(client, "goal")
            assert goal["goal"].startswith("# GOAL") and goal["candidate_file"] == "candidate.py"
            assert (await call(client, "incumbent"))["attempt"] is None
            assert "no job J7" in await fails(client, "job", job="J7")
            assert "no source" in await fails(client, "submit", source=" ", hypothesis="")
            assert "65536" in await fails(client, "submit", source="#" * 70_000, hypothesis="")
            # answered before the baseline is measured, and durable from here on
            told = await call(client, "submit", source=BANNED, hypothesis="read the disk", key="mine")
            assert told["job"] == "J1" and told["state"] == "queued"

    async def second() -> None:
        async with Client(server(folder)) as client:
            again = await call(client, "submit", source=BANNED, hypothesis="read the disk", key="mine")
            assert again["job"] == "J1"
            assert "another candidate" in await fails(client, "submit", source=WRONG, hypothesis="", key="mine")
            told = await verdict(client, "J1")
            assert (told["verdict"], told["reason"], told["attempt"]) == ("refused", "banned_import", 1)
            job = (await call(client, "submit", source=BANNED + "# more\n", hypothesis="again", parent="A1"))["job"]
            told = await verdict(client, job)
            assert told["reason"] == "duplicate"
            ledger = (await call(client, "ledger"))["ledger"]
            assert "S1: read the disk" in ledger and "S2: again" in ledger
            assert BANNED in (await call(client, "recall", name="A1"))["text"]
            assert "no profile" in await fails(client, "profile", attempt="A1")
            told = await call(client, "budget")
            assert told["spent"]["attempts"] == 2 and told["waiting"] == 0 and told["trouble"] == ""

    asyncio.run(first())
    asyncio.run(second())
    assert exit_code_of(["tune", "stop", "c"]) == 0
    assert exit_code_of(["tune", "run", "cpu-softmax", "--agent", "outside", "--model", "a:b"]) == 1
    assert exit_code_of(["log", "verify", "--state", "c/.headway"]) == 0

    async def after_the_end() -> None:
        async with Client(server(folder)) as client:
            assert "has ended (stopped" in await fails(client, "submit", source=WRONG, hypothesis="too late")

    asyncio.run(after_the_end())
    capsys.readouterr()


def test_a_kill_of_either_side_loses_nothing_and_counts_nothing_twice(tmp_path: Path) -> None:
    found = row(tmp_path, submissions=4, kills=2)
    assert (found["server killed"], found["client killed"]) == (1, 1), found
    assert found["in the log"] == found["attempts"] == 4
    assert found["taken once each"] and found["ended once each"] and found["jobs counted twice"] == 0
    assert found["calls answered"] > 5 * 4


def test_what_cannot_be_served_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(["mcp", "--task", "cpu-softmax", "--dir", "c", "--http", "1", "--host", "0.0.0.0"]) == 1
    assert "0.0.0.0 can be reached from other machines" in capsys.readouterr().err and not Path("c").exists()
    place_for(None, "cpu-softmax", Path("c"), None, Limits())
    assert exit_code_of(["mcp", "--task", "cpu-matmul", "--dir", "c"]) == 1
    assert "holds a campaign on cpu-softmax, not on this cpu-matmul." in capsys.readouterr().err
    assert exit_code_of(["mcp", "nowhere"]) == 1
    assert "no campaign 'nowhere' here" in capsys.readouterr().err
