"""The public failure stories about picks, each driven through the command line on a small real fork.

`STORIES` is the table: what went wrong elsewhere, and the tests that hold headway to it. Those without a test of their
own before are below.
"""

import importlib
from pathlib import Path

from tests.sync.driver import ENGINE, new_fork, picture
from tests.sync.test_agent_rung import agent

STORIES: dict[int | str, tuple[str, tuple[str, ...]]] = {
    1: (
        "every pick 'already present', green, nothing pushed",
        (
            "test_shapes:test_empty_though_the_fork_lacks_the_effect_is_vanished_and_never_already_present",
            "test_shapes:test_a_change_that_is_there_among_other_edits_is_shown_by_a_round_trip",
        ),
    ),
    2: (
        "a failed commit taken for an empty pick, the commit lost",
        (
            "test_bad_input:test_a_failing_hook_is_not_an_empty_pick",
            "test_bad_input:test_failing_signing_says_nothing_about_any_change",
        ),
    ),
    4: (
        "a call site dropped, the function left as dead code, all tests green",
        ("test_failure_stories:test_story_4_a_helper_without_its_only_call_is_named_though_all_tests_are_green",),
    ),
    5: (
        "a clean pick doubles a reordered line",
        (
            "test_judged_runs:test_a_clean_pick_that_duplicates_a_reordered_line_does_not_land",
            "test_failure_stories:test_story_5_a_pass_is_not_registered_twice_by_a_clean_pick",
        ),
    ),
    6: (
        "a squashed landing destroys ancestry",
        (
            "test_commit_journey:test_a_squashed_landing_keeps_the_cursor_and_picks_nothing_again",
            "test_landing_stories:test_twenty_landed_squashed_by_a_person_who_left_the_branch_standing",
            "test_landing_modes:test_after_a_person_merged_it_the_next_landing_opens_the_next_request",
        ),
    ),
    8: (
        "an agent commits conflict markers, in a generated file too",
        ("test_failure_stories:test_story_8_markers_in_one_of_three_files_and_in_a_generated_one_are_found",),
    ),
    10: (
        "the source could not be read, the tool said 'nothing pending'",
        (
            "test_bad_input:test_an_unreachable_upstream_is_a_partial_source_never_nothing_pending",
            "test_watch:test_a_watch_takes_what_comes_backs_off_and_stops_cleanly",
        ),
    ),
    13: (
        "an agent games the tests, or trouble is taken for noise",
        (
            "test_failure_stories:test_story_13_a_rewritten_golden_value_is_refused_and_the_last_good_try_still_counts",
            "test_failure_stories:test_story_13_a_suite_that_crashes_or_does_not_run_is_never_green",
            "test_agent_rung:test_an_agent_that_lies_in_every_known_way_is_refused_by_the_right_rail_each_time",
        ),
    ),
    16: (
        "one breaks, five are reverted",
        ("test_bundles:test_eight_with_one_bad_and_a_pair_that_fails_only_together",),
    ),
    20: (
        "killed between the effect and its record, seven requests for one target",
        (
            "test_landing_stories:test_killed_after_the_effect_and_before_the_record_is_one_branch_and_one_request",
            "test_landing_modes:test_one_request_is_opened_and_then_brought_up_to_date",
            "test_commit_journey:test_running_again_changes_nothing_and_new_changes_are_taken_later",
        ),
    ),
    "automerger": (
        "a bot stuck in silence, on an empty commit or a rename by case only",
        (
            "test_shapes:test_an_empty_change_changes_nothing_and_says_so",
            "test_shapes:test_mode_case_link_binary_crlf_submodule_and_strange_names_land_as_git_would_pick_them",
            "test_liveness:test_a_frontier_that_stands_still_is_an_alarm_until_it_moves",
        ),
    ),
    "copybara": (
        "edits at the destination overwritten, changes that were there listed as pending",
        (
            "test_landing_modes:test_somebody_elses_commit_on_our_branch_is_not_overwritten",
            "test_adopt:test_content_proves_without_a_word",
        ),
    ),
    "autotick": (
        "a request that a person closed counted as done",
        ("test_landing_modes:test_a_request_that_a_person_closed_stops_the_run_until_people_say_what_now",),
    ),
    "hand-made reverts": (
        "a pick that is backed out is never tried again, or waits for weeks",
        (
            "test_commit_journey:test_a_pick_that_is_backed_out_of_trunk_is_pending_again",
            "test_people:test_a_landing_is_taken_back_by_commits_that_l1_has_seen",
        ),
    ),
}
"""Story 20 is also each case of tests/kill, which kills at every append and every effect."""


def test_every_story_has_its_tests() -> None:
    for number, (what, names) in STORIES.items():
        for name in names:
            module, _, function = name.partition(":")
            assert hasattr(importlib.import_module(f"tests.sync.{module}"), function), (number, what, name)


def test_story_4_a_helper_without_its_only_call_is_named_though_all_tests_are_green(tmp_path: Path) -> None:
    base = "def lower(op):\n    steps = plan(op)\n    return emit(steps)\n"
    ours = base.replace("plan(op)", "own_plan(op)")
    helper = "def narrow_interval(steps):\n    return steps[:1]\n\n\n"
    theirs = helper + base.replace("steps = plan(op)", "steps = narrow_interval(plan(op))")
    headway = new_fork(tmp_path, {"lower.py": base})
    headway.pair.fork.commit("fork: own plan", {"lower.py": ours})
    change = headway.pair.upstream.commit("narrow the interval", {"lower.py": theirs})
    agent(tmp_path, headway, f"put('lower.py', {helper + ours!r})\n", more="tries = 1\n")
    headway.ok("sync", "run")
    assert headway.answer(change) == "deferred(call_site_dropped)"
    [told] = headway.evidence(change)["agent"]["proposals"]
    assert "call_site_dropped: narrow_interval: 0 references (upstream 1)." in told["said"]


def test_story_5_a_pass_is_not_registered_twice_by_a_clean_pick(tmp_path: Path) -> None:
    passes = ["pm.addPass(createAlpha());\n", "pm.addPass(createBeta());\n", "pm.addPass(createGamma());\n"]
    a, b, c = passes

    def body(*order: str) -> str:
        return "void build(PM &pm) {\n" + "".join(f"  {line}" for line in order) + "}\n"

    headway = new_fork(tmp_path, {"pipeline.cpp": body(a, b, c)})
    headway.pair.fork.commit("fork: beta first", {"pipeline.cpp": body(b, a, c)})
    change = headway.pair.upstream.commit("alpha last", {"pipeline.cpp": body(b, c, a)})
    headway.begin()
    headway.ok("sync", "run")
    evidence = headway.evidence(change)
    assert (headway.answer(change), evidence["result"]) == ("deferred(duplicated)", "clean")
    assert "createAlpha" in evidence["refusals"][0]["message"]


def test_story_8_markers_in_one_of_three_files_and_in_a_generated_one_are_found(tmp_path: Path) -> None:
    heading = "Title\n=======\n\nvalue {}\n"
    files = {"a.py": "x = {}\n", "doc.md": heading, "gen/targets.inc": "target({})\n"}

    def with_value(value: str) -> dict[str, str | bytes | None]:
        return {path: text.format(value) for path, text in files.items()}

    headway = new_fork(tmp_path, with_value("base"))
    headway.pair.fork.commit("fork: ours", with_value("ours"))
    change = headway.pair.upstream.commit("theirs", with_value("theirs"))
    right = with_value("theirs")
    program = f"""
right = {right!r}
left = {{0: 'a.py', 1: 'gen/targets.inc'}}.get(tries)
for name, text in right.items(): put(name, text + ('>>>>>>> upstream after\\n' if name == left else ''))
if tries == 1: assert 'conflict_markers: a.py:2' in request
if tries == 2: assert 'conflict_markers: gen/targets.inc:2' in request
"""
    agent(tmp_path, headway, program)
    headway.ok("sync", "run")
    assert headway.answer(change) == "picked(landed)"
    assert headway.pair.fork.read("doc.md", "headway/sync").startswith("Title\n=======\n")
    journey = headway.ok("sync", "show", change, "--json").json["journey"]
    asked = [(one["outcome"], one["reason"]) for one in journey if one["type"] == "sync.asked.v1"]
    assert asked == [("refused", "conflict_markers"), ("refused", "conflict_markers"), ("accepted", "")]


def test_story_13_a_rewritten_golden_value_is_refused_and_the_last_good_try_still_counts(tmp_path: Path) -> None:
    base = "def test_golden():\n    values = run(size=1)\n    assert values == [1, 2, 3]\n"
    ours, theirs = base.replace("size=1", "size=1, fork=True"), base.replace("size=1", "size=1, fast=True")
    measured = ours.replace("[1, 2, 3]", "[1, 2, 999]")
    right = base.replace("size=1", "size=1, fork=True, fast=True")
    headway = new_fork(tmp_path, {"tests/test_golden.py": base})
    headway.pair.fork.commit("fork: ours", {"tests/test_golden.py": ours})
    change = headway.pair.upstream.commit("fast", {"tests/test_golden.py": theirs})
    program = f"put('tests/test_golden.py', [{measured!r}, {right!r}][tries])\n"
    agent(tmp_path, headway, program, more="tries = 2\n")
    headway.ok("sync", "run")
    assert headway.answer(change) == "picked(landed)"
    journey = headway.ok("sync", "show", change, "--json").json["journey"]
    asked = [one["outcome"] for one in journey if one["type"] == "sync.asked.v1"]
    assert asked == ["refused", "accepted"]


def test_story_13_a_suite_that_crashes_or_does_not_run_is_never_green(tmp_path: Path) -> None:
    """Download noise around a real crash, an unguarded import, and a change that makes the suite count nothing."""
    headway = new_fork(tmp_path)
    up = headway.pair.upstream
    noise = up.commit("noise", {"engine.py": "print('ConnectionError: download failed, retrying')\n1 / 0\n" + ENGINE})
    importing = up.commit("import", {"engine.py": "import not_installed_here\n" + ENGINE})
    nothing = up.commit("no tests", {"check.py": "print('all good')\n"})
    fine = up.commit("fine", {"fine.txt": "fine\n"})
    headway.begin()
    headway.ok("sync", "run")
    assert headway.answer(nothing) == "deferred(report_damaged)", "no counts: what ran is unknown, never green"
    assert {headway.answer(change).partition("(")[0] for change in (noise, importing)} == {"deferred"}
    assert [line.partition(" | ")[0] for line in picture(headway.pair)] == ["fine"]
    assert headway.answer(fine) == "picked(landed)" and headway.status()["closed"]
