"""The calls of a workflow file's steps: no board, no gate, no commits. Agents and commands work as for a story."""

import os
import uuid
from collections.abc import Callable

from ...agents.start import claim_attempt
from ...core.errors import FileError
from ...core.step_output import StepOutput
from ...gates.evidence import Evidence
from ...project.project import Project
from ...project.skills import Skill
from ...runs.agent_state import clear_agent_state, read_agent_state
from ...runs.layout import SESSION, folder_name
from ...workflows.contract import agent_state_path
from ...workflows.prompts import StepHandoff, build_workflow_prompt
from ...workflows.step_entry import COMMAND
from ...workflows.workflow import Step
from ..collect import finalize_call, read_questions
from ..lane import Lane
from ..ports import AgentCall, AgentChoice, AgentResult, CallId, WorktreeSnapshot
from ..start_agent import choose_agent, prepare_call, prompt_context, scratch_folder, skill_for, start_call
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
from .agents import paused_attempt
from .site import LaneSite
from .worktree import GitWorktree

SkillFinder = Callable[[Step, str], Skill | None]  # for a step and an agent
Paragraphs = Callable[[AgentCall], tuple[str, ...]]  # added to the prompt of a call


def workflow_paths(project: Project, lane: Lane) -> Callable[[str], StoryPaths]:
    """Only the agent-state file exists. Each session has its own, because two may run at the same time."""

    def find(key: str) -> StoryPaths:
        name = key if lane.session == SESSION else f"{key}.{folder_name(lane.session)}"
        state = agent_state_path(project.folders.implementation, name)
        return StoryPaths(state, None, None, state, state, state)

    return find


class WorkflowCalls:
    """`find_skill`, `paragraphs`: where a flow's steps differ from those of a workflow file."""

    def __init__(
        self,
        site: LaneSite,
        worktree: GitWorktree,
        find_skill: SkillFinder | None = None,
        paragraphs: Paragraphs = lambda order: (),
    ) -> None:
        self._site = site
        self._worktree = worktree
        self._find_skill = find_skill or (lambda step, agent: skill_for(site.project, step, agent))
        self._paragraphs = paragraphs

    def choose(self, step: Step) -> AgentChoice:
        return AgentChoice(COMMAND) if step.role == COMMAND else choose_agent(self._site.project, step)

    def is_step_done(self, story: str, call: CallId) -> bool:
        step = self._step(call.step)
        if step is None or step.command:
            return True
        try:
            asks = read_agent_state(self._site.story_paths(story).state)
        except FileError:
            return True
        return bool(asks and asks.open_questions) or has_output(self._site.folder(call), step)

    def blocked_reason(self, story: str) -> str:
        return ""  # a workflow file has no row that could be blocked

    def _step(self, name: str) -> Step | None:
        return next((step for step in self._site.lane.workflow.steps if step.name == name), None)

    def start(self, order: AgentCall) -> None:
        site = self._site
        folder = os.path.abspath(site.folder(order.id))
        if order.id.attempt == 1:
            clear_agent_state(site.story_paths(order.story).state)  # questions of another run are obsolete
        write_inputs(folder, order.variables)
        if order.step.command:
            start_command(folder, site.project, order, os.path.basename(site.run))
        else:
            self._start_agent(folder, order)

    def _start_agent(self, folder: str, order: AgentCall) -> None:
        site, project, attempt = self._site, self._site.project, uuid.uuid4().hex
        skill = self._find_skill(order.step, order.agent)
        # The agent knows the workflow by the name of its state file, which each session has for itself.
        name = os.path.basename(site.story_paths(order.story).state).removesuffix(".agent-state.json")
        told = order._replace(story=name, halfway=paused_attempt(site, order))
        context = prompt_context(project, order, skill, scratch_folder(attempt))
        prompt = build_workflow_prompt(told, context, self._handoff(folder, order))
        prepared = prepare_call(project, order, prompt, attempt=attempt, skill=skill)
        with claim_attempt(folder, project.root.checkout) as claim:
            start_call(claim, prepared)

    def _handoff(self, folder: str, order: AgentCall) -> StepHandoff:
        names = [step.name for step in self._site.lane.workflow.steps]
        artefacts = ((step, os.path.join(self._site.run, path)) for step, path in order.artefacts)
        return StepHandoff(
            order.story,
            f"{names.index(order.step.name) + 1} of {len(names)}",
            order.variables,
            f"{folder}/{VARIABLES_IN}",
            tuple((step, os.path.abspath(path)) for step, path in artefacts),
            f"{folder}/{VARIABLES}",
            f"{folder}/{OUTPUT}",
            extra_paragraphs=self._paragraphs(order),
        )

    def collect(self, order: AgentCall) -> AgentResult:
        site = self._site
        folder = os.path.abspath(site.folder(order.id))
        done = finalize_call(folder, site.project.config)
        story_paths = site.story_paths(order.story)
        save_agent_state(folder, story_paths)
        left = collect_output(folder, order.step, order.variables, done.verdict.closing)
        result = done.result
        for tree in (done.spec.tree, result.tree):
            self._worktree.pin_tree(tree)  # a question may stay open for longer than git keeps loose objects
        return AgentResult(
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
