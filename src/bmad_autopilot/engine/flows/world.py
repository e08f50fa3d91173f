"""The world of a flow: a workflow's, with a desk for its state file and its folder, evidence of what each step
leaves, and commits."""

from functools import cached_property

from ...agents.attempts import read_result, read_spec
from ...agents.outcomes import REACTIONS, Reaction
from ...core.errors import AutopilotError
from ...github.ground import look_at_ground, refusal
from ...project.skills import Skill
from ...workflows.flow_entry import FlowHead
from ...workflows.flow_list import Flow
from ...workflows.flow_prompt import FlowPassing, flow_paragraphs
from ...workflows.flow_rules import lacking
from ...workflows.pipelines import Step
from ...workflows.workflow_prompt import Passing
from ..calling import Job
from ..doors import CallOrder, CommitOrder, Gathered
from ..touching import UsersFiles, take_out, users_paths
from ..world.workflow_world import WorkflowWorld
from .desk import SUBSTEP, FlowDesk
from .position import part_of
from .state import is_at

MAX_EXCERPT = 4000


class FlowWorld(WorkflowWorld):
    @cached_property
    def _desk(self) -> FlowDesk:
        flow = Flow(self.lane.workflow, FlowHead(state=self.lane.path))
        return FlowDesk(self.project, flow, self.folder, self._can_commit)

    def flow(self) -> FlowDesk:
        return self._desk

    # a call

    def _skill(self, step: Step, agent: str) -> Skill | None:
        """By whichever of its names it is installed; None: what the flow says is all there is."""
        names = part_of(step).skills
        found = (self.project.find_any_skill(agent, name) for name in names)
        return next((skill for skill in found if skill is not None and skill.usable), None)

    def _job(self, folder: str, order: CallOrder) -> Job:
        """Its skill's standing answers go by the name it really has."""
        found = self._skill(order.step, order.agent)
        step = order.step._replace(skill=found.name if found else None)
        return super()._job(folder, order._replace(step=step))

    def _passing(self, folder: str, order: CallOrder) -> Passing:
        order = order._replace(step=self._step(order.step.name) or order.step)
        state = self._desk.look().state
        is_here = state is not None and is_at(self.lane.workflow.steps, state, order.step)
        about = FlowPassing(
            self.lane.path,
            state.decisions if state else (),
            state.sub_step if state and is_here else "",
            f"{folder}/{SUBSTEP}",
        )
        return super()._passing(folder, order)._replace(more=tuple(flow_paragraphs(part_of(order.step), about)))

    def gather(self, order: CallOrder) -> Gathered:
        got = self._without_users_files(order, super().gather(order))
        if REACTIONS[got.verdict.outcome] is not Reaction.GO_ON or got.asked or got.missing:
            return got
        return got._replace(missing=self._missing(order.step))

    def _without_users_files(self, order: CallOrder, got: Gathered) -> Gathered:
        """Of what lay in the work tree uncommitted before the call, only the flow's work may be in its commits. A
        command of a flow is the user's own."""
        folder = self.folder(order.id)
        spec, result = read_spec(folder), read_result(folder)
        if self.git.work_tree is None or order.step.command or result is None:
            return got
        own = self.paths_of(order, [call for call in order.calls if call != order.id], spec.tree)
        own |= {self._from_top(self._desk.path)}
        cleaned = take_out(self.git, spec, result, UsersFiles(users_paths(self.git, spec, own) | self.dirty))
        held = [f"a commit holds `{path}`, which was changed before the call" for path in cleaned.left_in]
        tree = got.tree._replace(head=cleaned.result.head)
        return got._replace(tree=tree, missing=(*got.missing, *held), taken_out=cleaned.taken_out)

    def _missing(self, step: Step) -> tuple[str, ...]:
        """An agent's word completes nothing."""
        part = part_of(step)
        lacks = tuple(map(_lack, lacking(part.done, self._desk.seen(), recorded=True)))
        if lacks or not part.checks or not self.lane.checks or self.git.work_tree is None:
            return lacks
        check = self.check(self.tree(self.lane.key).code or "")
        return () if check.passed else (f"the project's own checks fail:\n{check.excerpt[-MAX_EXCERPT:]}",)

    # git

    def _can_commit(self) -> bool:
        if self.git.work_tree is None:
            return False
        try:
            return refusal(look_at_ground(self.git), branch=None) is None
        except AutopilotError:
            return False

    def _paths(self, order: CommitOrder) -> list[str]:
        """What the step's calls have changed, and the state file, whoever else has changed that."""
        touched = {path for path in self.paths_of(order, order.calls) if path not in self.users}
        return sorted(touched | {self._from_top(self._desk.path)})


def _lack(condition: str) -> str:
    if condition.startswith("!"):
        return f"`{condition[1:]}` is still there"
    return f"`{condition}` is not there, or is empty"
