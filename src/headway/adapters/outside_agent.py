"""The `outside` agent: whoever submits candidates over MCP. It answers with the oldest submission not yet taken."""

from headway.core.names import StreamId
from headway.core.ports.agent import NoProposal, Proposal, Request
from headway.core.ports.blobs import BlobStore
from headway.core.ports.log import EventLog
from headway.core.submissions import Submission, submissions_of, submitted


class OutsideAgent:
    """Holds nothing: what was taken stands in the campaign's log, and each request says how far that is."""

    name = "outside"

    def __init__(self, log: EventLog, blobs: BlobStore, home: StreamId, candidate: str) -> None:
        """`candidate`: the name that a task's one source goes by."""
        self._candidate = candidate
        self._log = log
        self._blobs = blobs
        self._home = home

    def waits(self, taken: int) -> bool:
        """Whether there is a submission above `taken`; the loop asks only then."""
        stream = submissions_of(self._home)
        return self._log.heads(stream).get(stream, 0) > taken

    def propose(self, request: Request) -> Proposal | NoProposal:
        """The next submission, in its submitter's words."""
        waiting = submitted(self._log, self._home, int(request.facts["taken"]))
        if not waiting:
            return NoProposal("declined", "Nobody submitted anything.")
        return self._proposal(waiting[0])

    def ahead(self, request: Request, count: int) -> tuple[Proposal, ...]:
        """The submissions that wait, oldest first."""
        waiting = submitted(self._log, self._home, int(request.facts["taken"]))
        return tuple(self._proposal(one) for one in waiting[:count])

    def _proposal(self, one: Submission) -> Proposal:
        source = self._blobs.get(one.said.source).decode("utf-8", "surrogateescape")
        hypothesis = self._blobs.get(one.said.hypothesis).decode("utf-8", "surrogateescape")
        return Proposal({self._candidate: source}, hypothesis, one.said.parent, origin=one.number)
