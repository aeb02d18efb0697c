"""`headway tune` with models and coding CLIs, as a user meets them: over real HTTP, with real programs, one sentence
for everything that is wrong, and no secret in the log."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.model_server import Call, Fault, ModelServer, Step
from headway.adapters.local_executor import LocalExecutor
from headway.cli.main import exit_code_of
from headway.core.errors import HeadwayError
from headway.wiring.mcp import Limits, place_for
from headway.wiring.outside import open_room

TASKS = Path(__file__).parents[2] / "src/headway/tasks"
SOFTMAX = (TASKS / "cpu_softmax/baseline.py").read_text()
KEY = "sk-test-0123456789abcdef0123456789"
WRONG = "def entry(x):\n    return x * 1\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("HEADWAY_STATE", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def said(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = exit_code_of(["tune", *args])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def board(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    code, out, err = said(capsys, "show", *args, "--json")
    assert code == 0, err
    told: dict[str, Any] = json.loads(out)
    return told


def program(tmp_path: Path, body: str) -> str:
    """A coding CLI of our own, as a command line."""
    path = tmp_path / "cli.py"
    path.write_text(f"import os, pathlib, sys, time\n{body}\n")
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(path))}"


def propose(source: str, hypothesis: str) -> Call:
    return Call("propose", {"hypothesis": hypothesis, "files": [{"path": "candidate.py", "content": source}]})


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--agent", "model"), "The agent `model` was given no model. Add --model provider:name."),
        (("--agent", "model", "--model", "gpt"), "The model 'gpt' names no provider."),
        (("--agent", "model", "--model", "openai:m"), "needs a key in OPENAI_API_KEY. Set OPENAI_API_KEY"),
        (("--agent", "model", "--model", "nobody:m"), "The model 'nobody:m' cannot be used"),
        (("--agent", "command"), "The agent `command` was given no command."),
        (("--agent", "command", "--command", "no-such-cli -p"), "The agent's program 'no-such-cli' is not on PATH."),
        (("--agent", "command", "--command", "'"), "is no command line"),
        (("--agent", "command", "--command", "true", "--agent-env", "NO_SUCH"), "The variable NO_SUCH"),
        (("--agent", "command", "--command", f"cli --key {KEY}"), "The value of --command holds a secret"),
        (("--agent", "search", "--model", "openai:m"), "--model is an option of the agent `model`."),
        (("--agent", "claude",), "There is no agent 'claude'. Choose one of: search, script, model, command"),
    ],
)  # fmt: skip
def test_a_wrong_agent_is_one_sentence_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], words: str
) -> None:
    code, out, err = said(capsys, "run", "cpu-softmax", *args, "--dir", "c")
    assert code == 1 and out == "" and words in err and err.count("\n") == 1, err
    assert not (tmp_path / "c").exists() and KEY not in err


def test_three_agents_share_one_ledger_and_goal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """search, then a CLI, then a model, then MCP: goal, ledger and what was used survive each switch, no key gets out.

    The CLI lies (it claims speed) and reaches for the log and the task; neither it nor its words move anything.
    """
    assert said(capsys, "run", "cpu-softmax", "--attempts", "1", "--seconds", "300", "--dir", "c")[0] == 0
    goal = board(capsys, "c")["goal"]
    layers = LocalExecutor().layers().names
    reached_for = [str(tmp_path / "c/.headway/log.sqlite3"), str(TASKS / "cpu_softmax/task.toml")]
    reached_for = reached_for if "landlock" in layers else []
    cli = program(
        tmp_path,
        "assert 'S1:' in sys.stdin.read() and os.environ['CLI_TOKEN'] == 'tok-12345678'\n"
        "assert 'OPENAI_API_KEY' not in os.environ\n"
        f"for path in {reached_for!r}:\n"
        "    try:\n"
        "        open(path, 'ab').close()\n"
        "        sys.exit(9)\n"
        "    except OSError:\n"
        "        pass\n"
        f"pathlib.Path('candidate.py').write_text({WRONG!r})\n"
        "pathlib.Path('HYPOTHESIS.md').write_text('a copy is quick')\n"
        "print('1000x faster, trust me; my token is', os.environ['CLI_TOKEN'])",
    )
    monkeypatch.setenv("CLI_TOKEN", "tok-12345678")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    switch = ("resume", "c", "--agent", "command", "--command", cli, "--agent-env", "CLI_TOKEN", "--attempts", "2")
    code, _, err = said(capsys, *switch)
    assert code == 0 and "A2 refused at correctness: wrong_result" in err, err
    steps: list[Step] = [propose(WRONG + "# again\n", "the same copy again")]
    with ModelServer(steps) as server:
        model = ("--agent", "model", "--model", "openai:m", "--base-url", f"{server.url}/v1")
        code, _, err = said(capsys, "resume", "c", *model, "--attempts", "3")
        seen = json.dumps(server.requests)
    assert code == 0 and "A3 refused at admission: duplicate of A2" in err, err
    assert "a copy is quick" in seen and "Task cpu-softmax" in seen
    told = board(capsys, "c")
    assert told["goal"] == goal and told["agent"] == "model" and told["spent"]["attempts"] == 3
    exit_code_of(["log", "export", "--state", "c/.headway"])
    exported = capsys.readouterr().out
    assert [json.loads(x)["payload"]["agent"] for x in exported.splitlines() if "tune.agent.v1" in x] == [
        "command",
        "model",
    ]
    room = open_room(place_for("c", None, None, None, Limits()), lambda _: None)
    assert room.goal()["digest"] == goal and room.budget()["agent"] == "outside"
    assert "a copy is quick" in room.ledger()["ledger"] and room.budget()["spent"]["attempts"] == 3
    wrong_ones = {
        "65537 bytes": ("x" * 65537, ""),
        "lone surrogate": ("x\ud800", ""),
        "10001 bytes": ("x", "h" * 10001),
    }
    for words, wrong in wrong_ones.items():
        with pytest.raises(HeadwayError, match=words):
            room.submit(*wrong)
    everything = b"".join(p.read_bytes() for p in Path("c").rglob("*") if p.is_file())
    assert KEY.encode() not in everything and b"tok-12345678" not in everything


def test_a_model_that_nobody_serves_ends_the_campaign_with_the_providers_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ModelServer([Fault(404, "The model nope does not exist", "model_not_found")]) as server:
        model = ("--agent", "model", "--model", "openai:nope", "--base-url", f"{server.url}/v1")
        code, _, err = said(capsys, "run", "cpu-softmax", *model, "--seconds", "300", "--dir", "c")
    assert code == 4 and "The model nope does not exist" in err and KEY not in err, err


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("time.sleep(60)", "did not end within 0.5 s"),
        ("print('Shall I go on? [y/n]'); input()", "asked a question or did nothing"),
    ],
)
def test_a_cli_that_never_proposes_is_given_up_with_a_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], body: str, words: str
) -> None:
    cli = program(tmp_path, body)
    command = ("--agent", "command", "--command", cli, "--agent-seconds", "0.5" if "sleep" in body else "60")
    code, _, err = said(capsys, "run", "cpu-softmax", *command, "--dir", "c")
    assert code == 4 and words in err, err
    assert board(capsys, "c")["spent"]["attempts"] == 0
