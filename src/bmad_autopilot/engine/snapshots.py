"""What stood there before a call, kept in its folder: the board, the story file, the repository's own settings;
and what it asked afterwards."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence

from ..agents.command import keep_purpose
from ..agents.shim.redaction import redact, redact_value
from ..board.sprint import Board, board_from_text
from ..core.errors import FileError
from ..files import Text, read_bytes, write_atomic
from ..github.private_settings import private_settings
from ..project.gitdir import find_work_tree
from .books import Books
from .review_files import misnamed_reviews

METADATA = ".claude-metadata.json"  # what a workspace is for, as a person wrote it
BOARD = "board.before"
STORY = "story.before"
SPEC = "spec.before"
OLD_VERDICT = "review-before.json"
STATE = "agent-state.json"
THEIRS = "board.theirs"
SETTINGS_BEFORE, SETTINGS_AFTER = "settings.before", "settings.after"  # of the repository, as hashes


def keep_before(folder: str, books: Books, checkout: str) -> None:
    """A verdict from before is moved aside: what is there afterwards is this call's. So is kept what a person said
    the workspace is for, which an instance's command may write over."""
    os.makedirs(folder, 0o700, exist_ok=True)
    _copy(books.board, f"{folder}/{BOARD}")
    if books.story:
        _copy(books.story, f"{folder}/{STORY}")
    if books.spec:
        _copy(books.spec, f"{folder}/{SPEC}")
    if os.path.lexists(books.review):
        _set_aside(books.review, f"{folder}/{OLD_VERDICT}")
    for number, other in enumerate(misnamed_reviews(books), 2):
        _set_aside(other, f"{folder}/{number}-{OLD_VERDICT}")
    metadata = os.path.join(checkout, METADATA)
    if os.path.isfile(metadata):
        _copy(metadata, f"{folder}/{METADATA}")
    _keep_settings(f"{folder}/{SETTINGS_BEFORE}", _settings_now(checkout))


def _set_aside(source: str, target: str) -> None:
    """Move a file into the attempt's folder, without its secrets. Killed in between, it is moved by the next call.
    One that cannot be read as a file is moved as it is."""
    raw = read_kept(source) if os.path.isfile(source) and not os.path.islink(source) else None
    if raw is None:
        os.replace(source, target)
        return
    write_atomic(target, _without_secrets(raw), durable=False)
    os.unlink(source)


def _without_secrets(raw: bytes) -> bytes:
    """A JSON document stays one: its texts are redacted one by one."""
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return redact(raw.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    safe = redact_value(data)
    return raw if safe == data else json.dumps(safe, indent=2).encode() + b"\n"


def settings_changed(folders: Sequence[str], checkout: str) -> list[str]:
    """What these calls, the last of which has just ended, changed of the repository's own settings, where that has
    not been put back. What changed between two of them is a person's."""
    now = _settings_now(checkout)
    if folders and not os.path.exists(f"{folders[-1]}/{SETTINGS_AFTER}"):
        _keep_settings(f"{folders[-1]}/{SETTINGS_AFTER}", now)
    rightful: dict[str, str] = {}  # as it was before the first of them, and as people have set it since
    last: dict[str, str] = {}
    for folder in folders:
        before, after = (_kept_settings(f"{folder}/{name}") for name in (SETTINGS_BEFORE, SETTINGS_AFTER))
        if before is None or after is None:
            continue
        theirs = _differing(last, before)
        rightful = {name: before[name] for name in before if name in theirs} | {
            name: value for name, value in rightful.items() if name not in theirs
        }
        last = after
    return sorted(_differing(rightful, last) & _differing(rightful, now))


def _differing(one: Mapping[str, str], other: Mapping[str, str]) -> set[str]:
    return {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}


def _settings_now(checkout: str) -> dict[str, str]:
    tree = find_work_tree(os.path.realpath(checkout))
    return private_settings(tree) if tree is not None else {}


def _keep_settings(path: str, settings: Mapping[str, str]) -> None:
    write_atomic(path, json.dumps(settings).encode(), durable=False)


def _kept_settings(path: str) -> dict[str, str] | None:
    """None: nobody looked, as in calls of an earlier version."""
    try:
        data = json.loads(read_kept(path) or b"null")
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def restore_purpose(folder: str, checkout: str) -> None:
    before, path = read_kept(f"{folder}/{METADATA}"), os.path.join(checkout, METADATA)
    wanted = keep_purpose(before, read_kept(path)) if before is not None else None
    if wanted is not None:
        write_atomic(path, wanted)


def keep_state(folder: str, books: Books) -> None:
    if os.path.isfile(books.state) and not os.path.exists(f"{folder}/{STATE}"):
        raw = read_bytes(books.state)
        write_atomic(f"{folder}/{STATE}", _without_secrets(raw), durable=False)


def board_before(folder: str) -> Board | None:
    raw = read_kept(f"{folder}/{BOARD}")
    try:
        return board_from_text(Text(f"{folder}/{BOARD}", raw)) if raw is not None else None
    except FileError:
        return None


def read_kept(path: str) -> bytes | None:
    try:
        return read_bytes(path)
    except FileError:
        return None


def restore_board(folder: str, board: str) -> str:
    """Ours back in its place, theirs aside; where it is kept."""
    kept = f"{folder}/{THEIRS}"
    raw = read_bytes(f"{folder}/{BOARD}")
    if os.path.lexists(board) and not os.path.exists(kept):
        shutil.copyfile(board, kept)
    write_atomic(os.path.realpath(board), raw)
    return kept


def _copy(source: str, target: str) -> None:
    write_atomic(target, read_bytes(source), durable=False)
