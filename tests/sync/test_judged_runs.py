"""Stories of the judgement: what `plan` and `run` do with picks that need more than git, and that git gets wrong."""

from pathlib import Path

from tests.sync.driver import Headway, new_fork, picture

PASSES = "passes = [\n    one(),\n    two(),\n    three(),\n]\n"


def begun(folder: Path, files: dict[str, str | bytes | None]) -> Headway:
    headway = new_fork(folder, files)
    headway.begin(policy="")
    return headway


def test_an_entry_beside_the_forks_own_is_resolved_and_lands_with_its_engine_named(tmp_path: Path) -> None:
    headway = begun(tmp_path, {"registry.py": "switches = [\n    'A',\n]\n"})
    headway.pair.fork.commit("fork: switch", {"registry.py": "switches = [\n    'A',\n    'FORKS',\n]\n"})
    change = headway.pair.upstream.commit("switch", {"registry.py": "switches = [\n    'A',\n    'UPSTREAMS',\n]\n"})
    (row,) = headway.ok("sync", "plan", "--json").json["pending"]
    assert (row["trial"], row["would"], row["conflicts"]) == ("conflict", "take", ["registry.py"])
    headway.ok("sync", "run")
    assert headway.answer(change) == "picked(landed)"
    assert picture(headway.pair)[-1].endswith("Resolved-By: both_added")
    landed = headway.pair.fork.read("registry.py", "headway/sync")
    assert landed == "switches = [\n    'A',\n    'FORKS',\n    'UPSTREAMS',\n]"


def test_a_clean_pick_that_duplicates_a_reordered_line_does_not_land(tmp_path: Path) -> None:
    """git merges the two moves without a conflict, and `one()` would run twice."""
    headway = begun(tmp_path, {"pipeline.py": PASSES})
    one, two, three = "    one(),\n", "    two(),\n", "    three(),\n"
    headway.pair.fork.commit("fork: order", {"pipeline.py": f"passes = [\n{two}{one}{three}]\n"})
    change = headway.pair.upstream.commit("order", {"pipeline.py": f"passes = [\n{two}{three}{one}]\n"})
    headway.ok("sync", "run")
    assert headway.answer(change) == "deferred(duplicated)"
    (refusal,) = headway.evidence(change)["refusals"]
    assert "'one(),' stands twice" in refusal["message"]


def test_a_conflict_that_no_resolver_is_sure_of_is_deferred_with_what_each_hunk_met(tmp_path: Path) -> None:
    headway = begun(tmp_path, {"core.py": "def limit():\n    return 10\n"})
    headway.pair.fork.commit("fork: limit", {"core.py": "def limit():\n    return fork_limit(20)\n"})
    change = headway.pair.upstream.commit("limit", {"core.py": "def limit():\n    return upstream_limit(30)\n"})
    headway.ok("sync", "run")
    assert headway.answer(change) == "deferred(conflict)"
    evidence = headway.evidence(change)
    assert evidence["resolution"] == [{"path": "core.py", "hunk": 0, "engine": None, "why": "no resolver is sure"}]
    assert "return fork_limit(20)" in evidence["files_with_markers"]["core.py"]


def test_an_invariant_of_the_fork_stops_a_clean_pick(tmp_path: Path) -> None:
    headway = begun(tmp_path, {"driver.py": "import os\n\nsafe_mode = True\n\n\ndef go():\n    return 1\n"})
    toml = headway.pair.fork.path / "headway.toml"
    toml.write_text(toml.read_text() + '\n[[invariant]]\npaths = ["driver.py"]\npattern = "^safe_mode = True$"\n')
    change = headway.pair.upstream.commit("fast", {"driver.py": "import os\n\n\ndef go():\n    return 1\n"})
    headway.ok("sync", "run")
    assert headway.answer(change) == "deferred(invariant_broken)"


def test_a_file_that_the_fork_deleted_is_a_conflict_with_its_kind(tmp_path: Path) -> None:
    headway = begun(tmp_path, {"gone.py": "x = 1\n"})
    headway.pair.fork.commit("fork: drop", {"gone.py": None})
    change = headway.pair.upstream.commit("edit", {"gone.py": "x = 2\n"})
    headway.ok("sync", "run")
    assert headway.answer(change) == "deferred(conflict)"
    (hunk,) = headway.evidence(change)["resolution"]
    assert hunk["why"] == "a deleted by us conflict has no hunks to resolve"


def test_a_conflict_that_the_fork_once_resolved_by_hand_is_resolved_so_again(tmp_path: Path) -> None:
    """Taken by hand, backed out, and now asked for again: `run` knows what the fork's people made of it."""
    base = "def limit():\n    return 10\n"
    headway = begun(tmp_path, {"core.py": base})
    change = headway.pair.upstream.commit("limit", {"core.py": base.replace("10", "upstreams(30)")})
    fork = headway.pair.fork
    fork.git("fetch", "--quiet", "origin")
    own = base.replace("10", "own(20)")
    fork.commit("fork: own limit", {"core.py": own})
    by_hand = fork.commit(f"take {change}", {"core.py": base.replace("10", "own(upstreams(30))")})
    fork.commit(f'Revert "take {change}"\n\nThis reverts commit {by_hand}.', {"core.py": own})
    headway.ok("sync", "run")
    assert headway.answer(change) == "picked(landed)"
    assert picture(headway.pair)[-1].endswith("Resolved-By: recorded")
    assert fork.read("core.py", "headway/sync") == "def limit():\n    return own(upstreams(30))"
