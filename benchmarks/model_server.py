"""A local server that speaks OpenAI's and Anthropic's streaming protocols and answers by script.

Each request takes the next step of the script: `Say` (words), `Call` (a tool call), `Fault` (a status), `Silence`
(a stream that stops talking), `Cut` (a stream that ends in the middle).
"""

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Say:
    text: str
    finish: str = "stop"


@dataclass(frozen=True)
class Call:
    tool: str
    arguments: Any
    """A dict, or a str that is sent as it is (malformed JSON)."""


@dataclass(frozen=True)
class Fault:
    status: int
    message: str = "trouble"
    code: str = ""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Silence:
    seconds: float


@dataclass(frozen=True)
class Cut:
    pass


Step = Say | Call | Fault | Silence | Cut


class ModelServer:
    """Use as a context manager; `requests` holds the bodies that came in, `prefixes` their raw bytes."""

    def __init__(self, script: list[Step]) -> None:
        self.script = list(script)
        self.requests: list[dict[str, Any]] = []
        self.raw: list[bytes] = []
        self.keys: set[str] = set()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                server.raw.append(raw)
                server.requests.append(json.loads(raw))
                server.keys.add(self.headers.get("Authorization", "") + self.headers.get("x-api-key", ""))
                step = server.script.pop(0) if server.script else Say("nothing left in the script")
                if isinstance(step, Fault):
                    self._fault(step)
                else:
                    self._stream(step, anthropic=self.path.endswith("/messages"))

            def _fault(self, fault: Fault) -> None:
                error = {"message": fault.message, "type": fault.code or "error", "code": fault.code}
                data = json.dumps({"type": "error", "error": error}).encode()
                self.send_response(fault.status)
                for name, value in {"Content-Type": "application/json", **fault.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def _stream(self, step: Step, anthropic: bool) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True
                lines = anthropic_lines(step) if anthropic else openai_lines(step)
                if isinstance(step, Cut):
                    lines = lines[: len(lines) // 2]
                try:
                    for number, line in enumerate(lines):
                        self.wfile.write(line.encode())
                        self.wfile.flush()
                        if isinstance(step, Silence) and number == 1:
                            time.sleep(step.seconds)
                except OSError:
                    pass  # the client gave up on us, as it should

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> "ModelServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def _shape(step: Step) -> tuple[str, str, str]:
    """(text, tool, arguments) of a step; a silent or cut stream starts out as a call."""
    if isinstance(step, Say):
        return step.text, "", ""
    if isinstance(step, Call):
        arguments = step.arguments if isinstance(step.arguments, str) else json.dumps(step.arguments)
        return "", step.tool, arguments
    return "", "propose", json.dumps({"hypothesis": "h", "files": [{"path": "a", "content": "b"}]})


def openai_lines(step: Step) -> list[str]:
    text, tool, arguments = _shape(step)

    def chunk(delta: dict[str, Any], finish: str | None = None, usage: Any = None) -> str:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}] if usage is None else []
        body = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}
        return f"data: {json.dumps({**body, 'usage': usage})}\n\n"

    lines = [chunk({"role": "assistant", "content": ""})]
    if text:
        finish = step.finish if isinstance(step, Say) else "stop"
        lines += [chunk({"content": piece}) for piece in (text[:3], text[3:])] + [chunk({}, finish)]
    else:
        start = {"index": 0, "id": "call_1", "type": "function", "function": {"name": tool, "arguments": ""}}
        lines.append(chunk({"tool_calls": [start]}))
        for piece in (arguments[:10], arguments[10:]):
            lines.append(chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}))
        lines.append(chunk({}, "tool_calls"))
    lines.append(chunk({}, usage={"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}))
    return [*lines, "data: [DONE]\n\n"]


def anthropic_lines(step: Step) -> list[str]:
    text, tool, arguments = _shape(step)

    def event(kind: str, **fields: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"

    message = {"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": []}
    usage = {"input_tokens": 100, "output_tokens": 1}
    lines = [event("message_start", message={**message, "stop_reason": None, "stop_sequence": None, "usage": usage})]
    if text:
        lines.append(event("content_block_start", index=0, content_block={"type": "text", "text": ""}))
        lines.append(event("content_block_delta", index=0, delta={"type": "text_delta", "text": text}))
        stop = {"stop": "end_turn", "content_filter": "refusal"}[step.finish if isinstance(step, Say) else "stop"]
    else:
        block = {"type": "tool_use", "id": "call_1", "name": tool, "input": {}}
        lines.append(event("content_block_start", index=0, content_block=block))
        for piece in (arguments[:10], arguments[10:]):
            lines.append(
                event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": piece})
            )
        stop = "tool_use"
    lines.append(event("content_block_stop", index=0))
    lines.append(
        event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage={"output_tokens": 20})
    )
    return [*lines, event("message_stop")]
