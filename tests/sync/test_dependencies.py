"""Which change needs which, and how changes travel: on patches by hand, and through `headway sync plan`."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from headway.adapters.git_command import Git
from headway.adapters.git_history import GitHistory
from headway.adapters.git_patches import GitPatches
from headway.sync.dependencies import Dependencies, dependencies
from headway.sync.planning import RangeAsked, RangeFacts
from headway.sync.risk import Signals, reliability, risk_of, roc_auc
from headway.wiring import plan as plan_wiring
from tests.sync.driver import POLICY, new_fork
from tests.sync.repos import Repo, new_repo

CODE = "def alpha(x):\n    return x\n\n\ndef omega(x):\n    return x\n"


def needs_in(repo: Repo) -> tuple[Dependencies, dict[str, str]]:
    git = Git(repo.path)
    commits = GitHistory(git).commits(["HEAD"], first_parent=True)
    found = dependencies(commits, GitPatches(git).patches([commit.sha for commit in commits]))
    return found, {sha: subject for subject, sha in repo.made.items()}


def edges(repo: Repo, subject: str) -> set[tuple[str, str, str]]:
    """(kind, the change needed, why), the first commit left out."""
    found, names = needs_in(repo)
    needed = found.of(repo.made[subject])
    return {(edge.kind, names[edge.on], edge.why) for edge in needed if names[edge.on] != "base"}


def test_a_change_needs_the_one_that_last_wrote_its_lines_or_the_line_beside(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "r", "Someone")
    repo.commit("base", {"m.py": "".join(f"line {n}\n" for n in range(30))})
    repo.commit("two lines in", {"m.py": repo.read("m.py").replace("line 4", "line 4\nnew a\nnew b") + "\n"})
    repo.commit("far away", {"m.py": repo.read("m.py").replace("line 20", "line twenty") + "\n"})
    repo.commit("edits new b", {"m.py": repo.read("m.py").replace("new b", "new bee") + "\n"})
    repo.commit("beside twenty", {"m.py": repo.read("m.py").replace("line 21", "line 21!") + "\n"})
    assert edges(repo, "far away") == set()
    assert edges(repo, "edits new b") == {("textual", "two lines in", "m.py")}
    assert edges(repo, "beside twenty") == {("textual", "far away", "m.py")}


def test_a_deleted_and_recreated_file_begins_anew(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "r", "Someone")
    repo.commit("base", {"m.py": CODE})
    repo.commit("drop", {"m.py": None})
    repo.commit("again", {"m.py": CODE})
    repo.commit("edit", {"m.py": CODE.replace("alpha", "beta")})
    assert edges(repo, "edit") == {("textual", "again", "m.py")}


def test_a_change_needs_the_one_that_brought_a_name_or_a_file_it_uses(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "r", "Someone")
    repo.commit("base", {"a.cpp": "int zero() { return 0; }\n", "m.py": CODE, "t.td": "def Base;\n"})
    repo.commit("helper", {"lib/Helper.h": "inline int chooseLayout(int x) { return x; }\n"})
    repo.commit("uses it", {"a.cpp": '#include "lib/Helper.h"\nint one() { return chooseLayout(1); }\n'})
    repo.commit("op", {"t.td": 'def Base;\ndef TT_NewBarrierOp : TT_Op<"barrier">;\n'})
    repo.commit("lowers it", {"b.cpp": "void lower(TT_NewBarrierOp op) {}\n"})
    assert ("structural", "helper", "chooseLayout") in edges(repo, "uses it") or (
        "structural", "helper", "Helper.h") in edges(repo, "uses it")  # fmt: skip
    assert edges(repo, "lowers it") == {("structural", "op", "TT_NewBarrierOp")}


def test_messages_declare_needs_and_pins_are_a_lane(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "r", "Someone")
    repo.commit("base", {"m.py": CODE, "cmake/llvm-hash.txt": "1\n", "n.py": "x = 1\n"})
    first = repo.commit("Feature (#11)", {"m.py": CODE + "# feature\n"})
    repo.commit("Follow-up of #11 (#12)", {"n.py": "x = 2\n"})
    repo.commit(f'Revert "Feature (#11)" (#13)\n\nThis reverts commit {first}.', {"m.py": CODE})
    repo.commit("llvm (#14)", {"cmake/llvm-hash.txt": "2\n"})
    assert edges(repo, "Follow-up of #11 (#12)") == {("declared", "Feature (#11)", "mentions #11")}
    revert = edges(repo, 'Revert "Feature (#11)" (#13)')
    assert ("declared", "Feature (#11)", "reverts it") in revert
    found, names = needs_in(repo)
    assert {names[sha] for sha in found.toolchain} == {"base", "llvm (#14)"}


def test_plan_names_each_edge_its_risk_and_its_stream_and_draws_them(tmp_path: Path) -> None:
    headway = new_fork(tmp_path, {"core.py": CODE, "cmake/llvm-hash.txt": "1\n"})
    headway.begin(policy="")
    headway.pair.fork.commit("fork: own alpha", {"core.py": CODE.replace("return x\n", "return own(x)\n", 1)})
    up = headway.pair.upstream
    risky = up.commit("alpha (#21)", {"core.py": CODE.replace("    return x\n", "    return upstreams(x)\n", 1)})
    needs = up.commit("more alpha (#22)", {"core.py": up.read("core.py").replace("upstreams(x)", "upstreams(x, 1)")})
    alone = up.commit("notes (#23)", {"other.py": "y = 1\n"})
    pin = up.commit("llvm (#24)", {"cmake/llvm-hash.txt": "2\n"})
    picture = tmp_path / "plan.svg"
    document = headway.ok("sync", "plan", "--json", "--graph", str(picture)).json
    rows = {row["change"]: row for row in document["pending"]}
    assert rows[needs]["needs"][0] == {"change": risky, "kind": "textual", "why": "core.py", "weight": 1}
    assert rows[alone]["needs"] == []
    assert rows[risky]["risk"]["score"] > rows[alone]["risk"]["score"]
    assert "conflicts when tried alone" in rows[risky]["risk"]["reasons"]
    assert (rows[alone]["stream"], rows[pin]["stream"]) == ("bundle 1", "toolchain")
    assert "<title>textual: core.py (1)</title>" in picture.read_text()
    text = headway.ok("sync", "plan").out
    assert f"needs {risky[:12]} (textual: core.py, 1)" in text


def dies(_: Path) -> AbstractContextManager[Callable[[RangeAsked], RangeFacts]]:
    os._exit(1)


@pytest.mark.parametrize("reader", [plan_wiring._reader, dies])
def test_a_plan_read_beside_is_the_plan_read_here_even_if_that_process_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: Callable[..., object]
) -> None:
    headway = new_fork(tmp_path, {"core.py": CODE})
    headway.begin(policy="")
    headway.pair.fork.commit("fork: own alpha", {"core.py": CODE.replace("return x\n", "return own(x)\n", 1)})
    up = headway.pair.upstream
    up.commit("alpha (#21)", {"core.py": CODE.replace("    return x\n", "    return upstreams(x)\n", 1)})
    up.commit("more alpha (#22)", {"core.py": up.read("core.py").replace("upstreams(x)", "upstreams(x, 1)")})
    here = headway.ok("sync", "plan", "--json").json
    next(headway.pair.fork.path.rglob("plan-cache.json")).unlink()
    monkeypatch.setattr(plan_wiring, "WORTH_A_PROCESS", 0)
    monkeypatch.setattr(plan_wiring, "_reader", reader)
    assert headway.ok("sync", "plan", "--json").json == here


def test_a_plan_is_read_from_its_cache_until_something_moves(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    headway.begin(policy="")
    headway.pair.upstream.commit("first", {"a.py": "x = 1\n"})
    once = headway.ok("sync", "plan", "--json").out
    cache = next(headway.pair.fork.path.rglob("plan-cache.json"))
    kept = cache.read_text()
    assert headway.ok("sync", "plan", "--json").out == once
    cache.write_text(kept[: len(kept) // 2])
    assert headway.ok("sync", "plan", "--json").out == once, "a torn cache is no cache"
    headway.pair.upstream.commit("second", {"b.py": "x = 1\n"})
    assert len(headway.ok("sync", "plan", "--json").json["pending"]) == 2


def test_a_plan_that_quotes_a_secret_is_not_kept(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    headway.begin(policy="")
    headway.pair.upstream.commit("use ghp_0123456789abcdefghijklmnopqrstuvwxyz", {"a.py": "x = 1\n"})
    assert len(headway.ok("sync", "plan", "--json").json["pending"]) == 1
    assert not list(headway.pair.fork.path.rglob("plan-cache.json"))


def test_a_needed_change_draws_the_needing_one_into_its_chain(tmp_path: Path) -> None:
    headway = new_fork(tmp_path, {f"f{n}.py": CODE for n in range(6)})
    headway.begin(policy="")
    own = {f"f{n}.py": CODE.replace("return x\n", f"return own{n}(x)\n", 1) for n in range(6)}
    headway.pair.fork.commit("fork: own everywhere", own)
    up = headway.pair.upstream
    theirs = {f"f{n}.py": CODE.replace("return x\n", f"return their{n}(x)\n", 1) for n in range(6)}
    opener = up.commit("rewrite (#31)", theirs)
    follower = up.commit("one more (#32)", {"f0.py": theirs["f0.py"].replace("their0(x)", "their0(x, 2)")})
    rows = {row["change"]: row for row in headway.ok("sync", "plan", "--json").json["pending"]}
    assert rows[opener]["risk"]["score"] >= 0.25
    assert (rows[opener]["stream"], rows[follower]["stream"]) == ("chain 1", "chain 1")


def test_the_score_is_monotone_in_trouble_and_its_measures_are_right() -> None:
    quiet, loud = risk_of(Signals()), risk_of(Signals(alone=8, in_order=True, unresolved=12, entangled=9, absent=3))
    assert quiet.score < 0.01 and loud.score > 0.5 and not quiet.reasons
    assert loud.reasons[0] == "files in conflict when tried alone"
    assert roc_auc([0.1, 0.4, 0.35, 0.8], [False, False, True, True]) == 0.75
    assert roc_auc([0.5, 0.5], [True, False]) == 0.5
    bins = reliability([0.01, 0.01, 0.9, 1.0], [False, True, True, True])
    assert [(one.count, one.happened) for one in bins] == [(2, 0.5), (2, 1.0)]


def test_bundles_are_bounded_in_size_and_window_and_what_nobody_could_try_opens_a_chain(tmp_path: Path) -> None:
    headway = new_fork(tmp_path, {"core.py": CODE, "notes.txt": "a\nb\nc\nd\ne\nf\n"})
    headway.pair.fork.commit("fork: f", {"notes.txt": "a\nb\nc\nd\ne\nF\n"})
    up = headway.pair.upstream
    calm = [up.commit(f"calm {n}", {f"calm{n}.py": f"value_{n} = {n}\n"}) for n in range(3)]
    lost = up.commit("a", {"notes.txt": "A\nb\nc\nd\ne\nf\n"})
    skipped = [up.commit(f"ci {n}", {".github/workflows/ci.yml": f"on: {n}\n"}) for n in range(2)]
    pin = up.commit("llvm", {"cmake/llvm-hash.txt": "2\n"})
    late = up.commit("late", {"late.py": "late = 1\n"})
    headway.begin(policy=POLICY + "\n[plan]\nbundle = 2\nwindow = 3\n")
    oid = headway.pair.fork.git("rev-parse", f"{lost}:notes.txt")
    (headway.pair.fork.path / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    document = headway.ok("sync", "plan", "--json").json
    rows = {row["change"]: row for row in document["pending"]}
    assert rows[lost]["trial"] == "unknown" and rows[lost]["risk"]["reasons"] == ["git could not try it"]
    assert [rows[change]["stream"] for change in skipped] == ["", ""], "what is settled travels nowhere"
    assert document["streams"] == [
        {"stream": "bundle 1", "members": calm[:2]},
        {"stream": "bundle 2", "members": calm[2:]},
        {"stream": "chain 1", "members": [lost]},
        {"stream": "toolchain", "members": [pin]},
        {"stream": "bundle 3", "members": [late]},
    ]
