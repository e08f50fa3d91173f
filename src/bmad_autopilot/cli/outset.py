"""From the board and the settings to what `bmad autopilot` says before it begins."""

from collections.abc import Mapping
from contextlib import suppress

from ..board.overview import EpicView, overview
from ..board.sprint import Board, Row
from ..core.commands import command
from ..core.errors import AutopilotError, UsageError
from ..core.schedule import Candidate, Stage, matches
from ..core.statuses import BACKLOG, DONE, PARKED, READY, UNKNOWN
from ..engine.autopilot import lanes
from ..engine.autopilot.finding import check_patterns, epic_titles, open_epics
from ..engine.autopilot.wishes import Wishes
from ..engine.policy import checks_of, with_policy
from ..github.branches import Branches
from ..github.git import Git
from ..project.commands import NO_CHECKS
from ..project.config import Config
from ..project.open import Project
from ..runs.layout import runs_folder
from ..views.autopilot import LeftAlone, Outset, Planned

MOST_NAMED = 20
CHECK = "bmad board check"

_MERGES = {
    "when-approved": "once green, answered and approved",
    "manual": "by a person",
    "auto": "once green and answered",
}
_REVIEWS = {"copilot": ", after Copilot's review", "human": "", "none": ""}


def outset(project: Project, board: Board, wishes: Wishes) -> Outset:
    project = with_policy(project, lambda kind, data, at: None)
    config, titles, epics = project.config, epic_titles(project), overview(board)
    _refuse_unknown(epics, titles, wishes.patterns)
    pending = _pending(project, wishes, titles)
    taken = [one.key for one in pending]
    coming = {one.key: one for one in open_epics(board, titles, wishes.patterns, taken)}
    left = (epic for epic in epics if epic.key not in (*taken, *coming) and _matches(epic, titles, wishes))
    return Outset(
        (*pending, *(_planned(epic, coming[epic.key]) for epic in epics if epic.key in coming)),
        _delivery(project),
        _merges(config),
        "each epic begins on the one before it" if config.dependencies == "order" else "each begins on the base",
        ", ".join(dict.fromkeys(agent for role in config.roles for agent in config.agents_of(role))),
        ", ".join(checks_of(project)) or NO_CHECKS,
        tuple(filter(None, map(_left_alone, left))),
    )


def _refuse_unknown(epics: list[EpicView], titles: Mapping[str, str], patterns: tuple[str, ...]) -> None:
    """A pattern that no epic has was mistyped: one that is done is no mistake."""
    check_patterns(patterns)
    known = [_candidate(epic, titles) for epic in epics if epic.number]
    for pattern in patterns:
        if not any(matches((pattern,), one) for one in known):
            named = [f"{one.number} {one.title}".strip() for one in known[:MOST_NAMED]]
            more = " …" if len(known) > MOST_NAMED else ""
            expected = f"one of: {', '.join(named)}{more}" if named else "an epic on the board"
            raise UsageError(
                f"no epic's number or title holds {pattern[:80]}", expected=expected, hint="bmad status"
            )


def _matches(epic: EpicView, titles: Mapping[str, str], wishes: Wishes) -> bool:
    return epic.number is not None and matches(wishes.patterns, _candidate(epic, titles))


def _candidate(epic: EpicView, titles: Mapping[str, str]) -> Candidate:
    number = epic.number or ""
    return Candidate(epic.key, number, titles.get(number, ""))


def _planned(epic: EpicView, one: Candidate) -> Planned:
    left = len(epic.stories) - epic.finished
    return Planned(one.key, one.title, f"{left} of {len(epic.stories)} stories left")


def _pending(project: Project, wishes: Wishes, titles: Mapping[str, str]) -> list[Planned]:
    """Epics that earlier commands left on their way to the base branch: they come first, whatever is chosen."""
    found = []
    for held in lanes.held_lanes(runs_folder(project.root.path), wishes.session, go_on=wishes.go_on):
        if held.is_delivered:
            pull = f"pull request #{held.pull}" if held.pull else "its stories are over"
            told = "given up: --continue" if held.stage is Stage.BLOCKED else "gone on with"
            found.append(Planned(held.lane.key, titles.get(held.lane.epic or "", ""), f"{pull}, {told}"))
    return found


def _left_alone(epic: EpicView) -> LeftAlone | None:
    """Why it is not begun, though not all of it is done, and the command that helps."""
    left = [story for story in epic.stories if story.meaning != DONE]
    found = _by_its_row(epic, left) or (_by_its_stories(left) if left else None)
    return LeftAlone(epic.key, *found) if found else None


def _by_its_row(epic: EpicView, left: list[Row]) -> tuple[str, str] | None:
    row = epic.row
    if row is None:
        return ("it has no row of its own on the board", CHECK) if left else None
    if row.meaning == PARKED:
        return f"{row.key} is {row.status.raw}", command("board", "set", row.key, BACKLOG)
    if row.meaning == UNKNOWN:
        return f"{row.key} is {row.status.raw}, which nobody understands", CHECK
    if row.meaning == DONE:
        return (
            (f"its row says {row.status.raw}, and {left[0].key} is {left[0].status.raw}", CHECK) if left else None
        )
    return None if epic.stories else ("it has no stories on the board", CHECK)


def _by_its_stories(left: list[Row]) -> tuple[str, str]:
    unknown = next((story for story in left if story.meaning == UNKNOWN), None)
    if unknown is not None:
        return f"{unknown.key} is {unknown.status.raw}, which nobody understands", CHECK
    more = f", and {len(left) - 1} more" if len(left) > 1 else ""
    return f"{left[0].key} is {left[0].status.raw}{more}", command("board", "set", left[0].key, READY)


def _delivery(project: Project) -> str:
    config = project.config
    if config.delivery == "local":
        return "merged here, without a forge"
    remote = config.github.remote
    with suppress(AutopilotError):  # no repository at all: that is said before anything begins
        if not Branches(Git(project.root.checkout), remote).remote_url():
            return f'not possible yet: there is no remote called {remote} (or delivery = "local")'
    return "a pull request each"


def _merges(config: Config) -> str:
    """Without a forge there is nobody who could review or approve."""
    if config.delivery == "local":
        return _MERGES["manual"] if config.merge == "manual" else "once the checks pass here"
    return _MERGES[config.merge] + _REVIEWS[config.require_review]
