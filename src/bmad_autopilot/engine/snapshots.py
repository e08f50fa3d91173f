"""What stood there before a call, kept in its folder: the board, the story file, the repository's own settings;
and what it asked afterwards."""

import errno
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from ..agents.command import keep_purpose
from ..agents.shim.redaction import redact, redact_value
from ..board.sprint import Board, board_from_text
from ..core.errors import FileError, Place
from ..files import (
    MAX_TEXT_BYTES,
    TEMPORARY,
    Text,
    copy_file,
    is_regular,
    kind_of,
    read_bytes,
    resolve_inside,
    write_atomic,
)
from ..github.git import Git
from ..github.private_settings import private_settings
from ..github.putting_back import restore_missing
from ..project.gitdir import find_work_tree
from .books import Books
from .review_files import misnamed_reviews, review_of

METADATA = ".claude-metadata.json"  # what a workspace is for, as a person wrote it
BOARD = "board.before"
STORY = "story.before"
SPEC = "spec.before"
OLD_VERDICT = "review-before.json"
STATE = "agent-state.json"
THEIRS = "board.theirs"
LAYOUT = "layout.before"  # which paths were links, and where they led
REPLACED = "replaced"  # a JSON list of what was put back after the call; with a number: what stood there
SETTINGS_BEFORE, SETTINGS_AFTER = "settings.before", "settings.after"  # of the repository, as hashes


def keep_before(folder: str, books: Books, checkout: str) -> None:
    """A verdict from before is moved aside: what is there afterwards is this call's. So is kept what a person said
    the workspace is for, which an instance's command may write over."""
    os.makedirs(folder, 0o700, exist_ok=True)
    _keep_json(f"{folder}/{LAYOUT}", layout_of(books, checkout))
    _copy(books.board, f"{folder}/{BOARD}")
    if books.story:
        _copy(books.story, f"{folder}/{STORY}")
    if books.spec:
        _copy(books.spec, f"{folder}/{SPEC}")
    if os.path.lexists(books.review):
        _set_aside_verdict(books.review, f"{folder}/{OLD_VERDICT}")
    for number, other in enumerate(misnamed_reviews(books), 2):
        _set_aside_verdict(other, f"{folder}/{number}-{OLD_VERDICT}")
    metadata = os.path.join(checkout, METADATA)
    if is_regular(metadata):
        _copy(metadata, f"{folder}/{METADATA}")
    _keep_json(f"{folder}/{SETTINGS_BEFORE}", _settings_now(checkout))


def set_aside(path: str, target: str) -> None:
    """Move an entry as it is, whatever it is: nothing is read or followed. On another file system a regular file
    is copied; a folder stays where it is under a name that git ignores, and anything else is removed."""
    try:
        os.replace(path, _free(target))
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise FileError(f"cannot be moved away: {error.strerror}", place=Place(path)) from None
        if stat.S_ISDIR(os.lstat(path).st_mode):
            os.replace(path, f"{path}.{os.urandom(4).hex()}{TEMPORARY}")
            return
        if is_regular(path):
            copy_file(path, _free(target))
        os.unlink(path)


def _free(path: str) -> str:
    """The path itself, or one beside it, where no folder stands."""
    return path if not os.path.isdir(path) else f"{path}.{os.urandom(4).hex()}"


# what agents put in the place of files


class Entry(NamedTuple):
    """What belongs at a path: a file or a folder, perhaps reached by a link that was there before the call."""

    is_folder: bool
    link: str = ""


Layout: TypeAlias = Mapping[str, Entry]


class Replaced(NamedTuple):
    path: str  # from the checkout
    found: str  # `a symbolic link to /dev/zero`


def layout_of(books: Books, checkout: str) -> dict[str, Entry]:
    """The files that agents write, and every folder between the work tree's top and them; for those that are
    reached by a link, where the link leads too."""
    top = _top(checkout)
    found: dict[str, Entry] = {}
    for path, is_folder in (*((one, True) for one in books.folders), *((one, False) for one in books.files)):
        for place in dict.fromkeys((path, os.path.realpath(path))):
            for parent in _parents(top, place):
                found.setdefault(parent, Entry(True, _link_at(parent)))
            if place.startswith(f"{top}/"):
                found.setdefault(place, Entry(is_folder, _link_at(place)))
    return found


def kept_layout(folder: str) -> dict[str, Entry] | None:
    """Of a call; None: an earlier version made it."""
    kept = _kept_json(f"{folder}/{LAYOUT}")
    try:
        return {str(path): Entry(bool(row[0]), str(row[1])) for path, row in kept.items()} if kept else None
    except (LookupError, TypeError):
        return None


def replaced(layout: Layout, path: str) -> Replaced | None:
    """The first part of a path that is not what it was: a link that is new or leads elsewhere, or something in the
    place of a file or a folder that is neither."""
    while path not in layout and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    for place in sorted((one for one in layout if one == path or path.startswith(f"{one}/")), key=len):
        if not _is_as_before(place, layout[place]):
            return Replaced(place, kind_of(place))
    return None


def _is_as_before(path: str, entry: Entry) -> bool:
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return bool(entry.link) and os.readlink(path) == entry.link
    except OSError:  # nothing is there: whoever needs the file says so
        return True
    return stat.S_ISDIR(mode) if entry.is_folder else stat.S_ISREG(mode)


def put_back_replaced(
    folder: str, books: Books, git: Git, tree: str | None, layout: Layout | None
) -> list[Replaced]:
    """Put back what the call in `folder` replaced by a link, a device, a pipe or a folder. What stood there is
    moved into the call's folder, unread. Returns all that was put back since the call, also by an earlier look.
    `tree`: the work tree before the call."""
    before, top = layout or kept_layout(folder) or {}, _top(git.folder)
    wanted = {path: entry._replace(link="") for path, entry in layout_of(books, top).items()} | dict(before)
    known = _kept_replaced(folder)
    for path in sorted({*books.files, review_of(books), *before}, key=len):
        found = replaced({path: Entry(False), **wanted}, path)
        if found is None:
            continue
        _refuse_around(folder, found)
        known.append(Replaced(os.path.relpath(found.path, top), found.found))
        _keep_json(f"{folder}/{REPLACED}", {str(number): list(one) for number, one in enumerate(known)})
        set_aside(found.path, f"{folder}/{REPLACED}-{len(known)}")
        _make_anew(found.path, wanted.get(found.path, Entry(False)), git, tree)
    for own, kept in ((books.board, BOARD), (books.story, STORY), (books.spec, SPEC)) if known else ():
        if own:
            _write_missing(resolve_inside(own, top), read_kept(f"{folder}/{kept}"))
    return known


def _write_missing(path: str, raw: bytes | None) -> None:
    if raw is not None and not os.path.lexists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_atomic(path, raw)


def _refuse_around(folder: str, found: Replaced) -> None:
    """With a folder that holds the run's own records, nothing can be put back by itself."""
    if os.path.realpath(folder).startswith(f"{os.path.realpath(found.path)}/") or folder.startswith(
        f"{found.path}/"
    ):
        raise FileError(
            "was replaced during an agent's call",
            place=Place(found.path),
            found=found.found,
            expected="a folder",
            hint="move the folder back to its place, then bmad resume",
        )


def _make_anew(path: str, entry: Entry, git: Git, tree: str | None) -> None:
    if entry.link:
        os.symlink(entry.link, path)
    elif tree:
        restore_missing(git, tree, os.path.relpath(path, git.top))
    if entry.is_folder and not entry.link:
        os.makedirs(path, exist_ok=True)


def _kept_replaced(folder: str) -> list[Replaced]:
    kept = _kept_json(f"{folder}/{REPLACED}") or {}
    rows = [row for row in kept.values() if isinstance(row, list) and len(row) == 2]
    return [Replaced(str(path), str(found)) for path, found in rows]


def _top(checkout: str) -> str:
    tree = find_work_tree(os.path.realpath(checkout))
    return tree.top if tree is not None else os.path.realpath(checkout)


def _parents(top: str, path: str) -> Iterator[str]:
    """The folders between, without the top itself; none for a path elsewhere."""
    if path.startswith(f"{top}/"):
        names = os.path.relpath(path, top).split(os.sep)[:-1]
        yield from (os.path.join(top, *names[:count]) for count in range(1, len(names) + 1))


def _link_at(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _set_aside_verdict(path: str, target: str) -> None:
    """Move a verdict into the attempt's folder, without its secrets. Killed in between, it is moved by the next
    call. One that cannot be read as a file is moved as it is."""
    raw = read_kept(path) if is_regular(path) else None
    if raw is None:
        set_aside(path, target)
        return
    write_atomic(target, _without_secrets(raw), durable=False)
    os.unlink(path)


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
        _keep_json(f"{folders[-1]}/{SETTINGS_AFTER}", now)
    rightful: dict[str, str] = {}  # as it was before the first of them, and as people have set it since
    last: dict[str, str] = {}
    for folder in folders:
        before, after = (_kept_json(f"{folder}/{name}") for name in (SETTINGS_BEFORE, SETTINGS_AFTER))
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


def _keep_json(path: str, data: Mapping[str, object]) -> None:
    write_atomic(path, json.dumps(data).encode(), durable=False)


def _kept_json(path: str) -> dict[str, Any] | None:
    """None: there is none, as in calls of an earlier version."""
    try:
        data = json.loads(read_kept(path) or b"null")
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def restore_purpose(folder: str, checkout: str) -> None:
    before, path = read_kept(f"{folder}/{METADATA}"), os.path.join(checkout, METADATA)
    wanted = keep_purpose(before, read_kept(path)) if before is not None else None
    if wanted is not None and (is_regular(path) or not os.path.lexists(path)):
        write_atomic(path, wanted)


def keep_state(folder: str, books: Books) -> None:
    if is_regular(books.state) and not os.path.exists(f"{folder}/{STATE}"):
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
        return read_bytes(path, follow=False)
    except FileError:
        return None


def read_left(path: str, inside: str) -> bytes | None:
    """A file as a call left it. A link is followed only within the work tree: a user may have put it there."""
    try:
        return read_bytes(resolve_inside(path, inside), follow=False)
    except FileError:
        return None


def restore_board(folder: str, board: str, inside: str) -> str:
    """Put back the board as it was before the call, and keep what stands there in its folder; where it is kept.
    What is no regular file was put back before (`put_back_replaced`)."""
    kept, target = f"{folder}/{THEIRS}", resolve_inside(board, inside)
    raw = read_bytes(f"{folder}/{BOARD}", follow=False)
    if os.path.lexists(target) and not os.path.lexists(kept):
        if is_regular(target) and os.lstat(target).st_size <= MAX_TEXT_BYTES:
            copy_file(target, kept)
        else:
            set_aside(target, kept)
    write_atomic(target, raw)
    return kept


def _copy(source: str, target: str) -> None:
    """A link that a user has put in the source's place is followed: it was checked before the call."""
    write_atomic(target, read_bytes(source), durable=False)
