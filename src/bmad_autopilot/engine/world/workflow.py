"""The ports of a workflow file: no board, no gate, no commits. Agents, commands and people work as for a story."""

import os
import uuid

from ...agents.attempt import AttemptState, attempt_state
from ...core.errors import ConflictError, FileError
from ...core.step_output import StepOutput
from ...gates.evidence import Evidence
from ...io.files import refuse_links
from ...project.skills import Skill
from ...runs.agent_state import clear_agent_state, read_agent_state
from ...runs.layout import SESSION, folder_name
from ...workflows.contract import PromptFiles, StepContext, agent_state_path
from ...workflows.prompts import StepHandoff, build_workflow_prompt
from ...workflows.step_entry import COMMAND
from ...workflows.workflow import Step
from ..collect import finalize_call, read_questions
from ..ports import AgentChoice, CallId, CallOrder, CollectedCall, WorktreeSnapshot
from ..start_agent import AccountParked, AgentJob, skill_for, start_attempt
from ..story_paths import StoryPaths, save_agent_state
from ..workflow_files import (
    OUTPUT,
    VARIABLES,
    VARIABLES_IN,
    collect_output,
    has_output,
    start_command,
    write_inputs,
)
from . import World


class WorkflowWorld(World):
    _observed_call: CallId | None = None

    def story_paths(self, key: str) -> StoryPaths:
        """Only the agent-state file exists. Each session has its own, because two may run at the same time."""
        name = key if self.lane.session == SESSION else f"{key}.{folder_name(self.lane.session)}"
        state = agent_state_path(self.project.folders.implementation, name)
        return StoryPaths(state, None, None, state, state, state)

    def worktree_problem(self, branch: str) -> str:
        return ""

    def choose_agent(self, step: Step) -> AgentChoice:
        return AgentChoice(COMMAND) if step.role == COMMAND else super().choose_agent(step)

    def _end_blocked(self, call: CallId) -> None:
        """A workflow file has no row that could be blocked."""

    def _is_work_pending(self, call: CallId) -> bool:
        step, self._observed_call = self._step(call.step), call
        return step is not None and not step.command and super()._is_work_pending(call)

    def _is_step_done(self, story: str, name: str) -> bool:
        """For an agent whose command only starts the work."""
        step, call = self._step(name), self._observed_call
        try:
            asks = read_agent_state(self.story_paths(story).state)
        except FileError:
            return True
        return (
            step is None
            or call is None
            or bool(asks and asks.open_questions)
            or has_output(self.folder(call), step)
        )

    def _step(self, name: str) -> Step | None:
        return next((step for step in self.lane.workflow.steps if step.name == name), None)

    # a call

    def start(self, order: CallOrder) -> None:
        folder = os.path.abspath(self.folder(order.id))
        if attempt_state(folder) is not AttemptState.NEW:
            return
        refuse_links(self.run, self.folder(order.id))
        if order.id.attempt == 1:
            clear_agent_state(self.story_paths(order.story).state)  # questions of another run are obsolete
        write_inputs(folder, order.variables)
        try:
            if order.step.command:
                start_command(folder, self.project, order, os.path.basename(self.run))
            else:
                start_attempt(folder, self._job(folder, order))
        except AccountParked:
            return  # the next observation reads the limit's end
        except ConflictError as error:
            self._wait_for_worktree(folder, error)

    def _skill(self, step: Step, agent: str) -> Skill | None:
        return skill_for(self.project, step, agent)

    def _job(self, folder: str, order: CallOrder) -> AgentJob:
        project, step = self.project, order.step
        job = AgentJob(
            uuid.uuid4().hex,
            project,
            step,
            order.story,
            f"bmad-{order.story}-{order.id.number}-{order.id.attempt}",
            skill=self._skill(step, order.agent),
            dollars=order.dollars,
            seconds=project.config.story_timeout_cap * 60.0 * order.time_limit_factor
            if order.time_limit_factor > 1
            else 0.0,
            agent=order.agent,
        )
        context = StepContext(
            step,
            os.path.basename(self.story_paths(order.story).state).removesuffix(".agent-state.json"),
            PromptFiles(project.folders.implementation, "", scratch=job.scratch),
            invocation=job.skill.invocation if job.skill else None,
            version=project.bmad.version or "",
            language=project.language,
            failure=order.failure,
            cut_short=order.cut_short,
            paused_attempt=self._halfway(order),
            extra=project.config.answers_of(step.skill),
        )
        return job._replace(prompt=build_workflow_prompt(context, self._passing(folder, order)))

    def _passing(self, folder: str, order: CallOrder) -> StepHandoff:
        steps = self.lane.workflow.steps
        return StepHandoff(
            order.story,
            f"{steps.index(order.step) + 1} of {len(steps)}",
            order.variables,
            f"{folder}/{VARIABLES_IN}",
            tuple((step, os.path.abspath(os.path.join(self.run, path))) for step, path in order.artefacts),
            f"{folder}/{VARIABLES}",
            f"{folder}/{OUTPUT}",
        )

    def collect(self, order: CallOrder) -> CollectedCall:
        folder = os.path.abspath(self.folder(order.id))
        done = finalize_call(folder, self.project.config)
        story_paths = self.story_paths(order.story)
        save_agent_state(folder, story_paths)
        left = collect_output(folder, order.step, order.variables, done.verdict.closing)
        result = done.result
        for tree in (done.spec.tree, result.tree):
            self.pin_tree(tree)  # a question may stay open for longer than git keeps unreferenced objects
        return CollectedCall(
            done.verdict,
            result.seconds,
            WorktreeSnapshot(result.head, result.branch, result.tree, None),
            "",
            "",
            Evidence(StepOutput.NOTHING, order.story, order.story, (), lambda path, after: None, False, False),
            questions=read_questions(story_paths),
            exit=result.exit,
            variables=left.variables,
            output=left.output,
            missing=left.missing,
        )
