"""The real desk of a flow: its state file, the project's folder, and what agents said on their way."""

import os
from collections.abc import Callable

from ...agents.attempts import State, state_of
from ...core.errors import FileError
from ...core.flow_state import FlowState
from ...files import read_bytes
from ...project.flow_scan import Scan
from ...project.open import Project, open_project
from ...runs.flow_state_store import load_flow_state, set_flow_state
from ...workflows.flow_list import Flow
from ...workflows.flow_place import locate
from ...workflows.pipelines import Step
from ..doors import CallId
from .about import about_step
from .looking import look_at
from .sight import Sight

SUBSTEP = "sub-step.txt"  # in the attempt's folder, written by its agent
MAX_SUBSTEP = 4096


class FlowDesk:
    """`folder`: where an attempt keeps its files. `can_commit`: git would let us."""

    def __init__(
        self,
        project: Project,
        flow: Flow,
        folder: Callable[[CallId], str],
        can_commit: Callable[[], bool],
    ) -> None:
        self._project = project
        self._flow = flow
        self.path = os.path.join(project.root.checkout, flow.head.state)
        self._state: FlowState | None = None  # as it was last seen: what others change meanwhile stays
        self._folder = folder
        self.can_commit = can_commit

    def look(self) -> Sight:
        self._state = load_flow_state(self.path, inside=self._project.root.checkout)
        return Sight(self._state, locate(self._flow.steps, self.seen(), self._state))

    def seen(self) -> Scan:
        """A board that was not there before may be there by now, wherever it is."""
        if not self._project.folders.board:
            found = open_project(self._project.root.checkout)
            self._project = self._project._replace(folders=found.folders, bmad=found.bmad)
        return look_at(self._project, [self._flow])

    def keep(self, wanted: FlowState) -> None:
        root = self._project.root
        set_flow_state(self.path, wanted, inside=root.checkout, state=root.state_folder, seen=self._state)

    def substep(self, call: CallId) -> str:
        """Its last line: an agent may have written one after another."""
        folder = self._folder(call)
        if state_of(folder) is State.NEW:
            return ""
        try:
            said = read_bytes(os.path.join(folder, SUBSTEP), limit=MAX_SUBSTEP)
        except FileError:
            return ""
        lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
        return lines[-1] if lines else ""

    def about(self, step: Step) -> str:
        return about_step(self._project, step)
