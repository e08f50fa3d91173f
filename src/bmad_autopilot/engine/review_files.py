"""A verdict under another name: reviewers write the story's slug from memory, and its number is right."""

import os

from ..board.sprint import read_board
from ..core.errors import FileError
from ..core.keys import identify
from .books import Books

_END = ".review.json"


def review_of(books: Books) -> str:
    """The file with the verdict: by its own name, else the newest of the same story's number."""
    if os.path.lexists(books.review):
        return books.review
    return next(iter(misnamed_reviews(books)), books.review)


def misnamed_reviews(books: Books) -> list[str]:
    """Review files of this story under a name that is nobody's on the board, the newest first."""
    folder, own = os.path.split(books.review)
    try:
        names = [name for name in os.listdir(folder) if name.endswith(_END) and name != own]
        keys = list(read_board(books.board).rows) if names else []
    except (OSError, FileError):
        return []
    stems = [name.removesuffix(_END) for name in (own, *names)]
    known = identify(dict.fromkeys((*keys, *stems)))
    number = known[stems[0]].number
    found = [name for name, stem in zip(names, stems[1:], strict=True) if known[stem].number == number]
    strange = [os.path.join(folder, name) for name in found if name.removesuffix(_END) not in keys]
    return sorted(strange, key=_time, reverse=True)


def _time(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0
