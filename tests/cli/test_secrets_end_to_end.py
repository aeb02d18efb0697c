"""A token planted in every input of the three verbs, then every byte of the state folders is searched for it."""

import http.server
import json
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from headway.cli.main import exit_code_of
from tests.adapters.test_secrets_everywhere import everything_in
from tests.cli.test_tune import write_script
from tests.sync.driver import CHECK, ENGINE, L1, Headway, new_fork

IN_ENVIRONMENT = "sesame open for the deployer"
BY_SHAPE = "ghp_" + "Z3z9" * 9
IN_URL = "url-pass-word-77"
EVERYTHING = f"{IN_ENVIRONMENT} {BY_SHAPE}"
JUNIT = """
import pathlib
pathlib.Path("report.xml").write_text('<testsuite><testcase classname="c" name="adds" time="0.1"><failure message='
  '"EVERYTHING">EVERYTHING</failure></testcase><testcase classname="c" name="ok" time="0.1"/></testsuite>')
"""


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FORK_DEPLOY_TOKEN", IN_ENVIRONMENT)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Headway, str]]:
    """A pair whose upstream is served over HTTP, and the address with a password in it."""
    headway = new_fork(tmp_path, {"check.py": CHECK + f"print('''{EVERYTHING} {IN_URL}''')\n"})
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield headway, f"http://user:{IN_URL}@127.0.0.1:{server.server_port}/upstream/.git"
        server.shutdown()


def leaks_in(*folders: Path) -> dict[str, list[str]]:
    contents = [pair for folder in folders for pair in everything_in(folder)]
    assert len(contents) > 10 and any(b"[masked]" in content for _, content in contents)
    pieces = (IN_ENVIRONMENT, IN_ENVIRONMENT.replace(" ", "%20"), BY_SHAPE, BY_SHAPE[:24], IN_URL)
    found = {piece: [str(path) for path, content in contents if piece.encode() in content] for piece in pieces}
    return {piece: paths for piece, paths in found.items() if paths}


def test_sync_and_validate_keep_no_secret_of_url_environment_messages_or_test_output(
    served: tuple[Headway, str], capsys: pytest.CaptureFixture[str]
) -> None:
    headway, url = served
    fork, upstream = headway.pair.fork, headway.pair.upstream
    upstream.commit(f"one, deployed with {EVERYTHING}\n\nby {url}", {"one.txt": "1\n"})
    broken = upstream.commit(f"two {BY_SHAPE}", {"engine.py": ENGINE.replace("+", "-")})
    refused = upstream.commit(f"three {IN_ENVIRONMENT}", {"three.txt": "3\n"})
    upstream.git("update-server-info")
    headway.begin(upstream=url)
    headway.ok("sync", "plan")
    headway.ok("sync", "run")
    headway.ok("sync", "decide", broken, "wont_port", "--reason", f"see {EVERYTHING}")
    assert headway.answer(broken).startswith("wont_port") and headway.answer(refused).startswith("picked")
    fork.commit("report", {"check.py": JUNIT.replace("EVERYTHING", EVERYTHING), "headway.toml": None})
    toml = L1.split("count_pattern")[0].replace("-S ", "") + 'junit = ["report.xml"]\n'
    fork.commit("config", {"headway.toml": f'[upstream]\nurl = "../upstream"\n[fork]\nid = "fork"\n{toml}'})
    assert headway("validate", "run", "L1").code == 1
    state = fork.path / ".git" / "headway"
    assert exit_code_of(["log", "export", "--state", str(state), "--output", str(state / "export.jsonl")]) == 0
    capsys.readouterr()
    for path in list((state / "clones").rglob("check.py")):
        path.unlink()  # the fork's own file, checked out; this test wrote the secrets into it
    assert leaks_in(state) == {}


def test_tune_keeps_no_secret_of_candidates_hypotheses_or_agents(tmp_path: Path) -> None:
    source = f"import numpy as np\n# {EVERYTHING}\ndef entry(x):\n    raise ValueError('{EVERYTHING}')\n"
    write_script(tmp_path / "script.jsonl", source)
    with (tmp_path / "script.jsonl").open("a") as file:
        file.write(json.dumps({"source": "def entry(x): return x\n", "hypothesis": f"use {EVERYTHING}"}) + "\n")
    cli = f"{sys.executable} -c \"print('{EVERYTHING}'); raise SystemExit('{EVERYTHING}')\""
    first = ["tune", "run", "cpu-softmax", "--agent", "script", "--script", "script.jsonl", "--dir", "c"]
    assert exit_code_of([*first, "--attempts", "2", "--seconds", "100"]) == 0
    exit_code_of(["tune", "resume", "c", "--agent", "command", "--command", cli, "--attempts", "3"])
    assert exit_code_of(["tune", "report", "c"]) == 0
    assert leaks_in(tmp_path / "c") == {}
