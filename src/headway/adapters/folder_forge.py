"""A forge in a folder: a real bare repository and one JSON file of requests and issues. The fake beside GitHub.

It outlives its process, as a forge does, so the kill tests see what a second run finds. A person's acts (merging,
squashing, closing, setting checks) are methods that no port offers.
"""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from headway.adapters.processes import ProcessFailed, run
from headway.core.names import Sha
from headway.core.ports.forge import ForgeRefused, Issue, PullRequest, WantedIssue, WantedRequest, marked, marker

Rows = dict[str, dict[str, Any]]


class FolderForge:
    """`folder/repo.git` is what is pushed to; `folder/forge.json` is what people see."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / "forge.json"

    @classmethod
    def create(cls, folder: Path, base: str = "main") -> "FolderForge":
        """A new, empty forge."""
        folder.mkdir(parents=True)
        run(["git", "init", "--quiet", "--bare", f"--initial-branch={base}", str(folder / "repo.git")])
        (folder / "forge.json").write_text(json.dumps({"requests": {}, "issues": {}}))
        return cls(folder)

    @property
    def repo(self) -> Path:
        return self._folder / "repo.git"

    def put_request(self, wanted: WantedRequest) -> PullRequest:
        with self._rows() as rows:
            number = self._find(rows["requests"], wanted.key, "open") or self._find(rows["requests"], wanted.key, None)
            if number is None:
                self._sha(wanted.head)
                number = str(len(rows["requests"]) + len(rows["issues"]) + 1)
                rows["requests"][number] = {"state": "open", "checks": "none"}
            row = rows["requests"][number]
            if row["state"] == "open":
                row |= {"head": wanted.head, "base": wanted.base, "title": wanted.title}
                row["body"] = marked(wanted.body, wanted.key)
            return self._request(number, row)

    def request(self, number: int) -> PullRequest:
        with self._rows() as rows:
            if str(number) not in rows["requests"]:
                raise ForgeRefused(f"The forge has no pull request #{number}.")
            return self._request(str(number), rows["requests"][str(number)])

    def put_issue(self, wanted: WantedIssue) -> Issue:
        with self._rows() as rows:
            number = self._find(rows["issues"], wanted.key, None)
            if number is None:
                number = str(len(rows["requests"]) + len(rows["issues"]) + 1)
            rows["issues"][number] = {
                "state": "open",
                "title": wanted.title,
                "body": marked(wanted.body, wanted.key),
                "labels": list(wanted.labels),
                "assignees": list(wanted.assignees),
                "comments": rows["issues"].get(number, {}).get("comments", []),
            }
            return self._issue(number, rows["issues"][number])

    def close_issue(self, number: int, comment: str) -> Issue:
        with self._rows() as rows:
            row = rows["issues"].get(str(number))
            if row is None:
                raise ForgeRefused(f"The forge has no issue #{number}.")
            if row["state"] == "open":
                row["state"] = "closed"
                row["comments"].append(comment)
            return self._issue(str(number), row)

    def rows(self) -> dict[str, Rows]:
        """Everything people see, for tests and for the local GitHub server."""
        with self._rows() as rows:
            return rows

    def merge(self, number: int, how: Literal["merge", "squash"] = "merge") -> Sha:
        """A person merges the request; with `squash` its commits become one, as GitHub does."""
        with self._rows() as rows:
            row = rows["requests"][str(number)]
            head, base = self._sha(row["head"]), self._sha(row["base"])
            tree = run(["git", "merge-tree", "--write-tree", base, head], cwd=self.repo).text.splitlines()[0]
            parents = ["-p", base] + (["-p", head] if how == "merge" else [])
            message = f"{row['title']} (#{number})\n\n{row['body'] if how == 'squash' else ''}"
            who = {f"GIT_{r}_{f}": v for r in ("AUTHOR", "COMMITTER") for f, v in _MERGER.items()}
            made = Sha(run(["git", "commit-tree", tree, *parents, "-m", message], cwd=self.repo, set_env=who).text)
            run(["git", "update-ref", f"refs/heads/{row['base']}", made, base], cwd=self.repo)
            row |= {"state": "merged", "merged_as": made, "head_at_merge": head}
            return made

    def close_request(self, number: int) -> None:
        """A person closes the request without merging it."""
        with self._rows() as rows:
            rows["requests"][str(number)]["state"] = "closed"

    def set_checks(self, number: int, checks: Literal["none", "pending", "passed", "failed"]) -> None:
        """The forge's CI reports."""
        with self._rows() as rows:
            rows["requests"][str(number)]["checks"] = checks

    def _request(self, number: str, row: dict[str, Any]) -> PullRequest:
        head = Sha(row.get("head_at_merge") or self._sha(row["head"]))
        mergeable = row["state"] == "open" and self._mergeable(row["base"], head)
        return PullRequest(
            int(number), f"{self._folder}#{number}", row["state"], head, row["base"], row["checks"], mergeable,
            row.get("merged_as"),
        )  # fmt: skip

    def _issue(self, number: str, row: dict[str, Any]) -> Issue:
        return Issue(int(number), f"{self._folder}#{number}", row["state"], row["body"])

    def _mergeable(self, base: str, head: Sha) -> bool:
        return run(["git", "merge-tree", "--write-tree", base, head], cwd=self.repo, ok=None).code == 0

    def _sha(self, branch: str) -> Sha:
        try:
            return Sha(run(["git", "rev-parse", "--verify", f"refs/heads/{branch}"], cwd=self.repo).text)
        except ProcessFailed as missing:
            raise ForgeRefused(f"The forge's repository has no branch {branch!r}.", "Push it first.") from missing

    @staticmethod
    def _find(rows: Rows, key: str, state: str | None) -> str | None:
        found = [n for n, row in rows.items() if marker(key) in row["body"] and state in (None, row["state"])]
        return found[-1] if found else None

    @contextmanager
    def _rows(self) -> Iterator[dict[str, Rows]]:
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            rows = json.loads(self._file.read_text())
            before = json.dumps(rows)
            yield rows
            if json.dumps(rows) != before:
                temporary = self._file.with_suffix(".new")
                temporary.write_text(json.dumps(rows, indent=1))
                temporary.replace(self._file)


_MERGER = {"NAME": "A Person", "EMAIL": "person@example.org", "DATE": "2026-04-01T12:00:00+00:00"}
