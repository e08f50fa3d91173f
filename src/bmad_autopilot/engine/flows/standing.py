"""One look at the flows of a project: which there are, which one it is in and why, where that stands, and what of
it waits for a person. Changes nothing; cheap enough for `bmad flow` and `bmad status`."""

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from ...core.errors import FileError
from ...core.flow_state import FlowState
from ...project.flow_scan import Scan
from ...project.open import Project
from ...project.placeholders import fill
from ...runs.finding import Run, unfinished
from ...runs.flow_state_store import load_flow_state
from ...runs.journal import lane_entry
from ...runs.layout import runs_folder
from ...runs.questions import Asked, all_open
from ...runs.state import Status
from ...runs.supervisor import Owner, owners
from ...workflows.flow_choice import Choice, choose_flow
from ...workflows.flow_list import Flow, all_flows, places_of
from ...workflows.flow_place import Place, locate, part_of
from ...workflows.pipelines import FlowPart, Step
from .looking import look_at

FAILED = "failed"


class Standing(NamedTuple):
    """Where one flow stands."""

    flow: Flow
    path: str  # of its state file, from the work tree's top
    state: FlowState | None
    place: Place
    run: Run | None = None  # one of this flow that is not over
    asked: Asked | None = None  # what waits for a person
    owner: Owner | None = None  # who looks after that run now

    @property
    def step(self) -> Step | None:
        return None if self.place.index is None else self.flow.steps[self.place.index]

    @property
    def part(self) -> FlowPart | None:
        return (
            None if self.place.index is None else part_of(self.flow.steps[self.place.index], self.place.index + 1)
        )

    @property
    def is_begun(self) -> bool:
        """Somebody has done something in it."""
        return self.state is not None or self.place.index != 0 or self.place.at_gate or self.run is not None

    @property
    def has_failed(self) -> bool:
        """It is not tried again by itself."""
        return (
            self.state is not None and self.place.agrees and self.state.status == FAILED and self.step is not None
        )


class Looked(NamedTuple):
    project: Project
    flows: tuple[Flow, ...]
    states: Mapping[str, FlowState]  # by the state file's path as flows name it: those that are there
    seen: Scan
    choice: Choice

    @property
    def chosen(self) -> Standing | None:
        return self.standing(self.choice.flow) if self.choice.flow is not None else None

    def standing(self, flow: Flow) -> Standing:
        """A state file that names another flow says nothing of this one."""
        state = self.states.get(flow.head.state)
        if state is not None and self.choice.flow not in (None, flow) and state.flow:
            state = None
        return _standing(self.project, flow, state, self.seen)


def look_at_flows(project: Project) -> Looked:
    """FileError: a flow's file or a state file cannot be read."""
    flows = all_flows(project.config)
    by_path = {flow.head.state: _state(project, flow) for flow in flows}
    states = {path: state for path, state in by_path.items() if state is not None}
    seen = look_at(project, flows)
    choice = choose_flow(flows, seen, states)
    for flow in flows:  # for people as they find it
        choice = choice._replace(why=choice.why.replace(flow.head.state, state_path(project, flow)))
    return Looked(project, flows, states, seen, choice)


def look_at_flow(project: Project, flow: Flow) -> Standing:
    """The same for one alone, such as a run has kept it."""
    return _standing(project, flow, _state(project, flow), look_at(project, [flow]))


def _state(project: Project, flow: Flow) -> FlowState | None:
    top = project.root.checkout
    return load_flow_state(os.path.join(top, state_path(project, flow)), inside=top)


def _standing(project: Project, flow: Flow, state: FlowState | None, seen: Scan) -> Standing:
    place = locate(flow.steps, seen, state)
    found = Standing(flow, state_path(project, flow), state, place, run_of(project, flow.name))
    return _with_people(project, found)


def state_path(project: Project, flow: Flow) -> str:
    """Of its state file, from the work tree's top."""
    places = places_of(project)
    return os.path.normpath(fill(flow.head.state, lambda name: places.get(name, name)))


def run_of(project: Project, name: str) -> Run | None:
    """The newest of this flow that is not over. One that somebody has given up is."""
    runs = runs_folder(project.root.path)
    if not os.path.isdir(runs):
        return None
    for run in unfinished(runs):
        if run.target == name and run.state.status is not Status.FAILED:
            with suppress(FileError):
                entry = lane_entry(run.folder)
                if entry is not None and entry.data.get("scope") == "flow":
                    return run
    return None


def session_of(run: Run) -> str:
    """As it was given: a folder's name may be another."""
    entry = lane_entry(run.folder)
    return str(entry.data.get("session") or run.session) if entry is not None else run.session


def _with_people(project: Project, standing: Standing) -> Standing:
    """Its own question first; at a step of tasks also theirs."""
    runs = runs_folder(project.root.path)
    if not os.path.isdir(runs):
        return standing
    waits = all_open(runs).first
    own = [one for one in waits if standing.run is not None and one.run.id == standing.run.id]
    is_at_tasks = standing.part is not None and bool(standing.part.tasks)
    asked = next(iter(own or (waits if is_at_tasks else [])), None)
    holders = {id: one for one in owners(project.state_folder) for id in one.run_ids}
    owner = holders.get(standing.run.id) if standing.run is not None else None
    return standing._replace(asked=asked, owner=owner)
