"""The board in memory: the real reader and the real one-token edit, each result kept, because thousands of seeds
meet the same boards again and again."""

from collections.abc import Mapping
from functools import lru_cache

from ..board.edit import add_row, change_status, find_cell
from ..board.sprint import Board, Row, board_from_text
from ..core.errors import FileError
from ..files import Text

NAME = "sprint-status.yaml"


@lru_cache(maxsize=16384)
def board_of(raw: bytes) -> Board:
    """FileError: it cannot be read."""
    return board_from_text(Text(NAME, raw))


def rows_of(raw: bytes) -> Mapping[str, Row]:
    return board_of(raw).rows


@lru_cache(maxsize=16384)
def with_status(raw: bytes, key: str, status: str) -> bytes:
    cells = board_of(raw).cells
    return change_status(cells, find_cell(cells, key), status).text.raw


def with_row(raw: bytes, key: str, status: str) -> bytes:
    return add_row(board_of(raw).cells, key, status).text.raw


@lru_cache(maxsize=8192)
def raw_statuses(raw: bytes) -> Mapping[str, str]:
    return {key: row.status.raw for key, row in rows_of(raw).items()}


def is_readable(raw: bytes) -> bool:
    try:
        rows_of(raw)
    except FileError:
        return False
    return True


def merged(before: bytes, after: bytes, now: bytes) -> bytes:
    """What an agent made of the board, on the board as it is by now: where a person has edited it meanwhile, only
    the rows that the agent moved are moved. Real agents edit lines."""
    if now == before or not (is_readable(before) and is_readable(after) and is_readable(now)):
        return after
    old, new, result = raw_statuses(before), raw_statuses(after), now
    for key in old.keys() & new.keys() & raw_statuses(now).keys():
        if old[key] != new[key]:
            result = with_status(result, key, new[key])
    return result
