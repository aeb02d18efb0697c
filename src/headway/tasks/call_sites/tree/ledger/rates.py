"""Exchange rates with the moment they were fetched."""

from datetime import datetime, timedelta

FRESH = timedelta(hours=1)


class Rates:
    def __init__(self):
        self._known = {}

    def put(self, pair, value):
        self._known[pair] = (value, datetime.utcnow())

    def put_from_feed(self, pair, value, stamp):
        self._known[pair] = (value, datetime.utcfromtimestamp(stamp))

    def get(self, pair):
        value, at = self._known[pair]
        if datetime.utcnow() - at > FRESH:
            raise LookupError(f"the rate of {pair} is old")
        return value
