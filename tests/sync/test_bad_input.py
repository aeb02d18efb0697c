"""What is refused: one sentence, the right exit code, and nothing changed."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from headway.adapters.processes import run
from tests.sync.driver import CHECK, ENGINE, L1, POLICY, Headway, Said, new_fork, picture
from tests.sync.repos import Pair, Repo, new_repo


@pytest.fixture
def headway(tmp_path: Path) -> Headway:
    made = new_fork(tmp_path)
    made.pair.upstream.commit("one", {"one.txt": "1\n"})
    return made


def everything(fork: Repo) -> tuple[object, ...]:
    """Refs, objects, work tree and headway's own folder."""
    state = fork.path / ".git" / "headway"
    log = sorted(p.name for p in state.rglob("*") if not p.name.endswith(("-shm", "-wal"))) if state.exists() else []
    return fork.refs(), fork.objects(), fork.git("status", "--porcelain"), log


def heads(refs: str) -> list[str]:
    """The owner's branches: what was fetched from upstream may stay."""
    return [line for line in refs.splitlines() if line.startswith("refs/heads/")]


def refused(said: Said, code: int, *words: str) -> None:
    assert said.code == code, said
    lines = [line for line in said.err.splitlines() if line.startswith("headway: ")]
    assert len(lines) == 1 and said.err.endswith(lines[0] + "\n"), said.err
    for word in words:
        assert word in lines[0], said.err
    assert "Traceback" not in said.err


def test_not_a_git_repository(tmp_path: Path) -> None:
    pair = Pair(new_repo(tmp_path / "upstream", "U"), Repo(tmp_path / "plain", "F"))
    pair.fork.path.mkdir()
    for verb in (
        ("init", "--upstream", str(pair.upstream.path)),
        ("sync", "run"),
        ("sync", "status"),
        ("sync", "plan"),
    ):
        refused(Headway(pair)(*verb), 1, "is not a git repository", "Run headway in a checkout of the fork.")
    assert list(pair.fork.path.iterdir()) == []


def test_a_fork_without_init(headway: Headway) -> None:
    refused(headway("sync", "status"), 1, "has no headway.toml", "headway init")
    (headway.pair.fork.path / "headway.toml").write_text(
        f'[upstream]\nurl = "{headway.pair.upstream.path}"\n[fork]\nid = "f"\n{L1}'
    )
    refused(headway("sync", "status"), 1, "has no ledger yet", "headway init")
    refused(headway("sync", "run"), 1, "not begun", "headway init")


def test_a_path_with_a_line_break(headway: Headway) -> None:
    fork = headway.pair.fork
    moved = Repo(fork.path.rename(fork.path.with_name("two\nlines")), "F")
    refused(Headway(Pair(headway.pair.upstream, moved))("sync", "status"), 1, "has a line break in it")


def test_no_common_history(tmp_path: Path) -> None:
    stranger = new_repo(tmp_path / "stranger", "S")
    stranger.commit("other", {"x.txt": "x\n"})
    fork = new_repo(tmp_path / "fork", "F")
    fork.commit("own", {"y.txt": "y\n"})
    before = everything(fork)
    refused(Headway(Pair(stranger, fork))("init", "--upstream", str(stranger.path)), 1, "no common history")
    assert everything(fork) == before and not (fork.path / "headway.toml").exists()


def test_a_dirty_fork(headway: Headway) -> None:
    fork = headway.pair.fork
    fork.write_all({"own.txt": "edited\n"})
    before = everything(fork)
    refused(headway("init", "--upstream", str(headway.pair.upstream.path)), 1, "uncommitted changes in own.txt")
    assert everything(fork) == before
    fork.git("checkout", "own.txt")
    headway.begin()
    fork.write_all({"own.txt": "edited\n"})
    refused(headway("sync", "run"), 1, "uncommitted changes in own.txt", "Commit or stash them")
    fork.git("checkout", "own.txt")
    headway.ok("sync", "run")  # the untracked headway.toml does not make it dirty


@pytest.mark.parametrize("kind", ["shallow", "partial", "bare"])
def test_clones_that_lack_something(headway: Headway, tmp_path: Path, kind: str) -> None:
    flags = {"shallow": ["--depth=1"], "partial": ["--filter=blob:none"], "bare": ["--bare"]}[kind]
    headway.pair.fork.git("config", "uploadpack.allowFilter", "true")
    run(["git", "clone", "--quiet", *flags, f"file://{headway.pair.fork.path}", str(tmp_path / kind)])
    clone = Repo(tmp_path / kind, "F")
    refs = clone.refs()
    said = Headway(Pair(headway.pair.upstream, clone))("init", "--upstream", str(headway.pair.upstream.path))
    refused(said, 1, f"is a {kind}")
    assert clone.refs() == refs


def test_an_unknown_key_names_the_nearest(headway: Headway) -> None:
    headway.begin(l1=L1.replace("count_pattern", "count_patern"))
    refused(headway("sync", "run"), 1, "unknown key 'l1.count_patern'", "'l1.count_pattern'")


def test_missing_upstream_and_branch(headway: Headway, tmp_path: Path) -> None:
    before = everything(headway.pair.fork)
    refused(headway("init", "--upstream", str(tmp_path / "nowhere")), 4, "nowhere cannot be read")
    refused(headway("init", "--upstream", str(headway.pair.upstream.path), "--branch", "dev"), 4, "no branch 'dev'")
    assert everything(headway.pair.fork) == before


def test_an_unreachable_upstream_is_a_partial_source_never_nothing_pending(headway: Headway) -> None:
    headway.begin()
    headway.ok("sync", "run")
    headway.pair.upstream.commit("two", {"two.txt": "2\n"})
    headway.pair.upstream.path.rename(headway.pair.upstream.path.with_name("gone"))
    refs = headway.pair.fork.refs()
    said = headway("sync", "run")
    refused(said, 4, "could_not_run(partial_source)", "cannot be read", "partial source")
    plan = headway("sync", "plan")
    assert plan.code == 4 and "nothing pending among what is known" in plan.out and "partial source" in plan.err
    assert headway("sync", "plan", "--json").json["source"] == "partial"
    assert headway.pair.fork.refs() == refs
    assert headway.status()["upstream"]["source"] == "partial"
    assert "partial source" in headway.ok("sync", "status").out
    headway.pair.upstream.path.with_name("gone").rename(headway.pair.upstream.path)
    headway.ok("sync", "run")
    assert headway.status()["upstream"]["source"] == "complete"
    assert headway.status()["dispositions"]["picked"] == 2


def test_a_rewritten_upstream(headway: Headway) -> None:
    headway.begin()
    headway.ok("sync", "run")
    upstream = headway.pair.upstream
    upstream.git("reset", "--quiet", "--hard", "HEAD~1")
    upstream.commit("another one", {"other.txt": "1\n"})
    branch = headway.pair.fork.head("headway/sync")
    refused(headway("sync", "run"), 1, "Upstream was rewritten")
    assert headway.pair.fork.head("headway/sync") == branch
    assert "run          refused(upstream_rewritten)" in headway.ok("sync", "status").out


def test_places_that_cannot_be_written_to_are_named(headway: Headway, tmp_path: Path) -> None:
    headway.begin()
    lacking = tmp_path / "lacking" / "plan.svg"
    refused(headway("sync", "plan", "--graph", str(lacking)), 1, "cannot be written")
    function = tmp_path / "f.py"
    function.write_text("def double(x):\n    return x * 2\n")
    scaffold = ("tune", "new", "/proc/t", "--function", f"{function}:double", "--input", "x:N", "--output", "y:N")
    refused(headway(*scaffold), 1, "Cannot use /proc/t")
    assert headway("worker", "--spool", "/proc/q").code == 1


def test_an_upstream_given_as_a_path_from_the_fork(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    fork, upstream = headway.pair.fork, headway.pair.upstream
    relative = os.path.relpath(upstream.path, fork.path)
    told = f'[upstream]\nurl = "{relative}"\nbranch = "main"\n[fork]\nid = "near"\ntrunk = "main"\n'
    fork.commit("follow", {"headway.toml": told})
    headway.ok("init", "--upstream", relative)
    assert headway.status()["closed"]


def test_a_failing_hook_is_not_an_empty_pick(headway: Headway) -> None:
    fork = headway.pair.fork
    headway.begin()
    hook = fork.path / ".git" / "hooks" / "prepare-commit-msg"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no ticket number >&2\nexit 1\n")
    hook.chmod(0o755)
    change = headway.pair.upstream.made["one"]
    headway.ok("sync", "run")
    assert headway.answer(change) == "deferred(hook_failed)"
    assert "no ticket number" in headway.evidence(change)["output"]
    hook.write_text("#!/bin/sh\n: > $1\n")  # git itself takes an emptied message for an aborted commit
    headway.ok("sync", "retry")
    headway.ok("sync", "run")
    assert headway.answer(change) == "deferred(hook_failed)"
    hook.write_text("#!/bin/sh\necho Ticket: 7 >> $1\n")
    headway.ok("sync", "retry")
    headway.ok("sync", "run")
    assert headway.answer(change) == "picked(landed)"
    assert "Ticket: 7" in fork.git("show", "-s", "--format=%B", "headway/sync")


def test_hooks_can_be_skipped_and_are_never_those_of_a_tree(headway: Headway) -> None:
    fork = headway.pair.fork
    hook = fork.path / ".git" / "hooks" / "commit-msg"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    headway.begin(policy=POLICY + "\n")
    toml = fork.path / "headway.toml"
    toml.write_text(toml.read_text().replace('mode = "branch"', 'mode = "branch"\nhooks = "skip"'))
    headway.ok("sync", "run")
    assert headway.status()["dispositions"]["picked"] == 1


def test_failing_signing_says_nothing_about_any_change(headway: Headway) -> None:
    fork = headway.pair.fork
    headway.begin()
    fork.git("config", "commit.gpgSign", "true")
    fork.git("config", "gpg.program", "/bin/false")
    refs = fork.git("for-each-ref", "refs/heads")
    refused(headway("sync", "run"), 4, "could_not_run(hook_failed)", "could not be signed")
    assert headway.answer(headway.pair.upstream.made["one"]) == "pending"
    assert fork.git("for-each-ref", "refs/heads") == refs
    fork.git("config", "commit.gpgSign", "false")
    headway.ok("sync", "run")
    assert headway.status()["dispositions"]["picked"] == 1


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_the_owners_signing_is_honoured(headway: Headway, tmp_path: Path) -> None:
    fork = headway.pair.fork
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "key")])
    for key, value in (
        ("gpg.format", "ssh"),
        ("user.signingKey", str(tmp_path / "key.pub")),
        ("commit.gpgSign", "true"),
    ):
        fork.git("config", key, value)
    headway.begin()
    headway.ok("sync", "run")
    raw = fork.git("cat-file", "commit", "headway/sync")
    assert "BEGIN SSH SIGNATURE" in raw and "author Upstream Author" in raw and "Upstream-Commit: " in raw


def test_a_reference_transaction_hook_refuses_the_landing(headway: Headway) -> None:
    fork = headway.pair.fork
    headway.begin()
    hook = fork.path / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\ngrep -q refs/heads/headway && test "$1" = prepared && exit 1\nexit 0\n')
    hook.chmod(0o755)
    refused(headway("sync", "run"), 1, "reference-transaction hook refused")
    assert fork.git("for-each-ref", "refs/heads/headway") == ""
    hook.unlink()
    headway.ok("sync", "run")
    assert headway.status()["dispositions"]["picked"] == 1


def test_the_landing_branch_checked_out_or_rewritten_or_moved(headway: Headway, tmp_path: Path) -> None:
    fork = headway.pair.fork
    headway.begin()
    headway.ok("sync", "run")
    headway.pair.upstream.commit("two", {"two.txt": "2\n"})
    fork.git("worktree", "add", "--quiet", str(tmp_path / "tree"), "headway/sync")
    refused(headway("sync", "run"), 1, "headway/sync is checked out at", "tree")
    fork.git("worktree", "remove", str(tmp_path / "tree"))
    landed = fork.head("headway/sync")
    fork.git("branch", "-f", "headway/sync", "main~1")
    refused(
        headway("sync", "run"),
        1,
        "does not contain headway's last landing",
        f"git branch -f headway/sync {landed[:12]}",
    )
    fork.git("branch", "-f", "headway/sync", landed)
    headway.ok("sync", "run")
    assert headway.status()["dispositions"]["picked"] == 2


def test_a_landing_branch_that_is_another_name_for_trunk(headway: Headway) -> None:
    fork = headway.pair.fork
    headway.begin()
    fork.git("symbolic-ref", "refs/heads/headway/sync", "refs/heads/main")
    trunk = fork.head("main")
    refused(headway("sync", "run"), 1, "headway/sync is only another name for refs/heads/main", "symbolic-ref -d")
    assert fork.head("main") == trunk


def test_picks_that_go_with_a_deleted_landing_branch_are_made_again(headway: Headway) -> None:
    fork, upstream = headway.pair.fork, headway.pair.upstream
    headway.begin()
    upstream.commit("two", {"two.txt": "2\n"})
    headway.ok("sync", "run")
    fork.git("branch", "--quiet", "-D", "headway/sync")
    upstream.commit("three", {"three.txt": "3\n"})
    headway.ok("sync", "run")
    assert [line.split(" | ")[0] for line in picture(headway.pair)] == ["one", "two", "three"]
    assert headway.status()["dispositions"]["picked"] == 3
    # squashed into trunk they are there, whatever becomes of the branch
    fork.git("merge", "--quiet", "--squash", "headway/sync")
    fork.git("commit", "--quiet", "-m", fork.git("log", "--format=%B", "main..headway/sync"))
    fork.git("branch", "--quiet", "-D", "headway/sync")
    headway.ok("sync", "run")
    assert fork.git("for-each-ref", "refs/heads/headway") == ""
    assert headway.status()["dispositions"]["picked"] == 3


def test_two_runs_at_once(headway: Headway) -> None:
    headway.begin()
    from headway.adapters.clocks import SystemClock
    from headway.adapters.locks import WriterLock

    lock = WriterLock(headway.pair.fork.path / ".git" / "headway" / "lock", SystemClock())
    change = headway.pair.upstream.made["one"]
    with lock.held():
        before = everything(headway.pair.fork)
        refused(headway("sync", "run"), 1, "Another headway", f"pid {os.getpid()}")
        assert everything(headway.pair.fork) == before
        assert "1 pending" in headway.ok("sync", "status").out, "reading goes on"
        left = headway.ok("sync", "decide", change, "wont_port", "--reason", "not for us")
        assert left.out == f"{change[:12]}: left for the running loop\n"
    headway.ok("sync", "run")
    assert headway.answer(change) == "wont_port(policy)"


def test_no_l1_no_landing(headway: Headway) -> None:
    headway.begin(l1="")
    refused(headway("sync", "run"), 1, "no [l1] section")
    assert "1 take" in headway.ok("sync", "plan").out


def test_an_l1_command_that_does_not_exist(headway: Headway) -> None:
    headway.begin(l1='[l1]\ntest = "no-such-program --all"\n')
    refused(headway("sync", "run"), 1, "no_command", "no-such-program")
    assert headway.answer(headway.pair.upstream.made["one"]) == "pending"
    assert headway.pair.fork.git("for-each-ref", "refs/heads/headway") == ""


def test_an_l1_blind_to_the_tree(headway: Headway) -> None:
    headway.begin(l1='[l1]\ntest = "echo 3 passed, 0 failed"\n')
    refused(headway("sync", "run"), 1, "refused(l1_blind)", "stayed green on a known-bad change")
    assert headway.answer(headway.pair.upstream.made["one"]) == "pending"
    assert headway.pair.fork.git("for-each-ref", "refs/heads/headway") == ""


def test_an_l1_that_imports_an_editable_install_of_the_checkout(headway: Headway, tmp_path: Path) -> None:
    fork, upstream = headway.pair.fork, headway.pair.upstream
    run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")])
    [packages] = (tmp_path / "venv/lib").glob("python3*/site-packages")
    (packages / "__editable__.engine.pth").write_text(f"{fork.path}/src\n")  # what `pip install -e .` leaves behind
    check = CHECK.replace('sys.path.insert(0, ".")\n', "").replace("engine.py", "src/engine.py")
    upstream.commit("src layout", {"src/engine.py": ENGINE, "engine.py": None, "check.py": check})
    fork.git("pull", "--quiet", "--rebase", str(upstream.path), "main")
    broken = upstream.commit("breaks it", {"src/engine.py": ENGINE.replace("+", "-")})
    headway.begin(l1=L1.replace(f"{sys.executable} -S", f"{tmp_path}/venv/bin/python -B"))
    before = fork.refs()
    said = headway("sync", "run")
    refused(said, 1, "refused(l1_blind)", "editable install that points elsewhere", f"{fork.path}/src")
    assert headway.answer(broken) == "pending" and heads(fork.refs()) == heads(before)


def test_an_unknown_change(headway: Headway) -> None:
    headway.begin()
    refused(headway("sync", "show", "feedface"), 1, "'feedface' names no commit")
    own = headway.pair.fork.head("main")
    refused(
        headway("sync", "decide", own, "pick", "--reason", "x"), 1, "is not an upstream change in this fork's range"
    )


def test_direct_mode_is_refused_while_trunk_is_checked_out(headway: Headway) -> None:
    headway.begin()
    toml = headway.pair.fork.path / "headway.toml"
    toml.write_text(toml.read_text().replace('mode = "branch"', 'mode = "direct"'))
    refused(headway("sync", "run"), 1, "Trunk (main) is checked out at", "git checkout --detach")


@pytest.mark.parametrize("name", ["headway", "headway/sync/mine"])
def test_a_branch_in_the_landing_branchs_way_is_found_before_l1(headway: Headway, name: str) -> None:
    headway.begin(l1=L1.replace("-S check.py", "-S no-such-file.py"))
    headway.pair.fork.git("branch", name)
    before = headway.pair.fork.refs()
    refused(headway("sync", "run"), 1, f"The branch {name} is in the way", f"git branch -m {name}")
    assert headway.pair.fork.refs() == before


def test_the_landing_branch_is_not_trunk(headway: Headway) -> None:
    headway.begin()
    toml = headway.pair.fork.path / "headway.toml"
    toml.write_text(toml.read_text().replace('"headway/sync"', '"main"'))
    refused(headway("sync", "run"), 1, "is trunk itself")


def test_no_identity(headway: Headway, monkeypatch: pytest.MonkeyPatch) -> None:
    headway.begin()
    fork = headway.pair.fork
    fork.git("config", "--unset", "user.name")
    fork.git("config", "--unset", "user.email")
    fork.git("config", "user.useConfigOnly", "true")
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, "/dev/null")
    refused(headway("sync", "run"), 1, "git does not know who commits here")
    assert fork.git("for-each-ref", "refs/heads/headway") == ""
