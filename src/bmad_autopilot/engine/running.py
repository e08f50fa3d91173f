"""Running a story or an epic from the command line's side: one supervisor, a run's folder, and the loop until it
ends, waits for a person, or is left."""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ..agents.shim.redaction import Redactor, secrets_of
from ..board.sprint import Row, find_row, read_board
from ..core.errors import (
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_HUMAN,
    EXIT_INTERRUPTED,
    AutopilotError,
    FileError,
    Place,
    UsageError,
)
from ..core.records import RunRecord, fold
from ..core.statuses import PARKED, UNKNOWN, Kind
from ..github.git import Git, GitError
from ..github.ground import Ground, look_at_ground, refusal
from ..github.history import base_branch
from ..github.trees import read_file
from ..project.bmad import Era
from ..project.commands import detect_commands
from ..project.config import Commands
from ..project.excludes import ensure_excludes
from ..project.open import Project
from ..project.settings_file import config_from_bytes
from ..project.traces import CONFIG_NAME
from ..runs.finding import Run, unfinished
from ..runs.journal import Journal, first_entry
from ..runs.layout import make_run, runs_folder
from ..runs.supervisor import hold
from ..workflows.own import workflow_for
from .lane import Lane, lane_from_json
from .loop import LaneLoop
from .snapshots import read_kept
from .state_keeping import StateKeeper
from .waiting import Waiting
from .world import World
from .world.ground import Human, Told

SESSION = "main"
EXIT_CODES = {
    "completed": EXIT_DONE,
    "failed": EXIT_FAILED,
    "waiting": EXIT_HUMAN,
    "handed-over": EXIT_HUMAN,
    "left": EXIT_INTERRUPTED,
}


class RunEnd(NamedTuple):
    status: str  # completed, failed, waiting (for a person), handed-over, left
    record: RunRecord
    folder: str
    lane: Lane
    resumed: bool = False

    @property
    def run_id(self) -> str:
        return os.path.basename(self.folder)

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.status]


class Caps(NamedTuple):
    """What the command line says about money and time; None: as in the settings."""

    cost: float | None = None
    hours: float | None = None


NO_CAPS = Caps()


def start_run(
    project: Project,
    scope: str,
    key: str,
    *,
    told: Told,
    human: Human | None = None,
    caps: Caps = NO_CAPS,
    retrospective: str | None = None,
    allow_dirty: bool = False,
) -> RunEnd:
    """Run `key` (scope epic, story, or step: only its next step) to its end. A run of the same that was cut short
    or paused is gone on with."""
    project = with_policy(project, told)
    row = _target(project, scope, key)
    with hold(project.state_folder, f"run {scope} {row.key}") as supervision:
        for before in _under_way(project, scope, row):
            supervision.takes_up(before.id)
            end = _go_on(project, before.folder, told, human, caps, scope="story" if scope == "epic" else scope)
            if end.lane.key == row.key or end.status != "completed":
                return end
        lane = _lane(project, scope, row, caps, retrospective, allow_dirty)
        ensure_excludes(project.root)
        folder = make_run(runs_folder(project.root.path), SESSION, row.key, time.time())
        supervision.takes_up(os.path.basename(folder))
        return _drive(project, lane, folder, told, human, resumed=False)


def resume_run(project: Project, run: str | None = None, *, told: Told, human: Human | None = None) -> RunEnd:
    """The newest run that is not over, or the one named."""
    project = with_policy(project, told)
    found = [one for one in unfinished(runs_folder(project.root.path)) if _is_ours(one)]
    wanted = [one for one in found if run is None or one.id == run or one.id.startswith(run)]
    if not wanted:
        what = f"no unfinished run is called {run}" if run else "there is no unfinished run"
        raise UsageError(what, hint="bmad status")
    with hold(project.state_folder, "resume", wanted[0].id):
        return _go_on(project, wanted[0].folder, told, human, NO_CAPS)


def _is_ours(run: Run) -> bool:
    entry = first_entry(run.folder)
    return entry is not None and entry.kind == "run" and "workflow" in entry.data


def _go_on(project: Project, folder: str, told: Told, human: Human | None, caps: Caps, scope: str = "") -> RunEnd:
    entry = first_entry(folder)
    assert entry is not None, folder
    lane = lane_from_json(entry.data)
    cost = lane.max_cost if caps.cost is None else caps.cost
    lane = lane._replace(max_cost=cost, max_hours=lane.max_hours if caps.hours is None else caps.hours)
    if scope and lane.scope != "epic":
        lane = lane._replace(scope=scope)
    return _drive(project, lane, folder, told, human, resumed=True)


def _drive(project: Project, lane: Lane, folder: str, told: Told, human: Human | None, *, resumed: bool) -> RunEnd:
    journal = Journal(folder, Redactor(secrets_of(os.environ)).value)
    waiting = Waiting()
    keeper = StateKeeper(project, lane, folder)

    def tell(kind: str, data: Mapping[str, Any], at: float) -> None:
        keeper.told(kind, data, at)
        told(kind, data, at)

    world = World(project, lane, folder, journal, waiting, tell, human)
    try:
        with waiting.signals(lambda stops: _stop(world, stops, told)):
            if not resumed:
                world.note("run", {"run_id": os.path.basename(folder), "target": lane.key, **lane.to_json()})
            keeper.begin(fold(world.entries()))
            if resumed:
                world.note("resumed", {})
            loop = LaneLoop(world, lane)
            status = loop.to_end()
        return RunEnd(status, loop.run, folder, lane, resumed)
    finally:
        waiting.close()
        journal.close()


def _stop(world: World, stops: int, told: Told) -> None:
    """The first time agents go on; the second time they are ended too."""
    told("stopping", {"times": stops}, time.time())
    call = world.progress.call if world.progress else None
    if stops > 1 and call is not None:
        world.cancel(call)


def _under_way(project: Project, scope: str, row: Row) -> list[Run]:
    """Runs to go on with: of the same story or epic; and before an epic's own, those of its single stories, whose
    work lies in the tree."""
    ours = [run for run in unfinished(runs_folder(project.root.path)) if _is_ours(run)]
    heads = [(run, lane_from_json(entry.data)) for run in ours if (entry := first_entry(run.folder))]
    same = [run for run, lane in heads if lane.key == row.key]
    if scope != "epic":
        return same[:1]
    return [run for run, lane in heads if lane.scope != "epic" and lane.epic == row.number] + same[:1]


def _target(project: Project, scope: str, key: str) -> Row:
    """The row that was meant; an error that helps where it cannot be worked on."""
    kind = Kind.EPIC if scope == "epic" else Kind.STORY
    row = find_row(read_board(project.require_board()), key, kind)
    if row.meaning in (PARKED, UNKNOWN):
        why = f": {row.reason}" if row.reason else ""
        raise AutopilotError(
            f"{row.key} is {row.status.raw}{why}",
            expected="a status that can be worked on",
            hint=f"bmad board set {row.key} ready-for-dev" if kind is Kind.STORY else "bmad status",
        )
    return row


def _lane(
    project: Project, scope: str, row: Row, caps: Caps, retrospective: str | None, allow_dirty: bool
) -> Lane:
    config = project.config
    ground = _checked_ground(project, allow_dirty)
    return Lane(
        scope,
        row.key,
        row.number if row.kind is Kind.EPIC else row.epic,
        workflow_for(config, only_build=project.bmad.era is Era.BUILD),
        branch=ground.branch or "",
        max_rounds=config.max_review_rounds,
        max_fixes=config.max_check_fixes,
        max_cost=config.max_cost if caps.cost is None else caps.cost,
        max_hours=config.max_hours if caps.hours is None else caps.hours,
        retrospective=retrospective or config.retrospective,
        checks=checks_of(project),
        unprotected=config.unprotected,
        dirty=(*ground.dirty, *ground.untracked),
    )


def _checked_ground(project: Project, allow_dirty: bool) -> Ground:
    ground = look_at_ground(Git(project.root.checkout))
    problem = refusal(ground)
    if problem is not None:
        raise problem
    if ground.dirty and not allow_dirty:
        found = unfinished(runs_folder(project.root.path))
        raise DirtyTree(ground.dirty, found[0].id if found else "")
    return ground


class DirtyTree(AutopilotError):
    """Tracked files are changed. What is in them is never committed by us, and an agent may write over it."""

    def __init__(self, paths: tuple[str, ...], run: str = "") -> None:
        shown = ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")
        resume = f"go on with the run they may belong to: bmad resume {run}; or " if run else ""
        super().__init__(
            "tracked files have changes that are not committed",
            found=shown,
            hint=f"{resume}commit or stash them, or leave them out of everything with --allow-dirty",
        )
        self.paths = paths


def checks_of(project: Project) -> tuple[str, ...]:
    config = project.config
    commands: Commands = detect_commands(project.root.checkout) if config.path is None else config.commands
    return (*commands.check, *commands.test, *commands.build)


def with_policy(project: Project, told: Told) -> Project:
    """The settings of the base branch, where they are committed there: an agent's branch cannot change them."""
    git = Git(project.root.checkout)
    base = base_branch(git, project.config.base_branch) if git.work_tree is not None else None
    if base is None:
        return project
    part = os.path.relpath(project.root.path, git.top)

    def read(name: str) -> bytes:
        path = os.path.normpath(f"{part}/{name}")
        for remote in ("", "origin/"):
            with suppress(GitError):  # no such branch here: only the remote has it
                raw = read_file(git, f"{remote}{base}", path)
                if raw is not None:
                    return raw
        raise FileError("is not there", place=Place(f"{base}:{name}"))

    try:
        raw = read(CONFIG_NAME)
    except AutopilotError:
        return project
    path = os.path.join(project.root.path, CONFIG_NAME)
    if read_kept(path) != raw:
        text = f"{CONFIG_NAME} is not as on {base}; what is committed there counts"
        told("notice", {"text": text}, time.time())
    return project._replace(config=config_from_bytes(raw, f"{base}:{CONFIG_NAME}", read))
