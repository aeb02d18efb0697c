"""The rails that every proposal passes, whoever made it. The dict is the registry, in the order of asking."""

from headway.sync.rails.duplicates import duplicated
from headway.sync.rails.facts import Rail
from headway.sync.rails.invariants import invariant_broken
from headway.sync.rails.markers import conflict_markers
from headway.sync.rails.parses import unparsable
from headway.sync.rails.residual import residual
from headway.sync.rails.scope import outside_conflict
from headway.sync.rails.survivors import call_site_dropped, definition_dropped
from headway.sync.rails.tests_kept import golden_rewritten, test_deleted, test_skipped, test_weakened

RAILS: dict[str, Rail] = {
    "conflict_markers": conflict_markers,
    "outside_conflict": outside_conflict,
    "unparsable": unparsable,
    "duplicated": duplicated,
    "definition_dropped": definition_dropped,
    "call_site_dropped": call_site_dropped,
    "invariant_broken": invariant_broken,
    "test_deleted": test_deleted,
    "test_skipped": test_skipped,
    "test_weakened": test_weakened,
    "golden_rewritten": golden_rewritten,
    "residual": residual,
}
"""Rail name -> rail; the name is its reason code."""
