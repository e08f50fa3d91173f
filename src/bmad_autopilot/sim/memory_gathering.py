"""All that a call in memory left, gathered as the engine gathers it, so that the real gates judge."""

import json
from functools import lru_cache

from ..board.stories import StoryFile, read_story
from ..core.errors import FileError
from ..core.owes import Owes
from ..engine.doors import Asked, CallOrder, Gathered, Tree
from ..engine.lane import Lane
from ..files import Text
from ..gates.look import Document, WorkLook
from ..gates.verdict import ReviewVerdict, read_verdict
from .memory import World
from .memory_board import is_readable, raw_statuses, rows_of
from .memory_books import number_of, section_of
from .memory_calls import MemoryCall
from .memory_git import LINK, changes, contents

CHECKS = ("python check.py",)


def gather(world: World, run: str, lane: Lane, order: CallOrder, tree: Tree) -> Gathered:
    call = world.calls[run, order.id]
    ended = _board_at_end(world, call)
    now = rows_of(ended) if is_readable(ended) else {}
    before = rows_of(call.board_before) if is_readable(call.board_before) else {}
    row, old = now.get(order.story), before.get(order.story)
    story = world.books.document(world.books.story(order.story))
    got = Gathered(
        call.verdict(),
        call.ending.seconds,
        tree,
        row.meaning if row else "",
        old.meaning if old else "",
        _look(world, run, lane, order, tree, call, story, ended),
        _review(world, order, story, call) if order.step.owes is Owes.VERDICT else None,
        _asked(world, order.story),
        (row.reason or "") if row else "",
    )
    return _with_answers(world, order, got) if order.points or order.must_change else got


def _with_answers(world: World, order: CallOrder, got: Gathered) -> Gathered:
    from ..engine.delivery.answers import judge_answers  # most worlds deliver nothing

    def known(commit: str, since: str) -> str:
        git = world.git
        is_here = commit in git.commits and git.descends(git.head, commit)
        return commit if is_here and since and commit != since and git.descends(commit, since) else ""

    return judge_answers(got, order, world.git.files.get(world.books.threads(order.story)), known)


def _board_at_end(world: World, call: MemoryCall) -> bytes:
    """As the call left it: who has moved a row since is a person. Left unreadable, it was put back as before."""
    left = call.board_after
    if left is None:
        return world.board
    return left if is_readable(left) else call.board_before


def _look(
    world: World,
    run: str,
    lane: Lane,
    order: CallOrder,
    tree: Tree,
    call: MemoryCall,
    story: Document | None,
    ended: bytes,
) -> WorkLook:
    git, books = world.git, world.books
    before, after = git.at(order.tree), git.at(tree.tree)
    asked = _first_story(world, run, order)
    spec = books.document(books.spec(order.story))
    return WorkLook(
        order.step.owes,
        order.story,
        number_of(order.story),
        tuple(change for change in changes(before, after) if change.path not in lane.dirty),
        contents(before, after),
        tree.code != order.code,
        tree.code != call.code_before,
        story=story,
        spec=spec if order.step.skill == "build-auto" or story is None else None,
        asked=f"{(asked or b'').decode('utf-8', 'replace')}\n{section_of(git.files, number_of(order.story))}",
        story_before=Document(story.path if story else "story", asked) if asked is not None else None,
        rows_before=raw_statuses(call.board_before) if is_readable(call.board_before) else {},
        rows_after=raw_statuses(ended) if is_readable(ended) else None,
        descends=all(git.descends(tree.head, head) for head in (order.head, call.head_before)),
        same_branch=tree.branch == lane.branch,
        outside=call.outside,
        replaced=_replaced(world, order, call),
        commands=CHECKS,
    )


def _replaced(world: World, order: CallOrder, call: MemoryCall) -> tuple[tuple[str, str], ...]:
    """Links in the place of files that the engine reads. They are not put back here, but for the board."""
    story = world.books.story(order.story)
    left = {world.books.board: call.board_after, story or "": world.git.files.get(story or "")}
    found = ((path, (raw or b"").removeprefix(LINK).decode()) for path, raw in left.items() if _is_link(raw))
    return tuple((path, f"a symbolic link to {target}") for path, target in found)


def _is_link(raw: bytes | None) -> bool:
    return raw is not None and raw.startswith(LINK)


def _first_story(world: World, run: str, order: CallOrder) -> bytes | None:
    """The story file as it stood before anybody wrote code for it."""
    own = (call for (name, _), call in world.calls.items() if name == run and call.order.story == order.story)
    first = next((call for call in own if call.order.step.owes is not Owes.STORY), None)
    return first.story_before if first else None


def _review(world: World, order: CallOrder, story: Document | None, call: MemoryCall) -> ReviewVerdict:
    review = world.git.files.get(world.books.review(order.story))
    before = call.story_before if story else call.spec_before
    story = story or world.books.document(world.books.spec(order.story))
    return read_verdict(review, _story_file(story.raw if story else None), _story_file(before))


@lru_cache(maxsize=4096)
def _story_file(raw: bytes | None) -> StoryFile | None:
    try:
        return read_story(Text("story.md", raw)) if raw is not None else None
    except FileError:
        return None


def _asked(world: World, story: str) -> tuple[Asked, ...]:
    """The plain form; the tolerant reader of real files has tests of its own."""
    try:
        state = json.loads(world.git.files.get(world.books.state(story), b"{}"))
        first = next(one for one in state.get("questions", ()) if not one.get("answer"))
        options = tuple(map(str, first.get("options") or ()))
        question, context = str(first["question"]), str(first.get("context", ""))
        return (Asked(str(first["id"]), question, context, options, state["blockReason"]),)
    except (ValueError, LookupError, TypeError, AttributeError, StopIteration):
        return ()
