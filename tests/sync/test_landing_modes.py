"""Pull requests on a folder forge with a real bare repository, direct landings, and what people do in between."""

import json
from pathlib import Path

import pytest

from headway.adapters.folder_forge import FolderForge
from tests.sync.driver import L1, POLICY, new_fork


class Forged:
    """A fork whose trunk lives on a forge; `headway` lands there by pull request."""

    def __init__(self, folder: Path) -> None:
        self.headway = new_fork(folder)
        self.forge = FolderForge.create(folder / "forge")
        self.fork, self.up = self.headway.pair.fork, self.headway.pair.upstream
        self.fork.git("remote", "remove", "origin")
        self.fork.git("remote", "add", "origin", str(self.forge.repo))
        self.fork.git("push", "--quiet", "origin", "main")

    def begin(self) -> None:
        self.headway.begin(policy=POLICY + f'\n[forge]\nkind = "folder"\nrepository = "{self.forge.repo.parent}"\n')
        toml = self.fork.path / "headway.toml"
        toml.write_text(toml.read_text().replace('mode = "branch"', 'mode = "pull-request"'))

    def requests(self) -> dict[str, dict[str, str]]:
        return self.forge.rows()["requests"]

    def there(self, *args: str) -> str:
        return self.fork.git(f"--git-dir={self.forge.repo}", *args)


@pytest.fixture
def forged(tmp_path: Path) -> Forged:
    return Forged(tmp_path)


def test_one_request_is_opened_and_then_brought_up_to_date(forged: Forged) -> None:
    one = forged.up.commit("one (#5)", {"one.txt": "1\n"})
    forged.begin()
    first = forged.headway.ok("sync", "run", "--json").json["request"]
    assert (first["number"], first["state"], first["checks"]) == (1, "open", "none")
    forged.up.commit("two", {"two.txt": "2\n"})
    forged.forge.set_checks(1, "passed")
    second = forged.headway.ok("sync", "run", "--json").json["request"]
    assert (second["number"], second["checks"], second["mergeable"]) == (1, "passed", "yes")
    [row] = forged.requests().values()
    assert row["title"] == "Sync with upstream: 2 changes"
    assert f"- `{one[:12]}` one (#\u200b5)" in row["body"] and "two" in row["body"]
    assert forged.there("rev-parse", "headway/sync") == forged.fork.head("headway/sync") == second["head"]
    assert (
        forged.there("log", "--format=%an %s", "main..headway/sync") == "Upstream Author two\nUpstream Author one (#5)"
    )


@pytest.mark.parametrize("how", ["merge", "squash"])
def test_after_a_person_merged_it_the_next_landing_opens_the_next_request(forged: Forged, how) -> None:
    forged.up.commit("one", {"one.txt": "1\n"})
    forged.up.commit("two", {"two.txt": "2\n"})
    forged.begin()
    forged.headway.ok("sync", "run")
    merged = forged.forge.merge(1, how)
    done = forged.headway.ok("sync", "run", "--json").json
    assert done["request"]["state"] == "merged" and done["request"]["merged_as"] == merged
    assert done["pending"] == 0 and done["closed"] and len(forged.requests()) == 1
    forged.up.commit("three", {"three.txt": "3\n"})
    done = forged.headway.ok("sync", "run", "--json").json
    assert done["request"]["number"] == 2 and done["closed"]
    assert done["dispositions"]["picked"] + done["dispositions"]["already_present"] == 3
    assert forged.there("log", "--format=%s", "main..headway/sync") == "three", "nothing is picked twice"
    assert forged.there("merge-base", "main", "headway/sync") == merged


def test_a_request_that_a_person_closed_stops_the_run_until_people_say_what_now(forged: Forged) -> None:
    one = forged.up.commit("one", {"one.txt": "1\n"})
    forged.begin()
    forged.headway.ok("sync", "run")
    forged.forge.close_request(1)
    forged.up.commit("two", {"two.txt": "2\n"})
    said = forged.headway("sync", "run")
    assert said.code == 1 and "refused(request_closed)" in said.err and "Reopen it" in said.err
    assert len(forged.requests()) == 1 and forged.headway.status()["pending"] == 1
    forged.fork.git("branch", "-D", "headway/sync")
    done = forged.headway.ok("sync", "run", "--json").json
    assert done["dispositions"]["picked"] == 2 and forged.headway.answer(one) == "picked(landed)"
    assert [row["state"] for row in forged.requests().values()] == ["closed", "open"]


def test_a_protected_branch_is_one_sentence_and_the_next_run_publishes(forged: Forged) -> None:
    forged.up.commit("one", {"one.txt": "1\n"})
    forged.begin()
    hook = forged.forge.repo / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho 'headway/sync is protected' >&2\nexit 1\n")
    hook.chmod(0o755)
    said = forged.headway("sync", "run")
    assert said.code == 1 and "refused(forge_refused): The remote origin refused to take" in said.err, said.err
    assert "is protected" in said.err and not forged.requests()
    hook.unlink()
    done = forged.headway.ok("sync", "run", "--json").json
    assert done["request"]["state"] == "open" and done["closed"] and len(forged.requests()) == 1


def test_somebody_elses_commit_on_our_branch_is_not_overwritten(forged: Forged) -> None:
    forged.up.commit("one", {"one.txt": "1\n"})
    forged.begin()
    forged.headway.ok("sync", "run")
    other = forged.there("commit-tree", "-m", "theirs", "-p", "headway/sync", "headway/sync^{tree}")
    forged.there("update-ref", "refs/heads/headway/sync", other)
    forged.up.commit("two", {"two.txt": "2\n"})
    said = forged.headway("sync", "run")
    assert said.code == 1 and "where headway did not leave it" in said.err
    assert forged.there("rev-parse", "headway/sync") == other


def test_pull_requests_need_a_forge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    headway = new_fork(tmp_path)
    headway.begin()
    toml = headway.pair.fork.path / "headway.toml"
    text = toml.read_text().replace('mode = "branch"', 'mode = "pull-request"')
    toml.write_text(text)
    said = headway("sync", "run")
    assert said.code == 1 and "has no [forge] section" in said.err
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    toml.write_text(text + '\n[forge]\nkind = "github"\nrepository = "o/r"\n')
    said = headway("sync", "run")
    assert said.code == 1 and "The environment has no GITHUB_TOKEN" in said.err


def test_direct_landings_move_trunk_and_nothing_is_read_twice(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    pair = headway.pair
    one = pair.upstream.commit("one", {"one.txt": "1\n"})
    two = pair.upstream.commit("two", {"two.txt": "2\n"})
    headway.begin(l1=L1, policy=POLICY + "\n[plan]\nbundle = 1\n")
    toml = pair.fork.path / "headway.toml"
    toml.write_text(toml.read_text().replace('mode = "branch"', 'mode = "direct"'))
    own = pair.fork.head("main")
    pair.fork.git("checkout", "--quiet", "--detach")
    done = headway.ok("sync", "run", "--json").json
    assert done["landing"] == {"mode": "direct", "branch": "main", "at": pair.fork.head("main")}
    assert pair.fork.git("log", "--format=%s", f"{own}..main") == "two\none"
    assert headway.answer(one) == headway.answer(two) == "picked(landed)"
    dates = pair.upstream.git("log", "--format=%an %ae %at", "-2", "main")
    assert pair.fork.git("log", "--format=%an %ae %at", f"{own}..main") == dates, "authors and dates are upstream's"
    types = [line for line in headway.ok("log", "show").out.splitlines() if "sync.scanned" in line]
    assert len(types) == 1, "headway's own landings on trunk are no news"
    pair.fork.git("checkout", "--quiet", "main")
    pair.fork.hours += 1
    pair.fork.git("revert", "--no-edit", "HEAD")
    pair.fork.git("checkout", "--quiet", "--detach")
    headway.ok("sync", "adopt")
    assert headway.answer(two) == "pending" and json.dumps(headway.status()["faults"]) == "[]"
