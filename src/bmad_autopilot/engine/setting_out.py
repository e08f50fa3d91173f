"""What a new run begins with: the row that was meant, a place where one can work, the lane frozen from both."""

from typing import NamedTuple

from ..board.risks import same_numbers
from ..board.sprint import Row, find_row, read_board
from ..core.commands import command
from ..core.errors import AutopilotError, Place
from ..core.statuses import DONE, PARKED, UNKNOWN, Kind
from ..github.git import Git
from ..github.ground import Ground, look_at_ground, refusal
from ..github.staging import hidden_paths, ignored_paths
from ..project.bmad import Era
from ..project.open import Project
from ..runs.finding import unfinished
from ..runs.layout import runs_folder
from ..workflows.tasks import workflow_of
from .lane import Lane
from .policy import checks_of
from .position import statuses_of, stories_of


class Caps(NamedTuple):
    """What the command line says about money and time; None: as in the settings."""

    cost: float | None = None
    hours: float | None = None


NO_CAPS = Caps()


def target_row(project: Project, scope: str, key: str) -> Row:
    """The row that was meant; an error that helps where it cannot be worked on."""
    kind = Kind.EPIC if scope == "epic" else Kind.STORY
    board = read_board(project.require_board())
    row = find_row(board, key, kind)
    stories = [
        one for one in board.of_kind(Kind.STORY) if row.key == one.key or row.number in (one.epic, one.number)
    ]
    for number, twins in same_numbers(stories):
        raise AutopilotError(
            f"two stories are called {number}",
            place=Place(board.path, twins[-1].line),
            found=", ".join(twin.key for twin in twins),
            expected="a number of its own for each: their files could not be told apart",
        )
    if row.meaning in (PARKED, UNKNOWN):
        why = f": {row.reason}" if row.reason else ""
        raise AutopilotError(
            f"{row.key} is {row.status.raw}{why}",
            expected="a status that can be worked on",
            hint=command("board", "set", row.key, "ready-for-dev") if kind is Kind.STORY else "bmad status",
        )
    return row


def new_lane(
    project: Project, scope: str, row: Row, caps: Caps, retrospective: str | None, allow_dirty: bool
) -> Lane:
    config = project.config
    git = Git(project.root.checkout)
    ground = _checked_ground(git, project, allow_dirty)
    lane = Lane(
        scope,
        row.key,
        row.number if row.kind is Kind.EPIC else row.epic,
        workflow_of(project, only_build=project.bmad.era is Era.BUILD),
        branch=ground.branch or "",
        max_rounds=config.max_review_rounds,
        max_fixes=config.max_check_fixes,
        max_cost=config.max_cost if caps.cost is None else caps.cost,
        max_hours=config.max_hours if caps.hours is None else caps.hours,
        retrospective="skip" if project.tasks else retrospective or config.retrospective,
        checks=checks_of(project),
        unprotected=config.unprotected,
        human_checkpoint=config.human_checkpoint,
        dirty=users_files(git, ground),
        of_tasks=bool(project.tasks),
    )
    rows = read_board(project.require_board()).rows
    left = sum(one.meaning not in (DONE, PARKED, UNKNOWN) for one in stories_of(lane, rows))
    return lane._replace(stories=left, rows=statuses_of(lane, rows))


def users_files(git: Git, ground: Ground) -> tuple[str, ...]:
    """What is changed, untracked or ignored before a run, also where an index flag hides it from `git status`. Of
    ignored files an agent may change the rules, or add them by force: `.env`."""
    found = (*ground.dirty, *ground.untracked, *hidden_paths(git), *ignored_paths(git))
    return tuple(dict.fromkeys(found))


def _checked_ground(git: Git, project: Project, allow_dirty: bool) -> Ground:
    ground = look_at_ground(git)
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
