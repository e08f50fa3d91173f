"""What the starter tells the shim, through a pipe and never on disk: it holds the prompt and the agent's keys."""

from __future__ import annotations

import marshal
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class Order(TypedDict):
        id: str
        folder: str
        argv: list[str]
        environment: dict[str, str]
        worktree: str
        stdin: bytes
        secrets: list[str]  # what must not be written down, beyond what looks like a secret
        private: str  # the attempt's own temporary folder; ours to make and to remove
        time_limit: float  # seconds; a file beside the records says so too, and can be changed while it runs
        stall_limit: float  # seconds; 0: none
        grace: float  # seconds between asking an agent to end, telling it, and killing it
        outlived: bool  # what the agent has started may go on when it ends by itself
        guard: tuple[dict[str, str], list[str], str] | None
        stop: list[str]  # run when the call is stopped, for what lives behind a launcher
        keep_ref: str  # where work is kept that was cut short
        others: list[str]  # other work trees of the repository, which this call must leave alone


_HEAD = 8


def write_order(fd: int, order: Order) -> None:
    data = marshal.dumps(order)  # type: ignore[arg-type]  # a dict as it runs
    with os.fdopen(fd, "wb") as pipe:
        pipe.write(len(data).to_bytes(_HEAD, "big") + data)


def read_order(fd: int) -> Order | None:
    """None where the starter died before it had said everything: then nothing is started."""
    with os.fdopen(fd, "rb") as pipe:
        head = pipe.read(_HEAD)
        data = pipe.read()
    if len(head) < _HEAD or len(data) != int.from_bytes(head, "big"):
        return None
    order: Order = marshal.loads(data)  # noqa: S302 (from our own starter, through an anonymous pipe)
    return order
