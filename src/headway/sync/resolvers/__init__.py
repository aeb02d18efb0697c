"""The resolution ladder's rungs, cheapest and surest first. The dict is the whole registry."""

from headway.sync.resolvers.additions import both_added, both_added_imports
from headway.sync.resolvers.edits import adjacent_lines, separate_tokens
from headway.sync.resolvers.formatting import already_there, only_reformatted, same_effect
from headway.sync.resolvers.ladder import Resolver
from headway.sync.resolvers.recorded import recorded
from headway.sync.resolvers.upstream_state import absent_in_fork, older_upstream_state

RESOLVERS: dict[str, Resolver] = {
    "recorded": recorded,
    "same_effect": same_effect,
    "only_reformatted": only_reformatted,
    "already_there": already_there,
    "both_added_imports": both_added_imports,
    "older_upstream_state": older_upstream_state,
    "adjacent_lines": adjacent_lines,
    "separate_tokens": separate_tokens,
    "absent_in_fork": absent_in_fork,
    "both_added": both_added,
}
"""Engine name -> resolver, in the order they are asked."""
