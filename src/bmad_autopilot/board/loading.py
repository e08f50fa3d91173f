"""Reading a project's board in one call, for Python programs."""

from ..core.actions import SprintStatus
from ..core.statuses import PARKED, UNKNOWN, Kind
from ..project.open import open_project
from .overview import count_stories, overview
from .sprint import find_row, read_board


def load_sprint_status(project_path: str = ".") -> SprintStatus:
    """Read the board of the project at `project_path` (any folder inside it)."""
    board = read_board(open_project(project_path).require_board())
    statuses = {kind: {row.key: row.status.raw for row in board.of_kind(kind)} for kind in Kind}
    return SprintStatus(
        epics=statuses[Kind.EPIC],
        stories=statuses[Kind.STORY],
        counts=count_stories(overview(board)),
        retrospectives=statuses[Kind.RETROSPECTIVE],
    )


def load_story_status(story_id: str, project_path: str = ".") -> str:
    """One story's status: the canonical word, or the word as written where it is parked or unknown."""
    board = read_board(open_project(project_path).require_board())
    status = find_row(board, story_id).status
    return status.raw if status.meaning in (PARKED, UNKNOWN) else status.meaning
