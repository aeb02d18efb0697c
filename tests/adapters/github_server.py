"""A local server that speaks as much of GitHub's REST API as headway uses, in front of a `FolderForge`.

`faults` is a list of status codes to answer with before the real answer, so that retries and refusals are real HTTP.
"""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlparse

from headway.adapters.folder_forge import FolderForge
from headway.adapters.processes import run

TOKEN = "a-token-that-is-good"


class GitHubServer:
    """Use as a context manager; `url` is the API's base."""

    def __init__(self, forge: FolderForge) -> None:
        self.forge = forge
        self.faults: list[int] = []
        self.lost: list[str] = []
        """`METHOD path` of calls that have their effect and are answered with a 502."""
        self.calls: list[str] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def _any(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length) or b"{}")
                status, answer = server.answer(self.command, self.path, body, self.headers.get("Authorization", ""))
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PATCH = _any

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> "GitHubServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer(self, method: str, path: str, body: dict[str, Any], auth: str) -> tuple[int, Any]:
        self.calls.append(f"{method} {path}")
        if self.faults:
            return self.faults.pop(0), {"message": "a fault of the server"}
        if TOKEN not in auth:
            return 401, {"message": "Bad credentials"}
        url = urlparse(path)
        query = {k: v[0] for k, v in parse_qs(url.query).items()}
        if query.get("page", "1") != "1":
            return 200, []
        for pattern, verb, handler in ROUTES:
            found = re.fullmatch(pattern, url.path)
            if found and verb == method:
                answer = handler(self, body, query, *found.groups())
                if f"{method} {url.path}" in self.lost:
                    self.lost.remove(f"{method} {url.path}")
                    return 502, {"message": "the answer was lost on its way"}
                return answer
        return 404, {"message": "Not Found"}

    def pull(self, number: str) -> dict[str, Any]:
        row = self.forge.rows()["requests"][number]
        now = self.forge.request(int(number))
        return {
            "number": int(number),
            "html_url": f"{self.url}/o/r/pull/{number}",
            "url": f"{self.url}/repos/o/r/pulls/{number}",
            "state": "open" if row["state"] == "open" else "closed",
            "merged": row["state"] == "merged",
            "merge_commit_sha": row.get("merged_as"),
            "mergeable": now.mergeable,
            "title": row["title"],
            "body": row["body"],
            "head": {"ref": row["head"], "sha": now.head_sha},
            "base": {"ref": row["base"], "sha": "0" * 40},
        }

    def issue(self, number: str) -> dict[str, Any]:
        row = self.forge.rows()["issues"][number]
        return {
            "number": int(number),
            "html_url": f"{self.url}/o/r/issues/{number}",
            "url": f"{self.url}/repos/o/r/issues/{number}",
            "state": row["state"],
            "title": row["title"],
            "body": row["body"],
            "labels": [{"name": label} for label in row["labels"]],
        }


def get_repo(server: GitHubServer, body: Any, query: Any) -> tuple[int, Any]:
    return 200, {"full_name": "o/r", "name": "r", "url": f"{server.url}/repos/o/r"}


def list_pulls(server: GitHubServer, body: Any, query: dict[str, str]) -> tuple[int, Any]:
    head = query.get("head", ":").split(":")[1]
    rows = server.forge.rows()["requests"]
    return 200, [server.pull(n) for n, row in rows.items() if row["head"] == head]


def edit(rows: dict[str, Any], number: str, body: dict[str, Any]) -> None:
    forge_file = rows["file"]
    data = json.loads(forge_file.read_text())
    row = data[rows["kind"]][number]
    row.update({key: value for key, value in body.items() if key in ("title", "body", "state", "base")})
    forge_file.with_suffix(".edit").write_text(json.dumps(data))
    forge_file.with_suffix(".edit").replace(forge_file)


def create_pull(server: GitHubServer, body: dict[str, Any], query: Any) -> tuple[int, Any]:
    found = run(["git", "rev-parse", "--verify", f"refs/heads/{body['head']}"], cwd=server.forge.repo, ok=None)
    if found.code:
        return 422, {"message": "Validation Failed"}
    number = _new(server, "requests", {"state": "open", "checks": "none", **body})
    return 201, server.pull(number)


def _new(server: GitHubServer, kind: str, row: dict[str, Any]) -> str:
    file = server.forge.repo.parent / "forge.json"
    data = json.loads(file.read_text())
    number = str(len(data["requests"]) + len(data["issues"]) + 1)
    data[kind][number] = row
    file.write_text(json.dumps(data))
    return number


def get_pull(server: GitHubServer, body: Any, query: Any, number: str) -> tuple[int, Any]:
    if number not in server.forge.rows()["requests"]:
        return 404, {"message": "Not Found"}
    return 200, server.pull(number)


def edit_pull(server: GitHubServer, body: dict[str, Any], query: Any, number: str) -> tuple[int, Any]:
    edit({"file": server.forge.repo.parent / "forge.json", "kind": "requests"}, number, body)
    return 200, server.pull(number)


def list_issues(server: GitHubServer, body: Any, query: dict[str, str]) -> tuple[int, Any]:
    wanted = set(filter(None, query.get("labels", "").split(",")))
    rows = server.forge.rows()["issues"]
    return 200, [server.issue(n) for n, row in rows.items() if wanted <= set(row["labels"])]


def create_issue(server: GitHubServer, body: dict[str, Any], query: Any) -> tuple[int, Any]:
    row = {"state": "open", "labels": [], "assignees": [], "comments": [], **body}
    return 201, server.issue(_new(server, "issues", row))


def get_issue(server: GitHubServer, body: Any, query: Any, number: str) -> tuple[int, Any]:
    if number not in server.forge.rows()["issues"]:
        return 404, {"message": "Not Found"}
    return 200, server.issue(number)


def edit_issue(server: GitHubServer, body: dict[str, Any], query: Any, number: str) -> tuple[int, Any]:
    edit({"file": server.forge.repo.parent / "forge.json", "kind": "issues"}, number, body)
    return 200, server.issue(number)


def list_comments(server: GitHubServer, body: Any, query: Any, number: str) -> tuple[int, Any]:
    rows = server.forge.rows()["issues"][number]["comments"]
    return 200, [{"id": place, "body": text} for place, text in enumerate(rows)]


def comment(server: GitHubServer, body: dict[str, Any], query: Any, number: str) -> tuple[int, Any]:
    file = server.forge.repo.parent / "forge.json"
    data = json.loads(file.read_text())
    data["issues"][number]["comments"].append(body["body"])
    file.write_text(json.dumps(data))
    return 201, {"id": 1, "body": body["body"]}


def get_commit(server: GitHubServer, body: Any, query: Any, sha: str) -> tuple[int, Any]:
    return 200, {"sha": sha, "url": f"{server.url}/repos/o/r/commits/{sha}"}


def check_runs(server: GitHubServer, body: Any, query: Any, sha: str) -> tuple[int, Any]:
    words = {"pending": None, "passed": "success", "failed": "failure"}
    rows = server.forge.rows()["requests"]
    runs = [
        {"id": int(n), "name": "ci", "status": "completed", "conclusion": words[row["checks"]]}
        for n, row in rows.items()
        if row["checks"] != "none" and server.forge.request(int(n)).head_sha == sha
    ]
    return 200, {"total_count": len(runs), "check_runs": runs}


def combined_status(server: GitHubServer, body: Any, query: Any, sha: str) -> tuple[int, Any]:
    return 200, {"state": "pending", "statuses": [], "sha": sha, "total_count": 0}


R = "/repos/o/r"
ROUTES = [
    (R, "GET", get_repo),
    (f"{R}/pulls", "GET", list_pulls),
    (f"{R}/pulls", "POST", create_pull),
    (rf"{R}/pulls/(\d+)", "GET", get_pull),
    (rf"{R}/pulls/(\d+)", "PATCH", edit_pull),
    (f"{R}/issues", "GET", list_issues),
    (f"{R}/issues", "POST", create_issue),
    (rf"{R}/issues/(\d+)", "GET", get_issue),
    (rf"{R}/issues/(\d+)", "PATCH", edit_issue),
    (rf"{R}/issues/(\d+)/comments", "GET", list_comments),
    (rf"{R}/issues/(\d+)/comments", "POST", comment),
    (rf"{R}/commits/([0-9a-f]+)", "GET", get_commit),
    (rf"{R}/commits/([0-9a-f]+)/check-runs", "GET", check_runs),
    (rf"{R}/commits/([0-9a-f]+)/status", "GET", combined_status),
]
