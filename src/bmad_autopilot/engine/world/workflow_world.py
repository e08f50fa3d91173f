"""The world of a workflow's own file of steps: no board, no gate, no commits. Agents, commands and people are the
same."""

import os
import uuid

from ...agents.attempts import State, state_of
from ...core.errors import ConflictError, FileError
from ...core.owes import Owes
from ...files import refuse_links
from ...gates.look import WorkLook
from ...project.skills import Skill
from ...runs.agent_state import clear, read_agent_state
from ...runs.layout import SESSION, folder_name
from ...workflows.contract import agent_state
from ...workflows.pipelines import Step
from ...workflows.step_context import Files, StepContext
from ...workflows.step_entry import COMMAND
from ...workflows.workflow_prompt import Passing, workflow_prompt
from ..books import Books
from ..calling import AccountParked, Job, begin, skill_for
from ..doors import Caller, CallId, CallOrder, Gathered, Tree
from ..gathering import asked_in
from ..harvesting import harvest
from ..snapshots import keep_state
from ..workflow_command import begin_command
from ..workflow_passing import GIVEN, OUTPUT, VARIABLES, hand_in, is_left, left_by
from . import World


class WorkflowWorld(World):
    _looked_at: CallId | None = None

    def books(self, key: str) -> Books:
        """Nothing is written about it but what its agents ask. Each session has a file of its own: two may run at
        once."""
        name = key if self.lane.session == SESSION else f"{key}.{folder_name(self.lane.session)}"
        state = agent_state(self.project.folders.implementation, name)
        return Books(state, None, None, state, state, state)

    def ground(self, branch: str) -> str:
        return ""

    def caller(self, step: Step) -> Caller:
        return Caller(COMMAND) if step.role == COMMAND else super().caller(step)

    def _end_blocked(self, call: CallId) -> None:
        """There is no row to be blocked."""

    def _goes_on(self, call: CallId) -> bool:
        step, self._looked_at = self._step(call.step), call
        return step is not None and not step.command and super()._goes_on(call)

    def _shows(self, story: str, name: str) -> bool:
        """Of an agent whose command has only begun the work."""
        step, call = self._step(name), self._looked_at
        try:
            asks = read_agent_state(self.books(story).state)
        except FileError:
            return True
        return step is None or call is None or bool(asks and asks.open) or is_left(self.folder(call), step)

    def _step(self, name: str) -> Step | None:
        return next((step for step in self.lane.workflow.steps if step.name == name), None)

    # a call

    def start(self, order: CallOrder) -> None:
        folder = os.path.abspath(self.folder(order.id))
        if state_of(folder) is not State.NEW:
            return
        refuse_links(self.run, self.folder(order.id))
        if order.id.attempt == 1:
            clear(self.books(order.story).state)  # of another run: nobody's question any more
        hand_in(folder, order.variables)
        try:
            if order.step.command:
                begin_command(folder, self.project, order, os.path.basename(self.run))
            else:
                begin(folder, self._job(folder, order))
        except AccountParked:
            return  # the next look sees until when
        except ConflictError as error:
            self._await_turn(folder, error)

    def _skill(self, step: Step, agent: str) -> Skill | None:
        return skill_for(self.project, step, agent)

    def _job(self, folder: str, order: CallOrder) -> Job:
        project, step = self.project, order.step
        job = Job(
            uuid.uuid4().hex,
            project,
            step,
            order.story,
            f"bmad-{order.story}-{order.id.number}-{order.id.attempt}",
            skill=self._skill(step, order.agent),
            dollars=order.dollars,
            seconds=project.config.story_timeout_cap * 60.0 * order.times if order.times > 1 else 0.0,
            agent=order.agent,
        )
        context = StepContext(
            step,
            os.path.basename(self.books(order.story).state).removesuffix(".agent-state.json"),
            Files(project.folders.implementation, "", scratch=job.scratch),
            invocation=job.skill.invocation if job.skill else None,
            version=project.bmad.version or "",
            language=project.language,
            failure=order.failure,
            cut_short=order.cut_short,
            halfway=self._halfway(order),
            extra=project.config.answers_of(step.skill),
        )
        return job._replace(prompt=workflow_prompt(context, self._passing(folder, order)))

    def _passing(self, folder: str, order: CallOrder) -> Passing:
        steps = self.lane.workflow.steps
        return Passing(
            order.story,
            f"{steps.index(order.step) + 1} of {len(steps)}",
            order.variables,
            f"{folder}/{GIVEN}",
            tuple((step, os.path.abspath(os.path.join(self.run, path))) for step, path in order.artefacts),
            f"{folder}/{VARIABLES}",
            f"{folder}/{OUTPUT}",
        )

    def gather(self, order: CallOrder) -> Gathered:
        folder = os.path.abspath(self.folder(order.id))
        done = harvest(folder, self.project.config)
        books = self.books(order.story)
        keep_state(folder, books)
        left = left_by(folder, order.step, order.variables, done.verdict.closing)
        result = done.result
        for tree in (done.spec.tree, result.tree):
            self.hold(tree)  # a question may stay open for longer than git keeps what no ref holds
        return Gathered(
            done.verdict,
            result.seconds,
            Tree(result.head, result.branch, result.tree, None),
            "",
            "",
            WorkLook(Owes.NOTHING, order.story, order.story, (), lambda path, after: None, False, False),
            asked=asked_in(books),
            exit=result.exit,
            variables=left.variables,
            output=left.output,
            missing=left.missing,
        )
