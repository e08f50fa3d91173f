"""Reads the flows of a project: the active one and why, its position, and what waits for a person.
Read only; cheap enough for `bmad flow` and `bmad status`."""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...core.flow_state import FlowState
from ...core.lane_scope import LaneScope
from ...io.patterns import fill_placeholders
from ...project.project import Project
from ...project.source_scan import FolderScan
from ...runs.flow_state_writer import load_flow_state
from ...runs.index import Run, open_runs
from ...runs.layout import runs_folder
from ...runs.questions import PendingQuestion, load_inbox
from ...runs.supervisor_lock import LockOwner, lock_owners
from ...workflows.flow_position import FlowPosition, flow_part_of, locate_step
from ...workflows.flows import Flow, FlowChoice, choose_flow, folder_placeholders, scan_for_flows
from ...workflows.flows import load_flows as flows_load_flows
from ...workflows.workflow import FlowPart, Step

# The scan that detects flows: the folder, and BMAD's planning documents if a condition needs them.


def scan_flows(project: Project, flows: Sequence[Flow]) -> FolderScan:
    if not any(one.startswith("artefact ") for flow in flows for one in flow.conditions):
        return scan_for_flows(project, flows)
    from ...board.planning_documents import inspect_planning  # a separate walk, needed only for BMAD's planning

    found = inspect_planning(project.folders, project.bmad)
    # Documents marked skipped in the status file need no work.
    return scan_for_flows(project, flows, (found.finished | found.skipped) - {"board"})


FAILED = "failed"


class FlowStatus(NamedTuple):
    """One flow's position, run and open question."""

    flow: Flow
    path: str  # of its state file, from the work tree's top
    state: FlowState | None
    position: FlowPosition
    run: Run | None = None  # unfinished run of this flow
    question: PendingQuestion | None = None  # open question
    owner: LockOwner | None = None  # supervisor of that run

    @property
    def step(self) -> Step | None:
        return None if self.position.index is None else self.flow.steps[self.position.index]

    @property
    def part(self) -> FlowPart | None:
        return (
            None
            if self.position.index is None
            else flow_part_of(self.flow.steps[self.position.index], self.position.index + 1)
        )

    @property
    def is_started(self) -> bool:
        """Some work of the flow exists."""
        return self.state is not None or self.position.index != 0 or self.position.at_gate or self.run is not None

    @property
    def has_failed(self) -> bool:
        """The current step has failed; it is not retried automatically."""
        return (
            self.state is not None
            and self.position.matches_state_file
            and self.state.status == FAILED
            and self.step is not None
        )


class FlowsOverview(NamedTuple):
    project: Project
    flows: tuple[Flow, ...]
    states: Mapping[str, FlowState]  # existing state files, by the path in the flow's head
    scan: FolderScan
    choice: FlowChoice

    @property
    def chosen(self) -> FlowStatus | None:
        return self.status_of(self.choice.flow) if self.choice.flow is not None else None

    def status_of(self, flow: Flow) -> FlowStatus:
        """The status of one flow. A state file that names another flow is ignored."""
        state = self.states.get(flow.head.state)
        if state is not None and self.choice.flow not in (None, flow) and state.flow:
            state = None
        return _flow_status(self.project, flow, state, self.scan)


def load_flows(project: Project) -> FlowsOverview:
    """FileError: a flow's file or a state file cannot be read."""
    flows = flows_load_flows(project.config)
    by_path = {flow.head.state: _state(project, flow) for flow in flows}
    states = {path: state for path, state in by_path.items() if state is not None}
    scan = scan_flows(project, flows)
    choice = choose_flow(flows, scan, states)
    for flow in flows:  # show the real path
        choice = choice._replace(why=choice.why.replace(flow.head.state, state_path(project, flow)))
    return FlowsOverview(project, flows, states, scan, choice)


def load_flow_status(project: Project, flow: Flow) -> FlowStatus:
    """The status of one flow, for example as a run has stored it."""
    return _flow_status(project, flow, _state(project, flow), scan_flows(project, [flow]))


def _state(project: Project, flow: Flow) -> FlowState | None:
    top = project.root.checkout
    return load_flow_state(os.path.join(top, state_path(project, flow)), inside=top)


def _flow_status(project: Project, flow: Flow, state: FlowState | None, scan: FolderScan) -> FlowStatus:
    position = locate_step(flow.steps, scan, state)
    found = FlowStatus(flow, state_path(project, flow), state, position, unfinished_run(project, flow.name))
    return _with_questions(project, found)


def state_path(project: Project, flow: Flow) -> str:
    """Path of its state file from the work tree's top."""
    places = folder_placeholders(project)
    return os.path.normpath(fill_placeholders(flow.head.state, lambda name: places.get(name, name)))


def unfinished_run(project: Project, name: str) -> Run | None:
    """The newest open run of this flow, of any session."""
    return next(open_runs(runs_folder(project.root.path), LaneScope.FLOW, key=name), None)


def _with_questions(project: Project, status: FlowStatus) -> FlowStatus:
    """Add the open question (its own first, then one of its tasks) and the supervisor."""
    runs = runs_folder(project.root.path)
    if not os.path.isdir(runs):
        return status
    waits = load_inbox(runs).next_per_story
    own = [one for one in waits if status.run is not None and one.run.id == status.run.id]
    is_at_tasks = status.part is not None and bool(status.part.tasks)
    asked = next(iter(own or (waits if is_at_tasks else [])), None)
    holders = {id: one for one in lock_owners(project.state_folder) for id in one.run_ids}
    owner = holders.get(status.run.id) if status.run is not None else None
    return status._replace(question=asked, owner=owner)
