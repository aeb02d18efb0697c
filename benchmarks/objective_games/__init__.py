"""Games and honest changes for the three tasks of many files that ship; `benchmarks/objectives.py` plays them."""

from benchmarks.objective_games import bundle_size, call_sites, flaky_suite
from benchmarks.objective_games.edits import Change, Game, applied

GAMES: dict[str, tuple[Game, ...]] = {
    "flaky-suite": flaky_suite.GAMES,
    "bundle-size": bundle_size.GAMES,
    "call-sites": call_sites.GAMES,
}
HONEST: dict[str, tuple[Change, ...]] = {
    "flaky-suite": flaky_suite.HONEST,
    "bundle-size": bundle_size.HONEST,
    "call-sites": call_sites.HONEST,
}

__all__ = ["GAMES", "HONEST", "Change", "Game", "applied"]
