"""Keeping a flow's state file beside other writers: agents and people write it too, and take no lock of ours."""

import os
from collections.abc import Sequence
from typing import Any, TypeVar

from ..board.store import ROUNDS, backup_path
from ..core.errors import ConflictError, FileError, Place
from ..exchange import replace_unchanged
from ..files import Text, locked, read_settled, resolve_inside, sync_folder, write_beside
from .flow_state import CURRENT_FIELDS, FlowState, LastSession, plain, read_flow_state
from .flow_state_writing import written_flow_state

MAX_BYTES = 1_000_000

T = TypeVar("T")
_LISTS = ("completed", "decisions", "retries", "blockers")


def load_flow_state(path: str, *, inside: str) -> FlowState | None:
    """What the file says; None where there is none. A FileError where it cannot be read as text."""
    text = _read(path, resolve_inside(path, inside))
    return read_flow_state(text) if text else None


def set_flow_state(
    path: str, wanted: FlowState, *, inside: str, state: str, seen: FlowState | None = None
) -> FlowState:
    """Have the file say what is wanted; returns what it says then. `inside`: the folder that no link may lead out
    of. `state`: our own folder, for the lock and the backup. `seen`: what `wanted` was made from, if that was read
    earlier; what others have changed since then stays, unless we change it too."""
    target = resolve_inside(path, inside)
    _make_folder(state)
    with locked(os.path.join(state, "flow-state.lock")):
        for _ in range(ROUNDS):
            text = _read(path, target)
            if text is None:
                data = written_flow_state(None, wanted)
            else:
                now = read_flow_state(text)
                seen = now if seen is None else seen
                data = written_flow_state(text, merged(plain(seen), plain(wanted), plain(now)))
                if data == text.raw:
                    return now
            _refuse_too_large(path, len(data), "would become too large")
            if _put(target, text, data, state):
                return read_flow_state(Text(path, data))
    raise ConflictError(
        f"was changed {ROUNDS} times by somebody else while it was being written",
        place=Place(path),
        hint="find who writes it, then try again",
    )


def merged(seen: FlowState, wanted: FlowState, now: FlowState) -> FlowState:
    """What we changed since it was seen, on top of what stands there now."""
    three = (seen, wanted, now)
    ours: dict[str, Any] = {name: _one(*(getattr(one, name) for one in three)) for name in CURRENT_FIELDS}
    ours |= {name: _all(*(getattr(one, name) for one in three)) for name in _LISTS}
    last = (_one(*fields) for fields in zip(*(one.last for one in three), strict=True))
    return FlowState(last=LastSession(*last), **ours)


def _one(seen: T, wanted: T, now: T) -> T:
    return now if wanted == seen else wanted


def _all(seen: Sequence[T], wanted: Sequence[T], now: Sequence[T]) -> tuple[T, ...]:
    """What we have added comes behind what they have added; anything else is ours if we changed it."""
    if wanted == seen or now == seen or wanted[: len(seen)] != seen:
        return tuple(_one(seen, wanted, now))
    theirs = now[len(seen) :] if now[: len(seen)] == seen else now
    return (*now, *(one for one in wanted[len(seen) :] if one not in theirs))


def _read(path: str, target: str) -> Text | None:
    if not os.path.lexists(target):
        return None
    text = read_settled(target, follow=False)
    _refuse_too_large(path, len(text.raw), "is too large to be read")
    return text


def _refuse_too_large(path: str, size: int, message: str) -> None:
    if size > MAX_BYTES:
        raise FileError(
            message,
            place=Place(path),
            found=f"{size / 1e6:.1f} MB",
            expected=f"at most {MAX_BYTES / 1e6:.0f} MB",
            hint="shorten it by hand: old rows and notes can go to a file of their own",
        )


def _make_folder(folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot be made: {error.strerror}", place=Place(folder), expected="a folder") from None


def _put(target: str, before: Text | None, data: bytes, state: str) -> bool:
    """False: somebody else has written meanwhile."""
    if before is None:
        return _create(target, data)
    return replace_unchanged(target, before.raw, data, backup_path(state, target))


def _create(target: str, data: bytes) -> bool:
    """A file that was not there. False: it is now, and somebody else's."""
    folder = os.path.dirname(target)
    _make_folder(folder)
    temporary = write_beside(target, data)
    try:
        os.link(temporary, target)
    except FileExistsError:
        return False
    except OSError:  # a file system without links: the smallest window there is
        if os.path.lexists(target):
            return False
        os.replace(temporary, target)
        return True
    finally:
        if os.path.lexists(temporary):
            os.unlink(temporary)
        sync_folder(folder)
    return True
