"""The document of `bmad status --json`."""

import json
import os
from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring as _quoted
from typing import TYPE_CHECKING, Annotated, NamedTuple

from ..board.drift import Drift
from ..board.overview import EpicView, Risk, count_stories, next_action, pending_retrospective
from ..board.sprint_status import ActionItem, action_items
from ..core.errors import command
from ..core.json_types import ABSENT, Absent, Count, Keywords, Positive, one_of, pick
from ..core.next_action import WORKFLOW_MAPPING, Action
from ..core.statuses import MEANINGS, PARKED, STORY_LIFECYCLE, RowKind
from ..io.json_files import JsonObject, document, to_json
from ..project.bmad_install import Era
from ..project.project import Project
from .context import ProjectFacts, display_path, parked_reasons, short_name
from .next_step import next_call

if TYPE_CHECKING:  # imported only where there is a run or a lane
    from ..views.flow import FlowReport
    from .status_lanes import LaneRow
    from .status_runs import OpenRun, RunReport

Meaning = Annotated[str | None, one_of(MEANINGS)]


class ProjectRow(NamedTuple):
    root: str
    checkout: str
    name: str
    bmad_version: str | None
    era: Annotated[str, one_of(era.value for era in Era if era is not Era.TICKETS)]  # it has no board
    board: Annotated[str | None, "null: there is none yet"]


class NextAction(NamedTuple):
    type: Annotated[str, one_of(WORKFLOW_MAPPING)]
    story_id: str
    skill: str
    status: str
    step: Annotated[str | None, "null: the workflow has no review, and only the checks are left"]
    agent: str | None
    invocation: str | None
    command: str


class RiskRow(NamedTuple):
    code: str
    message: str
    help: str | None


class DriftRow(NamedTuple):
    code: str
    story: str
    board: str
    file: str | None
    path: str | None
    line: int | None
    message: str


class ParkedStory(NamedTuple):
    key: str
    status: str
    reason: str | None


class StoryRow(NamedTuple):
    key: str
    number: str
    status: str
    meaning: Meaning
    line: Positive


class EpicStatusRow(NamedTuple):
    key: str | None
    number: str | None
    status: str | None
    meaning: Meaning
    done: int
    retrospective: str | None
    stories: list[StoryRow]


class StatusReport(NamedTuple):
    project: ProjectRow
    counts: Annotated[Mapping[str, Count], Keywords(required=list(STORY_LIFECYCLE))]
    next: NextAction | None = None
    retrospective: str | None = None
    risks: Sequence[RiskRow] = ()
    drift: Sequence[DriftRow] = ()
    action_items: Sequence[ActionItem] = ()
    parked: Sequence[ParkedStory] = ()
    unrecognised: Sequence[str] = ()
    run: Annotated["RunReport | Absent", "the run that is not over, where there is one"] = ABSENT
    lanes: Annotated[
        "list[LaneRow] | Absent",
        "epics that are under way elsewhere: their rows are as their own boards have them, lines too",
    ] = ABSENT
    flow: Annotated[
        JsonObject | Absent,
        Keywords(required=["flow", "why", "step", "steps", "next"]),
        "where there is no board yet: the flow that leads to one, as in bmad flow --json",
    ] = ABSENT
    epics: Sequence[EpicStatusRow] = ()


def _status_head(
    facts: ProjectFacts, risks: list[Risk], drift: list[Drift], run: "OpenRun | None"
) -> StatusReport:
    """The report without its epics."""
    project, board = facts.project, facts.board
    action = next_action(facts.local_epics)
    retro = pending_retrospective(facts.local_epics)
    report = StatusReport(
        project=_project_row(project, board.field("project"), display_path(project, board.path)),
        counts=count_stories(facts.epics),
        next=None if action is None or project.bmad.tickets else _next_action(facts, action),
        retrospective=retro.key if retro else None,
        risks=[RiskRow(risk.code, risk.message, risk.hint) for risk in risks],
        drift=[_drift_row(project, item) for item in drift],
        action_items=[item for item in action_items(board) if item.status != "done"],
        parked=_parked_stories(facts),
        unrecognised=[row.key for row in board.of_kind(RowKind.OTHER)],
    )
    if run is not None:
        from .status_runs import run_report

        report = report._replace(run=run_report(run))
    if facts.lanes:
        from .status_lanes import lane_rows

        report = report._replace(lanes=lane_rows(facts))
    return report


def flow_status_report(project: Project, flow: "FlowReport") -> StatusReport:
    """The report on a project without a board."""
    counts = dict.fromkeys(STORY_LIFECYCLE, 0)
    return StatusReport(_project_row(project, None, None), counts, flow=to_json(flow))


def _project_row(project: Project, name: str | None, board: str | None) -> ProjectRow:
    root, bmad = project.root, project.bmad
    return ProjectRow(
        root.path, root.checkout, name or os.path.basename(root.path), bmad.version, bmad.era.value, board
    )


def _next_action(facts: ProjectFacts, action: Action) -> NextAction:
    row = facts.board.rows[action.story_id]
    step, agent, invocation = next_call(facts, action)
    return pick(
        NextAction,
        action,
        status=row.status.raw,
        step=step.name if step else None,
        agent=agent,
        invocation=f"{invocation} {action.story_id}" if invocation else None,
        command=command("run-story", short_name(facts, row), "--dry-run"),
    )


def _drift_row(project: Project, item: Drift) -> DriftRow:
    return pick(
        DriftRow,
        item,
        story=item.row.key,
        board=item.row.status.raw,
        file=item.story_status.raw if item.story_status else None,
        path=display_path(project, item.location.file) if item.location.file else None,
        line=item.location.line,
    )


def _parked_stories(facts: ProjectFacts) -> list[ParkedStory]:
    why = parked_reasons(facts)
    return [
        ParkedStory(row.key, row.status.raw, why.get(row.key))
        for epic in facts.epics
        if PARKED in epic.meanings
        for row in epic.stories
        if row.meaning == PARKED
    ]


# Epics and stories, as text. Ten thousand records and dictionaries would take longer than reading the board.


def status_text(facts: ProjectFacts, risks: list[Risk], drift: list[Drift], run: "OpenRun | None") -> str:
    """The document of a project with a board."""
    head = document("status", _status_head(facts, risks, drift, run))
    del head["epics"]
    epics = ", ".join(map(_epic_text, facts.epics))
    return f'{json.dumps(head, ensure_ascii=False)[:-1]}, "epics": [{epics}]}}'


def _template(fields: tuple[str, ...]) -> str:
    return "{" + ", ".join(f'"{name}": %s' for name in fields) + "}"


_EPIC, _STORY = _template(EpicStatusRow._fields), _template(StoryRow._fields)


def _epic_text(view: EpicView) -> str:
    own = view.row.status if view.row else None
    stories = ", ".join(
        [
            _STORY % (_quoted(key), _quoted(number), _quoted(raw), _quoted(meaning), line)
            for key, (raw, meaning), _, _, number, _, line, _ in view.stories
        ]
    )
    return _EPIC % (
        _text(view.key if view.number is not None else None),
        _text(view.number),
        _text(own.raw if own else None),
        _text(own.meaning if own else None),
        view.done_count,
        _text(view.retrospective.status.raw if view.retrospective else None),
        f"[{stories}]",
    )


def _text(value: str | None) -> str:
    return "null" if value is None else _quoted(value)
