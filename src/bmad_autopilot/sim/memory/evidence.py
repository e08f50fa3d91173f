"""Collects the output of a call in memory as the engine does on disk, for the real gates."""

import json
from functools import lru_cache

from ...board.story_file import StoryFile, read_story
from ...core.errors import FileError
from ...core.step_output import StepOutput
from ...engine.lane import Lane
from ...engine.ports import AgentCall, AgentResult, UnansweredQuestion, WorktreeSnapshot
from ...gates.evidence import Document, Evidence
from ...gates.review_verdict import ReviewVerdict, read_review_verdict
from ...io.files import TextFile
from .agent_calls import MemoryCall
from .git import LINK_PREFIX, board_rows, changes, contents, is_readable, raw_statuses, section_of, story_number
from .site import MemorySite
from .world import MemoryWorld

CHECKS = ("python check.py",)


def collect_call(
    world: MemoryWorld, run: str, lane: Lane, order: AgentCall, tree: WorktreeSnapshot
) -> AgentResult:
    call, site = world.calls[run, order.id], world.site_of(run)
    ended = _board_at_end(site, call)
    now = board_rows(ended) if is_readable(ended) else {}
    before = board_rows(call.board_before) if is_readable(call.board_before) else {}
    row, old = now.get(order.story), before.get(order.story)
    story = site.story_paths.document(site.story_paths.story(order.story))
    collected = AgentResult(
        call.verdict(),
        call.ending.seconds,
        tree,
        row.meaning if row else "",
        old.meaning if old else "",
        _evidence(world, run, lane, order, tree, call, story, ended),
        _review(site, order, story, call) if order.step.owes is StepOutput.VERDICT else None,
        _open_questions(site, order.story),
        (row.reason or "") if row else "",
    )
    return _with_answers(site, order, collected) if order.points or order.must_change else collected


def _with_answers(site: MemorySite, order: AgentCall, collected: AgentResult) -> AgentResult:
    from ...engine.delivery.threads import check_answers  # most simulations deliver nothing

    def known(commit: str, since: str) -> str:
        git = site.git
        is_here = commit in git.commits and git.descends(git.head, commit)
        return commit if is_here and since and commit != since and git.descends(commit, since) else ""

    return check_answers(collected, order, site.git.files.get(site.story_paths.threads(order.story)), known)


def _board_at_end(site: MemorySite, call: MemoryCall) -> bytes:
    """The board as the call left it: later edits are a person's. An unreadable board was restored."""
    left = call.board_after
    if left is None:
        return site.board
    return left if is_readable(left) else call.board_before


def _evidence(
    world: MemoryWorld,
    run: str,
    lane: Lane,
    order: AgentCall,
    tree: WorktreeSnapshot,
    call: MemoryCall,
    story: Document | None,
    ended: bytes,
) -> Evidence:
    site = world.site_of(run)
    git, story_paths = site.git, site.story_paths
    before, after = git.files_at(order.tree), git.files_at(tree.tree)
    asked = _original_story(world, run, order)
    spec = story_paths.document(story_paths.spec(order.story))
    section = section_of(git.files, story_number(order.story))
    return Evidence(
        order.step.owes,
        order.story,
        story_number(order.story),
        tuple(change for change in changes(before, after) if change.path not in lane.dirty),
        contents(before, after),
        tree.code != order.code,
        tree.code != call.code_before,
        story=story,
        spec=spec if order.step.skill == "build-auto" or story is None else None,
        story_text=f"{(asked or b'').decode('utf-8', 'replace')}\n{section}",
        story_before=Document(story.path if story else "story", asked) if asked is not None else None,
        rows_before=raw_statuses(call.board_before) if is_readable(call.board_before) else {},
        rows_after=raw_statuses(ended) if is_readable(ended) else None,
        descends_from_baseline=all(git.descends(tree.head, head) for head in (order.head, call.head_before)),
        is_same_branch=tree.branch == lane.branch,
        changed_outside=call.outside,
        replaced_files=_replaced(site, order, call),
        check_commands=CHECKS,
    )


def _replaced(site: MemorySite, order: AgentCall, call: MemoryCall) -> tuple[tuple[str, str], ...]:
    """Symbolic links in place of files that the engine reads. Only the board is restored here."""
    story = site.story_paths.story(order.story)
    left = {site.story_paths.board: call.board_after, story or "": site.git.files.get(story or "")}
    found = (
        (path, (raw or b"").removeprefix(LINK_PREFIX).decode()) for path, raw in left.items() if _is_link(raw)
    )
    return tuple((path, f"a symbolic link to {target}") for path, target in found)


def _is_link(raw: bytes | None) -> bool:
    return raw is not None and raw.startswith(LINK_PREFIX)


def _original_story(world: MemoryWorld, run: str, order: AgentCall) -> bytes | None:
    """The story file before the first call that writes code."""
    own = (call for (name, _), call in world.calls.items() if name == run and call.order.story == order.story)
    first = next((call for call in own if call.order.step.owes is not StepOutput.STORY), None)
    return first.story_before if first else None


def _review(site: MemorySite, order: AgentCall, story: Document | None, call: MemoryCall) -> ReviewVerdict:
    review = site.git.files.get(site.story_paths.review(order.story))
    before = call.story_before if story else call.spec_before
    story = story or site.story_paths.document(site.story_paths.spec(order.story))
    return read_review_verdict(review, _story_file(story.raw if story else None), _story_file(before))


@lru_cache(maxsize=4096)
def _story_file(raw: bytes | None) -> StoryFile | None:
    try:
        return read_story(TextFile("story.md", raw)) if raw is not None else None
    except FileError:
        return None


def _open_questions(site: MemorySite, story: str) -> tuple[UnansweredQuestion, ...]:
    """Reads the regular form only; the tolerant reader of real files has its own tests."""
    try:
        state = json.loads(site.git.files.get(site.story_paths.state(story), b"{}"))
        first = next(one for one in state.get("questions", ()) if not one.get("answer"))
        options = tuple(map(str, first.get("options") or ()))
        question, context = str(first["question"]), str(first.get("context", ""))
        return (UnansweredQuestion(str(first["id"]), question, context, options, state["blockReason"]),)
    except (ValueError, LookupError, TypeError, AttributeError, StopIteration):
        return ()
