"""The demo's repositories are the same on every machine and hold one change of every kind."""

from pathlib import Path

from headway.adapters.processes import run
from headway.demo.recipe import UPSTREAM
from headway.demo.repositories import build_pair


def test_the_same_call_gives_the_same_commits(tmp_path: Path) -> None:
    first, second = build_pair(tmp_path / "a"), build_pair(tmp_path / "b")
    assert first.shas == second.shas
    heads = [run(["git", "rev-parse", "main"], cwd=pair.fork).text for pair in (first, second)]
    assert heads[0] == heads[1]


def test_every_disposition_is_in_the_recipe() -> None:
    kinds = {commit.truth.partition(":")[0] for commit in UPSTREAM}
    assert kinds == {"picked", "already_present", "reverted_pair", "deferred", "wont_port"}


def test_both_suites_are_green_where_they_stand(tmp_path: Path) -> None:
    pair = build_pair(tmp_path)
    for repo in (pair.upstream, pair.fork):
        assert run(["python3", "tests/run.py"], cwd=repo).code == 0
