"""Is a change's effect in the fork already? An empty pick alone proves nothing: content must show it."""

from collections.abc import Iterable
from typing import Any, Literal

from headway.core.names import Sha, TreeId
from headway.core.ports.git import (
    Clean,
    Conflicted,
    Empty,
    History,
    PathChange,
    Trial,
    TrialMerges,
    Unknown,
    shown_path,
)

Proof = Literal["changes_nothing", "same_effect", "round_trip"]


def proof_of_presence(
    history: History, merges: TrialMerges, change: Sha, effect: Iterable[PathChange], onto: str, ours: TreeId
) -> tuple[Proof | None, dict[str, Any]]:
    """How it is shown that `onto` (whose tree is `ours`) has the effect of a change whose pick came out empty, or None.

    changes_nothing: the change itself is empty. same_effect: every path is as the change leaves it. round_trip: taking
    the change out of `onto` and putting it back gives `onto` again, so it was there (files may differ elsewhere).
    """
    paths = list(effect)
    facts: dict[str, Any] = {"onto": onto, "result": "empty", "paths": [shown_path(p.path) for p in paths]}
    if not paths:
        return "changes_nothing", facts
    there = history.entries(onto, [p.path for p in paths])
    differing = [shown_path(p.path) for p in paths if there.get(p.path) != p.after]
    if not differing:
        return "same_effect", facts
    without = merges.unpick(change, onto)
    facts |= {"differing": differing, "without_it": trial_kind(without)}
    if isinstance(without, Clean):
        again = merges.pick(change, without.tree)
        facts["put_back"] = trial_kind(again)
        if isinstance(again, Clean) and again.tree == ours:
            return "round_trip", facts
    return None, facts


def trial_kind(trial: Trial) -> str:
    """A trial's result as one word."""
    return {Clean: "clean", Empty: "empty", Conflicted: "conflict", Unknown: "unknown"}[type(trial)]
