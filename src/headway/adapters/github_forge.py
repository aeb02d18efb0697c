"""GitHub behind the forge port, through PyGithub. The token comes from the environment and is never logged."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from headway.core.errors import CouldNotRun, HeadwayError
from headway.core.names import Sha
from headway.core.ports.forge import (
    ForgeRefused,
    ForgeUnreachable,
    Issue,
    PullRequest,
    WantedIssue,
    WantedRequest,
    marked,
    marker,
)

if TYPE_CHECKING:
    from github.Repository import Repository

T = TypeVar("T")

FIXES = {
    401: "The token is wrong or has expired; put a new one into GITHUB_TOKEN.",
    403: "The token lacks a right it needs (contents, pull requests, issues: read and write).",
    404: "Check the repository's name and that the token may see it.",
    422: "GitHub refused the request as it stands; its own words are above.",
}


REPEATABLE = frozenset({"GET", "HEAD", "PATCH"})
"""Methods that may be repeated blindly. A POST whose answer was lost may have had its effect: look again first."""
LOOKS = 3


class GitHubForge:
    """One repository on GitHub (or on a server that speaks its REST API at `api_url`)."""

    def __init__(
        self, name: str, token: str, api_url: str = "https://api.github.com", *, patience: float = 1.0
    ) -> None:
        """`patience` scales every pause (between requests, before a retry); tests against a local server say 0."""
        try:
            import github
        except ImportError as missing:
            raise CouldNotRun("Pull requests on GitHub need PyGithub.", "pip install 'headway[github]'") from missing
        self._name, self._patience = name, patience
        self._github = github.Github(
            auth=github.Auth.Token(token),
            base_url=api_url,
            retry=github.GithubRetry(total=3, backoff_factor=0.5 * patience, allowed_methods=REPEATABLE),
            timeout=20,
            seconds_between_requests=0.25 * patience,
            seconds_between_writes=1.0 * patience,
        )
        self._known: Repository | None = None

    def put_request(self, wanted: WantedRequest) -> PullRequest:
        def put() -> Any:
            owner = self._name.split("/")[0]
            body = marked(wanted.body, wanted.key)
            own = [
                pull
                for pull in self._repo.get_pulls(state="all", head=f"{owner}:{wanted.head}")
                if marker(wanted.key) in (pull.body or "")
            ]
            open_ones = [pull for pull in own if pull.state == "open"]
            if open_ones:
                pull = open_ones[0]
                if (pull.title, (pull.body or "").strip(), pull.base.ref) != (wanted.title, body.strip(), wanted.base):
                    pull.edit(title=wanted.title, body=body, base=wanted.base)
                return pull
            return own[0] if own else self._repo.create_pull(wanted.base, wanted.head, title=wanted.title, body=body)

        return self._request(self._asked(put, f"open a pull request for {wanted.head}", looks=LOOKS))

    def request(self, number: int) -> PullRequest:
        return self._request(self._asked(lambda: self._repo.get_pull(number), f"read pull request #{number}"))

    def put_issue(self, wanted: WantedIssue) -> Issue:
        def put() -> Any:
            body = marked(wanted.body, wanted.key)
            for issue in self._repo.get_issues(state="all", labels=list(wanted.labels)):
                if marker(wanted.key) in (issue.body or ""):
                    issue.edit(title=wanted.title, body=body, state="open")
                    return issue
            return self._repo.create_issue(
                wanted.title, body, labels=list(wanted.labels), assignees=list(wanted.assignees)
            )

        return _issue(self._asked(put, f"file the issue {wanted.title!r}", looks=LOOKS))

    def close_issue(self, number: int, comment: str) -> Issue:
        def close() -> Any:
            issue = self._repo.get_issue(number)
            if issue.state == "open":
                if all(said.body != comment for said in issue.get_comments()):
                    issue.create_comment(comment)
                issue.edit(state="closed")
            return issue

        return _issue(self._asked(close, f"close issue #{number}", looks=LOOKS))

    @property
    def _repo(self) -> "Repository":
        if self._known is None:
            self._known = self._github.get_repo(self._name)
        return self._known

    def _request(self, pull: Any) -> PullRequest:
        state: Literal["open", "merged", "closed"] = "merged" if pull.merged else pull.state
        checks = self._asked(lambda: self._checks(pull.head.sha), f"read the checks of #{pull.number}")
        merged_as = Sha(pull.merge_commit_sha) if pull.merged else None
        return PullRequest(
            pull.number, pull.html_url, state, Sha(pull.head.sha), pull.base.ref, checks, pull.mergeable, merged_as
        )

    def _checks(self, sha: str) -> Literal["none", "pending", "passed", "failed"]:
        """Check runs and old-style statuses of one commit, as one word: any failure fails, any open one is pending."""
        commit = self._repo.get_commit(sha)
        words = [run.conclusion or "pending" for run in commit.get_check_runs()]
        words += [status.state for status in commit.get_combined_status().statuses]
        if not words:
            return "none"
        if any(word in ("failure", "error", "timed_out", "cancelled", "action_required") for word in words):
            return "failed"
        return "pending" if "pending" in words else "passed"

    def _asked(self, ask: Callable[[], T], what: str, *, looks: int = 1) -> T:
        """`ask`, with GitHub's troubles in sentences. One that finds its own earlier effect may look several times:
        after a server's fault or a lost answer it begins anew."""
        import github
        import requests

        while True:
            looks -= 1
            try:
                return ask()
            except (github.GithubException, requests.exceptions.RequestException) as trouble:
                if not looks or getattr(trouble, "status", 500) < 500:
                    raise _explained(trouble, what) from trouble
                time.sleep(self._patience)


def _explained(trouble: Exception, what: str) -> HeadwayError:
    import github

    if isinstance(trouble, github.RateLimitExceededException):
        return ForgeUnreachable(f"GitHub's rate limit stopped the attempt to {what}.", "Try again later.")
    if isinstance(trouble, github.GithubException):
        said = trouble.data.get("message", "") if isinstance(trouble.data, dict) else str(trouble.data)
        if trouble.status >= 500 or trouble.status == 429:
            return ForgeUnreachable(f"GitHub answered {trouble.status} to the attempt to {what}.")
        return ForgeRefused(f"GitHub refused to {what} ({trouble.status}: {said}).", FIXES.get(trouble.status, ""))
    return ForgeUnreachable(f"GitHub could not be reached to {what}: {type(trouble).__name__}.")


def _issue(issue: Any) -> Issue:
    return Issue(issue.number, issue.html_url, issue.state, issue.body or "")
