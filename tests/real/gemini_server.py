"""A Gemini API on 127.0.0.1 that says what a script tells it to, as Gemini CLI expects to hear it."""

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple

from tests.real.scripted import Scripted, serving

MAX_REQUEST = 16 * 1024 * 1024
USAGE = {
    "promptTokenCount": 100,
    "cachedContentTokenCount": 40,
    "candidatesTokenCount": 10,
    "totalTokenCount": 110,
}


class Say(NamedTuple):
    """The model ends its turn with a text."""

    text: str


class Use(NamedTuple):
    """The model calls a tool."""

    tool: str
    input: Mapping[str, Any]


class Refuse(NamedTuple):
    """The API answers with an error."""

    status: int
    kind: str


Reply = Say | Use | Refuse


class Server(Scripted[Reply]):
    def __init__(self, script: Sequence[Reply]) -> None:
        super().__init__(_Handler, script)

    def next_reply(self, body: dict[str, Any]) -> Reply:
        """Side questions carry no tools and do not count."""
        return super().next_reply(body) if body.get("tools") else Say("a side answer")


def serve(*script: Reply) -> AbstractContextManager[Server]:
    return serving(Server(script))


def configure(home: Path) -> None:
    """A home folder that signs in by key and reports to nobody."""
    folder = home / ".gemini"
    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"enableAutoUpdate": False},
    }
    (folder / "settings.json").write_text(json.dumps(settings))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""

    def do_POST(self) -> None:
        size = min(int(self.headers.get("content-length") or 0), MAX_REQUEST)
        reply = self.server.next_reply(json.loads(self.rfile.read(size)))
        if isinstance(reply, Refuse):
            error = {"code": reply.status, "message": "scripted", "status": reply.kind}
            return self._send(reply.status, "application/json", json.dumps({"error": error}))
        if isinstance(reply, Say):
            part: dict[str, Any] = {"text": reply.text}
        else:
            part = {"functionCall": {"name": reply.tool, "args": dict(reply.input)}}
        said = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        answer = {"candidates": [said], "usageMetadata": USAGE, "modelVersion": "gemini-2.5-pro"}
        return self._send(200, "text/event-stream", f"data: {json.dumps(answer)}\n\n")

    def _send(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
