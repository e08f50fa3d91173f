"""What stood there before a call, kept in its folder: the board, the story file; and afterwards what it asked."""

import os
import shutil

from ..agents.command import keep_purpose
from ..board.sprint import Board, board_from_text
from ..core.errors import FileError
from ..files import Text, read_bytes, write_atomic
from .books import Books

METADATA = ".claude-metadata.json"  # what a workspace is for, as a person wrote it
BOARD = "board.before"
STORY = "story.before"
SPEC = "spec.before"
OLD_VERDICT = "review-before.json"
STATE = "agent-state.json"
THEIRS = "board.theirs"


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
        os.replace(books.review, f"{folder}/{OLD_VERDICT}")
    metadata = os.path.join(checkout, METADATA)
    if os.path.isfile(metadata):
        _copy(metadata, f"{folder}/{METADATA}")


def restore_purpose(folder: str, checkout: str) -> None:
    before, path = read_kept(f"{folder}/{METADATA}"), os.path.join(checkout, METADATA)
    wanted = keep_purpose(before, read_kept(path)) if before is not None else None
    if wanted is not None:
        write_atomic(path, wanted)


def keep_state(folder: str, books: Books) -> None:
    if os.path.isfile(books.state) and not os.path.exists(f"{folder}/{STATE}"):
        _copy(books.state, f"{folder}/{STATE}")


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
