"""A state machine drives the real log and its fake side by side: same answers, through closing and reopening."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from headway.adapters.log_check import check_log
from headway.adapters.memory_log import MemoryLog
from headway.adapters.sqlite_log import SqliteLog
from headway.core.names import StreamId
from headway.core.ports.log import Append, EventLog, Record, StaleWrite
from tests.adapters.logs import hand_clock, note, open_log

STREAMS = st.sampled_from([StreamId(name) for name in ("fork/a", "fork/a/b", "change/ü", "x")])
WRITES = st.lists(st.tuples(STREAMS, st.integers(-1, 1), st.lists(st.text(max_size=20), max_size=3)), max_size=3)


class RealAndFake(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.state = Path(self.folder.name) / "state"
        self.real: SqliteLog = open_log(self.state)
        self.fake = MemoryLog(hand_clock())

    @rule(writes=WRITES)
    def append(self, writes: list[tuple[StreamId, int, list[str]]]) -> None:
        heads = self.fake.heads()
        appends = [
            Append(stream, heads.get(stream, 0) + off, tuple(note(text) for text in texts))
            for stream, off, texts in writes
        ]
        assert answer(self.real, appends) == answer(self.fake, appends)

    @rule(stream=STREAMS, after=st.integers(0, 12))
    def read(self, stream: StreamId, after: int) -> None:
        assert list(self.real.read(stream, after)) == list(self.fake.read(stream, after))
        assert list(self.real.read_all(after)) == list(self.fake.read_all(after))
        assert self.real.heads(stream) == self.fake.heads(stream)

    @rule()
    def reopen(self) -> None:
        self.real.close()
        assert check_log(self.state).problems == ()
        self.real = open_log(self.state)

    @invariant()
    def same_heads(self) -> None:
        assert self.real.heads() == self.fake.heads()

    def teardown(self) -> None:
        self.real.close()
        assert check_log(self.state).problems == ()
        self.folder.cleanup()


def answer(log: EventLog, writes: list[Append]) -> tuple[Record, ...] | str:
    try:
        return log.append(writes)
    except StaleWrite as stale:
        return stale.message


TestRealAndFake = RealAndFake.TestCase
TestRealAndFake.settings = settings(
    max_examples=25, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
