"""Collects everything a finished call left: its result, the changes in git, its required output, the board."""

import os
import random
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import NamedTuple

from ..agents.adapter import AttemptVerdict, Outcome, UsageLimit
from ..agents.attempt import (
    AttemptResult,
    AttemptState,
    CallSpec,
    attempt_state,
    read_call_spec,
    read_result,
    refuse_linked_folder,
)
from ..agents.monitor import finalize_lost
from ..agents.rate_limits import clear_refusals, limits_file, limits_folder, record_refusal
from ..agents.registry import find_recorded_agent
from ..agents.shim.redact import redact
from ..agents.start import reap_shims
from ..agents.verdicts import judge_attempt, read_verdict, write_verdict
from ..board.epics_file import find_epics_files, read_all_epics
from ..board.spec_file import find_auto_results, read_auto_result, read_spec, retrospective_verdict
from ..board.sprint_status import Board, Row, board_from_text, read_board
from ..board.story_file import StoryFile, read_story
from ..core.agent_questions import parse_question
from ..core.changes import ContentReader, FileChange
from ..core.errors import AutopilotError, FileError
from ..core.statuses import PARKED
from ..core.step_output import StepOutput
from ..core.stop_causes import StopKind, classify_build_block
from ..gates.evidence import Document, Evidence
from ..gates.review_verdict import ReviewVerdict, read_review_verdict
from ..git.commits import move_refs, rewrite_commits
from ..git.git import Git
from ..git.history import current_head, is_ancestor
from ..git.index import compare_index, write_entries
from ..git.local_settings import HOOKS_PATH, has_usual_hooks_path
from ..git.trees import EMPTY_TREE, changed_contents, diff_trees, read_file
from ..io.files import TextFile, read_text
from ..project.config import Config
from ..project.git_excludes import find_state_file
from ..project.project import Project
from ..project.root import CONFIG_NAME
from ..runs.agent_state import read_agent_state
from ..workflows.workflow import RETROSPECTIVE
from .lane import Lane
from .ports import AgentCall, AgentResult, UnansweredQuestion, WorktreeSnapshot
from .story_paths import (
    SPEC,
    STORY,
    Layout,
    ReplacedPath,
    StoryPaths,
    board_before,
    changed_settings,
    find_review,
    find_story_paths,
    read_inside,
    read_or_none,
    restore_metadata,
    restore_replaced,
    save_agent_state,
)

# Finalising a call: once, whichever process started it.


class FinishedCall:
    """A finished call: its spec, its process result, and the verdict."""

    def __init__(self, spec: CallSpec, result: AttemptResult, verdict: AttemptVerdict) -> None:
        self.spec = spec
        self.result = result
        self.verdict = verdict


def finalize_call(folder: str, config: Config) -> FinishedCall:
    """Finalise a finished call. After that it is never adopted again."""
    done = read_finished_call(folder, config)
    write_verdict(folder, done.verdict)
    return done


def read_finished_call(folder: str, config: Config) -> FinishedCall:
    """Read a call that is not running. A lost one is finalised first: its remaining processes are ended, its work
    is kept."""
    reap_shims()
    refuse_linked_folder(folder)
    if attempt_state(folder) is AttemptState.LOST:
        finalize_lost(folder)
    known = read_verdict(folder)
    if known is not None:
        result = read_result(folder)
        assert result is not None, folder
        return FinishedCall(read_call_spec(folder), result, known)
    spec = read_call_spec(folder)
    spec, result, verdict = judge_attempt(folder, find_recorded_agent(spec.agent, config.agents))
    _record_limit(spec, result, verdict)
    return FinishedCall(spec, result, verdict)


def _record_limit(spec: CallSpec, result: AttemptResult, verdict: AttemptVerdict) -> None:
    """Record a rate limit account-wide, before the attempt counts as finalised: the next caller then sees it."""
    path = limits_file(limits_folder(os.environ), spec.agent, os.environ)
    if verdict.outcome is Outcome.LIMIT:
        limit = verdict.limit or UsageLimit("unknown")
        # The time of the refusal, not of collecting it.
        record_refusal(path, spec.agent, limit, result.ended_at, random.random)
    elif verdict.outcome is Outcome.COMPLETED:
        clear_refusals(path, result.started_at, time.time())


# The paths that a story's calls changed, from the trees their supervisors recorded before and after.


def paths_changed_by(
    git: Git, folders: Iterable[str], fallback: Callable[[], tuple[str | None, str | None]]
) -> set[str]:
    """`fallback`: the trees to compare if a call was cut off before its trees were recorded."""
    paths: set[str] = set()
    for before, after in {trees_of(folder) or fallback() for folder in folders}:
        if before and after and before != after:
            found = diff_trees(git, before, after)
            paths |= {path for change in found for path in (change.path, change.old_path)}
    return paths


class IdlePeriod(NamedTuple):
    """The time between two calls, in which no agent was at work, with the work tree at both ends."""

    before: str
    after: str
    is_manual: bool  # a person had taken the story over

    def paths(self, git: Git) -> set[str]:
        found = diff_trees(git, self.before, self.after) if self.before != self.after else []
        return {path for change in found for path in (change.path, change.old_path)}


def idle_periods(folders: Sequence[str], handed_over: Set[str], now: str | None = None) -> Iterator[IdlePeriod]:
    """`folders`: of a story's calls, in order. `now`: the current tree, to include the time after the last call.
    If one of a call's trees is missing, the time on that side is left out: it cannot be told from the call."""
    left, by_hand = "", False
    for folder in folders:
        trees = _trees_around(folder)
        if trees is not None:
            before, after = trees
            if left and before:
                yield IdlePeriod(left, before, by_hand)
            left, by_hand = after, False
        by_hand = by_hand or folder in handed_over
    if left and now:
        yield IdlePeriod(left, now, by_hand)


def manual_changes(git: Git, folders: Sequence[str], handed_over: Set[str], now: str | None) -> set[str]:
    """The paths changed by a person who took the story over."""
    times = idle_periods(folders, handed_over, now) if handed_over else ()
    return {path for time in times if time.is_manual for path in time.paths(git)}


def trees_of(folder: str) -> tuple[str, str] | None:
    trees = _trees_around(folder)
    return trees if trees is not None and all(trees) else None


def _trees_around(folder: str) -> tuple[str, str] | None:
    """The trees before and after a call, each empty if not recorded; None: no call was made."""
    try:
        spec, result = read_call_spec(folder), read_result(folder)
    except FileError:
        return None
    if result is None and attempt_state(folder) is AttemptState.NEW:
        return None
    return spec.tree or "", result.tree or "" if result is not None else ""


class UsersFiles:
    """Paths that belong to the user; a path that ends in a slash includes everything below it."""

    def __init__(self, paths: Iterable[str]) -> None:
        listed = set(paths)
        self._folders = tuple(path for path in listed if path.endswith("/"))
        self._files = listed.difference(self._folders)

    def __contains__(self, path: object) -> bool:
        return path in self._files or (isinstance(path, str) and path.startswith(self._folders))


class CleanedCommits(NamedTuple):
    """A call's commits without the user's files and without secrets in their messages."""

    result: AttemptResult  # with the new head
    removed_paths: tuple[str, ...] = ()  # paths removed from its commits
    remaining_paths: tuple[str, ...] = ()  # paths still in its commits, which were pushed or built upon
    rewritten_commits: Mapping[str, str] = {}  # old commit → new commit


def users_paths(git: Git, spec: CallSpec, own: Set[str]) -> set[str]:
    """The paths that were changed or untracked when the call began, without the story's work (`own`)."""
    if not spec.head or not spec.tree:
        return set()
    found = diff_trees(git, spec.head, spec.tree)
    return {path for change in found for path in (change.path, change.old_path)} - own


def remove_users_files(git: Git, spec: CallSpec, result: AttemptResult, users: Container[str]) -> CleanedCommits:
    """Remove the user's files, and secrets in messages, from the commits of a call: agents commit with `git add
    --all`. The work tree is not changed. Branches and tags on such a commit move to the new one. Repeated after a
    crash, it produces the same commits."""
    if not spec.head or not result.head or spec.head == result.head:
        return CleanedCommits(result)
    remade = rewrite_commits(git, spec.head, result.head, paths=users, message=redact)
    new = remade.get(result.head)
    if new is None:
        return CleanedCommits(result)
    found = diff_trees(git, new, result.head)
    taken = tuple(sorted({path for change in found for path in (change.path, change.old_path)}))
    now = current_head(git)
    if now not in (result.head, new) and now is not None and is_ancestor(git, result.head, now):
        return CleanedCommits(result, remaining_paths=taken)
    if now == result.head:
        staged = compare_index(git, new)
        write_entries(git, ((path, row.before) for path, row in staged.items() if path in users))
    move_refs(git, remade)
    pushed = git.ask("for-each-ref", "--count=1", "--contains", next(iter(remade)), "refs/remotes").text
    return CleanedCommits(replace(result, head=new), taken, taken if pushed else (), remade)


BUILD_AUTO = "build-auto"
MAX_QUESTIONS = 20  # per call


class CallSite(NamedTuple):
    """Where the call ran: project, lane, and the folders of the story's calls."""

    project: Project
    git: Git
    lane: Lane
    folder: str  # the call's
    first_call: str  # the folder of the story's first call that did not write its story file
    dirty: frozenset[str]  # paths that were dirty before the run began
    calls: tuple[str, ...] = ()  # the folders of the story's calls, in order
    handed_over: frozenset[str] = frozenset()  # of the calls after which a person took the story over
    layout: Layout | None = None  # before the call; None: read it from the call's folder


def collect_call(
    site: CallSite, order: AgentCall, tree_of: Callable[[AttemptResult, str], WorktreeSnapshot]
) -> AgentResult:
    return collect_finished_call(site, order, finalize_call(site.folder, site.project.config), tree_of)


def collect_finished_call(
    site: CallSite, order: AgentCall, done: FinishedCall, tree_of: Callable[[AttemptResult, str], WorktreeSnapshot]
) -> AgentResult:
    """The same for a call that was read already."""
    before = board_before(site.folder)
    replaced = _restore_replaced(site, order, done.spec)
    now = _board(site.project)
    row = now.rows.get(order.story) if now else None
    story_paths = find_story_paths(site.project, now, row, order.story)
    spec, cleaned = done.spec, _without_users_files(site, done.spec, done.result, story_paths)
    result = cleaned.result
    tree = tree_of(result, order.story)
    save_agent_state(site.folder, story_paths)
    restore_metadata(site.folder, site.project.root.checkout)
    old = before.rows.get(order.story) if before else None
    read_content = changed_contents(site.git, order.tree or EMPTY_TREE, tree.tree or EMPTY_TREE)
    ended = _board_at_end(site, read_content, before) or now
    left = ended.rows.get(order.story) if ended else None
    evidence = _collect_evidence(site, order, spec, result, tree, read_content, story_paths, before, ended, row)
    put_back = tuple((one.path, one.found) for one in replaced)
    evidence = evidence._replace(users_files=cleaned.remaining_paths, replaced_files=put_back)
    return AgentResult(
        done.verdict,
        result.seconds,
        tree,
        left.meaning if left else "",
        old.meaning if old else "",
        evidence,
        _review(site, story_paths) if order.step.owes is StepOutput.VERDICT else None,
        read_questions(story_paths) or _blocked_build(site, order, story_paths, result.started_at),
        (left.reason or "") if left else "",
        result.exit,
        _retrospective(site) if order.step == RETROSPECTIVE else "",
        removed_paths=cleaned.removed_paths,
        rewritten_commits=cleaned.rewritten_commits,
    )


def _without_users_files(
    site: CallSite, spec: CallSpec, result: AttemptResult, story_paths: StoryPaths
) -> CleanedCommits:
    """Of the changes that were uncommitted before the call, only the story's work may be in its commits."""
    if spec.head == result.head or site.git.work_tree is None:
        return CleanedCommits(result)
    own = {_from_top(site.git.top, path) for path in story_paths.bookkeeping}
    own |= paths_changed_by(site.git, site.calls[:-1], lambda: (None, None))
    own |= manual_changes(site.git, site.calls, site.handed_over, spec.tree)
    users = users_paths(site.git, spec, own) | site.dirty
    return remove_users_files(site.git, spec, result, UsersFiles(users))


def _restore_replaced(site: CallSite, order: AgentCall, spec: CallSpec) -> list[ReplacedPath]:
    """Must run before any file that the call left is read."""
    now = _board(site.project)
    story_paths = find_story_paths(site.project, now, now.rows.get(order.story) if now else None, order.story)
    return restore_replaced(site.folder, story_paths, site.git, spec.tree, site.layout)


def _retrospective(site: CallSite) -> str:
    return retrospective_verdict(site.project.folders.implementation, site.lane.epic or "")


def _board_at_end(site: CallSite, read_content: ContentReader, before: Board | None) -> Board | None:
    """The board as the call left it: later changes are a person's. If it was unreadable, the board before."""
    path = site.project.require_board()
    try:
        raw = read_content(_from_top(site.git.top, path), True)
        return board_from_text(TextFile(path, raw)) if raw is not None else None
    except FileError:
        return before
    except AutopilotError:
        return None


def _board(project: Project) -> Board | None:
    try:
        return read_board(project.require_board())
    except FileError:
        return None


def _collect_evidence(
    site: CallSite,
    order: AgentCall,
    spec: CallSpec,
    result: AttemptResult,
    tree: WorktreeSnapshot,
    read_content: ContentReader,
    story_paths: StoryPaths,
    before: Board | None,
    now: Board | None,
    row: Row | None,
) -> Evidence:
    top = site.git.top
    own = frozenset(_from_top(top, path) for path in story_paths.bookkeeping)
    base, after = order.tree or EMPTY_TREE, tree.tree or EMPTY_TREE
    theirs, by_hand = _changes_between_calls(site)
    work = _changes(site, base, after, theirs - by_hand)
    whole = [change for change in work if change.path not in by_hand]
    moved = _changes(site, spec.tree or base, after)
    return Evidence(
        order.step.owes,
        order.story,
        row.number if row else order.story,
        tuple(whole),
        read_content,
        any(change.path not in own for change in work),
        any(change.path not in own for change in moved),
        story=_document(top, story_paths.story),
        spec=_document(top, story_paths.spec) if _is_spec_owed(order, story_paths) else None,
        is_build_step=order.step.skill == BUILD_AUTO,
        story_text=_requirements(site, row, base),
        story_before=_kept_story(site.first_call or site.folder, top, story_paths),
        rows_before=_raw(before) or {},
        rows_after=_raw(now),
        descends_from_baseline=_descends(site, order, spec, result),
        is_same_branch=not site.lane.branch or result.branch == site.lane.branch,
        changed_outside=result.outside,
        check_commands=site.lane.checks,
        bookkeeping=frozenset(),
        changed_git_settings=_settings(site, base),
        allowed_globs=site.lane.unprotected,
        project_folder=os.path.relpath(site.project.root.checkout, top),
    )


def _settings(site: CallSite, base: str) -> tuple[str, ...]:
    """The repository settings that the calls changed. A project's tools may set core.hooksPath on install."""
    changed = changed_settings(site.calls or (site.folder,), site.project.root.checkout)
    usual = HOOKS_PATH in changed and has_usual_hooks_path(site.git, base)
    return tuple(name for name in changed if name != HOOKS_PATH or not usual)


def _descends(site: CallSite, order: AgentCall, spec: CallSpec, result: AttemptResult) -> bool:
    """Whether HEAD descends from the commit before this call, and from our last commit for the story."""
    heads = {head for head in (order.head, spec.head) if head not in (None, result.head)}
    return not heads or (
        result.head is not None and all(is_ancestor(site.git, head, result.head) for head in heads)
    )


def _is_spec_owed(order: AgentCall, story_paths: StoryPaths) -> bool:
    """Whether the spec is required: for a build, and for its review, which has no story file."""
    return order.step.skill == BUILD_AUTO or story_paths.story is None


def _changes(site: CallSite, before: str, after: str, theirs: Set[str] = frozenset()) -> list[FileChange]:
    """Without the paths that were dirty before the run, but always with the settings file: it judges the work."""
    found = diff_trees(site.git, before, after) if before != after else []
    part = os.path.relpath(site.project.root.path, site.git.top)
    left_out = (site.dirty - {os.path.normpath(f"{part}/{CONFIG_NAME}")}) | theirs
    return [change for change in found if change.path not in left_out]


def _changes_between_calls(site: CallSite) -> tuple[set[str], set[str]]:
    """Paths changed between two calls, while no agent was at work: by people, and our own rows. And the subset
    that is the story's work because a person had taken it over; the gates' rules for agents do not apply to it."""
    paths: set[str] = set()
    by_hand: set[str] = set()
    for period in idle_periods(site.calls, site.handed_over):
        found = period.paths(site.git)
        paths |= found
        by_hand |= found if period.is_manual else set()
    # We move a state file aside before a call: that says nothing about whether it may be in git.
    part = os.path.relpath(site.project.root.path, site.git.top)
    theirs = {path for path in paths if find_state_file(os.path.relpath(path, part)) is None}
    return theirs, theirs & by_hand


def _from_top(top: str, path: str) -> str:
    return os.path.relpath(os.path.realpath(path), top)


def _document(top: str, path: str | None) -> Document | None:
    raw = read_inside(path, top) if path else None
    return Document(_from_top(top, path), raw) if path and raw is not None else None


def _kept_story(folder: str, top: str, story_paths: StoryPaths) -> Document | None:
    raw = read_or_none(f"{folder}/{STORY}")
    return (
        Document(_from_top(top, story_paths.story) if story_paths.story else STORY, raw)
        if raw is not None
        else None
    )


def _requirements(site: CallSite, row: Row | None, base: str) -> str:
    """The story's requirements, as they were before any code was written for it."""
    raw = read_or_none(f"{site.first_call}/{STORY}") if site.first_call else None
    text = raw.decode("utf-8", "replace") if raw else ""
    return f"{text}\n{_section(site, row.number, base)}" if row else text


def _section(site: CallSite, number: str, base: str) -> str:
    """Only if the file is unchanged since the baseline: text added later permits nothing."""
    try:
        found = read_all_epics(find_epics_files(site.project.folders.planning)).stories()
        section = next((story for story in found if story.number == number), None)
        if section is None:
            return ""
        text = read_text(section.file)
        before = read_file(site.git, base, _from_top(site.git.top, section.file))
        return text.text[section.start : section.end] if before in (None, text.raw) else ""
    except AutopilotError:
        return ""


def _raw(board: Board | None) -> dict[str, str] | None:
    return {key: row.status.raw for key, row in board.rows.items()} if board else None


def _review(site: CallSite, story_paths: StoryPaths) -> ReviewVerdict:
    """For a build the spec takes the story file's place, with findings and status."""
    raw = read_or_none(find_review(story_paths))
    path = story_paths.story or story_paths.spec
    before = read_or_none(f"{site.folder}/{STORY if story_paths.story else SPEC}")
    now = read_inside(path, site.git.top) if path else None
    return read_review_verdict(raw, _story(path, now), _story(path, before))


def _story(path: str | None, raw: bytes | None) -> StoryFile | None:
    try:
        return read_story(TextFile(path or STORY, raw)) if raw is not None else None
    except FileError:
        return None


def read_questions(story_paths: StoryPaths) -> tuple[UnansweredQuestion, ...]:
    try:
        state = read_agent_state(story_paths.state)
    except FileError:
        return ()
    found = state.open_questions[:MAX_QUESTIONS] if state else ()
    return tuple(
        UnansweredQuestion(one.id, one.question, one.context, one.options, state.block_reason)
        for one in found
        if state
    )


def _blocked_build(
    site: CallSite, order: AgentCall, story_paths: StoryPaths, since: float
) -> tuple[UnansweredQuestion, ...]:
    """A build that stopped gives the reason in its spec, or in a result file if there is no spec yet."""
    if order.step.skill != BUILD_AUTO:
        return ()
    try:
        spec = read_spec(read_text(story_paths.spec)) if story_paths.spec else None
        results = [] if spec else find_auto_results(site.project.folders.implementation)
        fresh = [path for path in results if os.stat(path).st_mtime >= since]
        auto_result = (
            spec.result if spec else next(filter(None, map(read_auto_result, map(read_text, fresh))), None)
        )
    except (FileError, OSError):
        return ()
    blocked = (spec and spec.status and spec.status.meaning == PARKED) or (
        auto_result and (auto_result.status or "").lower().startswith("block")
    )
    if not blocked:
        return ()
    why = (auto_result and auto_result.blocking_condition) or "it gives no reason"
    is_what = classify_build_block(why)
    cause = "" if is_what.kind is StopKind.QUESTION else is_what.cause
    options = parse_question(why).options
    return (
        UnansweredQuestion(
            "", f"The build is blocked: {why}", options=options, reason=is_what.reason, cause=cause
        ),
    )
