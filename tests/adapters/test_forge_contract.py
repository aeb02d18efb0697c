"""One contract for both forges: the folder, and GitHub's adapter over real HTTP against a local server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.adapters.folder_forge import FolderForge
from headway.adapters.github_forge import GitHubForge
from headway.adapters.processes import run
from headway.core.ports.forge import Forge, ForgeRefused, ForgeUnreachable, WantedIssue, WantedRequest
from tests.adapters.github_server import TOKEN, GitHubServer

WANTED = WantedRequest("bundle-1", "headway/bundle-1", "main", "Sync: 3 changes", "Three picks.")
TRACKING = WantedIssue("sig-1", "test_dot fails", "AssertionError in test_dot", ("headway",))


class World:
    """A forge under test, and the folder behind it where people act."""

    def __init__(self, folder: FolderForge, forge: Forge, server: GitHubServer | None) -> None:
        self.folder, self.forge, self.server = folder, forge, server


@pytest.fixture(params=["folder", "github"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    folder = FolderForge.create(tmp_path / "forge")
    work = tmp_path / "work"
    who = {f"GIT_{r}_{f}": "a@example.org" for r in ("AUTHOR", "COMMITTER") for f in ("NAME", "EMAIL")}
    run(["git", "init", "-q", "-b", "main", str(work)])
    for branch, name in (("main", "a"), ("headway/bundle-1", "b")):
        run(["git", "checkout", "-q", "-B", branch], cwd=work)
        (work / name).write_text(name)
        run(["git", "add", "."], cwd=work)
        run(["git", "commit", "-q", "-m", name], cwd=work, set_env=who)
        run(["git", "push", "-q", str(folder.repo), branch], cwd=work)
    if request.param == "folder":
        yield World(folder, folder, None)
    else:
        with GitHubServer(folder) as server:
            yield World(folder, GitHubForge("o/r", TOKEN, server.url, patience=0), server)


def test_asking_twice_opens_one_request_and_updates_it(world: World) -> None:
    first = world.forge.put_request(WANTED)
    again = world.forge.put_request(WantedRequest("bundle-1", WANTED.head, "main", "Sync: 4 changes", "Four picks."))
    assert first.number == again.number and first.state == "open" and len(first.head_sha) == 40
    rows = world.folder.rows()["requests"]
    assert len(rows) == 1
    assert rows[str(first.number)]["title"] == "Sync: 4 changes" and "Four picks." in rows[str(first.number)]["body"]


@pytest.mark.parametrize("checks", ["none", "pending", "passed", "failed"])
def test_checks_are_read_as_one_word(world: World, checks) -> None:
    number = world.forge.put_request(WANTED).number
    world.folder.set_checks(number, checks)
    assert world.forge.request(number).checks == checks


@pytest.mark.parametrize("how", ["merge", "squash"])
def test_a_merged_request_says_as_what(world: World, how) -> None:
    number = world.forge.put_request(WANTED).number
    assert world.forge.request(number).mergeable
    made = world.folder.merge(number, how)
    merged = world.forge.request(number)
    assert (merged.state, merged.merged_as) == ("merged", made)


def test_a_request_that_a_person_closed_is_not_reopened(world: World) -> None:
    number = world.forge.put_request(WANTED).number
    world.folder.close_request(number)
    again = world.forge.put_request(WANTED)
    assert (again.number, again.state) == (number, "closed")
    assert len(world.folder.rows()["requests"]) == 1


def test_a_branch_that_was_not_pushed_is_refused(world: World) -> None:
    with pytest.raises(ForgeRefused):
        world.forge.put_request(WantedRequest("k", "no/such/branch", "main", "t", "b"))


def test_an_unknown_request_is_refused(world: World) -> None:
    with pytest.raises(ForgeRefused, match="77"):
        world.forge.request(77)


def test_one_issue_per_key_updated_closed_and_opened_again(world: World) -> None:
    first = world.forge.put_issue(TRACKING)
    changed = WantedIssue("sig-1", "test_dot fails", "Now with a suspect", ("headway",))
    assert world.forge.put_issue(changed).number == first.number
    assert world.forge.close_issue(first.number, "test_dot passed at abc").state == "closed"
    world.forge.close_issue(first.number, "test_dot passed at abc")
    rows = world.folder.rows()["issues"]
    assert len(rows) == 1 and rows[str(first.number)]["comments"] == ["test_dot passed at abc"]
    assert world.forge.put_issue(TRACKING).number == first.number
    assert world.folder.rows()["issues"][str(first.number)]["state"] == "open"


def test_github_is_asked_again_after_a_502_and_given_up_in_one_sentence(tmp_path: Path) -> None:
    folder = FolderForge.create(tmp_path / "forge")
    with GitHubServer(folder) as server:
        forge = GitHubForge("o/r", TOKEN, server.url, patience=0)
        server.faults = [502, 502]
        assert forge.put_issue(TRACKING).number == 1
        server.faults = [503] * 20
        with pytest.raises(ForgeUnreachable, match=r"^GitHub") as fault:
            forge.put_issue(TRACKING)
        assert "\n" not in str(fault.value) and TOKEN not in str(fault.value)
    with pytest.raises(ForgeUnreachable, match="could not be reached"):
        GitHubForge("o/r", TOKEN, server.url, patience=0).request(1)


def test_an_effect_whose_answer_was_lost_is_found_and_not_made_twice(tmp_path: Path) -> None:
    folder = FolderForge.create(tmp_path / "forge")
    with GitHubServer(folder) as server:
        forge = GitHubForge("o/r", TOKEN, server.url, patience=0)
        server.lost = ["POST /repos/o/r/issues"]
        number = forge.put_issue(TRACKING).number
        assert number == 1 and len(folder.rows()["issues"]) == 1 and not server.lost
        server.lost = [f"POST /repos/o/r/issues/{number}/comments", f"PATCH /repos/o/r/issues/{number}"]
        assert forge.close_issue(number, "it passed").state == "closed"
        assert folder.rows()["issues"]["1"]["comments"] == ["it passed"] and not server.lost


def test_an_expired_token_names_the_fix(tmp_path: Path) -> None:
    with GitHubServer(FolderForge.create(tmp_path / "forge")) as server:
        with pytest.raises(ForgeRefused, match=r"401.*GITHUB_TOKEN") as fault:
            GitHubForge("o/r", "old-token", server.url, patience=0).request(1)
        assert "old-token" not in str(fault.value)
