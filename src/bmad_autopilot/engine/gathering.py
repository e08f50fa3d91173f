"""All that a call left, gathered for the judges: its result, the changes in git, the files it owes, the board."""

import os
from collections.abc import Callable, Set
from typing import NamedTuple

from ..agents.attempts import Result, Spec
from ..board.epics import read_all_epics
from ..board.epics_files import find_epics_files
from ..board.retrospectives import retrospective_verdict
from ..board.specs import find_auto_results, read_auto_result, read_spec
from ..board.sprint import Board, Row, board_from_text, read_board
from ..board.stories import StoryFile, read_story
from ..core.causes import Kind, blocked_build
from ..core.changes import Change, Contents
from ..core.errors import AutopilotError, FileError
from ..core.offered import offered
from ..core.owes import Owes
from ..core.statuses import PARKED
from ..files import Text, read_text
from ..gates.look import Document, WorkLook
from ..gates.verdict import ReviewVerdict, read_verdict
from ..github.blobs import contents
from ..github.git import Git
from ..github.history import is_ancestor
from ..github.private_settings import HOOKS_PATH, has_usual_hooks_path
from ..github.trees import EMPTY_TREE, changes, read_file
from ..project.open import Project
from ..project.state_files import owner_of
from ..project.traces import CONFIG_NAME
from ..runs.agent_state import read_agent_state
from ..workflows.pipelines import RETROSPECTIVE
from .books import Books, books_of
from .doors import Asked, CallOrder, Gathered, Tree
from .harvesting import Harvest, harvest
from .lane import Lane
from .review_files import review_of
from .snapshots import (
    SPEC,
    STORY,
    Layout,
    Replaced,
    board_before,
    keep_state,
    put_back_replaced,
    read_kept,
    read_left,
    restore_purpose,
    settings_changed,
)
from .touching import Cleaned, UsersFiles, between_calls, paths_by_hand, take_out, touched_paths, users_paths

BUILD_AUTO = "build-auto"
MAX_QUESTIONS = 20  # that one call may ask


class Place(NamedTuple):
    """Where the call ran, and who judges it."""

    project: Project
    git: Git
    lane: Lane
    folder: str  # the call's
    first: str  # the folder of the story's first call that did not write its story file
    dirty: frozenset[str]  # paths that were dirty before the run began
    calls: tuple[str, ...] = ()  # the folders of the story's calls, in order
    handed_over: frozenset[str] = frozenset()  # of those after which it was in a person's hands
    layout: Layout | None = None  # before the call; None: as its folder has it


def gather(place: Place, order: CallOrder, tree_of: Callable[[Result, str], Tree]) -> Gathered:
    return gather_ended(place, order, harvest(place.folder, place.project.config), tree_of)


def gather_ended(
    place: Place, order: CallOrder, done: Harvest, tree_of: Callable[[Result, str], Tree]
) -> Gathered:
    """The same for a call whose end is known already."""
    before = board_before(place.folder)
    replaced = _put_back(place, order, done.spec)
    now = _board(place.project)
    row = now.rows.get(order.story) if now else None
    books = books_of(place.project, now, row, order.story)
    spec, cleaned = done.spec, _without_users_files(place, done.spec, done.result, books)
    result = cleaned.result
    tree = tree_of(result, order.story)
    keep_state(place.folder, books)
    restore_purpose(place.folder, place.project.root.checkout)
    old = before.rows.get(order.story) if before else None
    held = contents(place.git, order.tree or EMPTY_TREE, tree.tree or EMPTY_TREE)
    ended = _board_at_end(place, held, before) or now
    left = ended.rows.get(order.story) if ended else None
    look = _work_look(place, order, spec, result, tree, held, books, before, ended, row)
    put_back = tuple((one.path, one.found) for one in replaced)
    look = look._replace(users_files=cleaned.left_in, replaced=put_back)
    return Gathered(
        done.verdict,
        result.seconds,
        tree,
        left.meaning if left else "",
        old.meaning if old else "",
        look,
        _review(place, books) if order.step.owes is Owes.VERDICT else None,
        asked_in(books) or _blocked_build(place, order, books, result.started_at),
        (left.reason or "") if left else "",
        result.exit,
        _retrospective(place) if order.step == RETROSPECTIVE else "",
        taken_out=cleaned.taken_out,
        remade=cleaned.remade,
    )


def _without_users_files(place: Place, spec: Spec, result: Result, books: Books) -> Cleaned:
    """Of what lay in the work tree uncommitted before the call, only the story's work may be in its commits."""
    if spec.head == result.head or place.git.work_tree is None:
        return Cleaned(result)
    own = {_from_top(place.git.top, path) for path in books.kept_apart}
    own |= touched_paths(place.git, place.calls[:-1], lambda: (None, None))
    own |= paths_by_hand(place.git, place.calls, place.handed_over, spec.tree)
    users = users_paths(place.git, spec, own) | place.dirty
    return take_out(place.git, spec, result, UsersFiles(users))


def _put_back(place: Place, order: CallOrder, spec: Spec) -> list[Replaced]:
    """Before anything that the call left is read."""
    now = _board(place.project)
    books = books_of(place.project, now, now.rows.get(order.story) if now else None, order.story)
    return put_back_replaced(place.folder, books, place.git, spec.tree, place.layout)


def _retrospective(place: Place) -> str:
    return retrospective_verdict(place.project.folders.implementation, place.lane.epic or "")


def _board_at_end(place: Place, held: Contents, before: Board | None) -> Board | None:
    """As the call left it: who has moved a row since is a person. Left unreadable, it was put back as before."""
    path = place.project.require_board()
    try:
        raw = held(_from_top(place.git.top, path), True)
        return board_from_text(Text(path, raw)) if raw is not None else None
    except FileError:
        return before
    except AutopilotError:
        return None


def _board(project: Project) -> Board | None:
    try:
        return read_board(project.require_board())
    except FileError:
        return None


def _work_look(
    place: Place,
    order: CallOrder,
    spec: Spec,
    result: Result,
    tree: Tree,
    held: Contents,
    books: Books,
    before: Board | None,
    now: Board | None,
    row: Row | None,
) -> WorkLook:
    top = place.git.top
    own = frozenset(_from_top(top, path) for path in books.kept_apart)
    base, after = order.tree or EMPTY_TREE, tree.tree or EMPTY_TREE
    theirs, by_hand = _theirs(place)
    work = _changes(place, base, after, theirs - by_hand)
    whole = [change for change in work if change.path not in by_hand]
    moved = _changes(place, spec.tree or base, after)
    return WorkLook(
        order.step.owes,
        order.story,
        row.number if row else order.story,
        tuple(whole),
        held,
        any(change.path not in own for change in work),
        any(change.path not in own for change in moved),
        story=_document(top, books.story),
        spec=_document(top, books.spec) if _is_spec_owed(order, books) else None,
        builds=order.step.skill == BUILD_AUTO,
        asked=_asked_for(place, row, base),
        story_before=_kept_story(place.first or place.folder, top, books),
        rows_before=_raw(before) or {},
        rows_after=_raw(now),
        descends=_descends(place, order, spec, result),
        same_branch=not place.lane.branch or result.branch == place.lane.branch,
        outside=result.outside,
        commands=place.lane.checks,
        bookkeeping=frozenset(),
        settings=_settings(place, base),
        allowed=place.lane.unprotected,
        part=os.path.relpath(place.project.root.checkout, top),
    )


def _settings(place: Place, base: str) -> tuple[str, ...]:
    """A project's tools set where its hooks lie, when they are installed with everything else it needs."""
    changed = settings_changed(place.calls or (place.folder,), place.project.root.checkout)
    usual = HOOKS_PATH in changed and has_usual_hooks_path(place.git, base)
    return tuple(name for name in changed if name != HOOKS_PATH or not usual)


def _descends(place: Place, order: CallOrder, spec: Spec, result: Result) -> bool:
    """From what was committed before this call, by whomever, and from what we committed before an earlier one."""
    heads = {head for head in (order.head, spec.head) if head not in (None, result.head)}
    return not heads or (
        result.head is not None and all(is_ancestor(place.git, head, result.head) for head in heads)
    )


def _is_spec_owed(order: CallOrder, books: Books) -> bool:
    """Of a build; and whoever reviews one has nothing else to go by."""
    return order.step.skill == BUILD_AUTO or books.story is None


def _changes(place: Place, before: str, after: str, theirs: Set[str] = frozenset()) -> list[Change]:
    """What was dirty before we began is nobody's doing here, except for what judges the work."""
    found = changes(place.git, before, after) if before != after else []
    part = os.path.relpath(place.project.root.path, place.git.top)
    left_out = (place.dirty - {os.path.normpath(f"{part}/{CONFIG_NAME}")}) | theirs
    return [change for change in found if change.path not in left_out]


def _theirs(place: Place) -> tuple[set[str], set[str]]:
    """What changed between two calls, while no agent was at work: people's, and our own rows. And what of it is
    the story's work all the same: they had taken it over. No rule for agents judges it."""
    paths: set[str] = set()
    by_hand: set[str] = set()
    for time in between_calls(place.calls, place.handed_over):
        found = time.paths(place.git)
        paths |= found
        by_hand |= found if time.by_hand else set()
    # A state file is moved aside by us before a call: that is nobody's word on whether it may be in git.
    part = os.path.relpath(place.project.root.path, place.git.top)
    theirs = {path for path in paths if owner_of(os.path.relpath(path, part)) is None}
    return theirs, theirs & by_hand


def _from_top(top: str, path: str) -> str:
    return os.path.relpath(os.path.realpath(path), top)


def _document(top: str, path: str | None) -> Document | None:
    raw = read_left(path, top) if path else None
    return Document(_from_top(top, path), raw) if path and raw is not None else None


def _kept_story(folder: str, top: str, books: Books) -> Document | None:
    raw = read_kept(f"{folder}/{STORY}")
    return Document(_from_top(top, books.story) if books.story else STORY, raw) if raw is not None else None


def _asked_for(place: Place, row: Row | None, base: str) -> str:
    """What the story asks for, as it stood before anybody wrote code for it."""
    raw = read_kept(f"{place.first}/{STORY}") if place.first else None
    text = raw.decode("utf-8", "replace") if raw else ""
    return f"{text}\n{_section(place, row.number, base)}" if row else text


def _section(place: Place, number: str, base: str) -> str:
    """Only where the file is as it was at the baseline: what is written into it since excuses nobody."""
    try:
        found = read_all_epics(find_epics_files(place.project.folders.planning)).stories()
        section = next((story for story in found if story.number == number), None)
        if section is None:
            return ""
        text = read_text(section.file)
        before = read_file(place.git, base, _from_top(place.git.top, section.file))
        return text.text[section.start : section.end] if before in (None, text.raw) else ""
    except AutopilotError:
        return ""


def _raw(board: Board | None) -> dict[str, str] | None:
    return {key: row.status.raw for key, row in board.rows.items()} if board else None


def _review(place: Place, books: Books) -> ReviewVerdict:
    """Of a build the spec is the story file, with findings and status."""
    raw = read_kept(review_of(books))
    path = books.story or books.spec
    before = read_kept(f"{place.folder}/{STORY if books.story else SPEC}")
    now = read_left(path, place.git.top) if path else None
    return read_verdict(raw, _story(path, now), _story(path, before))


def _story(path: str | None, raw: bytes | None) -> StoryFile | None:
    try:
        return read_story(Text(path or STORY, raw)) if raw is not None else None
    except FileError:
        return None


def asked_in(books: Books) -> tuple[Asked, ...]:
    try:
        state = read_agent_state(books.state)
    except FileError:
        return ()
    found = state.open[:MAX_QUESTIONS] if state else ()
    return tuple(
        Asked(one.id, one.question, one.context, one.options, state.block_reason) for one in found if state
    )


def _blocked_build(place: Place, order: CallOrder, books: Books, since: float) -> tuple[Asked, ...]:
    """A build that stopped says why in its spec, or beside it where there is no spec yet."""
    if order.step.skill != BUILD_AUTO:
        return ()
    try:
        spec = read_spec(read_text(books.spec)) if books.spec else None
        results = [] if spec else find_auto_results(place.project.folders.implementation)
        fresh = [path for path in results if os.stat(path).st_mtime >= since]
        said = spec.result if spec else next(filter(None, map(read_auto_result, map(read_text, fresh))), None)
    except (FileError, OSError):
        return ()
    blocked = (spec and spec.status and spec.status.meaning == PARKED) or (
        said and (said.status or "").lower().startswith("block")
    )
    if not blocked:
        return ()
    why = (said and said.blocking_condition) or "it gives no reason"
    is_what = blocked_build(why)
    cause = "" if is_what.kind is Kind.QUESTION else is_what.cause
    options = offered(why).options
    return (Asked("", f"The build is blocked: {why}", options=options, reason=is_what.reason, cause=cause),)
