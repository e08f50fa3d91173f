"""The two ledgers: what the board says against what story files and build specs say of themselves.

In real projects one story in eight disagrees. Differences are shown and, on request, repaired forwards; nothing is
ever silently taken back."""

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import FileError, Place
from ..core.statuses import BACKLOG, DONE, IN_PROGRESS, PARKED, READY, REVIEW, UNKNOWN, Kind, rank, suggest_status
from ..files import read_text
from .sprint import Board, Row
from .story_files import StoryFiles, find_story_files, story_location
from .story_status import StoryStatus, read_story_status

MOST_NAMED = 3


class Drift(NamedTuple):
    """One disagreement. `further` is the status that stands when the two are brought together."""

    code: str
    row: Row
    message: str
    place: Place
    further: str | None = None
    said: str = ""  # by the story file or the spec, as written
    ledger: str = "story file"
    file: StoryStatus | None = None  # where it can be changed


def locate(board: Board, root: str, folders: Iterable[str]) -> StoryFiles:
    """All story files and specs of this board."""
    numbers = {row.key: row.number for row in board.rows.values() if row.kind is Kind.STORY}
    return find_story_files(_dirs(board, root, folders), numbers)


def locate_some(board: Board, rows: list[Row], root: str, folders: Iterable[str]) -> StoryFiles:
    """The files of some stories, by their keys alone; only where one that has begun has no such file is the whole
    project looked through."""
    dirs = _dirs(board, root, folders)
    found: dict[str, list[str]] = {}
    for row in rows:
        paths = [path for folder in dirs if os.path.isfile(path := f"{folder}/{row.key}.md")]
        if paths:
            found[row.key] = paths
        elif row.meaning != BACKLOG:
            return locate(board, root, folders)
    return StoryFiles(found, {})


def _dirs(board: Board, root: str, folders: Iterable[str]) -> list[str]:
    named = story_location(board.field("story_location"), root)
    return list(dict.fromkeys([*folders, *([named] if named else [])]))


def find_drift(board: Board, rows: Iterable[Row], files: StoryFiles) -> list[Drift]:
    twice = {row.key for row in board.shadowed}  # which of the two lines counts is for a person to decide
    drift = []
    for row in rows:
        story, spec = files.stories.get(row.key, []), files.specs.get(row.key, [])
        if story and spec and story[0] in files.by_number and spec[0] not in files.by_number:
            story = []  # the file that carries the key goes first
        found = None
        if story:
            found = _unless_copied(_compare(row, story[0]), story)
        elif spec:
            found = _unless_copied(_compare_spec(row, spec[0]), spec)
        elif row.meaning in (READY, IN_PROGRESS, REVIEW):
            found = _without_file(row, files.unclear.get(row.key, []))
        if found is not None:
            drift.append(found._replace(further=None) if row.key in twice else found)
    return drift


def _unless_copied(found: Drift | None, paths: list[str]) -> Drift | None:
    """Of several files that carry one key none is known to be the right one."""
    others = [path for path in paths[1:] if os.path.realpath(path) != os.path.realpath(paths[0])]
    if found is None or found.further is None or not others:
        return found
    message = f"{found.message}; another file carries its key: {_named(others, os.path.dirname(paths[0]))}"
    return found._replace(further=None, message=message)


def _without_file(row: Row, unclear: list[str]) -> Drift:
    if not unclear:
        message = f"{row.key} is {row.status.raw}, but has no story file"
        return Drift("no-story-file", row, message, Place("", row.line))
    which = _named(unclear, os.path.dirname(unclear[0]))
    message = f"{row.key} is {row.status.raw}, but no file carries its key; by its number it could be {which}"
    return Drift("unclear-story-file", row, message, Place(unclear[0]))


def _named(paths: list[str], folder: str) -> str:
    names = [os.path.relpath(path, folder) for path in paths[:MOST_NAMED]]
    return ", ".join(names) + (" …" if len(paths) > MOST_NAMED else "")


def _compare(row: Row, path: str) -> Drift | None:
    try:
        status = read_story_status(path)
    except FileError as error:
        return Drift("unreadable", row, f"{row.key}: {error.message}", error.place or Place(path))
    if status is None or status.meaning in (PARKED, UNKNOWN) or row.meaning in (PARKED, UNKNOWN):
        return None
    ahead = rank(row.meaning) - rank(status.meaning)
    if ahead == 0:
        return None
    place = Place(path, status.line)
    message = f"{row.key} is {row.status.raw} on the board, {status.raw} in its story file"
    if ahead > 0:
        return Drift("file-behind", row, message, place, row.meaning, status.raw, file=status)
    return Drift("board-behind", row, message, place, status.meaning, status.raw, file=status)


def _compare_spec(row: Row, path: str) -> Drift | None:
    """BMAD's build finishes a spec while the story still waits for review: a done spec means review at least."""
    from .specs import read_spec

    try:
        status = read_spec(read_text(path)).status
    except FileError as error:
        return Drift("unreadable", row, f"{row.key}: {error.message}", error.place or Place(path))
    if status is None or row.meaning in (PARKED, UNKNOWN):
        return None
    place = Place(path, status.line)
    if status.raw.lower() == "blocked" and row.meaning != DONE:
        return Drift("spec-blocked", row, f"{row.key} is blocked in its spec", place, None, status.raw, "spec")
    meaning = REVIEW if status.meaning == DONE else status.meaning
    if meaning != PARKED and rank(meaning) > rank(row.meaning):
        message = f"{row.key} is {row.status.raw} on the board, {status.raw} in its spec"
        return Drift("board-behind", row, message, place, meaning, status.raw, "spec")
    return None


def odd_files(files: StoryFiles) -> Iterator[Diagnostic]:
    """Story files that tell nothing: of no story on the board, without a status, with one nobody knows."""
    for paths in files.stories.values():
        path = paths[0]
        try:
            status = read_story_status(path)
        except FileError:
            continue  # said as drift
        if status is None:
            yield Diagnostic(Severity.NOTE, "no-status-line", "has no status line", Place(path), "add `Status: …`")
        elif status.meaning == UNKNOWN:
            near = suggest_status(status.raw)
            hint = f"perhaps {near}" if near else None
            message = f"{status.raw} is not a status of a story"
            yield Diagnostic(Severity.NOTE, "unknown-file-status", message, Place(path, status.line), hint)
    for number, paths in files.strays.items():
        message = f"is the file of story {number}, which is not on the board"
        yield Diagnostic(Severity.NOTE, "file-not-on-board", message, Place(paths[0]))
