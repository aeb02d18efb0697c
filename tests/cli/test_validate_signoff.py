"""L3 from the command line: a quote, a signature by a listed approver, a run within its budget, and promotion.

Every forgery is made with real OpenSSH keys and refused with its reason.
"""

import json
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headway.adapters.clocks import SystemClock
from headway.cli.main import exit_code_of
from tests.validate.plain_executor import no_sandbox  # noqa: F401
from tests.validate.shell_forks import TOML, ShellFork, new_shell_fork

pytestmark = pytest.mark.usefixtures("no_sandbox")
Capture = pytest.CaptureFixture[str]


class Desk:
    """Keys of three people, and the fork whose trunk lists one of them."""

    def __init__(self, folder: Path, fork: ShellFork, capsys: Capture) -> None:
        self.folder, self.fork, self.capsys = folder, fork, capsys
        for name in ("ann", "eve", "old"):
            keygen(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)])
        ann, old = ((folder / f"{name}.pub").read_text() for name in ("ann", "old"))
        self.fork.commit("approvers", {"allowed_signers": f"# who may\nann@x {ann}old@x {old}"})

    def headway(self, *args: str) -> tuple[int, dict]:
        code = exit_code_of(["validate", *args, "--json"])
        shown = self.capsys.readouterr()
        assert "Traceback" not in shown.err
        return code, json.loads(shown.out) if shown.out else {"said": shown.err}

    def request(self, *args: str) -> dict:
        code, said = self.headway("request", "speed", "--out", str(self.folder / "statement"), *args)
        assert code == 0 and (self.folder / "statement").read_text() == said["statement"]
        return said

    def sign(self, key: str = "ann", text: bytes | None = None, namespace: str = "headway-signoff") -> Path:
        file = self.folder / "to-sign"
        file.write_bytes((self.folder / "statement").read_bytes() if text is None else text)
        (self.folder / "to-sign.sig").unlink(missing_ok=True)
        keygen(["-Y", "sign", "-q", "-f", str(self.folder / key), "-n", namespace, str(file)])
        return self.folder / "to-sign.sig"

    def approve(self, request: str, signature: Path, *more: str, by: str = "ann@x") -> tuple[int, dict]:
        return self.headway("approve", request, "--by", by, "--signature", str(signature), *more)


def keygen(args: list[str]) -> None:
    subprocess.run(["ssh-keygen", *args], check=True, capture_output=True)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Desk:
    fork = new_shell_fork(tmp_path)
    monkeypatch.chdir(fork.repo.path)
    return Desk(tmp_path, fork, capsys)


def test_from_request_to_stable(desk: Desk) -> None:
    wanted = desk.request("--reason", "release")
    assert wanted["quote_gpu_hours"] == 8 * 900 / 3600 and wanted["past_runs"] == 0
    code, refused = desk.headway("run", "L3", "--request", wanted["request"])
    assert code == 1 and refused["reason"] == "not_approved"
    code, approved = desk.approve(wanted["request"], desk.sign(), "--statement", str(desk.folder / "statement"))
    assert code == 0 and approved["key"].startswith("SHA256:")
    code, refused = desk.headway("promote")
    assert code == 1 and refused["reason"] == "not_green" and "L2 is not green" in refused["message"]
    assert desk.headway("run", "L2")[0] == 0
    code, refused = desk.headway("promote")
    assert code == 1 and refused["reason"] == "not_approved", "approved is not yet run"
    code, ran = desk.headway("run", "L3", "--request", wanted["request"])
    assert code == 0 and ran["metrics"] == {"engine_time": 1.0} and 0 < ran["gpu_hours"] <= ran["quote_gpu_hours"]
    code, refused = desk.headway("run", "L3", "--request", wanted["request"])
    assert code == 1 and refused["reason"] == "replayed" and "was used" in refused["message"]
    code, promoted = desk.headway("promote", "--by", "Ann")
    head = desk.fork.repo.head()
    assert code == 0 and desk.fork.repo.git("rev-parse", "stable") == head and promoted["revision"] == head
    assert desk.headway("promote")[0] == 0, "again changes nothing"
    shown = desk.headway("show")[1]
    assert shown["requests"][0]["state"] == "green" and shown["stable"]["by"] == "Ann"
    assert shown["gpu_hours"][f"request {wanted['request']} {head[:12]}"] == ran["gpu_hours"]
    again = desk.request()
    assert again["past_runs"] == 2 and 0 < again["quote_gpu_hours"] < 0.1, "from the runs that were made"

    desk.fork.commit("next", {"note": "1"})
    code, refused = desk.headway("promote")
    assert code == 1 and refused["reason"] == "not_green", "a new revision voids it all"
    desk.headway("run", "L2")
    code, refused = desk.headway("promote")
    assert code == 1 and refused["reason"] == "not_approved" and "No signed L3 run" in refused["message"]


def test_every_forgery_is_refused_with_its_reason(desk: Desk) -> None:
    other = desk.request()
    stolen = desk.sign().read_bytes()
    desk.fork.commit("next", {"note": "1"})
    wanted = desk.request()
    name, statement = wanted["request"], (desk.folder / "statement").read_bytes()

    def refused(signature: Path, reason: str, words: str, *more: str, by: str = "ann@x") -> None:
        code, said = desk.approve(name, signature, *more, by=by)
        assert code == 1 and said.get("reason") == reason and words in said["message"], said

    refused(desk.sign("eve"), "bad_signature", "is not listed for ann@x")
    refused(desk.sign("eve"), "bad_signature", "eve@x is not among the allowed signers", by="eve@x")
    refused(desk.sign("old"), "bad_signature", "is old@x's key, not ann@x's")
    replayed = desk.folder / "replayed.sig"
    replayed.write_bytes(stolen)
    refused(replayed, "replayed", f"another request ({other['request']} of {other['revision'][:12]})")
    edited = statement.replace(b"gpu-hours: 2.0000", b"gpu-hours: 200.0000")
    refused(desk.sign(text=edited), "bad_signature", "no signature of exactly this statement")
    (desk.folder / "edited").write_bytes(edited)
    told = ("--statement", str(desk.folder / "edited"))
    refused(desk.sign(text=edited), "edited", "its line 'gpu-hours' reads 'gpu-hours: 200.0000'", *told)
    moved = statement.replace(wanted["revision"].encode(), other["revision"].encode())
    (desk.folder / "edited").write_bytes(moved)
    refused(desk.sign(text=moved), "edited", "its line 'revision' reads", *told)
    (desk.folder / "edited").write_bytes(statement.replace(b"\n", b"\r\n"))
    windows = desk.sign(text=statement.replace(b"\n", b"\r\n"))
    refused(windows, "edited", "end as on Windows", *told)
    refused(windows, "bad_signature", "no signature of exactly this statement")
    refused(desk.sign(namespace="git"), "bad_signature", "no signature of exactly this statement")
    (desk.folder / "noise").write_bytes(b"-----BEGIN SSH SIGNATURE-----\nU1NI\n")
    refused(desk.folder / "noise", "bad_signature", "no signature of exactly this statement")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SystemClock, "now", lambda _: datetime.now(UTC) + timedelta(hours=73))
        refused(desk.sign(), "expired", "expired at")
    pub = (desk.folder / "old.pub").read_text()
    desk.fork.commit("revoke", {"revoked_signers": pub})
    refused(desk.sign("old"), "revoked", "is revoked", by="old@x")
    assert len(desk.headway("show", name)[1]["refusals"]) == 13
    assert desk.approve(name, desk.sign())[0] == 0, "and the honest one is taken"


def test_an_approval_ends_with_the_suite_it_was_given_for_and_with_its_revocation(desk: Desk) -> None:
    wanted = desk.request()
    assert desk.headway("approve", wanted["request"], "--by", "ann@x", "--key", str(desk.folder / "ann"))[0] == 0
    changed = TOML.replace('test = "sh measure.sh"', 'test = "sh measure.sh; true"')
    desk.fork.commit("other suite", {"headway.toml": changed})
    code, refused = desk.headway("run", "L3", "--request", wanted["request"])
    assert code == 1 and refused["reason"] == "not_approved" and "is defined otherwise" in refused["message"]
    again = desk.request()["request"]
    desk.headway("approve", again, "--by", "ann@x", "--key", str(desk.folder / "ann"))
    assert desk.headway("approve", again, "--by", "ann@x", "--revoke", "the driver changed")[1]["revoked"]
    code, refused = desk.headway("run", "L3", "--request", again)
    assert code == 1 and refused["reason"] == "revoked"
    assert "There is no request 'nope'" in desk.headway("run", "L3", "--request", "nope")[1]["said"]
    assert "Name it with --request" in desk.headway("run", "L3")[1]["said"]


def test_a_run_is_stopped_at_its_budget_and_a_red_one_promotes_nothing(desk: Desk) -> None:
    one_second = TOML.replace('test = "sh measure.sh"', 'test = {run = "sleep 9; sh measure.sh", timeout_seconds = 1}')
    desk.fork.commit("slow", {"headway.toml": one_second})
    wanted = desk.request()["request"]
    desk.headway("approve", wanted, "--by", "ann@x", "--key", str(desk.folder / "ann"))
    code, ran = desk.headway("run", "L3", "--request", wanted)
    assert code == 1 and ran["reason"] == "budget" and "GPU-hours were spent" in ran["message"]
    assert desk.headway("show")[1]["requests"][0]["state"] == "red"


def test_stable_goes_forward_only_and_not_under_a_checkout(desk: Desk) -> None:
    base = desk.fork.repo.made["base"]
    wanted = desk.request()["request"]
    desk.headway("approve", wanted, "--by", "ann@x", "--key", str(desk.folder / "ann"))
    desk.headway("run", "L3", "--request", wanted)
    desk.headway("run", "L2")
    desk.fork.repo.git("branch", "stable", base)
    desk.fork.repo.git("worktree", "add", "-q", "../elsewhere", "stable")
    assert "is checked out at" in desk.headway("promote")[1]["said"]
    desk.fork.repo.git("worktree", "remove", "--force", "../elsewhere")
    assert desk.headway("promote")[0] == 0
    aside = desk.fork.repo.git("commit-tree", "-m", "aside", "HEAD^{tree}")
    desk.fork.repo.git("update-ref", "refs/heads/stable", aside)
    code, refused = desk.headway("promote")
    assert code == 1 and "is no ancestor of" in refused["message"]
