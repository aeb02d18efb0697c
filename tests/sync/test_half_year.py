"""The walk of `benchmarks.half_year_triton` on a small pair: by date, month by month, in one go or in two."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import half_year_walk
from benchmarks.half_year_triton import main
from benchmarks.half_year_walk import Step, Walk
from tests.sync.repos import Pair, new_pair

MONTH = 24 * 31


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    """Two months: a conflict that the fork's people resolve in the second, what stands on it, and clean ones."""
    pair = new_pair(tmp_path, {"a.txt": "one\ntwo\nthree\n", "b.txt": "b\n"})
    up, fork = pair.upstream, pair.fork
    fork.hours = 2
    fork.commit("fork: own two", {"a.txt": "one\nours\nthree\n"})
    up.hours = 3
    up.commit("Clean (#1)", {"c.txt": "c\n"})
    up.commit("Rewrite two (#2)", {"a.txt": "one\ntheirs\nthree\n"})
    up.commit("Rewrite it again (#3)", {"a.txt": "one\ntheirs better\nthree\n"})
    up.hours = fork.hours = MONTH
    fork.commit("[Pick] Rewrite two (#2)", {"a.txt": "one\nours and theirs\nthree\n"})
    up.hours += 2
    up.commit("Later (#4)", {"d.txt": "d\n"})
    fork.git("fetch", "--quiet", str(up.path), "main:refs/heads/upstream")
    return pair


def walk(pair: Pair, capsys: pytest.CaptureFixture[str], *options: str) -> list[dict[str, Any]]:
    argv = ["--repo", str(pair.fork.path), "--trunk", "main", "--upstream", "upstream", "--json", *options]
    assert main(argv) == 0
    return json.loads(capsys.readouterr().out)["rows"]


def test_a_walk_that_is_killed_goes_on_where_it_was(
    pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = walk(pair, capsys, "--keep", str(tmp_path / "whole"))
    assert [(row["name"], row["taken"], row["deferred"], row["backlog"]) for row in whole] == [
        ("2026-02", 1, 2, 2),
        ("2026-03", 1, 0, 2),
    ]
    refs, steps = pair.fork.refs(), list[str]()
    take = Walk._take_step

    def killed_at_the_fourth(one: Walk, step: Step) -> str:
        steps.append(step.side)
        if len(steps) == 4:
            raise KeyboardInterrupt
        return take(one, step)

    monkeypatch.setattr(half_year_walk, "SAVED_EVERY", 1)
    monkeypatch.setattr(Walk, "_take_step", killed_at_the_fourth)
    with pytest.raises(KeyboardInterrupt):
        walk(pair, capsys, "--keep", str(tmp_path / "parts"))
    assert walk(pair, capsys, "--keep", str(tmp_path / "parts")) == whole and pair.fork.refs() == refs
    assert len(steps) == 4 + 2, "five steps in all, and only the one that was cut off twice"


def test_with_people_a_deferral_is_taken_on_the_day_the_fork_took_it(
    pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    february, march = walk(pair, capsys, "--people", "--keep", str(tmp_path / "people"))
    assert (february["backlog"], february["taken by people"]) == (2, 0)
    assert (march["taken by people"], march["backlog"], march["fork: picked"]) == (1, 1, 1)
    with pytest.raises(Exception, match="holds another walk"):
        walk(pair, capsys, "--keep", str(tmp_path / "people"))
