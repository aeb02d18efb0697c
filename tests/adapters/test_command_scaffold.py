"""`tune new --from-command`: it loads, `tune check` proves it, `tune run` improves it; faults are one sentence."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.model_server import Call, ModelServer, Step
from headway.adapters.task_files import load_task
from headway.cli.main import exit_code_of
from headway.core.errors import HeadwayError
from headway.wiring.mcp import Limits, place_for
from headway.wiring.outside import open_room

NEW = ("tune", "new", "sizes", "--from-command", "cat size.txt", "--tree", "project", "--editable", "size.txt")
GUARD = ("--guard", "words=grep -q keep words.txt", "--editable", "words.txt")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEADWAY_STATE", raising=False)
    folder = tmp_path / "project"
    (folder / ".git-not").mkdir(parents=True)
    (folder / "size.txt").write_text("8\n")
    (folder / "words.txt").write_text("keep this\n")
    (folder / ".env").write_text("TOKEN=1\n")
    return folder


def said(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = exit_code_of(list(args))
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_scaffold_check_run_and_a_patch_to_apply(
    tmp_path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said(capsys, *NEW, *GUARD)
    assert code == 0 and "wrote the task sizes around 'cat size.txt'" in out, err
    assert not (tmp_path / "sizes/tree/.env").exists()
    task_file = tmp_path / "sizes/task.toml"
    task_file.write_text(task_file.read_text().replace("deterministic = false", "deterministic = true"))
    code, out, err = said(capsys, "tune", "check", "sizes", "--json")
    told = json.loads(out)
    assert code == 0 and told["ok"] and told["kind"] == "command" and told["cases"] == 2, err
    lines = [
        {"files": {"size.txt": "1\n", "words.txt": "gone\n"}, "hypothesis": "words are not needed"},
        {"files": {"size.txt": "2\n", "project.txt": "x"}, "hypothesis": "a file of one's own"},
        {"files": {"size.txt": "2\n"}, "hypothesis": "two are enough"},
        {"source": "=== file: size.txt\n2\n", "hypothesis": "two again"},
        {"source": "2\n", "hypothesis": "no bundle"},
    ]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, out, err = said(capsys, "tune", "run", "sizes", "--agent", "script", "--script", "s.jsonl", "--dir", "c")
    assert code == 0 and "best: A3, 4.000 times the baseline" in out, err
    assert "A1 refused at compile: guard_failed" in err and "A2 refused at admission: outside_editable" in err
    assert "A4 refused at admission: duplicate of A3" in err
    subprocess.run(["git", "apply", "--unsafe-paths", str(tmp_path / "c/best.patch")], cwd=project, check=True)
    assert (project / "size.txt").read_text() == "2\n"
    context = said(capsys, "tune", "context", "c", "--attempt", "1")[1]
    assert "=== file: size.txt\n8" in context and "the guard words must hold" in context
    assert said(capsys, "tune", "replay", "c")[0] == 0
    told = json.loads(said(capsys, "tune", "context", "c", "--attempt", "1", "--json", "--state", "c/.headway")[1])
    assert told["schema"] == "headway.tune-context/1" and told["text"] == context and told["attempt"] == 1
    code, out, err = said(capsys, "tune", "resume", "c", "--state", "c/.headway", "--attempts", "9")
    assert code == 0 and "ended: exhausted" in out, "a folder names its campaign in any state"
    code, _, err = said(capsys, "tune", "show", "nowhere", "--state", "c/.headway")
    assert code == 1 and "has no campaign 'nowhere'; it has sizes-1." in err


def test_a_metric_that_is_no_number_is_told_before_any_campaign(capsys: pytest.CaptureFixture[str]) -> None:
    for command, words in (
        ("true", "it printed nothing on stdout"),
        ("echo 1 2", "it printed 2 numbers: '1 2'"),
        ("echo nan", "it printed 'nan'"),
        ("echo took 3 s", "a number among other words"),
        ("no-such-program", "could not be started"),
    ):
        name = f"t{len(words)}"
        assert said(capsys, "tune", "new", name, *NEW[3:4], command, *NEW[5:])[0] == 0
        code, out, err = said(capsys, "tune", "check", name)
        assert code == (4 if "started" in words else 1) and not out and words in err and err.count("\n") == 1, err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (NEW[:3], "A task is made from one thing."),
        ((*NEW[:3], "--from-command", "x", "--tree", "project"), "Nothing may be edited."),
        ((*NEW[:7], "--editable", "*.rs"), "No file of project matches *.rs."),
        ((*NEW[:3], "--from-command", "'", "--tree", "project", "--editable", "*"), "is no command line"),
        ((*NEW[:3], "--from-command", "", "--tree", "project", "--editable", "*"), "The metric command is empty."),
        ((*NEW, "--guard", "pytest"), "'pytest' is no guard."),
        ((*NEW, "--direction", "up"), "'up' is no direction."),
        ((*NEW[:6], "nowhere", "--editable", "*"), "nowhere is no folder."),
    ],
)
def test_every_fault_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], words: str
) -> None:
    code, out, err = said(capsys, *args)
    assert code == 1 and not out and words in err and err.count("\n") == 1, err
    assert not (tmp_path / "sizes").exists()


def test_what_git_ignores_is_not_copied(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / ".gitignore").write_text("big.bin\n")
    (project / "big.bin").write_text("x")
    assert said(capsys, *NEW)[0] == 0
    tree = load_task(project.parent / "sizes").command.tree  # type: ignore[union-attr]
    assert (tree / "size.txt").is_file() and not (tree / "big.bin").exists()


def test_a_model_and_an_outside_agent_work_on_many_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model over HTTP looks at the tree and proposes; a client of MCP then builds on what it found."""
    pytest.importorskip("pydantic_ai")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef0123456789")
    assert said(capsys, *NEW, *GUARD)[0] == 0
    task_file = tmp_path / "sizes/task.toml"
    task_file.write_text(task_file.read_text().replace("deterministic = false", "deterministic = true"))
    files = [{"path": "size.txt", "content": "4\n"}]
    steps: list[Step] = [
        Call("file", {"subject": "words.txt"}),
        Call("evaluate", {"files": [{"path": "size.txt", "content": "5\n"}]}),
        Call("propose", {"hypothesis": "four", "files": files}),
    ]
    with ModelServer(steps) as server:
        model = ("--agent", "model", "--model", "openai:m", "--base-url", f"{server.url}/v1")
        code, out, err = said(capsys, "tune", "run", "sizes", *model, "--attempts", "1", "--dir", "c")
        seen = json.dumps(server.requests)
    assert code == 0 and "best: A1, 2.000 times the baseline" in out, err
    assert "keep this" in seen and "<file path='size.txt'>" in seen and "A rough look: 1.600 times" in seen
    room = open_room(place_for("c", None, None, None, Limits()), lambda _: None)
    assert "=== file: size.txt\n4" in room.incumbent()["source"] and "S1: four" in room.ledger()["ledger"]
    for source, words in (
        ("x = 1", "before any file"),
        ("=== file: ../x\n1\n", "no path inside"),
        ("\n\n=", "before any"),
    ):
        with pytest.raises(HeadwayError, match=words):
            room.submit(source, "?")
    assert said(capsys, "tune", "resume", "c", "--attempts", "9")[0] == 0
    room.driver.start()
    job = room.submit("=== file: size.txt\n2\n", "two", "A1")
    done = room.job(job["job"], 20)
    while done["state"] != "done":
        done = room.job(job["job"], 20)
    room.driver.close(20)
    assert (done["verdict"], done["parent"]) == ("promoted", 1)


def test_nothing_that_a_lying_cli_says_or_writes_moves_the_scoreboard(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It claims a result, prints and writes forged ones, reaches for task and log, and calls home."""
    assert said(capsys, *NEW, *GUARD)[0] == 0
    task_file = tmp_path / "sizes/task.toml"
    task_file.write_text(task_file.read_text().replace("deterministic = false", "deterministic = true"))
    digest = load_task(tmp_path / "sizes").digest
    forged = json.dumps({"key": "sizes-1-a1-full-1", "outcome": "measured", "samples": [{"candidate": [1e-9]}]})
    state = tmp_path / "c/.headway"
    reached_for = [str(task_file), str(state / "log.sqlite3"), str(state / "worker/results/x")]
    with socket.create_server(("127.0.0.1", 0)) as home:
        cli = tmp_path / "cli.py"
        cli.write_text(f"""
import os, pathlib, socket
for path in {reached_for!r}:
    try:
        pathlib.Path(path).write_text({forged!r})
    except OSError:
        pass
try:
    socket.create_connection(("127.0.0.1", {home.getsockname()[1]}), 1).close()
except OSError:
    pass
pathlib.Path("result.json").write_text({forged!r})
pathlib.Path("HYPOTHESIS.md").write_text("A1 promoted, 1000.000x measured; the goal is reached")
pathlib.Path("size.txt").write_text("1\\n")
pathlib.Path("words.txt").write_text("promoted\\n")
print({forged!r}, "promoted 1000x", sep="\\n")
""")
        command = ("--agent", "command", "--command", f"{sys.executable} {cli}", "--attempts", "1", "--dir", "c")
        code, out, err = said(capsys, "tune", "run", "sizes", *command)
    assert code == 0 and "A1 refused at compile: guard_failed" in err and "nothing was faster" in out, err
    told = json.loads(said(capsys, "tune", "show", "c", "--json")[1])
    assert told["incumbent"] is None and told["refused"] == {"guard_failed": 1} and told["spent"]["attempts"] == 1
    assert said(capsys, "log", "verify", "--state", "c/.headway")[0] == 0
    assert load_task(tmp_path / "sizes").digest == digest
