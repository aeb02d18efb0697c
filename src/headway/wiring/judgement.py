"""What resolvers may look at, read from git: earlier upstream states of a file, earlier resolutions of the fork."""

import functools
from collections.abc import Callable, Sequence

from headway.core.errors import HeadwayError
from headway.core.names import Sha
from headway.core.ports.git import History, TrialMerges
from headway.core.ports.trees import Trees
from headway.sync.resolvers.ladder import Surroundings


def surroundings(history: History, merges: TrialMerges, trees: Trees) -> Callable[[Sha, str], Surroundings]:
    """For (change, onto): what existed before. Reads ancestors of the two and nothing else."""

    def look(change: Sha, onto: str) -> Surroundings:
        @functools.cache
        def upstream_states(path: str) -> Sequence[str]:
            base = history.merge_base(change, Sha(onto))
            if base is None:
                return ()
            return tuple(_texts(merges, trees.states(path, f"{change}^1", base)))

        return Surroundings(upstream_states)

    return look


def _texts(merges: TrialMerges, oids: Sequence[str]) -> list[str]:
    found = []
    for oid in oids:
        try:
            found.append(merges.blob(oid).decode("utf-8", "surrogateescape"))
        except HeadwayError:  # an object that a partial clone lacks is no earlier state
            continue
    return found
