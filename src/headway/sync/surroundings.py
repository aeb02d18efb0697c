"""What resolvers may look at beside the conflict, read through the ports: only what existed before the pick."""

import functools
from collections.abc import Callable, Sequence

from headway.core.errors import HeadwayError
from headway.core.names import Sha
from headway.core.ports.git import TrialMerges
from headway.core.ports.trees import Trees
from headway.sync.resolvers.ladder import Recorded, Surroundings


def nothing_recorded(_: str) -> Sequence[Recorded]:
    """For a fork without earlier resolutions."""
    return ()


def surroundings(
    merges: TrialMerges,
    trees: Trees,
    change: Sha,
    since: Callable[[], Sha | None],
    recorded: Callable[[str], Sequence[Recorded]] = nothing_recorded,
) -> Surroundings:
    """For one change: upstream's states of a file between `since` (where the fork was cut) and the change's parent."""

    @functools.cache
    def upstream_states(path: str) -> Sequence[str]:
        base = since()
        if base is None:
            return ()
        return tuple(_texts(merges, trees.states(path, f"{change}^1", base)))

    return Surroundings(upstream_states, recorded)


def _texts(merges: TrialMerges, oids: Sequence[str]) -> list[str]:
    found = []
    for oid in oids:
        try:
            found.append(merges.blob(oid).decode("utf-8", "surrogateescape"))
        except HeadwayError:  # an object that a partial clone lacks is no earlier state
            continue
    return found
