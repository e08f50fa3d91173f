"""The epics that could be begun, and where each would begin."""

import os
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ...board.epics import read_all_epics
from ...board.epics_files import find_epics_files
from ...board.overview import overview
from ...board.sprint import Board, board_from_text
from ...core import keys
from ...core.errors import AutopilotError, FileError, Place, UsageError
from ...core.schedule import Candidate, matches
from ...core.statuses import DONE, PARKED, UNKNOWN
from ...files import Text
from ...github.git import Git
from ...github.trees import read_file
from ...project.open import Project

PREFIX = "feature/epic-"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}")


class Start(NamedTuple):
    """Where an epic's branch begins."""

    branch: str
    commit: str  # it begins there, where it does not exist yet
    onto: str = ""  # the branch of the epic before it, while that is not merged


def branch_for(number: str) -> str:
    if not _is_plain(number):
        raise AutopilotError("an epic's number that cannot be part of a branch's name", found=number[:80])
    return f"{PREFIX}{number}"


def branch_names(epic: Candidate) -> list[str]:
    """Ours first. The bash autopilot took the epic's name as its author wrote it: `feature/epic-7A`."""
    ours = branch_for(epic.number)
    written = [f"{PREFIX}{one}" for one in (epic.key.removeprefix("epic-"), epic.number.upper())]
    return list(dict.fromkeys((ours, *(name for name in written if number_of(name) == epic.number))))


def number_of(branch: str) -> str:
    """The epic's, from its branch, however that is written; empty: none of ours."""
    found = branch.removeprefix(PREFIX)
    return keys.number_of(found) if branch.startswith(PREFIX) and _is_plain(found) else ""


def _is_plain(number: str) -> bool:
    return bool(_PLAIN.fullmatch(number)) and ".." not in number and not number.endswith((".", ".lock"))


def check_patterns(patterns: Sequence[str]) -> None:
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            found = f"{pattern[:80]}: {error}"
            raise UsageError(
                "a PATTERN is no regular expression", found=found, expected='such as 7A or "auth|login"'
            ) from None


def board_at(project: Project, git: Git, commit: str) -> Board:
    """As that commit has it: what lies in the checkout may be of another epic's branch."""
    path = os.path.relpath(os.path.realpath(project.require_board()), git.top)
    raw = read_file(git, commit, path)
    if raw is None:
        hint = f"git add {path} && git commit"
        raise FileError("is not committed there", place=Place(path), found=f"nothing in {commit[:12]}", hint=hint)
    return board_from_text(Text(path, raw))


def candidates(project: Project, board: Board, patterns: Sequence[str], taken: Sequence[str]) -> list[Candidate]:
    return open_epics(board, epic_titles(project), patterns, taken)


def open_epics(
    board: Board, titles: Mapping[str, str], patterns: Sequence[str], taken: Sequence[str]
) -> list[Candidate]:
    """Epics with something to do, in their natural order, without those that somebody works on. Pure."""
    found = []
    for epic in overview(board):
        if epic.number is None or epic.row is None or epic.key in taken or epic.number in taken:
            continue
        if epic.row.meaning in (DONE, PARKED, UNKNOWN) or epic.is_closed:
            continue
        if all(meaning in (DONE, PARKED, UNKNOWN) for meaning in epic.meanings):
            continue
        one = Candidate(epic.key, epic.number, titles.get(epic.number, ""))
        if matches(patterns, one):
            found.append(one)
    return found


def epic_titles(project: Project) -> Mapping[str, str]:
    """By number. Asked for whenever an epic could be begun, so what has not changed is not read again."""
    try:
        return _titles(tuple(map(_stamped, find_epics_files(project.folders.planning))))
    except AutopilotError:
        return {}


def _stamped(path: str) -> tuple[str, int, int, int]:
    try:
        found = os.stat(path)
    except OSError:  # whoever reads it says what is wrong
        return path, 0, 0, 0
    return path, found.st_ino, found.st_size, found.st_mtime_ns


@lru_cache(maxsize=1)
def _titles(files: tuple[tuple[str, int, int, int], ...]) -> Mapping[str, str]:
    return {epic.number: epic.title for epic in read_all_epics(file[0] for file in files).epics}
