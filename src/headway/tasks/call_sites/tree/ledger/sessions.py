"""Who is signed in. Moments stay inside a session."""

from datetime import datetime as Moment
from datetime import timedelta


class Session:
    def __init__(self, user, minutes=30):
        self.user = user
        self.minutes = minutes
        self.started = Moment.utcnow()
        self.last = Moment.utcnow()

    def touch(self):
        self.last = Moment.utcnow()

    def is_over(self):
        return Moment.utcnow() - self.last > timedelta(minutes=self.minutes)

    def length(self):
        return (Moment.utcnow() - self.started).total_seconds()
