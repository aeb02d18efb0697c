"""Executor and forge with a failpoint before and after every call: where the kill tests cut a process off."""

from headway.adapters.failpoints import Failpoints
from headway.core.ports.executor import Command, Executor, Outcome
from headway.core.ports.forge import Forge, Issue, PullRequest, WantedIssue, WantedRequest


class CountedExecutor:
    """`inner`, between `executor.before` and `executor.after`."""

    def __init__(self, inner: Executor, failpoints: Failpoints) -> None:
        self._inner, self._failpoints = inner, failpoints

    def run(self, command: Command) -> Outcome:
        """See the port."""
        self._failpoints.hit("executor.before")
        outcome = self._inner.run(command)
        self._failpoints.hit("executor.after")
        return outcome


class CountedForge:
    """`inner`, with what changes something there between `forge.before` and `forge.after`."""

    def __init__(self, inner: Forge, failpoints: Failpoints) -> None:
        self._inner, self._failpoints = inner, failpoints

    def put_request(self, wanted: WantedRequest) -> PullRequest:
        """See the port."""
        self._failpoints.hit("forge.before")
        request = self._inner.put_request(wanted)
        self._failpoints.hit("forge.after")
        return request

    def request(self, number: int) -> PullRequest:
        """See the port."""
        return self._inner.request(number)

    def put_issue(self, wanted: WantedIssue) -> Issue:
        """See the port."""
        self._failpoints.hit("forge.before")
        issue = self._inner.put_issue(wanted)
        self._failpoints.hit("forge.after")
        return issue

    def close_issue(self, number: int, comment: str) -> Issue:
        """See the port."""
        self._failpoints.hit("forge.before")
        issue = self._inner.close_issue(number, comment)
        self._failpoints.hit("forge.after")
        return issue
