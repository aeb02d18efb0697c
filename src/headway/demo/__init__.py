"""The demonstration: a small upstream and a diverged fork, on which the real verbs are run as real processes."""
