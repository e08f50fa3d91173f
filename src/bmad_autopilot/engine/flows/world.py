"""The store and the calls of a flow's run: the state file, and evidence of each step's output."""

import os

from ...agents.adapter import REACTIONS, Reaction
from ...agents.attempt import AttemptState, attempt_state, read_call_spec, read_result
from ...core.errors import AutopilotError, FileError
from ...core.flow_state import FlowState
from ...git.worktree_state import precondition_error, read_worktree_state
from ...io.files import read_bytes
from ...project.project import open_project
from ...project.skills import Skill
from ...project.source_scan import FolderScan
from ...runs.flow_state_writer import load_flow_state, write_flow_state
from ...workflows.flow_file import FlowHead, unmet_conditions
from ...workflows.flow_position import locate_step
from ...workflows.flows import Flow
from ...workflows.prompts import FlowHandoff, flow_paragraphs
from ...workflows.workflow import Step
from ..collect import UsersFiles, remove_users_files, users_paths
from ..ports import AgentCall, AgentChoice, AgentResult, CallId
from ..world.site import LaneSite
from ..world.workflow import WorkflowCalls
from ..world.worktree import GitWorktree
from .model import FlowSnapshot, part_of
from .observe import is_at
from .questions import describe_step_output
from .status import scan_flows

# The flow store on disk: the state file, the project's folder, and the agents' substep files.

SUBSTEP = "sub-step.txt"  # in the attempt's folder, written by its agent
MAX_SUBSTEP = 4096


class FileFlowStore:
    def __init__(self, site: LaneSite) -> None:
        self._site = site
        self._project = site.project
        self._flow = Flow(site.lane.workflow, FlowHead(state=site.lane.path))
        self.path = os.path.join(site.project.root.checkout, site.lane.path)
        self._state: FlowState | None = None  # as last read, so that concurrent changes survive a write

    def can_commit(self) -> bool:
        """Whether git accepts a commit now."""
        if self._site.git.work_tree is None:
            return False
        try:
            return precondition_error(read_worktree_state(self._site.git), branch=None) is None
        except AutopilotError:
            return False

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
        folder = self._site.folder(call)
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


class FlowCalls:
    """The calls of a flow's steps: a workflow's, with the flow's prompts and evidence of each step's output."""

    def __init__(self, site: LaneSite, worktree: GitWorktree, store: FileFlowStore) -> None:
        self._site = site
        self._worktree = worktree
        self._store = store
        self._calls = WorkflowCalls(site, worktree, self._find_skill, self._paragraphs)

    def choose(self, step: Step) -> AgentChoice:
        return self._calls.choose(step)

    def is_step_done(self, story: str, call: CallId) -> bool:
        return self._calls.is_step_done(story, call)

    def blocked_reason(self, story: str) -> str:
        return self._calls.blocked_reason(story)

    def start(self, order: AgentCall) -> None:
        """Use the installed skill's name, by which its standing answers are looked up."""
        found = self._find_skill(order.step, order.agent)
        step = order.step._replace(skill=found.name if found else None)
        self._calls.start(order._replace(step=step))

    def _find_skill(self, step: Step, agent: str) -> Skill | None:
        """The installed skill, by any of its names; None: only the flow's own prompt."""
        names = part_of(step).skills
        found = (self._site.project.find_any_skill(agent, name) for name in names)
        return next((skill for skill in found if skill is not None and skill.is_usable), None)

    def _paragraphs(self, order: AgentCall) -> tuple[str, ...]:
        steps = self._site.lane.workflow.steps
        step = next((step for step in steps if step.name == order.step.name), order.step)
        state = self._store.read().state
        is_here = state is not None and is_at(steps, state, step)
        folder = os.path.abspath(self._site.folder(order.id))
        about = FlowHandoff(
            self._site.lane.path,
            state.decisions if state else (),
            state.sub_step if state and is_here else "",
            f"{folder}/{SUBSTEP}",
        )
        return tuple(flow_paragraphs(part_of(step), about))

    def collect(self, order: AgentCall) -> AgentResult:
        got = self._without_users_files(order, self._calls.collect(order))
        if REACTIONS[got.verdict.outcome] is not Reaction.PROCEED or got.questions or got.missing:
            return got
        return got._replace(missing=self._missing(order.step))

    def _without_users_files(self, order: AgentCall, got: AgentResult) -> AgentResult:
        """Remove the user's uncommitted files from the agent's commits; the flow's own files may stay. Skipped for
        commands, which are the user's own."""
        git, folder = self._site.git, self._site.folder(order.id)
        spec, result = read_call_spec(folder), read_result(folder)
        if git.work_tree is None or order.step.command or result is None:
            return got
        earlier = [call for call in order.calls if call != order.id]
        own = self._worktree.story_changes(order, earlier, spec.tree) | {self._site.from_top(self._store.path)}
        users = UsersFiles(users_paths(git, spec, own) | self._site.dirty)
        cleaned = remove_users_files(git, spec, result, users)
        problems = [
            f"a commit holds `{path}`, which was changed before the call" for path in cleaned.remaining_paths
        ]
        tree = got.tree._replace(head=cleaned.result.head)
        return got._replace(tree=tree, missing=(*got.missing, *problems), removed_paths=cleaned.removed_paths)

    def _missing(self, step: Step) -> tuple[str, ...]:
        """Unmet conditions of the step: the agent's report alone does not complete it."""
        part, lane = part_of(step), self._site.lane
        lacks = tuple(map(_missing_text, unmet_conditions(part.done, self._store.scan(), recorded=True)))
        if lacks or not part.checks or not lane.checks or self._site.git.work_tree is None:
            return lacks
        check = self._worktree.check(self._worktree.snapshot(lane.key).code or "")
        return () if check.passed else (f"the project's own checks fail:\n{check.excerpt[-MAX_EXCERPT:]}",)


def _missing_text(condition: str) -> str:
    if condition.startswith("!"):
        return f"`{condition[1:]}` is still there"
    return f"`{condition}` is not there, or is empty"
