"""Failure stories of other people's sync bots, and bad input in mid-landing, each through the command line."""

import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from headway.adapters.clocks import HandClock
from headway.adapters.folder_forge import FolderForge
from headway.adapters.git_landing import GitLanding
from headway.adapters.git_remote import GitRemote
from headway.wiring import sync as wiring
from headway.wiring.sync import World
from tests.adapters.github_server import TOKEN, GitHubServer
from tests.adapters.test_full_disk import small_disk  # noqa: F401
from tests.sync.driver import Headway, new_fork, picture
from tests.sync.test_bad_input import refused
from tests.sync.test_landing_modes import Forged


def killed_after(real: Callable[..., Any]) -> Callable[..., Any]:
    """The effect happens, and its process is gone before it can be recorded; only the first time."""
    done: list[bool] = []

    def effect(*args: Any, **options: Any) -> Any:
        result = real(*args, **options)
        if not done:
            done.append(True)
            raise KeyboardInterrupt
        return result

    return effect


@pytest.mark.parametrize(
    ("where", "name"), [(GitLanding, "land"), (GitRemote, "push"), (FolderForge, "put_request")], ids=lambda x: str(x)
)
def test_killed_after_the_effect_and_before_the_record_is_one_branch_and_one_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: type, name: str
) -> None:
    """Seven pull requests for one target, elsewhere."""
    forged = Forged(tmp_path)
    forged.up.commit("one", {"one.txt": "1\n"})
    forged.up.commit("two", {"two.txt": "2\n"})
    forged.begin()
    monkeypatch.setattr(where, name, killed_after(getattr(where, name)))
    assert forged.headway("sync", "run").code == 130
    for _ in range(2):
        done = forged.headway.ok("sync", "run", "--json").json
    assert done["dispositions"]["picked"] == 2 and done["closed"] and done["request"]["number"] == 1
    assert len(forged.requests()) == 1
    assert forged.there("log", "--format=%s", "main..headway/sync") == "two\none"


def test_an_expired_token_is_one_sentence_and_a_new_one_publishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forged = Forged(tmp_path)
    forged.up.commit("one", {"one.txt": "1\n"})
    forged.headway.begin()
    toml = forged.fork.path / "headway.toml"
    with GitHubServer(forged.forge) as server:
        text = toml.read_text().replace('mode = "branch"', 'mode = "pull-request"')
        toml.write_text(f'{text}\n[forge]\nkind = "github"\nrepository = "o/r"\napi_url = "{server.url}"\n')
        monkeypatch.setenv("GITHUB_TOKEN", "expired-and-secret")
        said = forged.headway("sync", "run")
        refused(said, 1, "refused(forge_refused)", "401", "GITHUB_TOKEN")
        assert "expired-and-secret" not in said.err
        assert forged.headway.status()["closed"] and not forged.requests()
        monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
        done = forged.headway.ok("sync", "run", "--json").json
        assert done["request"]["state"] == "open" and len(forged.requests()) == 1
        forged.up.commit("two", {"two.txt": "2\n"})
        server.faults = [503] * 30
        silent = forged.headway("sync", "run")
        assert silent.code == 4 and "could_not_run(forge_unreachable)" in silent.err
        server.faults = []
        assert forged.headway.ok("sync", "run", "--json").json["dispositions"]["picked"] == 2


def test_a_force_pushed_upstream_is_refused_and_nothing_at_all_has_changed(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    up, fork = headway.pair.upstream, headway.pair.fork
    up.commit("one", {"one.txt": "1\n"})
    headway.begin()
    headway.ok("sync", "run")
    up.git("reset", "--quiet", "--hard", "HEAD~1")
    up.commit("another one", {"one.txt": "another\n", "big.txt": "x\n" * 5000})
    refs, objects = fork.refs(), fork.objects()
    for verb in (("sync", "run"), ("sync", "plan"), ("sync", "run", "--dry-run")):
        refused(headway(*verb), 1, "Upstream was rewritten")
        assert (fork.refs(), fork.objects()) == (refs, objects), verb
    assert headway.status()["closed"]


def test_twenty_landed_squashed_by_a_person_who_left_the_branch_standing(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    up, fork = headway.pair.upstream, headway.pair.fork
    for number in range(20):
        up.commit(f"change {number}", {f"f{number}.txt": f"{number}\n"})
    headway.begin()
    headway.ok("sync", "run")
    before = headway.status()["frontier"]
    fork.git("merge", "--quiet", "--squash", "headway/sync")
    fork.hours += 1
    fork.commit_staged("Sync\n\n" + fork.git("log", "--format=%B", "main..headway/sync"))
    done = headway.ok("sync", "run", "--json").json
    assert done["frontier"] == before and done["pending"] == 0 and done["closed"]
    up.commit("the next", {"next.txt": "n\n"})
    done = headway.ok("sync", "run", "--json").json
    assert picture(headway.pair)[-1].startswith("the next |") and len(picture(headway.pair)) == 1
    assert fork.git("merge-base", "main", "headway/sync") == fork.head("main"), "the spent branch was left behind"
    assert done["dispositions"]["picked"] + done["dispositions"]["already_present"] == 21


def test_a_clock_that_is_set_back_changes_no_answer(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    up, fork = headway.pair.upstream, headway.pair.fork
    headway.begin()
    now = datetime(2026, 4, 1, 12, 0, tzinfo=UTC)
    for number, moment in enumerate((now, now - timedelta(days=400), now + timedelta(hours=1))):
        up.commit(f"change {number}", {f"f{number}.txt": f"{number}\n"})
        status = wiring.run(fork.path, None, 0, World(dict(os.environ), HandClock(moment)))
        assert status.closure.closed and status.closure.pending == 0
    assert headway.status()["dispositions"]["picked"] == 3 and headway.status()["alarm"] is None
    assert headway.ok("log", "verify", "--json").json["ok"]
    assert "forecast" in headway.ok("sync", "status").out


def test_a_disk_that_fills_up_in_mid_landing(
    tmp_path: Path,
    small_disk: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    headway = new_fork(tmp_path)
    pair = headway.pair
    pair.upstream.commit("one", {"folder/one.txt": "1\n"})
    objects = pair.fork.path / ".git" / "objects"
    shutil.move(objects, small_disk / "objects")
    objects.symlink_to(small_disk / "objects")
    monkeypatch.setenv("HEADWAY_STATE", str(tmp_path / "state"))
    headway.begin()
    land, filler = GitLanding.land, small_disk / "filler"

    def on_a_full_disk(*args: Any) -> None:
        with filler.open("wb", buffering=0) as file:
            while True:
                try:
                    file.write(b"x" * 4096)
                except OSError:
                    break
        land(*args)

    monkeypatch.setattr(GitLanding, "land", on_a_full_disk)
    said = headway("sync", "run")
    assert said.code == 4 and "could not be written" in said.err and "no branch was moved" in said.err
    assert not pair.fork.git("for-each-ref", "refs/heads/headway")
    filler.unlink()
    monkeypatch.setattr(GitLanding, "land", land)
    headway.ok("sync", "run")
    assert [line.split(" | ")[0] for line in picture(pair)] == ["one"] and headway.status()["closed"]


def test_somebody_deletes_the_forks_branches(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    fork = headway.pair.fork
    one = headway.pair.upstream.commit("one", {"one.txt": "1\n"})
    headway.begin()
    headway.ok("sync", "run")
    fork.git("branch", "-D", "headway/sync")
    headway.ok("sync", "run")
    assert headway.answer(one) == "picked(landed)" and len(picture(headway.pair)) == 1
    fork.git("checkout", "--quiet", "--detach")
    fork.git("branch", "-D", "main")
    refused(headway("sync", "run"), 1, "has no branch 'main'")
    fork.git("branch", "main")
    headway.ok("sync", "run")
    assert headway.status()["closed"]


def test_a_bundle_that_was_not_gone_on_with_leaves_no_answer_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was answered on top of changes that then never landed was answered about a tree that never was."""
    headway: Headway = new_fork(tmp_path)
    up = headway.pair.upstream
    up.commit("one", {"one.txt": "1\n"})
    empty = up.commit("nothing", {}, "--allow-empty")
    up.commit("two", {"two.txt": "2\n"})
    headway.begin()
    monkeypatch.setattr(GitLanding, "compose", killed_after(GitLanding.compose))
    assert headway("sync", "run").code == 130
    assert headway.answer(empty) == "already_present(changes_nothing)"
    headway.ok("sync", "run", "--limit", "1")  # other orders: that run is superseded
    assert headway.answer(empty) == "pending" and headway.status()["pending"] == 2
    headway.ok("sync", "run")
    assert headway.answer(empty) == "already_present(changes_nothing)" and headway.status()["closed"]


def test_an_unfinished_bundle_whose_trees_are_gone_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a power cut, or on another machine: the log speaks of trees that are in no object store here."""
    headway = new_fork(tmp_path)
    up = headway.pair.upstream
    for name in ("one", "two", "three"):
        up.commit(name, {f"{name}.txt": f"{name}\n"})
    headway.begin()
    monkeypatch.setattr(GitLanding, "compose", killed_after(GitLanding.compose))
    assert headway("sync", "run").code == 130
    shutil.rmtree(headway.pair.fork.path / ".git/headway/quarantine")
    headway.ok("sync", "run")
    assert [line.split(" | ")[0] for line in picture(headway.pair)] == ["one", "two", "three"]
    assert headway.status()["closed"] and "bundle_dropped" in headway.ok("log", "show").out
