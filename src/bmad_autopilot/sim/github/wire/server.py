"""The simulated GitHub behind a unix socket, for the real gh: HTTP without TLS, as gh speaks it there."""

import socketserver
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType
from typing import Any

from ..clock import SimClock
from ..faults import GitHubFaults
from ..model import SimGitHub
from .answering import Answer, Answering
from .ssh import PUSHED

MAX_BODY = 4 * 1024 * 1024


class SimServer:
    """Requests are answered one after another; who touches the model beside them holds `lock`.

    `speed`: simulated seconds in one real second; 0: the clock goes on only when somebody calls `advance`."""

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
        self.answering = Answering(model, schema, faults or GitHubFaults())
        self._speed = speed
        self._began = (time.monotonic(), model.now)
        self._server = _Server(str(path), self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def advance(self, seconds: float) -> None:
        with self.lock:
            self.model.look_at_branches()  # what was pushed was pushed before
            self._move(seconds)

    def _move(self, seconds: float) -> None:
        clock = self.model.clock
        assert isinstance(clock, SimClock), "a world in memory moves its own clock"
        clock.advance(clock.now + seconds)

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer | None:
        with self.lock:
            if self._speed:
                real, began = self._began
                due = began + (time.monotonic() - real) * self._speed
                self._move(max(0.0, due - self.model.now))
            self.model.look_at_branches()
            if path == PUSHED:
                return Answer(204, b"", {})
            return self.answering.answer(method, path, headers, body)

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
        if answer is None:  # as a line that breaks
            self.close_connection = True
            return
        with suppress(BrokenPipeError, ConnectionResetError):  # gh may have heard enough
            self._send(answer)

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.status != 304:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def _body(self) -> bytes:
        """gh sends what it reads from its stdin in chunks."""
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
        """Nowhere: what was asked is kept by the one who answers."""
