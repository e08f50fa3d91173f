"""Builds the preview of `bmad autopilot` from the board and the settings."""

from collections.abc import Mapping
from contextlib import suppress

from ..board.overview import EpicView, epic_views
from ..board.sprint_status import Board, Row
from ..core.errors import AutopilotError, UsageError, command
from ..core.scheduling import EpicCandidate, LaneStage, matches_epic
from ..core.statuses import BACKLOG, DONE, PARKED, READY, UNKNOWN
from ..engine.autopilot import lanes
from ..engine.autopilot.epics import check_patterns, epic_titles, open_epics
from ..engine.autopilot.options import AutopilotOptions
from ..engine.policy import check_commands, with_base_settings
from ..git.branches import Branches
from ..git.git import Git
from ..project.commands import NO_CHECKS
from ..project.config import Config
from ..project.project import Project
from ..runs.layout import runs_folder
from ..views.autopilot import AutopilotPreview, PlannedEpic, SkippedEpic

MAX_NAMED = 20
CHECK_COMMAND = "bmad board check"

_MERGES = {
    "when-approved": "once green, answered and approved",
    "manual": "by a person",
    "auto": "once green and answered",
}
_REVIEWS = {"copilot": ", after Copilot's review", "human": "", "none": ""}


def build_preview(project: Project, board: Board, options: AutopilotOptions) -> AutopilotPreview:
    project = with_base_settings(project, lambda kind, data, at: None)
    config, titles, epics = project.config, epic_titles(project), epic_views(board)
    _refuse_unknown(epics, titles, options.patterns)
    pending = _pending(project, options, titles)
    pending_keys = [one.key for one in pending]
    coming = {one.key: one for one in open_epics(board, titles, options.patterns, pending_keys)}
    left = (epic for epic in epics if epic.key not in (*pending_keys, *coming) and _matches(epic, titles, options))
    return AutopilotPreview(
        (*pending, *(_planned(epic, coming[epic.key]) for epic in epics if epic.key in coming)),
        _delivery_text(project),
        _merge_text(config),
        "each epic begins on the one before it" if config.dependencies == "order" else "each begins on the base",
        ", ".join(dict.fromkeys(agent for role in config.roles for agent in config.agents_of(role))),
        ", ".join(check_commands(project)) or NO_CHECKS,
        tuple(filter(None, map(_skipped_epic, left))),
    )


def _refuse_unknown(epics: list[EpicView], titles: Mapping[str, str], patterns: tuple[str, ...]) -> None:
    """Reject a pattern that matches no epic; a match on a finished epic is accepted."""
    check_patterns(patterns)
    known = [_candidate(epic, titles) for epic in epics if epic.number]
    for pattern in patterns:
        if not any(matches_epic((pattern,), one) for one in known):
            named = [f"{one.number} {one.title}".strip() for one in known[:MAX_NAMED]]
            more = " …" if len(known) > MAX_NAMED else ""
            expected = f"one of: {', '.join(named)}{more}" if named else "an epic on the board"
            raise UsageError(
                f"no epic's number or title holds {pattern[:80]}", expected=expected, hint="bmad status"
            )


def _matches(epic: EpicView, titles: Mapping[str, str], options: AutopilotOptions) -> bool:
    return epic.number is not None and matches_epic(options.patterns, _candidate(epic, titles))


def _candidate(epic: EpicView, titles: Mapping[str, str]) -> EpicCandidate:
    number = epic.number or ""
    return EpicCandidate(epic.key, number, titles.get(number, ""))


def _planned(epic: EpicView, one: EpicCandidate) -> PlannedEpic:
    left = len(epic.stories) - epic.done_count
    return PlannedEpic(one.key, one.title, f"{left} of {len(epic.stories)} stories left")


def _pending(project: Project, options: AutopilotOptions, titles: Mapping[str, str]) -> list[PlannedEpic]:
    """Epics whose delivery an earlier command left unfinished. They come first, whatever the patterns."""
    found = []
    for lane_state in lanes.unfinished_lanes(
        runs_folder(project.root.path), options.session, resume_all=options.resume_all
    ):
        if lane_state.is_delivered:
            pull = f"pull request #{lane_state.pull}" if lane_state.pull else "its stories are over"
            state = "given up: --continue" if lane_state.stage is LaneStage.BLOCKED else "gone on with"
            found.append(
                PlannedEpic(lane_state.lane.key, titles.get(lane_state.lane.epic or "", ""), f"{pull}, {state}")
            )
    return found


def _skipped_epic(epic: EpicView) -> SkippedEpic | None:
    """Why an unfinished epic is not started, and the command that unblocks it."""
    left = [story for story in epic.stories if story.meaning != DONE]
    found = _reason_from_row(epic, left) or (_reason_from_stories(left) if left else None)
    return SkippedEpic(epic.key, *found) if found else None


def _reason_from_row(epic: EpicView, left: list[Row]) -> tuple[str, str] | None:
    row = epic.row
    if row is None:
        return ("it has no row of its own on the board", CHECK_COMMAND) if left else None
    if row.meaning == PARKED:
        return f"{row.key} is {row.status.raw}", command("board", "set", row.key, BACKLOG)
    if row.meaning == UNKNOWN:
        return f"{row.key} is {row.status.raw}, which nobody understands", CHECK_COMMAND
    if row.meaning == DONE:
        return (
            (f"its row says {row.status.raw}, and {left[0].key} is {left[0].status.raw}", CHECK_COMMAND)
            if left
            else None
        )
    return None if epic.stories else ("it has no stories on the board", CHECK_COMMAND)


def _reason_from_stories(left: list[Row]) -> tuple[str, str]:
    unknown = next((story for story in left if story.meaning == UNKNOWN), None)
    if unknown is not None:
        return f"{unknown.key} is {unknown.status.raw}, which nobody understands", CHECK_COMMAND
    more = f", and {len(left) - 1} more" if len(left) > 1 else ""
    return f"{left[0].key} is {left[0].status.raw}{more}", command("board", "set", left[0].key, READY)


def _delivery_text(project: Project) -> str:
    config = project.config
    if config.delivery == "local":
        return "merged here, without a forge"
    remote = config.github.remote
    with suppress(AutopilotError):  # no repository: reported before anything starts
        if not Branches(Git(project.root.checkout), remote).remote_url():
            return f'not possible yet: there is no remote called {remote} (or delivery = "local")'
    return "a pull request each"


def _merge_text(config: Config) -> str:
    """Local delivery has no reviews and no approvals."""
    if config.delivery == "local":
        return _MERGES["manual"] if config.merge == "manual" else "once the checks pass here"
    return _MERGES[config.merge] + _REVIEWS[config.require_review]
