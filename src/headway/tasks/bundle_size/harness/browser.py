"""A real browser over the DevTools protocol's pipe, with the standard library alone. It serves one folder as a site.

The page is read and driven from an isolated world: what the page has done to its own globals does not reach it.
"""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
SITE = "http://site.test/"
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'"


class Browser:
    """One page on `folder`. `trouble` collects what the page tried and was not allowed."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.trouble = []
        self._number = 0
        self._session = None
        self._buffer = b""
        self._profile = tempfile.mkdtemp(prefix="profile-")
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        program = next((found for name in NAMES if (found := shutil.which(name))), None)
        if program is None:
            raise SystemExit(4)
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
                 "--no-first-run", "--disable-extensions", f"--user-data-dir={self._profile}"]  # fmt: skip
        self._process = subprocess.Popen(
            [program, *flags, "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(3, 4),
            preexec_fn=lambda: (os.dup2(to_browser, 103), os.dup2(from_browser, 104), os.dup2(103, 3), os.dup2(104, 4)),
        )
        os.close(to_browser)
        os.close(from_browser)

    def open(self):
        """Load index.html. Everything it asks for beyond the folder fails and is noted."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")
        self.ask("Fetch.enable", patterns=[{"urlPattern": "*"}])
        frame = self.ask("Page.navigate", url=f"{SITE}index.html")["frameId"]
        self.until(lambda: self.evaluate_in(frame, "document.readyState") == "complete", 20)

    def evaluate_in(self, frame, expression):
        self._world = self.ask("Page.createIsolatedWorld", frameId=frame, worldName="judge")["executionContextId"]
        return self.evaluate(expression)

    def evaluate(self, expression):
        """The value of an expression in the isolated world."""
        done = self.ask("Runtime.evaluate", expression=expression, contextId=self._world, returnByValue=True)
        return done["result"].get("value")

    def until(self, condition, seconds):
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError
            time.sleep(0.02)

    def ask(self, method, **parameters):
        """One command and its answer; what happens meanwhile is dealt with."""
        number = self._send(method, parameters)
        while True:
            told = self._next()
            if told.get("id") == number:
                if "error" in told:
                    raise RuntimeError(f"{method}: {told['error'].get('message')}")
                return told["result"]
            self._happened(told)

    def close(self):
        try:
            self.ask("Browser.close")
        except (RuntimeError, OSError, EOFError):
            pass
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._profile, ignore_errors=True)

    def _send(self, method, parameters):
        self._number += 1
        order = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            order["sessionId"] = self._session
        os.write(self._write, json.dumps(order).encode() + b"\0")
        return self._number

    def _next(self):
        while b"\0" not in self._buffer:
            part = os.read(self._read, 1 << 16)
            if not part:
                raise EOFError("the browser ended")
            self._buffer += part
        line, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(line)

    def _happened(self, told):
        parameters = told.get("params", {})
        if told.get("method") == "Fetch.requestPaused":
            self._answer(parameters["requestId"], parameters["request"]["url"])
        elif told.get("method") == "Log.entryAdded" and parameters["entry"]["source"] == "security":
            self.trouble.append(parameters["entry"]["text"])
        elif told.get("method") == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.trouble.append(details.get("exception", {}).get("description") or details["text"])

    def _answer(self, request, url):
        path = self.folder / url.removeprefix(SITE).partition("?")[0]
        inside = url.startswith(SITE) and path.is_file() and path.resolve().is_relative_to(self.folder.resolve())
        if not inside:
            if not url.endswith("/favicon.ico"):
                self.trouble.append(f"the page asks for {url}")
            self._send("Fetch.failRequest", {"requestId": request, "errorReason": "BlockedByClient"})
            return
        headers = {"Content-Type": TYPES.get(path.suffix, "text/plain"), "Content-Security-Policy": POLICY}
        answer = {
            "requestId": request,
            "responseCode": 200,
            "responseHeaders": [{"name": name, "value": value} for name, value in headers.items()],
            "body": base64.b64encode(path.read_bytes()).decode(),
        }
        self._send("Fetch.fulfillRequest", answer)
