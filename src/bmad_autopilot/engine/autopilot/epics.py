"""Finds the epics that can be started, and the commit each starts from: the base, a parent epic, an old branch."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import inf
from typing import NamedTuple

from ...board.epic_dependencies import ORDER, dependency_graph
from ...board.epics_file import find_epics_files, read_all_epics
from ...board.overview import EpicView, epic_views
from ...board.sprint_status import Board, board_from_text
from ...core import keys
from ...core.dependency_graph import DependencyGraph, build_graph
from ...core.errors import AutopilotError, FileError, Location, UsageError
from ...core.forge_errors import TRANSIENT_FOR_POLLS, ForgeError
from ...core.keys import normalize_number as number_from
from ...core.scheduling import EpicCandidate, matches_epic
from ...core.statuses import DONE, PARKED, UNKNOWN, RowKind
from ...core.text import one_line
from ...git.git import Git
from ...git.trees import read_file
from ...io.files import TextFile
from ...project.config import Config
from ...project.project import Project
from ...runs.legacy_state import find_foreign_run
from ..lane import LOCAL
from ..runner import EMPTY_MAPPING
from .lanes import LaneState, LaneTable, last_pending
from .monitor import AWAY
from .options import AutopilotOptions
from .ports import SupervisorPorts
from .scheduler import LaneScheduler

# Candidates and their start points.

PREFIX = "feature/epic-"
_VALID_NUMBER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}")


class EpicStart(NamedTuple):
    """Where an epic's branch starts."""

    branch: str
    commit: str  # start point, if the branch does not exist yet
    onto: str = ""  # branch of the parent epic, while that is not merged


def branch_for(number: str) -> str:
    if not _is_valid_in_branch(number):
        raise AutopilotError("an epic's number that cannot be part of a branch's name", found=number[:80])
    return f"{PREFIX}{number}"


def branch_names(epic: EpicCandidate) -> list[str]:
    """Ours first. The bash autopilot took the epic's name as its author wrote it: `feature/epic-7A`."""
    ours = branch_for(epic.number)
    written = [f"{PREFIX}{one}" for one in (epic.key.removeprefix("epic-"), epic.number.upper())]
    return list(dict.fromkeys((ours, *(name for name in written if number_from_branch(name) == epic.number))))


def number_from_branch(branch: str) -> str:
    """The epic's number from its branch name, in any spelling; empty: not a branch of ours."""
    found = branch.removeprefix(PREFIX)
    return keys.normalize_number(found) if branch.startswith(PREFIX) and _is_valid_in_branch(found) else ""


def _is_valid_in_branch(number: str) -> bool:
    return bool(_VALID_NUMBER.fullmatch(number)) and ".." not in number and not number.endswith((".", ".lock"))


def check_patterns(patterns: Sequence[str]) -> None:
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            found = f"{pattern[:80]}: {error}"
            raise UsageError(
                "a PATTERN is no regular expression", found=found, expected='such as 7A or "auth|login"'
            ) from None


def open_epics(
    board: Board, titles: Mapping[str, str], patterns: Sequence[str], excluded: Sequence[str]
) -> list[EpicCandidate]:
    """Epics with open stories in board order, without the excluded ones. Pure."""
    found = []
    for epic in epic_views(board):
        if epic.number is None or epic.row is None or epic.key in excluded or epic.number in excluded:
            continue
        if epic.row.meaning in (DONE, PARKED, UNKNOWN) or epic.is_closed:
            continue
        if all(meaning in (DONE, PARKED, UNKNOWN) for meaning in epic.meanings):
            continue
        one = EpicCandidate(epic.key, epic.number, titles.get(epic.number, ""))
        if matches_epic(patterns, one):
            found.append(one)
    return found


def epic_titles(project: Project) -> Mapping[str, str]:
    """By number. Called on every search for an epic, so unchanged files are not read again."""
    try:
        return _titles(tuple(map(_file_stamp, find_epics_files(project.folders.planning))))
    except AutopilotError:
        return {}


def _file_stamp(path: str) -> tuple[str, int, int, int]:
    try:
        found = os.stat(path)
    except OSError:  # the reader reports the error
        return path, 0, 0, 0
    return path, found.st_ino, found.st_size, found.st_mtime_ns


@lru_cache(maxsize=1)
def _titles(files: tuple[tuple[str, int, int, int], ...]) -> Mapping[str, str]:
    return {epic.number: epic.title for epic in read_all_epics(file[0] for file in files).epics}


class ProjectEpics:
    """The epic source: the project's planning files, and its board in git."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._git = Git(project.root.checkout)

    @property
    def is_ordered(self) -> bool:
        return self._project.config.dependencies == ORDER and not self._project.tasks_folder

    def board_at(self, commit: str) -> Board:
        path = os.path.relpath(os.path.realpath(self._project.require_board()), self._git.top)
        raw = read_file(self._git, commit, path)
        if raw is None:
            hint = f"git add {path} && git commit"
            raise FileError(
                "is not committed there", location=Location(path), found=f"nothing in {commit[:12]}", hint=hint
            )
        return board_from_text(TextFile(path, raw))

    def titles(self) -> Mapping[str, str]:
        return epic_titles(self._project)

    def graph(self, epics: Sequence[EpicView], chosen: Sequence[str]) -> DependencyGraph:
        return dependency_graph(self._project, epics, chosen)

    def foreign_epics(self) -> Sequence[str]:
        left = find_foreign_run(self._project.root.path, self._project.folders.implementation)
        listed = [*(one.epic for one in left.pending), left.epic] if left is not None else []
        return [number_from(one) for one in listed]


class Epics:
    def __init__(
        self,
        ports: SupervisorPorts,
        config: Config,
        options: AutopilotOptions,
        base: str,
        notify: Callable[[str], None],
    ) -> None:
        self._source = ports.epics
        self._branches = ports.branches
        self._forge = ports.forge
        self._estimates = ports.estimates
        self._options = options
        self._base = base
        self._remote = config.github.remote
        self._notify = notify
        self._is_local = config.delivery == LOCAL
        self._left_alone: set[str] = set()  # epics whose pull request was opened by someone else
        self._is_ordered = ports.epics.is_ordered
        self._has_warned = False  # about dependencies that cannot be respected
        self.graph: DependencyGraph = build_graph((), ())  # of the last search
        self.work_left: dict[str, float] = {}  # seconds of work left, by epic number

    def find_candidates(
        self, lanes: list[LaneState], finished: list[str], starting: Mapping[str, str] = EMPTY_MAPPING
    ) -> list[EpicCandidate]:
        """Open pull requests of earlier runs first, then epics to start. `finished`: epics to leave out;
        `starting`: epics being started now, number by key."""
        excluded = [*(state.lane.key for state in lanes), *finished, *starting, *self._left_alone]
        board = self._source.board_at(self._start_point(self._last_pending(lanes))[0])
        keys = {row.number: row.key for row in board.of_kind(RowKind.EPIC)}
        adopted = self._adoptable_pulls(lanes, excluded, keys) if not self._is_local else []
        known = {one.key for one in adopted}
        titles = self._source.titles()
        found = open_epics(board, titles, self._options.patterns, [*excluded, *known])
        self.graph = self._graph(board, {*starting.values(), *(one.number for one in found)}, lanes)
        epics = epic_views(board)
        self.work_left = {
            epic.number: self._estimates.epic_seconds(epic) for epic in epics if epic.number is not None
        }
        if self._is_ordered and starting:
            return adopted
        return [*adopted, *(one for one in found if self._is_ready(one, lanes))]

    def _graph(self, board: Board, open_epics: set[str], lanes: list[LaneState]) -> DependencyGraph:
        """The dependency graph of open epics and current lanes, in board order."""
        numbers = open_epics | {state.lane.epic or "" for state in lanes}
        epics = epic_views(board)
        chosen = [epic.number for epic in epics if epic.number is not None and epic.number in numbers]
        graph = self._source.graph(epics, chosen)
        if graph.problems and not self._has_warned:
            self._has_warned = True
            self._notify(
                "some of the dependencies that are declared cannot be kept to: bmad plan says which, and why"
            )
        return graph

    def _is_ready(self, epic: EpicCandidate, lanes: list[LaneState]) -> bool:
        """Every dependency is merged or published; at most one is unmerged, and the epic is stacked on it."""
        if self._is_ordered:
            return all(state.is_published for state in lanes)
        return self._unmerged_dependencies(epic, lanes) is not None

    def _unmerged_dependencies(self, epic: EpicCandidate, lanes: list[LaneState]) -> list[LaneState] | None:
        """Its dependencies that are published but not merged. None: the epic cannot start yet."""
        under_way = {state.lane.epic: state for state in lanes}
        found = []
        for number in self.graph.dependencies().get(epic.number, ()):
            state = under_way.get(number)
            if state is None or not state.is_published:
                return None
            found.append(state)
        return found if len(found) <= 1 else None

    def _start_point(self, before: LaneState | None) -> tuple[str, str]:
        """The commit the next epic starts from, and the branch of its parent epic. The parent may be merged and
        its branch deleted meanwhile: then its work is in the base."""
        if before is not None:
            branch = before.lane.branch
            head = self._branches.branch_head(branch)
            if not head and not self._is_local:
                head = self._branches.fetch(branch)[branch]
            if head:
                return head, branch
        if self._is_local:
            return self._branches.branch_head(self._base), ""
        found = self._branches.fetch(self._base)[self._base]
        if not found:
            hint = f"git push {self._remote} {self._base}"
            raise AutopilotError(f"the remote has no branch {self._base}", hint=hint)
        return found, ""

    def _last_pending(self, lanes: list[LaneState]) -> LaneState | None:
        return last_pending(lanes) if self._is_ordered else None

    def _parent_lane(self, epic: EpicCandidate, lanes: list[LaneState]) -> LaneState | None:
        """The lane of the epic that this one is stacked on."""
        if self._is_ordered:
            return last_pending(lanes)
        return next(iter(self._unmerged_dependencies(epic, lanes) or ()), None)

    def _adoptable_pulls(
        self, lanes: list[LaneState], excluded: list[str], keys: Mapping[str, str]
    ) -> list[EpicCandidate]:
        """Open pull requests from an epic's branch without a run of ours. Those made by us or by the bash
        autopilot are resumed; others are left alone unless the user passes --continue."""
        try:
            marks = self._forge().pulls_of(PREFIX)
        except ForgeError as error:
            if error.kind in TRANSIENT_FOR_POLLS:
                return []
            raise
        ours = [state.pull for state in lanes]
        titles = self._source.titles()
        found = []
        for mark in marks:
            number = number_from_branch(mark.head_ref)
            key = keys.get(number, f"epic-{number}")
            if (
                not number
                or mark.is_from_fork
                or mark.number in ours
                or key in excluded
                or key in self._left_alone
            ):
                continue
            if self._may_adopt(number, mark.number, mark.head_ref):
                found.append(EpicCandidate(key, number, titles.get(number, mark.title), mark.head_ref))
            else:
                self._left_alone.add(key)
        return found

    def _may_adopt(self, number: str, pull: int, branch: str) -> bool:
        if self._options.resume_all or number in self._source.foreign_epics():
            return True
        heads = self._branches.fetch(branch, self._base)
        foreign = self._branches.foreign_commits(heads[self._base], heads[branch])
        if not foreign:
            return True
        text = f"pull request #{pull} ({branch}) is not of this tool's making, and is left alone"
        self._notify(f"{text}: bmad autopilot --continue takes it over")
        return False

    def start(self, epic: EpicCandidate, lanes: list[LaneState]) -> EpicStart:
        tip, onto = self._start_point(self._parent_lane(epic, lanes))
        names = [epic.branch] if epic.branch else branch_names(epic)
        there = {} if self._is_local else self._branches.fetch(*names)
        heads = {name: self._branches.branch_head(name) or there.get(name, "") for name in names}
        branch = next((name for name, head in heads.items() if head), names[0])
        head = heads[branch]
        if not head:
            return EpicStart(branch, tip, onto)
        foreign = self._branches.foreign_commits(tip, head)
        if foreign and not self._options.resume_all and not self._has_open_pull(branch):
            shown = ", ".join(f"{one.sha[:10]} {one.subject[:40]}" for one in foreign[:3])
            hint = "bmad autopilot --continue goes on from it; or rename it: git branch -m"
            raise UsageError(f"{branch} is there already, with commits that are not ours", found=shown, hint=hint)
        return EpicStart(branch, head, onto if onto and self._branches.contains(head, tip) else "")

    def _has_open_pull(self, branch: str) -> bool:
        """There is an open pull request that may be resumed; `_may_adopt` has checked it."""
        return not self._is_local and any(mark.head_ref == branch for mark in self._forge().pulls_of(branch))


# The search for the next epic: only when a lane is free; postponed after an error.


class EpicSearch:
    """`has_active_lanes`: whether a lane is running, or waits for something that may still happen."""

    def __init__(
        self,
        epics: Epics,
        lane_table: LaneTable,
        scheduler: LaneScheduler,
        notify: Callable[[str], None],
        clock: Callable[[], float],
        has_active_lanes: Callable[[], bool],
    ) -> None:
        self._epics = epics
        self._lane_table = lane_table
        self._scheduler = scheduler
        self._notify = notify
        self._now = clock
        self._has_active_lanes = has_active_lanes
        self.retry_at = inf  # when a failed search is repeated; inf: none failed
        self._last_failure = ""  # the error last reported
        self._found: list[EpicCandidate] = []

    def expire_retry(self) -> None:
        """Allow a new search once its time has come; the search runs only when a lane is free."""
        if self._now() >= self.retry_at:
            self.retry_at = inf

    def candidate(self, key: str) -> EpicCandidate:
        return next(one for one in self._found if one.key == key)

    def search(self) -> Iterator[EpicCandidate]:
        """The next epic to start. Lazy, because each search costs points of the forge's hourly budget."""
        if self._now() < self.retry_at < inf and self._has_active_lanes():
            return
        self.retry_at = inf
        lane_table = self._lane_table
        try:
            self._found = self._epics.find_candidates(lane_table.lanes, lane_table.finished, lane_table.starting)
        except (AutopilotError, OSError) as error:
            self.postpone(error)
            return
        self._last_failure = ""
        chosen = self._scheduler.choose_epic(self._found, self._epics.graph, self._epics.work_left)
        if chosen is not None:
            yield chosen

    def postpone(self, error: AutopilotError | OSError) -> None:
        """Retry later while other lanes run or wait: an unreadable board may be fixed by then. A lasting error
        of the forge affects every lane and is raised."""
        is_lasting = isinstance(error, ForgeError) and error.kind not in TRANSIENT_FOR_POLLS
        if is_lasting or not self._has_active_lanes():
            raise error
        until = error.until if isinstance(error, ForgeError) else 0.0
        self.retry_at = max(until, self._now() + AWAY)
        why = one_line(str(error))
        if why != self._last_failure and not isinstance(error, ForgeError):
            self._notify(f"no epic can be begun just now, which is tried again: {why}")
        self._last_failure = why
