"""Jobs that run in the background."""

import threading


class Job:
    def __init__(self, work):
        self.result = None
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)

    def start(self):
        self._thread.start()
        return self

    def wait(self, seconds):
        """Whether it ended in time."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self, work):
        self.result = work()
