"""What the fork took before: every way of saying so, what proves it, and what must not be believed."""

from pathlib import Path

import pytest

from headway.adapters.git_command import Git
from headway.adapters.git_history import GitHistory
from headway.core.config import AdoptConfig
from headway.sync.adopt import Match, scan
from headway.sync.history import upstream_range
from tests.sync.repos import Pair, lines, new_pair

TEN = lines(*range(10))


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return new_pair(tmp_path, {"a.txt": TEN, "b.txt": TEN})


def adopted(pair: Pair, extra: AdoptConfig | None = None) -> dict[str, Match]:
    """Matches by the upstream change's subject."""
    fork, up = pair.fork, pair.upstream
    fork.git("fetch", "--quiet", "origin")
    history = GitHistory(Git(fork.path))
    base = history.merge_base(fork.head("main"), up.head())
    assert base is not None
    line = upstream_range(history, base, up.head(), ())
    names = {commit.sha: commit.subject for commit in line.commits}
    found = scan(history, line, fork.head("main"), extra or AdoptConfig())
    return {names[match.change]: match for match in found.matches} | {
        names[s]: Match(s, s, "proven", "merged") for s in found.merged
    }


def said(match: Match | None) -> str:
    return "nothing" if match is None else f"{match.grade}({match.how})"


def test_words_alone_are_claims(pair: Pair) -> None:
    up, fork = pair.upstream, pair.fork
    one = up.commit("Fold (#101)", {"a.txt": TEN.replace("1", "one")})
    two = up.commit("Inline (#102)", {"a.txt": TEN.replace("1", "one").replace("2", "two")})
    three = up.commit("Hoist (#103)", {"b.txt": TEN.replace("3", "three")})
    up.commit("Sink (#104)", {"b.txt": TEN.replace("4", "four")})
    up.commit("Peel (#105)", {"b.txt": TEN.replace("5", "five")})
    adapted = {"a.txt": TEN.replace("1", "eins")}
    fork.commit(f"take it\n\n(cherry picked from commit {one})\n", adapted)
    fork.commit(f"Squash\n\nx\n\nUpstream-Commit: {two}\n\ny\n", {"c1.txt": "c\n"})
    fork.commit(f"hoist for our chips\n\nBackport revision: {three[:12]}\n", {"c2.txt": "c\n"})
    fork.commit("[ours] [Cherry-pick] 'Sink (#104)' (#7)", {"c3.txt": "c\n"})
    fork.commit("ours: Peel\n\nTicket T5 <- GH-105\n", {"c4.txt": "c\n"})
    found = adopted(pair, AdoptConfig(body_patterns=(r"<- GH-(?P<pr>\d+)",)))
    assert {name: said(match) for name, match in found.items()} == {
        "Fold (#101)": "claimed(cherry_picked_from)",
        "Inline (#102)": "claimed(trailer)",
        "Hoist (#103)": "claimed(named_commit)",
        "Sink (#104)": "claimed(quoted_subject)",
        "Peel (#105)": "claimed(configured_pattern)",
    }


def test_content_proves_without_a_word(pair: Pair) -> None:
    up, fork = pair.upstream, pair.fork
    up.commit("moves context", {"a.txt": "top\n" + TEN})
    up.commit("Fold", {"a.txt": "top\n" + TEN.replace("8", "eight")})
    up.commit("New file", {"n.txt": "n\n", "m.txt": "m\n"})
    fork.commit("the same edit elsewhere in the file", {"a.txt": TEN.replace("8", "eight")})
    fork.commit("import", {"n.txt": "n\n", "m.txt": "m\n"})
    found = adopted(pair)
    assert {name: said(match) for name, match in found.items()} == {
        "Fold": "proven(patch_id)",
        "New file": "proven(same_effect)",
    }


def test_a_claim_with_the_same_effect_is_proven(pair: Pair) -> None:
    up, fork = pair.upstream, pair.fork
    one = up.commit("Fold (#101)", {"n.txt": "n\n"})
    fork.commit(f"Fold and more\n\n(cherry picked from commit {one})\n", {"n.txt": "n\n", "ours.txt": "o\n"})
    match = adopted(pair)["Fold (#101)"]
    assert said(match) == "proven(same_effect)" and match.words == ("cherry_picked_from",)


def test_what_was_taken_back_is_not_there_and_what_was_taken_again_is(pair: Pair) -> None:
    up, fork = pair.upstream, pair.fork
    up.commit("Fold (#101)", {"n.txt": "n\n"})
    up.commit("Hoist (#102)", {"h.txt": "h\n"})
    fork.commit("Fold (#101)", {"n.txt": "n\n"})
    hoist = fork.commit("Hoist (#102)", {"h.txt": "h\n"})
    fork.commit('Back out "Fold (#101)" (#9)', {"n.txt": None})
    fork.commit(f'Revert "Hoist"\n\nThis reverts commit {hoist}.\n', {"h.txt": None})
    assert adopted(pair) == {}
    fork.commit("Hoist (#102)", {"h.txt": "h\n"})
    assert {name: said(match) for name, match in adopted(pair).items()} == {"Hoist (#102)": "proven(same_effect)"}


def test_numbers_and_ids_that_name_something_else_are_not_believed(pair: Pair) -> None:
    up, fork = pair.upstream, pair.fork
    one = up.commit("Fold (#101)", {"a.txt": TEN.replace("1", "one")})
    up.commit("typo", {"a.txt": TEN.replace("1", "one").replace("2", "two")})
    fork.commit("Our own thing (#101)", {"c1.txt": "c\n"})
    fork.commit("typo", {"c2.txt": "c\n"})
    fork.commit(f"fix what upstream broke\n\nDefer revision: {one}\n", {"c3.txt": "c\n"})
    fork.commit(f"look at {one[:12]} one day", {"c4.txt": "c\n"})
    fork.commit("Revert upstream pick of #101", {"c5.txt": "c\n"})
    assert adopted(pair) == {}


def test_a_merge_of_upstream_is_seen_as_one(pair: Pair) -> None:
    up, fork = pair.upstream, pair.fork
    base = fork.head("main")
    up.commit("Fold (#101)", {"n.txt": "n\n"})
    up.commit("Hoist (#102)", {"h.txt": "h\n"})
    fork.commit("ours", {"o.txt": "o\n"})
    fork.git("fetch", "--quiet", "origin")
    fork.hours += 1
    fork.git("merge", "--quiet", "-m", "merge upstream", "origin/main~1")
    history = GitHistory(Git(fork.path))
    line = upstream_range(history, base, up.head(), ())
    found = scan(history, line, fork.head("main"), AdoptConfig())
    assert found.merged == (up.made["Fold (#101)"],) and found.matches == ()


def test_a_title_that_github_cut_off_is_read_to_its_end(pair: Pair) -> None:
    up, fork = pair.upstream, pair.fork
    up.commit("Fold (#101)", {"a.txt": TEN.replace("1", "one")})
    up.commit("Hoist (#102)", {"a.txt": TEN.replace("1", "one").replace("2", "two")})
    fork.commit("[Cherry-pick] 2 upstream (#101... (#9)\n\nSummary:\n\n...#102)\n", {"a.txt": TEN.replace("1", "1 2")})
    assert {name: said(match) for name, match in adopted(pair).items()} == {
        "Fold (#101)": "claimed(pick_of_number)",
        "Hoist (#102)": "claimed(pick_of_number)",
    }
