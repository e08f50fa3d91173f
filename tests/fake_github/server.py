"""The HTTP server of the fake GitHub on a unix socket. gh speaks HTTP without TLS there."""

import socketserver
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType
from typing import Any

from bmad_autopilot.sim.github.model import SimGitHub
from bmad_autopilot.sim.github.records import GitHubFaults, SimClock
from tests.fake_github.client_environment import PUSHED_PATH
from tests.fake_github.responder import HttpResponse, Responder

MAX_BODY = 4 * 1024 * 1024


class SimServer:
    """Handles requests one after another. Tests that access the model meanwhile must hold `lock`.

    `speed`: simulated seconds per real second; 0: only `advance` moves the clock."""

    def __init__(
        self,
        model: SimGitHub,
        path: Path,
        *,
        schema: Path | None = None,
        faults: GitHubFaults | None = None,
        speed: float = 0.0,
    ) -> None:
        self.model = model
        self.path = path
        self.lock = threading.RLock()
        self.responder = Responder(model, schema, faults or GitHubFaults())
        self._speed = speed
        self._started_at = (time.monotonic(), model.now)
        self._server = _Server(str(path), self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def advance(self, seconds: float) -> None:
        with self.lock:
            self.model.sync_branches()  # earlier pushes get the time before the advance
            self._advance_clock(seconds)

    def _advance_clock(self, seconds: float) -> None:
        clock = self.model.clock
        assert isinstance(clock, SimClock), "a world in memory moves its own clock"
        clock.advance(clock.now + seconds)

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> HttpResponse | None:
        with self.lock:
            if self._speed:
                real, began = self._started_at
                due = began + (time.monotonic() - real) * self._speed
                self._advance_clock(max(0.0, due - self.model.now))
            self.model.sync_branches()
            if path == PUSHED_PATH:
                return HttpResponse(204, b"", {})
            return self.responder.answer(method, path, headers, body)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> "SimServer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def serve(model: SimGitHub, path: Path, **options: Any) -> SimServer:
    return SimServer(model, path, **options)


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, path: str, owner: SimServer) -> None:
        self.owner = owner
        super().__init__(path, _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def _serve(self) -> None:
        body = self._body()
        answer = self.server.owner.answer(self.command, self.path, dict(self.headers.items()), body)
        if answer is None:  # simulate a broken connection
            self.close_connection = True
            return
        with suppress(BrokenPipeError, ConnectionResetError):  # gh may close the connection early
            self._send(answer)

    def _send(self, answer: HttpResponse) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.status != 304:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def _body(self) -> bytes:
        """gh sends a body from its stdin chunked."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(min(int(self.headers.get("Content-Length") or 0), MAX_BODY))
        body = b""
        while (size := int(self.rfile.readline().split(b";")[0] or b"0", 16)) and len(body) < MAX_BODY:
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

    def log_message(self, format: str, *arguments: Any) -> None:
        """No log: the responder records the requests."""
