"""A Responses API on 127.0.0.1 that says what a script tells it to, as Codex expects to hear it."""

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from tests.real.scripted import Scripted, serving

MAX_REQUEST = 16 * 1024 * 1024

USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 40},
    "output_tokens": 10,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 110,
}


class Say(NamedTuple):
    """The model ends its turn with a text."""

    text: str
    headers: Mapping[str, str] = {}


class Run(NamedTuple):
    """The model runs a command; `apply_patch` is one too, and edits a file."""

    command: str
    headers: Mapping[str, str] = {}


class Refuse(NamedTuple):
    """The API answers with an error."""

    status: int
    kind: str
    headers: Mapping[str, str] = {}


class BreakOff(NamedTuple):
    """An answer begins and then reports an error of its own."""

    code: str
    headers: Mapping[str, str] = {}


Reply = Say | Run | Refuse | BreakOff


class Server(Scripted[Reply]):
    def __init__(self, script: Sequence[Reply]) -> None:
        super().__init__(_Handler, script)


def serve(*script: Reply) -> AbstractContextManager[Server]:
    return serving(Server(script))


def configure(home: Path, server: Server) -> Path:
    """A CODEX_HOME that knows one provider, ours, and tries everything once more."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(f"""\
model = "gpt-5"
model_provider = "loopback"

[model_providers.loopback]
name = "loopback"
base_url = "{server.url}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
""")
    return home


_ids = count(1)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""

    def do_GET(self) -> None:
        self._send(404, "application/json", "{}", {})

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        if size > MAX_REQUEST or self.path != "/v1/responses":
            return self._send(404, "application/json", "{}", {})
        reply = self.server.next_reply(json.loads(self.rfile.read(size)))
        if isinstance(reply, Refuse):
            error = {"message": f"scripted {reply.kind}", "type": reply.kind, "code": reply.kind}
            return self._send(reply.status, "application/json", json.dumps({"error": error}), reply.headers)
        events = [{"type": "response.created", "response": {"id": "resp_1"}}, *_events(reply)]
        body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        return self._send(200, "text/event-stream", body, reply.headers)

    def _send(self, status: int, kind: str, text: str, headers: Mapping[str, str]) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _events(reply: Say | Run | BreakOff) -> list[dict[str, Any]]:
    if isinstance(reply, BreakOff):
        error = {"code": reply.code, "message": f"scripted {reply.code}"}
        return [{"type": "response.failed", "response": {"id": "resp_1", "error": error}}]
    if isinstance(reply, Say):
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        item = {"type": "message", "id": "msg_1", "role": "assistant", "content": content}
    else:
        arguments = json.dumps({"cmd": reply.command})
        call = f"call_{next(_ids)}"
        item = {"type": "function_call", "call_id": call, "name": "exec_command", "arguments": arguments}
    return [
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "resp_1", "output": [], "usage": USAGE}},
    ]
