"""A Messages API on 127.0.0.1 that says what a script tells it to, as Claude Code expects to hear it."""

import json
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler
from itertools import count
from typing import Any, NamedTuple

from tests.real.scripted import Scripted, serving

MAX_REQUEST = 16 * 1024 * 1024


class Say(NamedTuple):
    """The model ends its turn with a text."""

    text: str
    headers: Mapping[str, str] = {}
    tokens: tuple[int, int] = (1000, 100)  # in, out
    cached: tuple[int, int] = (0, 0)  # read, written


class Use(NamedTuple):
    """The model calls a tool."""

    tool: str
    input: Mapping[str, Any]
    text: str = ""
    tokens: tuple[int, int] = (1000, 100)
    headers: Mapping[str, str] = {}
    cached: tuple[int, int] = (0, 0)


class Refuse(NamedTuple):
    """The API answers with an error."""

    status: int
    kind: str
    message: str = "scripted"
    headers: Mapping[str, str] = {}


class Drop(NamedTuple):
    """The connection goes away in the middle of an answer."""


class Hang(NamedTuple):
    """An answer begins and does not end before the server does."""


Reply = Say | Use | Refuse | Drop | Hang


class Server(Scripted[Reply]):
    def __init__(self, script: Sequence[Reply]) -> None:
        super().__init__(_Handler, script)
        self.hanging = threading.Event()

    def next_reply(self, body: dict[str, Any]) -> Reply:
        """Side questions carry no tools and do not count."""
        return super().next_reply(body) if body.get("tools") else Say("a side answer")


def serve(*script: Reply) -> AbstractContextManager[Server]:
    return serving(Server(script))


_ids = count(1)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server
    model = ""

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""

    def do_HEAD(self) -> None:
        self._plain(200, b"", {})

    def do_GET(self) -> None:
        self._refuse(Refuse(404, "not_found_error"))

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        if size > MAX_REQUEST or not self.path.startswith("/v1/messages"):
            return self._refuse(Refuse(404, "not_found_error"))
        body = json.loads(self.rfile.read(size))
        self.model = str(body.get("model"))  # named again in the answer: a resumed session takes it from there
        reply = self.server.next_reply(body)
        if isinstance(reply, Refuse):
            return self._refuse(reply)
        self._begin(getattr(reply, "headers", {}))
        if isinstance(reply, Drop):
            self._send("message_start", message=self._empty((1, 1)))
        elif isinstance(reply, Hang):
            self._send("message_start", message=self._empty((1, 1)))
            self.server.hanging.set()
            self.server.closing.wait(60)
        else:
            self._message(reply)
            self.wfile.write(b"0\r\n\r\n")
            return None
        self.close_connection = True
        return None

    def _message(self, reply: Say | Use) -> None:
        self._send("message_start", message=self._empty(reply.tokens, reply.cached))
        blocks = [("text", reply.text)] if reply.text else []
        if isinstance(reply, Use):
            blocks.append(("tool_use", json.dumps(dict(reply.input))))
        for index, (kind, content) in enumerate(blocks):
            self._block(index, kind, content, reply)
        stop = "tool_use" if isinstance(reply, Use) else "end_turn"
        delta = {"stop_reason": stop, "stop_sequence": None}
        self._send("message_delta", delta=delta, usage={"output_tokens": reply.tokens[1]})
        self._send("message_stop")

    def _block(self, index: int, kind: str, content: str, reply: Say | Use) -> None:
        if isinstance(reply, Use) and kind == "tool_use":
            start: dict[str, Any] = {"type": kind, "id": f"toolu_{next(_ids):04}", "name": reply.tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": content}
        else:
            start = {"type": kind, "text": ""}
            delta = {"type": "text_delta", "text": content}
        self._send("content_block_start", index=index, content_block=start)
        self._send("content_block_delta", index=index, delta=delta)
        self._send("content_block_stop", index=index)

    def _empty(self, tokens: tuple[int, int], cached: tuple[int, int] = (0, 0)) -> dict[str, Any]:
        usage = {"input_tokens": tokens[0], "output_tokens": 1}
        cache = {"cache_read_input_tokens": cached[0], "cache_creation_input_tokens": cached[1]}
        return {
            "id": f"msg_{next(_ids):04}",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {**usage, **cache},
        }

    def _begin(self, headers: Mapping[str, str]) -> None:
        self.send_response(200)
        kept = {"content-type": "text/event-stream", "transfer-encoding": "chunked", **_request_id(), **headers}
        for name, value in kept.items():
            self.send_header(name, value)
        self.end_headers()

    def _send(self, kind: str, **data: object) -> None:
        event = f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        self.wfile.flush()

    def _refuse(self, reply: Refuse) -> None:
        error = {"type": "error", "error": {"type": reply.kind, "message": reply.message}}
        self._plain(reply.status, json.dumps(error).encode(), reply.headers)

    def _plain(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        kept = {"content-type": "application/json", "content-length": str(len(body)), **_request_id(), **headers}
        for name, value in kept.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _request_id() -> dict[str, str]:
    return {"request-id": f"req_{next(_ids):04}"}
