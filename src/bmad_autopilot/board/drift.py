"""Compares the board's statuses with those in story files and build specs.

In real projects one story in eight differs. Differences are reported and, on request, repaired forwards; no status
is ever silently moved back."""

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..core.errors import Diagnostic, FileError, Location, Severity
from ..core.statuses import (
    BACKLOG,
    DONE,
    IN_PROGRESS,
    PARKED,
    READY,
    REVIEW,
    UNKNOWN,
    RowKind,
    status_rank,
    suggest_status,
)
from ..io.files import read_text
from .sprint_status import Board, Row
from .story_lookup import StoryFiles, find_story_files, story_location
from .story_status import StoryStatus, read_story_status

MAX_NAMED = 3


class Drift(NamedTuple):
    """One difference. `target_status` is the status after a repair; None: it cannot be repaired."""

    code: str
    row: Row
    message: str
    location: Location
    target_status: str | None = None
    file_status: str = ""  # the status in the story file or spec, as written
    file_kind: str = "story file"
    story_status: StoryStatus | None = None  # the status token in the story file, for an edit


def find_board_files(board: Board, root: str, folders: Iterable[str]) -> StoryFiles:
    """Find all story files and specs of this board."""
    numbers = {row.key: row.number for row in board.rows.values() if row.kind is RowKind.STORY}
    return find_story_files(_story_folders(board, root, folders), numbers)


def find_row_files(board: Board, rows: list[Row], root: str, folders: Iterable[str]) -> StoryFiles:
    """Find the files of some stories by their keys. All folders are searched only if a started story has no file
    named after its key."""
    dirs = _story_folders(board, root, folders)
    found: dict[str, list[str]] = {}
    for row in rows:
        paths = [path for folder in dirs if os.path.isfile(path := f"{folder}/{row.key}.md")]
        if paths:
            found[row.key] = paths
        elif row.meaning != BACKLOG:
            return find_board_files(board, root, folders)
    return StoryFiles(found, {})


def _story_folders(board: Board, root: str, folders: Iterable[str]) -> list[str]:
    named = story_location(board.field("story_location"), root)
    return list(dict.fromkeys([*folders, *([named] if named else [])]))


def find_drift(board: Board, rows: Iterable[Row], files: StoryFiles) -> list[Drift]:
    twice = {row.key for row in board.shadowed}  # the user decides which of the two lines counts
    drift = []
    for row in rows:
        story, spec = files.stories.get(row.key, []), files.specs.get(row.key, [])
        if story and spec and story[0] in files.by_number and spec[0] not in files.by_number:
            story = []  # the file named after the key takes precedence
        found = None
        if story:
            found = _without_target_if_copied(_compare_story(row, story[0]), story)
        elif spec:
            found = _without_target_if_copied(_compare_spec(row, spec[0]), spec)
        elif row.meaning in (READY, IN_PROGRESS, REVIEW):
            found = _missing_file_drift(row, files.ambiguous.get(row.key, []))
        if found is not None:
            drift.append(found._replace(target_status=None) if row.key in twice else found)
    return drift


def _without_target_if_copied(found: Drift | None, paths: list[str]) -> Drift | None:
    """Drop the target status if several files carry the key: the right one is unknown."""
    others = [path for path in paths[1:] if os.path.realpath(path) != os.path.realpath(paths[0])]
    if found is None or found.target_status is None or not others:
        return found
    message = f"{found.message}; another file carries its key: {_format_paths(others, os.path.dirname(paths[0]))}"
    return found._replace(target_status=None, message=message)


def _missing_file_drift(row: Row, unclear: list[str]) -> Drift:
    if not unclear:
        message = f"{row.key} is {row.status.raw}, but has no story file"
        return Drift("no-story-file", row, message, Location("", row.line))
    which = _format_paths(unclear, os.path.dirname(unclear[0]))
    message = f"{row.key} is {row.status.raw}, but no file carries its key; by its number it could be {which}"
    return Drift("unclear-story-file", row, message, Location(unclear[0]))


def _format_paths(paths: list[str], folder: str) -> str:
    names = [os.path.relpath(path, folder) for path in paths[:MAX_NAMED]]
    return ", ".join(names) + (" …" if len(paths) > MAX_NAMED else "")


def _compare_story(row: Row, path: str) -> Drift | None:
    try:
        status = read_story_status(path)
    except FileError as error:
        return Drift("unreadable", row, f"{row.key}: {error.message}", error.location or Location(path))
    if status is None or status.meaning in (PARKED, UNKNOWN) or row.meaning in (PARKED, UNKNOWN):
        return None
    ahead = status_rank(row.meaning) - status_rank(status.meaning)
    if ahead == 0:
        return None
    location = Location(path, status.line)
    message = f"{row.key} is {row.status.raw} on the board, {status.raw} in its story file"
    if ahead > 0:
        return Drift("file-behind", row, message, location, row.meaning, status.raw, story_status=status)
    return Drift("board-behind", row, message, location, status.meaning, status.raw, story_status=status)


def _compare_spec(row: Row, path: str) -> Drift | None:
    """BMAD's build finishes a spec while the story waits for review: a done spec means at least review."""
    from .spec_file import read_spec

    try:
        status = read_spec(read_text(path)).status
    except FileError as error:
        return Drift("unreadable", row, f"{row.key}: {error.message}", error.location or Location(path))
    if status is None or row.meaning in (PARKED, UNKNOWN):
        return None
    location = Location(path, status.line)
    if status.raw.lower() == "blocked" and row.meaning != DONE:
        return Drift("spec-blocked", row, f"{row.key} is blocked in its spec", location, None, status.raw, "spec")
    meaning = REVIEW if status.meaning == DONE else status.meaning
    if meaning != PARKED and status_rank(meaning) > status_rank(row.meaning):
        message = f"{row.key} is {row.status.raw} on the board, {status.raw} in its spec"
        return Drift("board-behind", row, message, location, meaning, status.raw, "spec")
    return None


def check_story_files(files: StoryFiles) -> Iterator[Diagnostic]:
    """Diagnostics of story files without a status, with an unknown one, or of a story that is not on the board."""
    for paths in files.stories.values():
        path = paths[0]
        try:
            status = read_story_status(path)
        except FileError:
            continue  # find_drift reports it
        if status is None:
            yield Diagnostic(
                Severity.NOTE, "no-status-line", "has no status line", Location(path), "add `Status: …`"
            )
        elif status.meaning == UNKNOWN:
            near = suggest_status(status.raw)
            hint = f"perhaps {near}" if near else None
            message = f"{status.raw} is not a status of a story"
            yield Diagnostic(Severity.NOTE, "unknown-file-status", message, Location(path, status.line), hint)
    for number, paths in files.strays.items():
        message = f"is the file of story {number}, which is not on the board"
        yield Diagnostic(Severity.NOTE, "file-not-on-board", message, Location(paths[0]))
