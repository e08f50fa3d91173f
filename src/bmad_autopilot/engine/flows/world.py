"""The ports of a flow's run: a workflow's, plus the state file, evidence of each step's output, and commits."""

import os
from collections.abc import Callable
from functools import cached_property

from ...agents.adapter import REACTIONS, Reaction
from ...agents.attempt import AttemptState, attempt_state, read_call_spec, read_result
from ...core.errors import AutopilotError, FileError
from ...core.flow_state import FlowState
from ...git.worktree_state import precondition_error, read_worktree_state
from ...io.files import read_bytes
from ...project.project import Project, open_project
from ...project.skills import Skill
from ...project.source_scan import FolderScan
from ...runs.flow_state_writer import load_flow_state, write_flow_state
from ...workflows.flow_file import FlowHead, unmet_conditions
from ...workflows.flow_position import locate_step
from ...workflows.flows import Flow
from ...workflows.prompts import FlowHandoff, StepHandoff, flow_paragraphs
from ...workflows.workflow import Step
from ..collect import UsersFiles, remove_users_files, users_paths
from ..ports import CallId, CallOrder, CollectedCall, CommitOrder
from ..start_agent import AgentJob
from ..world.workflow import WorkflowWorld
from .model import FlowSnapshot, part_of
from .observe import is_at
from .questions import describe_step_output
from .status import scan_flows

# The flow store on disk: the state file, the project's folder, and the agents' substep files.

SUBSTEP = "sub-step.txt"  # in the attempt's folder, written by its agent
MAX_SUBSTEP = 4096


class FileFlowStore:
    """`folder`: the folder of an attempt. `can_commit`: whether git accepts a commit now."""

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
        self._state: FlowState | None = None  # as last read, so that concurrent changes survive a write
        self._folder = folder
        self.can_commit = can_commit

    def read(self) -> FlowSnapshot:
        self._state = load_flow_state(self.path, inside=self._project.root.checkout)
        return FlowSnapshot(self._state, locate_step(self._flow.steps, self.scan(), self._state))

    def scan(self) -> FolderScan:
        """Locate the board again if there was none: a step may have created it."""
        if not self._project.folders.board:
            found = open_project(self._project.root.checkout)
            self._project = self._project._replace(folders=found.folders, bmad=found.bmad)
        return scan_flows(self._project, [self._flow])

    def write(self, wanted: FlowState) -> None:
        root = self._project.root
        write_flow_state(self.path, wanted, inside=root.checkout, state_folder=root.state_folder, base=self._state)

    def substep(self, call: CallId) -> str:
        """The last line of the file: an agent may append one per substep."""
        folder = self._folder(call)
        if attempt_state(folder) is AttemptState.NEW:
            return ""
        try:
            said = read_bytes(os.path.join(folder, SUBSTEP), limit=MAX_SUBSTEP)
        except FileError:
            return ""
        lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
        return lines[-1] if lines else ""

    def describe_output(self, step: Step) -> str:
        return describe_step_output(self._project, step)


MAX_EXCERPT = 4000


class FlowWorld(WorkflowWorld):
    @cached_property
    def _store(self) -> FileFlowStore:
        flow = Flow(self.lane.workflow, FlowHead(state=self.lane.path))
        return FileFlowStore(self.project, flow, self.folder, self._can_commit)

    def flow_store(self) -> FileFlowStore:
        return self._store

    # a call

    def _skill(self, step: Step, agent: str) -> Skill | None:
        """The installed skill, by any of its names; None: only the flow's own prompt."""
        names = part_of(step).skills
        found = (self.project.find_any_skill(agent, name) for name in names)
        return next((skill for skill in found if skill is not None and skill.is_usable), None)

    def _job(self, folder: str, order: CallOrder) -> AgentJob:
        """Use the installed skill's name, by which its standing answers are looked up."""
        found = self._skill(order.step, order.agent)
        step = order.step._replace(skill=found.name if found else None)
        return super()._job(folder, order._replace(step=step))

    def _passing(self, folder: str, order: CallOrder) -> StepHandoff:
        order = order._replace(step=self._step(order.step.name) or order.step)
        state = self._store.read().state
        is_here = state is not None and is_at(self.lane.workflow.steps, state, order.step)
        about = FlowHandoff(
            self.lane.path,
            state.decisions if state else (),
            state.sub_step if state and is_here else "",
            f"{folder}/{SUBSTEP}",
        )
        return (
            super()
            ._passing(folder, order)
            ._replace(extra_paragraphs=tuple(flow_paragraphs(part_of(order.step), about)))
        )

    def collect(self, order: CallOrder) -> CollectedCall:
        got = self._without_users_files(order, super().collect(order))
        if REACTIONS[got.verdict.outcome] is not Reaction.PROCEED or got.questions or got.missing:
            return got
        return got._replace(missing=self._missing(order.step))

    def _without_users_files(self, order: CallOrder, got: CollectedCall) -> CollectedCall:
        """Remove the user's uncommitted files from the agent's commits; the flow's own files may stay. Skipped for
        commands, which are the user's own."""
        folder = self.folder(order.id)
        spec, result = read_call_spec(folder), read_result(folder)
        if self.git.work_tree is None or order.step.command or result is None:
            return got
        own = self.story_changes(order, [call for call in order.calls if call != order.id], spec.tree)
        own |= {self._from_top(self._store.path)}
        cleaned = remove_users_files(
            self.git, spec, result, UsersFiles(users_paths(self.git, spec, own) | self.dirty)
        )
        problems = [
            f"a commit holds `{path}`, which was changed before the call" for path in cleaned.remaining_paths
        ]
        tree = got.tree._replace(head=cleaned.result.head)
        return got._replace(tree=tree, missing=(*got.missing, *problems), removed_paths=cleaned.removed_paths)

    def _missing(self, step: Step) -> tuple[str, ...]:
        """Unmet conditions of the step: the agent's report alone does not complete it."""
        part = part_of(step)
        lacks = tuple(map(_missing_text, unmet_conditions(part.done, self._store.scan(), recorded=True)))
        if lacks or not part.checks or not self.lane.checks or self.git.work_tree is None:
            return lacks
        check = self.check(self.tree(self.lane.key).code or "")
        return () if check.passed else (f"the project's own checks fail:\n{check.excerpt[-MAX_EXCERPT:]}",)

    # git

    def _can_commit(self) -> bool:
        if self.git.work_tree is None:
            return False
        try:
            return precondition_error(read_worktree_state(self.git), branch=None) is None
        except AutopilotError:
            return False

    def _paths_to_commit(self, order: CommitOrder) -> list[str]:
        """Paths changed by the step's calls, and the state file in any case."""
        touched = {path for path in self.story_changes(order, order.calls) if path not in self.users_files}
        return sorted(touched | {self._from_top(self._store.path)})


def _missing_text(condition: str) -> str:
    if condition.startswith("!"):
        return f"`{condition[1:]}` is still there"
    return f"`{condition}` is not there, or is empty"
