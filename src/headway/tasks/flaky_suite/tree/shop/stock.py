"""Stock of one article, taken from by several threads at once."""

import time


class Stock:
    def __init__(self, pieces):
        self.pieces = pieces
        self.sold = 0

    def take(self):
        """One piece; False if there is none."""
        left = self.pieces
        if left == 0:
            return False
        self._note(left)
        self.pieces = left - 1
        self.sold += 1
        return True

    def _note(self, left):
        """Where the bookkeeping happens; other threads may run meanwhile."""
        if left == 20:
            time.sleep(0)
