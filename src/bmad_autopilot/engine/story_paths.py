"""The paths of one story's files (board, story file, spec, agent state, review), and the copies kept for a call:
saved before it, compared and restored after it."""

import errno
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from ..agents.command import metadata_with_purpose
from ..agents.shim.redact import redact, redact_value
from ..board.drift import find_row_files
from ..board.sprint_status import Board, Row, board_from_text, read_board
from ..board.task_board import find_task_file
from ..core.errors import FileError, Location
from ..core.keys import identify
from ..git.git import Git
from ..git.local_settings import hash_local_settings
from ..git.refs import restore_missing
from ..io.files import (
    MAX_TEXT_BYTES,
    TEMPORARY_SUFFIX,
    TextFile,
    copy_file,
    entry_kind,
    is_regular,
    read_bytes,
    resolve_inside,
    write_atomic,
)
from ..project.project import Project
from ..project.root import find_work_tree
from ..workflows.contract import agent_state_path, review_path

DEFERRED = "deferred-work.md"


class StoryPaths(NamedTuple):
    """Absolute paths; None: there is no such file."""

    board: str
    story: str | None
    spec: str | None
    deferred: str
    state: str  # the agents' questions
    review: str
    folders: tuple[str, ...] = ()  # that may contain such files

    @property
    def files(self) -> tuple[str, ...]:
        """All files that agents are told to write, existing or not."""
        return tuple(filter(None, (*self.bookkeeping, self.state, self.review)))

    @property
    def bookkeeping(self) -> tuple[str, ...]:
        """The files that may change without a code change."""
        return tuple(path for path in (self.board, self.story, self.spec, self.deferred) if path)


def find_story_paths(project: Project, board: Board | None, row: Row | None, key: str) -> StoryPaths:
    folder = project.folders.implementation
    story, spec = _files(project, board, row) if board is not None and row is not None else (None, None)
    return StoryPaths(
        project.require_board(),
        story,
        spec,
        f"{folder}/{DEFERRED}",
        agent_state_path(folder, key),
        review_path(folder, key),
        tuple(filter(None, (project.folders.output, project.folders.planning, folder, project.folders.stories))),
    )


def _files(project: Project, board: Board, row: Row) -> tuple[str | None, str | None]:
    folders = project.folders
    if project.tasks_folder:
        return find_task_file(board, row, project.tasks_folder), None
    places = [os.path.dirname(board.path), folders.implementation]
    places += [folders.stories] if folders.stories else []
    files = find_row_files(board, [row], folders.base, places)
    stories, specs = files.stories.get(row.key, []), files.specs.get(row.key, [])
    return next(iter(stories), None), next(iter(specs), None)


# Misnamed review files: reviewers write the story's slug from memory; only its number is reliable.

_END = ".review.json"


def find_review(story_paths: StoryPaths) -> str:
    """The review file: by its exact name, else the newest with the same story number."""
    if os.path.lexists(story_paths.review):
        return story_paths.review
    return next(iter(misnamed_reviews(story_paths)), story_paths.review)


def misnamed_reviews(story_paths: StoryPaths) -> list[str]:
    """Review files of this story under a key that is not on the board, newest first."""
    folder, own = os.path.split(story_paths.review)
    try:
        names = [name for name in os.listdir(folder) if name.endswith(_END) and name != own]
        keys = list(read_board(story_paths.board).rows) if names else []
    except (OSError, FileError):
        return []
    stems = [name.removesuffix(_END) for name in (own, *names)]
    known = identify(dict.fromkeys((*keys, *stems)))
    number = known[stems[0]].number
    found = [name for name, stem in zip(names, stems[1:], strict=True) if known[stem].number == number]
    strange = [os.path.join(folder, name) for name in found if name.removesuffix(_END) not in keys]
    return sorted(strange, key=_modified_at, reverse=True)


def _modified_at(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0


# Copies kept in a call's folder: the board, the story file and the repository's settings from before the call, and
# its questions from afterwards.

METADATA = ".claude-metadata.json"  # a workspace's purpose, as a person wrote it
BOARD = "board.before"
STORY = "story.before"
SPEC = "spec.before"
OLD_VERDICT = "review-before.json"
STATE = "agent-state.json"
THEIRS = "board.theirs"
LAYOUT = "layout.before"  # which paths were links, and their targets
REPLACED = "replaced"  # JSON list of the paths restored after the call; with a number: the removed entry
SETTINGS_BEFORE, SETTINGS_AFTER = "settings.before", "settings.after"  # of the repository, as hashes


def save_before_call(folder: str, story_paths: StoryPaths, checkout: str) -> None:
    """Copy the files before a call. An old verdict is moved aside, so that a later one is this call's. The
    workspace's purpose is copied too, because an instance's command may overwrite it."""
    os.makedirs(folder, 0o700, exist_ok=True)
    _write_json(f"{folder}/{LAYOUT}", capture_layout(story_paths, checkout))
    _copy(story_paths.board, f"{folder}/{BOARD}")
    if story_paths.story:
        _copy(story_paths.story, f"{folder}/{STORY}")
    if story_paths.spec:
        _copy(story_paths.spec, f"{folder}/{SPEC}")
    if os.path.lexists(story_paths.review):
        _move_verdict_aside(story_paths.review, f"{folder}/{OLD_VERDICT}")
    for number, other in enumerate(misnamed_reviews(story_paths), 2):
        _move_verdict_aside(other, f"{folder}/{number}-{OLD_VERDICT}")
    metadata = os.path.join(checkout, METADATA)
    if is_regular(metadata):
        _copy(metadata, f"{folder}/{METADATA}")
    _write_json(f"{folder}/{SETTINGS_BEFORE}", _settings_now(checkout))


def move_aside(path: str, target: str) -> None:
    """Move an entry of any kind without reading or following it. Across file systems a regular file is copied, a
    folder stays in place under a name that git ignores, and anything else is removed."""
    try:
        os.replace(path, _unused_path(target))
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise FileError(f"cannot be moved away: {error.strerror}", location=Location(path)) from None
        if stat.S_ISDIR(os.lstat(path).st_mode):
            os.replace(path, f"{path}.{os.urandom(4).hex()}{TEMPORARY_SUFFIX}")
            return
        if is_regular(path):
            copy_file(path, _unused_path(target))
        os.unlink(path)


def _unused_path(path: str) -> str:
    """The path itself, or one beside it if a folder is there."""
    return path if not os.path.isdir(path) else f"{path}.{os.urandom(4).hex()}"


# files that agents replaced


class LayoutEntry(NamedTuple):
    """What belongs at a path: a file or a folder, or the link that was there before the call."""

    is_folder: bool
    link: str = ""


Layout: TypeAlias = Mapping[str, LayoutEntry]


class ReplacedPath(NamedTuple):
    path: str  # from the checkout
    found: str  # `a symbolic link to /dev/zero`


def capture_layout(story_paths: StoryPaths, checkout: str) -> dict[str, LayoutEntry]:
    """The files that agents write, and every folder between the work tree's top and them; for paths reached
    through a link, the link's target too."""
    top = _top(checkout)
    found: dict[str, LayoutEntry] = {}
    for path, is_folder in (
        *((one, True) for one in story_paths.folders),
        *((one, False) for one in story_paths.files),
    ):
        for place in dict.fromkeys((path, os.path.realpath(path))):
            for parent in _parents(top, place):
                found.setdefault(parent, LayoutEntry(True, _link_at(parent)))
            if place.startswith(f"{top}/"):
                found.setdefault(place, LayoutEntry(is_folder, _link_at(place)))
    return found


def read_layout(folder: str) -> dict[str, LayoutEntry] | None:
    """The layout before a call; None: an earlier version made the call."""
    kept = _read_json(f"{folder}/{LAYOUT}")
    try:
        return {str(path): LayoutEntry(bool(row[0]), str(row[1])) for path, row in kept.items()} if kept else None
    except (LookupError, TypeError):
        return None


def find_replaced(layout: Layout, path: str) -> ReplacedPath | None:
    """The first part of a path that was replaced: a link that is new or has another target, or anything else in
    the place of a file or a folder."""
    while path not in layout and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    for place in sorted((one for one in layout if one == path or path.startswith(f"{one}/")), key=len):
        if not _is_as_before(place, layout[place]):
            return ReplacedPath(place, entry_kind(place))
    return None


def _is_as_before(path: str, entry: LayoutEntry) -> bool:
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return bool(entry.link) and os.readlink(path) == entry.link
    except OSError:  # missing: the reader of the file reports it
        return True
    return stat.S_ISDIR(mode) if entry.is_folder else stat.S_ISREG(mode)


def restore_replaced(
    folder: str, story_paths: StoryPaths, git: Git, tree: str | None, layout: Layout | None
) -> list[ReplacedPath]:
    """Restore what the call in `folder` replaced by a link, a device, a pipe or a folder. The replacement is moved
    into the call's folder, unread. Return everything restored since the call, also by earlier calls of this
    function. `tree`: the work tree before the call."""
    before, top = layout or read_layout(folder) or {}, _top(git.folder)
    wanted = {path: entry._replace(link="") for path, entry in capture_layout(story_paths, top).items()} | dict(
        before
    )
    known = _read_replaced(folder)
    for path in sorted({*story_paths.files, find_review(story_paths), *before}, key=len):
        found = find_replaced({path: LayoutEntry(False), **wanted}, path)
        if found is None:
            continue
        _refuse_around(folder, found)
        known.append(ReplacedPath(os.path.relpath(found.path, top), found.found))
        _write_json(f"{folder}/{REPLACED}", {str(number): list(one) for number, one in enumerate(known)})
        move_aside(found.path, f"{folder}/{REPLACED}-{len(known)}")
        _recreate(found.path, wanted.get(found.path, LayoutEntry(False)), git, tree)
    for own, kept in (
        ((story_paths.board, BOARD), (story_paths.story, STORY), (story_paths.spec, SPEC)) if known else ()
    ):
        if own:
            _write_missing(resolve_inside(own, top), read_or_none(f"{folder}/{kept}"))
    return known


def _write_missing(path: str, raw: bytes | None) -> None:
    if raw is not None and not os.path.lexists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_atomic(path, raw)


def _refuse_around(folder: str, found: ReplacedPath) -> None:
    """Refuse if a folder that contains the run's own records was replaced: it cannot be restored automatically."""
    if os.path.realpath(folder).startswith(f"{os.path.realpath(found.path)}/") or folder.startswith(
        f"{found.path}/"
    ):
        raise FileError(
            "was replaced during an agent's call",
            location=Location(found.path),
            found=found.found,
            expected="a folder",
            hint="move the folder back to its place, then bmad resume",
        )


def _recreate(path: str, entry: LayoutEntry, git: Git, tree: str | None) -> None:
    if entry.link:
        os.symlink(entry.link, path)
    elif tree:
        restore_missing(git, tree, os.path.relpath(path, git.top))
    if entry.is_folder and not entry.link:
        os.makedirs(path, exist_ok=True)


def _read_replaced(folder: str) -> list[ReplacedPath]:
    kept = _read_json(f"{folder}/{REPLACED}") or {}
    rows = [row for row in kept.values() if isinstance(row, list) and len(row) == 2]
    return [ReplacedPath(str(path), str(found)) for path, found in rows]


def _top(checkout: str) -> str:
    tree = find_work_tree(os.path.realpath(checkout))
    return tree.top if tree is not None else os.path.realpath(checkout)


def _parents(top: str, path: str) -> Iterator[str]:
    """The folders between `top` and `path`, both excluded; none for a path outside."""
    if path.startswith(f"{top}/"):
        names = os.path.relpath(path, top).split(os.sep)[:-1]
        yield from (os.path.join(top, *names[:count]) for count in range(1, len(names) + 1))


def _link_at(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _move_verdict_aside(path: str, target: str) -> None:
    """Move a verdict into the attempt's folder, redacted. After a kill in between, the next call moves it. An
    unreadable one is moved as it is."""
    raw = read_or_none(path) if is_regular(path) else None
    if raw is None:
        move_aside(path, target)
        return
    write_atomic(target, _without_secrets(raw), durable=False)
    os.unlink(path)


def _without_secrets(raw: bytes) -> bytes:
    """A JSON document stays valid: its strings are redacted one by one."""
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return redact(raw.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    safe = redact_value(data)
    return raw if safe == data else json.dumps(safe, indent=2).encode() + b"\n"


def changed_settings(folders: Sequence[str], checkout: str) -> list[str]:
    """The repository settings that these calls changed and that are still changed. The last call has just ended.
    Changes between two calls are a person's."""
    now = _settings_now(checkout)
    if folders and not os.path.exists(f"{folders[-1]}/{SETTINGS_AFTER}"):
        _write_json(f"{folders[-1]}/{SETTINGS_AFTER}", now)
    rightful: dict[str, str] = {}  # as before the first call, with people's changes since
    last: dict[str, str] = {}
    for folder in folders:
        before, after = (_read_json(f"{folder}/{name}") for name in (SETTINGS_BEFORE, SETTINGS_AFTER))
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
    return hash_local_settings(tree) if tree is not None else {}


def _write_json(path: str, data: Mapping[str, object]) -> None:
    write_atomic(path, json.dumps(data).encode(), durable=False)


def _read_json(path: str) -> dict[str, Any] | None:
    """None: missing, as in calls of an earlier version."""
    try:
        data = json.loads(read_or_none(path) or b"null")
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def restore_metadata(folder: str, checkout: str) -> None:
    before, path = read_or_none(f"{folder}/{METADATA}"), os.path.join(checkout, METADATA)
    wanted = metadata_with_purpose(before, read_or_none(path)) if before is not None else None
    if wanted is not None and (is_regular(path) or not os.path.lexists(path)):
        write_atomic(path, wanted)


def save_agent_state(folder: str, story_paths: StoryPaths) -> None:
    if is_regular(story_paths.state) and not os.path.exists(f"{folder}/{STATE}"):
        raw = read_bytes(story_paths.state)
        write_atomic(f"{folder}/{STATE}", _without_secrets(raw), durable=False)


def board_before(folder: str) -> Board | None:
    raw = read_or_none(f"{folder}/{BOARD}")
    try:
        return board_from_text(TextFile(f"{folder}/{BOARD}", raw)) if raw is not None else None
    except FileError:
        return None


def read_or_none(path: str) -> bytes | None:
    try:
        return read_bytes(path, follow=False)
    except FileError:
        return None


def read_inside(path: str, inside: str) -> bytes | None:
    """Read a file that a call left. A link is followed only within the work tree: the user may have made it."""
    try:
        return read_bytes(resolve_inside(path, inside), follow=False)
    except FileError:
        return None


def restore_board(folder: str, board: str, inside: str) -> str:
    """Restore the board from before the call. The current one is kept in the call's folder; return its path. A
    board that is no regular file has already been restored by `restore_replaced`."""
    kept, target = f"{folder}/{THEIRS}", resolve_inside(board, inside)
    raw = read_bytes(f"{folder}/{BOARD}", follow=False)
    if os.path.lexists(target) and not os.path.lexists(kept):
        if is_regular(target) and os.lstat(target).st_size <= MAX_TEXT_BYTES:
            copy_file(target, kept)
        else:
            move_aside(target, kept)
    write_atomic(target, raw)
    return kept


def _copy(source: str, target: str) -> None:
    """Follows a link that a user has made: it was checked before the call."""
    write_atomic(target, read_bytes(source), durable=False)
