"""A server on 127.0.0.1 that answers from a script, whatever API it speaks."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Generic, TypeVar

Reply = TypeVar("Reply")


class Scripted(ThreadingHTTPServer, Generic[Reply]):
    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler], script: Sequence[Reply]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.script = list(script)
        self.requests: list[dict[str, Any]] = []  # those that were answered from the script
        self.closing = threading.Event()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def next_reply(self, body: dict[str, Any]) -> Reply:
        """One after the other, the last for ever."""
        with self._lock:
            self.requests.append(body)
            return self.script[min(len(self.requests), len(self.script)) - 1]

    def saw(self, text: str) -> bool:
        return any(text in json.dumps(request, ensure_ascii=False) for request in self.requests)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed is no error of the server's."""


Server = TypeVar("Server", bound=Scripted[Any])


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join(10)
