"""An agent may propose a fix: rails, L1 and the failing tests decide, and the issue keeps facts and words apart."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from headway.cli.main import exit_code_of
from tests.validate.plain_executor import no_sandbox  # noqa: F401
from tests.validate.shell_forks import FILES, TOML, WRONG, ShellFork, new_shell_fork

pytestmark = pytest.mark.usefixtures("no_sandbox")
AGENT = """
import pathlib, sys
file = pathlib.Path("engine.sh")
choice = sys.argv[1]
said = pathlib.Path(sys.argv[2]).read_text() if len(sys.argv) > 2 else ""
if choice == "right" or "still fails" in said:
    file.write_text({right!r})
elif choice == "second":
    file.write_text({wrong!r} + "# tried\\n")
elif choice == "test":
    pathlib.Path("checks").mkdir(exist_ok=True)
    pathlib.Path("checks/doubles").write_text("true\\n")
pathlib.Path("HYPOTHESIS.md").write_text("the factor was wrong")
"""


@pytest.fixture
def fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> ShellFork:
    toml = TOML.replace('suites = ["unit", "speed"]', 'suites = ["unit"]')
    fork = new_shell_fork(tmp_path, toml)
    monkeypatch.chdir(fork.repo.path)
    assert exit_code_of(["validate", "run", "L2"]) == 0
    fork.commit("guilty", {"engine.sh": WRONG})
    assert exit_code_of(["validate", "run", "L2"]) == 1
    (tmp_path / "agent.py").write_text(AGENT.format(right=FILES["engine.sh"], wrong=WRONG))
    capsys.readouterr()
    return fork


def test_a_proposal_is_judged_and_a_good_one_becomes_a_branch(
    fork: ShellFork, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code_of(["validate", "show", "--json"]) == 0
    signature = json.loads(capsys.readouterr().out)["failures"][0]["signature"]

    def fix(choice: str, *more: str) -> tuple[int, dict]:
        command = shlex.join([sys.executable, str(tmp_path / "agent.py"), choice, "{request}"])
        code = exit_code_of(["validate", "fix", signature, "--command", command, *more, "--json"])
        shown = capsys.readouterr()
        return code, json.loads(shown.out) if shown.out else {"said": shown.err}

    assert fix("test", "--tries", "1")[0] in (1, 4), "a test is nothing that it may edit"
    code, told = fix("second", "--tries", "1")
    assert code == 1 and told["reason"] == "not_mended" and "checks::doubles still fails" in told["message"]
    assert fork.repo.git("for-each-ref", "refs/heads/headway") == ""
    code, told = fix("second")
    assert code == 0 and told["branch"] == f"headway/fix-{signature}", "told why, it does better"
    assert fork.repo.git("show", f"{told['branch']}:engine.sh") == str(FILES["engine.sh"]).strip()
    assert fork.repo.git("rev-parse", "main") == fork.repo.head(), "trunk is where it was"

    exit_code_of(["validate", "run", "L2"])
    [issue] = fork.issues()
    assert f"branch `headway/fix-{signature}`" in issue["body"]
    assert issue["body"].index("**Culprit search**") < issue["body"].index("An agent's words")
    capsys.readouterr()
    assert exit_code_of(["validate", "fix", "nothing", "--command", "true"]) == 1
    assert "There is no open failure 'nothing'" in capsys.readouterr().err
