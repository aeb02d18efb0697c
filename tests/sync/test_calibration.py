"""`plan --calibration`: the score against what became of answered changes, by pick and by deferral."""

from pathlib import Path

from headway.sync.risk import roc_auc
from tests.sync.driver import new_fork


def test_predicted_against_happened_over_picks_and_deferrals(tmp_path: Path) -> None:
    files: dict[str, str | bytes | None] = {f"f{n}.py": f"def f{n}(x):\n    return x\n" for n in range(8)}
    headway = new_fork(tmp_path, files)
    fork, up = headway.pair.fork, headway.pair.upstream
    fork.commit("fork: own", {f"f{n}.py": f"def f{n}(x):\n    return own{n}(x)\n" for n in range(4)})
    for n in range(8):
        up.commit(f"change {n} (#{n + 1})", {f"f{n}.py": f"def f{n}(x):\n    return upstreams{n}(x)\n"})
    by_hand = up.made["change 0 (#1)"]
    fork.git("fetch", "--quiet", "origin")
    fork.commit(
        f"ours\n\n(cherry picked from commit {by_hand})", {"f0.py": "def f0(x):\n    return own0(upstreams0(x))\n"}
    )
    fork.git("cherry-pick", "-x", up.made["change 7 (#8)"])
    headway.begin()
    assert headway.ok("sync", "plan", "--calibration").out.startswith("2 answered changes, 1 were trouble, 0 unread")
    headway.ok("sync", "run")
    measured = headway.ok("sync", "plan", "--calibration", "--json").json
    assert (measured["schema"], measured["changes"], measured["trouble"], measured["unread"]) == (
        "headway.calibration/1", 8, 4, 0,
    )  # fmt: skip
    assert measured["roc_auc"] == 1.0 == roc_auc([0.9, 0.1], [True, False])
    assert sum(one["changes"] for one in measured["reliability"]) == 8
    low, high = measured["reliability"][0], measured["reliability"][-1]
    assert low["happened"] == 0.0 and high["happened"] == 1.0
