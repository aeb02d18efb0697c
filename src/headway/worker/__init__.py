"""The worker: judge and runner. A program of its own, which imports nothing of headway; see docs/lab.md."""
