"""`headway sync replay`, through the command line, on a small fork that picked by hand."""

import json
import os
import shutil
from pathlib import Path

import pytest

from headway.adapters.processes import run
from headway.core.names import Sha
from tests.sync.driver import Headway
from tests.sync.repos import Pair, Repo, new_pair

MODULE = (
    "import os\n\n\ndef one(a, b):\n    return a + b\n\n\ndef two(x):\n    return x\n\n\nPASSES = [\n    'first',\n]\n"
)


class History:
    """A fork and the picks it made: rows of a cases file."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.rows: list[tuple[Sha, Sha]] = []

    @property
    def fork(self) -> Repo:
        return self.pair.fork

    def upstream(self, subject: str, files: dict[str, str | bytes | None]) -> Sha:
        sha = self.pair.upstream.commit(subject, files)
        self.fork.git("fetch", "--quiet", "origin")
        return sha

    def landed(self, upstream: Sha, files: dict[str, str | bytes | None]) -> Sha:
        """The fork's commit that took `upstream`, with the tree that somebody made by hand."""
        sha = self.fork.commit(f"take {upstream}", files)
        self.rows.append((sha, upstream))
        return sha

    def cases(self, path: Path, *, base: bool = False) -> Path:
        lines = ["base\tupstream_commit" if base else "fork_commit\tupstream_commit"]
        for landed, upstream in self.rows:
            lines.append(f"{self.fork.head(f'{landed}^') if base else landed}\t{upstream}")
        path.write_text("\n".join(lines) + "\n")
        return path


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Four picks: clean, resolved as the ladder does, resolved by hand in a way no one can know, and a conflict."""
    made = History(new_pair(tmp_path, {"m.py": MODULE, "other.py": "x = 1\n"}))
    clean = made.upstream("clean", {"other.py": "x = 2\n"})
    entry = made.upstream("entry", {"m.py": MODULE.replace("    'first',\n", "    'first',\n    'upstreams',\n")})
    body = made.upstream("body", {"m.py": made.pair.upstream.read("m.py").replace("return a + b", "return a - b")})
    twice = made.upstream("double", {"m.py": made.pair.upstream.read("m.py").replace("return x\n", "return x * 2\n")})
    forks = MODULE.replace("    'first',\n", "    'first',\n    'forks',\n").replace(
        "return x\n", "return x if x else 0\n"
    )
    made.fork.commit("the fork's own", {"m.py": forks})
    made.landed(clean, {"other.py": "x = 2\n"})
    with_entry = forks.replace("'forks',\n", "'forks',\n    'upstreams',\n")
    made.landed(entry, {"m.py": with_entry})
    made.landed(body, {"m.py": with_entry.replace("return a + b", "return b - a")})
    made.landed(twice, {"m.py": made.fork.read("m.py").replace("x if x else 0", "2 * x if x else 0")})
    return made


def replayed(history: History, repo: Path, cases: Path, out: Path, *more: str) -> dict:
    asked = ("--repo", str(repo), "--cases", str(cases), "--out", str(out), "--json", *more)
    return Headway(history.pair).ok("sync", "replay", *asked).json


def rows_of(out: Path) -> list[dict]:
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_each_pick_is_compared_with_what_landed(history: History, tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    document = replayed(history, history.fork.path, history.cases(tmp_path / "cases.tsv"), out)
    assert document["schema"] == "headway.replay/1"
    found = document["summary"]
    assert found["cases"] == 4
    assert found["git"] == {"exact": 1, "conflict": 2, "clean_but_different": 1, "empty": 0, "unknown": 0}
    assert found["ladder"] == {
        "accepted": 1, "exact": 1, "equivalent": 0, "same_in_conflicted_files": 0, "wrong": 0,
    }  # fmt: skip
    assert found["deferred"] == {"conflict": 1}
    assert document["engines"] == {"both_added": 1}
    rows = {row["upstream_commit"]: row for row in rows_of(out)}
    made = history.pair.upstream.made
    entry, double = rows[made["entry"]], rows[made["double"]]
    assert (entry["git_tree"], entry["verdict"], entry["ladder"]) == (None, "accepted", "exact")
    assert entry["tree"] == history.fork.git("rev-parse", f"{entry['fork_commit']}^{{tree}}")
    assert (double["tree"], double["engines"]) == (None, {"m.py#0": None})
    assert double["reasons"][0]["reason"] == "conflict"


def test_the_same_trees_come_from_a_clone_that_lacks_what_landed(history: History, tmp_path: Path) -> None:
    """Blindness, physically: for each case a clone holds the base and upstream, and not the fork's commit."""
    out = tmp_path / "rows.jsonl"
    replayed(history, history.fork.path, history.cases(tmp_path / "cases.tsv"), out)
    for row in rows_of(out):
        clone = tmp_path / f"blind-{row['upstream_commit'][:8]}"
        run(["git", "init", "--quiet", "--bare", str(clone)])
        wanted = [row["base"], row["upstream_commit"]]
        run(["git", "-c", "protocol.file.allow=always", "fetch", "--quiet", str(history.fork.path), *wanted], cwd=clone)
        assert run(["git", "cat-file", "-e", row["fork_commit"]], cwd=clone, ok=None).code != 0
        cases = tmp_path / "blind.tsv"
        cases.write_text(f"base\tupstream_commit\n{row['base']}\t{row['upstream_commit']}\n")
        blind_out = tmp_path / f"{clone.name}.jsonl"
        document = replayed(history, clone, cases, blind_out)
        (blind,) = rows_of(blind_out)
        assert (blind["git_tree"], blind["tree"]) == (row["git_tree"], row["tree"])
        assert (blind["fork_commit"], blind["ladder"]) == (None, None)
        assert document["summary"]["git"]["exact"] == 0, "nothing to compare with is not exact"


def test_a_killed_replay_goes_on_and_a_torn_last_line_is_done_again(history: History, tmp_path: Path) -> None:
    out, cases = tmp_path / "rows.jsonl", history.cases(tmp_path / "cases.tsv")
    whole = replayed(history, history.fork.path, cases, out)
    lines = out.read_text().splitlines(keepends=True)
    out.write_text("".join(lines[:2]) + lines[2][:40])
    again = replayed(history, history.fork.path, cases, out, "--jobs", "2")
    assert again["summary"] == whole["summary"]
    assert out.read_text().startswith("".join(lines[:2]))
    assert len(rows_of(out)) == 4


def test_accepted_trees_can_be_read_through_the_object_folder_alone(history: History, tmp_path: Path) -> None:
    out, objects = tmp_path / "rows.jsonl", tmp_path / "objects"
    before = history.fork.objects()
    replayed(history, history.fork.path, history.cases(tmp_path / "cases.tsv"), out, "--objects", str(objects))
    assert history.fork.objects() == before, "the fork's repository did not grow"
    entry = next(row for row in rows_of(out) if row["ladder"] == "exact")
    shutil.rmtree(tmp_path / "upstream")
    ran = run(
        ["git", "show", f"{entry['tree']}:m.py"],
        cwd=history.fork.path,
        set_env={"GIT_ALTERNATE_OBJECT_DIRECTORIES": os.fspath(objects)},
    )
    assert "    'forks',\n    'upstreams',\n" in ran.stdout.decode()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("commit\n1\n", "lacks a column `upstream_commit`"),
        ("fork_commit\tupstream_commit\n\t123\n", "Line 2 of the cases names no upstream commit"),
        (
            f"fork_commit\tupstream_commit\n{'0' * 39}1\t{'0' * 39}2\n",
            "Name the commit to replay on in a column `base`",
        ),
    ],
)
def test_a_cases_file_that_says_too_little_is_refused_in_one_sentence(
    history: History, tmp_path: Path, text: str, words: str
) -> None:
    cases = tmp_path / "bad.tsv"
    cases.write_text(text)
    asked = ("--repo", str(history.fork.path), "--cases", str(cases), "--out", str(tmp_path / "o"))
    ran = Headway(history.pair)("sync", "replay", *asked)
    assert ran.code == 1
    assert words in ran.err


def test_a_missing_upstream_object_is_unknown_and_nothing_else(history: History, tmp_path: Path) -> None:
    cases, out = tmp_path / "cases.tsv", tmp_path / "rows.jsonl"
    cases.write_text(f"base\tupstream_commit\n{history.fork.head()}\t{'0' * 39}2\n")
    document = replayed(history, history.fork.path, cases, out)
    assert document["summary"]["git"]["unknown"] == 1
    assert rows_of(out)[0]["verdict"] == "unknown"


def test_a_conflict_that_the_fork_resolved_before_is_resolved_the_same_way(tmp_path: Path) -> None:
    """Taken by hand, backed out, taken again: the second time the ladder knows the answer, and only that time."""
    history = History(new_pair(tmp_path, {"m.py": MODULE}))
    change = history.upstream("body", {"m.py": MODULE.replace("return a + b", "return upstreams(a, b)")})
    own = MODULE.replace("return a + b", "return own(a) + own(b)")
    history.fork.commit("the fork's own", {"m.py": own})
    by_hand = own.replace("return own(a) + own(b)", "return upstreams(own(a), own(b))")
    first = history.landed(change, {"m.py": by_hand})
    history.fork.commit(f'Revert "take {change}"\n\nThis reverts commit {first}.', {"m.py": own})
    history.landed(change, {"m.py": by_hand})
    out = tmp_path / "rows.jsonl"
    document = replayed(history, history.fork.path, history.cases(tmp_path / "cases.tsv"), out)
    before, after = rows_of(out)
    assert (before["verdict"], before["engines"]) == ("deferred", {"m.py#0": None})
    assert (after["verdict"], after["ladder"], after["engines"]) == ("accepted", "exact", {"m.py#0": "recorded"})
    assert document["summary"]["ladder"]["wrong"] == 0
