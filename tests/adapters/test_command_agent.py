"""The command agent with real scripted programs: what they changed is the proposal, whatever they say."""

import os
import sys
import time
from pathlib import Path

import pytest

from headway.adapters.command_agent import CommandAgent, CommandLine
from headway.adapters.local_executor import LocalExecutor
from headway.core.ports.agent import AgentLimits, NoProposal, Proposal, Request

REQUEST = Request("optimise", "GOAL: faster.", {"src/candidate.py": "x = 0\n", "notes.txt": "n\n"}, AgentLimits(10.0))


@pytest.fixture(scope="module")
def executor() -> LocalExecutor:
    return LocalExecutor()


def ask(
    executor: LocalExecutor, tmp_path: Path, program: str, request: Request = REQUEST, **line
) -> Proposal | NoProposal:
    script = tmp_path / "agent.py"
    script.write_text("import os, sys, time, pathlib\n" + program)
    agent = CommandAgent(CommandLine((sys.executable, str(script), "{request}"), **line), executor, os.environ)
    return agent.propose(request)


def test_of_a_task_of_many_files_it_may_add_change_and_take_away_and_reads_the_rest(
    executor: LocalExecutor, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    (tree / "src").mkdir(parents=True)
    for name in ("src/a.py", "src/b.py", "frozen.txt"):
        (tree / name).write_text("old\n")
    files = {"src/a.py": "a = 0\n", "src/b.py": "b = 0\n"}
    request = Request("optimise", "GOAL", files, AgentLimits(10.0), beside=tree, editable=("src/*.py",))
    program = """
assert pathlib.Path('frozen.txt').read_text() == 'old\\n' and pathlib.Path('src/a.py').read_text() == 'a = 0\\n'
pathlib.Path('src/a.py').write_text('a = 1\\n')
pathlib.Path('src/b.py').unlink()
pathlib.Path('src/new.py').write_text('n = 1\\n')
pathlib.Path('frozen.txt').write_text('melted')
pathlib.Path('src/link.py').symlink_to('/etc/passwd')
"""
    answer = ask(executor, tmp_path, program, request)
    assert isinstance(answer, Proposal), answer
    assert answer.files == {"src/a.py": "a = 1\n", "src/new.py": "n = 1\n"} and answer.deleted == ("src/b.py",)
    assert (tree / "frozen.txt").read_text() == "old\n"


def test_what_it_changed_is_the_proposal(executor: LocalExecutor, tmp_path: Path) -> None:
    program = """
assert 'GOAL: faster.' in pathlib.Path(sys.argv[1]).read_text() and 'GOAL: faster.' in sys.stdin.read()
pathlib.Path('src/candidate.py').write_text('x = 1\\n')
pathlib.Path('HYPOTHESIS.md').write_text('one is faster\\nthan zero')
pathlib.Path('extra.py').write_text('never taken')
print('I made it 900x faster')
"""
    answer = ask(executor, tmp_path, program)
    assert isinstance(answer, Proposal), answer
    assert answer.files == {"src/candidate.py": "x = 1\n"}
    assert answer.hypothesis == "one is faster than zero" and "900x" in answer.transcript


@pytest.mark.parametrize(
    ("program", "kind", "words"),
    [
        ("print('Shall I go on? [y/n]'); input()", "declined", "no editable file was changed"),
        ("pass", "declined", "asked a question or did nothing"),
        ("sys.exit(3)", "declined", "exit code 3"),
        ("os.kill(os.getpid(), 9)", "died", "KILL"),
        ("pathlib.Path('src/candidate.py').unlink()", "malformed", "removed src/candidate.py"),
        (
            "p = pathlib.Path('src/candidate.py'); p.unlink(); p.symlink_to('/etc/passwd')",
            "malformed",
            "something else in its place",
        ),
        ("pathlib.Path('src/candidate.py').write_bytes(b'\\xff\\xfe')", "malformed", "encoding"),
        ("pathlib.Path('src/candidate.py').write_text('x' * 3_000_000)", "malformed", "larger than"),
    ],
)
def test_everything_else_is_no_proposal(executor, tmp_path, program: str, kind: str, words: str) -> None:
    answer = ask(executor, tmp_path, program)
    assert isinstance(answer, NoProposal), answer
    assert (answer.kind, answer.permanent) == (kind, False) and words in answer.message


def test_a_program_that_hangs_is_ended_with_its_children(executor: LocalExecutor, tmp_path: Path) -> None:
    quick = Request("optimise", "GOAL", {"a": "1"}, AgentLimits(1.5))
    began = time.monotonic()
    answer = ask(executor, tmp_path, "import subprocess; subprocess.run(['sleep', '60'])", quick)
    assert isinstance(answer, NoProposal) and answer.kind == "timed_out"
    assert time.monotonic() - began < 20


def test_an_absent_program_is_permanent_and_named(executor: LocalExecutor) -> None:
    agent = CommandAgent(CommandLine(("no-such-coding-agent",)), executor, os.environ)
    answer = agent.propose(REQUEST)
    assert isinstance(answer, NoProposal) and answer.permanent and "no-such-coding-agent" in answer.message


def test_it_sees_only_the_variables_it_was_given(executor: LocalExecutor, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_0123456789abcdef0123456789abcdef0123")
    monkeypatch.setenv("MY_MODEL_KEY", "a-key")
    program = "pathlib.Path('notes.txt').write_text(str('GITHUB_TOKEN' in os.environ) + os.environ['MY_MODEL_KEY'])"
    answer = ask(executor, tmp_path, program, env=("PATH", "MY_MODEL_KEY"))
    assert isinstance(answer, Proposal) and answer.files == {"notes.txt": "Falsea-key"}


def test_it_cannot_write_outside_its_folder(executor: LocalExecutor, tmp_path: Path) -> None:
    if "landlock" not in executor.layers().names:
        pytest.skip("needs Landlock")
    outside = tmp_path / "outside"
    program = f"""
try:
    pathlib.Path({str(outside)!r}).write_text('gotcha')
except OSError:
    pathlib.Path('notes.txt').write_text('kept in')
"""
    answer = ask(executor, tmp_path, program)
    assert isinstance(answer, Proposal) and answer.files == {"notes.txt": "kept in"} and not outside.exists()
