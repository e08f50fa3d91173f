"""The agents' ports: starts each call once, watches it and collects its result."""

import os
import time
import uuid

from ...agents.attempt import AttemptState, attempt_state, read_call_spec, read_result
from ...agents.monitor import run_stop_command
from ...agents.shim import attempt_files
from ...agents.verdicts import has_verdict
from ...core.errors import AutopilotError, ConflictError, FileError
from ...core.step_output import StepOutput
from ...git.commits import stage_paths
from ...io.files import refuse_links
from ...project.config import EVIDENCE
from ...runs.agent_state import clear_agent_state, read_agent_state
from ...runs.layout import list_attempts
from ...runs.supervisor_lock import request_path
from ...workflows.contract import PausedAttempt
from ...workflows.workflow import Step
from ..delivery.threads import collect_answers, set_aside_answers
from ..dispatched_call import StoryEvidence
from ..ports import AgentChoice, CallId, CallOrder, CollectedCall, UnansweredQuestion
from ..run_setup import read_previous_progress, read_unanswered_question
from ..start_agent import AccountParked, AgentJob, build_prompt, choose_agent, skill_for, start_attempt
from ..story_paths import STATE, STORY, capture_layout, save_before_call
from ..waiting import RESCAN, UNRESPONSIVE_SECONDS
from .people import PeoplePorts
from .repository import RepositoryPorts


class AgentPorts(RepositoryPorts, PeoplePorts):
    _reported_owner = ""  # the attempt we have reported waiting for

    def call_state(self, call: CallId) -> str:
        state = attempt_state(self.folder(call))
        return (
            AttemptState.RUNNING.value
            if state is AttemptState.FINISHED and self._is_work_pending(call)
            else state.value
        )

    def _is_work_pending(self, call: CallId) -> bool:
        """An instance's command only starts the work: the project's files decide, within the same time limit."""
        folder, config = self.folder(call), self.project.config
        if has_verdict(folder) or not any(agent.completion == EVIDENCE for agent in config.agents.values()):
            return False
        spec, result = read_call_spec(folder), read_result(folder)
        custom = config.agents.get(spec.agent)
        if custom is None or custom.completion != EVIDENCE or result is None or result.exit != 0:
            return False
        if time.time() > result.started_at + config.story_timeout_cap * 60:
            run_stop_command(spec)
            return False
        return not self._is_step_done(spec.story, call.step)

    def _is_step_done(self, story: str, name: str) -> bool:
        steps = (*self.lane.workflow.steps, self.lane.workflow.fix)
        step = next((step for step in steps if step.name == name), None)
        try:
            evidence = StoryEvidence(self.project, story)
            return (
                step is None
                or evidence.is_blocked
                or evidence.question() is not None
                or evidence.is_step_done(step)
            )
        except AutopilotError:
            return False

    def has_slot(self) -> bool:
        return self.slot.is_free()

    def wait_for_slot(self) -> None:
        self.slot.request(self.waiter.wake)
        self.waiter.wait_until(time.time() + RESCAN, (request_path(self.run),))

    def start(self, order: CallOrder) -> None:
        folder = self.folder(order.id)
        if attempt_state(folder) is not AttemptState.NEW:
            return
        refuse_links(self.run, folder)
        if not self.slot.acquire():
            return
        story_paths = self.story_paths(order.story)
        project, step = self.project, order.step
        name = f"bmad-{order.story}-{order.id.number}-{order.id.attempt}"
        skill = skill_for(project, step, order.agent)
        job = AgentJob(
            uuid.uuid4().hex,
            project,
            step,
            order.story,
            name,
            branch=self.lane.branch,
            skill=skill,
            dollars=order.dollars,
            seconds=project.config.story_timeout_cap * 60.0 * order.time_limit_factor
            if order.time_limit_factor > 1
            else 0.0,
            agent=order.agent,
        )
        prompt = build_prompt(
            job,
            story_paths,
            baseline=order.baseline,
            epic=self.lane.epic or "",
            review=order.review,
            checks=order.checks,
            failure=order.failure,
            cut_short=order.cut_short,
            halfway=self._halfway(order),
            points=order.points,
            logs=order.logs,
            in_conflict=order.in_conflict,
        )

        def ready() -> None:
            save_before_call(folder, story_paths, project.root.checkout)
            self._layout = capture_layout(story_paths, project.root.checkout)
            if order.points:
                set_aside_answers(project.folders.implementation, order.story, folder)
            if step.owes is StepOutput.VERDICT:
                self._stage(order)

        try:
            self.pin_tree(start_attempt(folder, job._replace(prompt=prompt), ready).tree)
        except AccountParked:
            self.slot.release()  # the next observation reads the limit's end
        except ConflictError as error:
            self._wait_for_worktree(folder, error)

    def _wait_for_worktree(self, folder: str, refused: ConflictError) -> None:
        """One agent per work tree: wait for another run's agent until it ends, its time is over, or this run is
        asked to stop or pause."""
        owner = refused.found or ""
        if attempt_state(folder) is not AttemptState.NEW or not owner:
            raise refused
        if self._reported_owner != owner:
            self._reported_owner = owner
            steps, step = os.path.split(os.path.dirname(owner))
            whose = f"{os.path.basename(os.path.dirname(steps))}/{step}"
            self.on_event("notice", {"text": f"waits for {whose}, which works in this work tree"}, time.time())
        started = attempt_files.read_started(owner)
        limit = attempt_files.read_time_limit(owner, 0.0)
        until = (started[1] if started else time.time()) + limit + UNRESPONSIVE_SECONDS
        while (
            attempt_state(owner) is AttemptState.RUNNING
            and time.time() < until
            and not (self.is_stopping() or self.is_pausing())
        ):
            self.waiter.wait_for_call(owner, (request_path(self.run),), None)

    def _stage(self, order: CallOrder) -> None:
        """Stage new files: a reviewer's sandbox may show only what git tracks."""
        calls = [call for call in order.calls if call != order.id]
        stage_paths(
            self.git,
            sorted(
                path
                for path in self.story_changes(order, calls, order.current_tree)
                if path not in self.users_files
            ),
        )

    def _halfway(self, order: CallOrder) -> PausedAttempt | None:
        """Where the previous call stopped to ask, according to its agent-state file."""
        if order.story == self.lane.adopted and len(order.calls) == 1:
            return read_previous_progress(self.story_paths(order.story).state)
        if order.halfway is None or order.id.attempt < 2:
            return order.halfway
        before = order.id._replace(attempt=order.id.attempt - 1)
        try:
            state = read_agent_state(f"{self.folder(before)}/{STATE}")
        except FileError:
            state = None
        if state is None:
            return order.halfway
        return order.halfway._replace(
            blocked_at=state.blocked_at,
            last_completed=state.last_completed_step,
            artifacts=state.artifacts_produced,
        )

    def collect(self, order: CallOrder) -> CollectedCall:
        from ..collect import CallSite, collect_call

        self.slot.release()
        calls = tuple(map(self.folder, order.calls))
        folder = self.folder(order.id)
        handed_over = frozenset(map(self.folder, order.handed_over))
        site = CallSite(
            self.project,
            self.git,
            self.lane,
            folder,
            self._first_implementation_call(order),
            self.dirty,
            calls,
            handed_over,
            self.layout(),
        )
        got = collect_call(site, order, self.tree_after)
        return collect_answers(got, order, self.project.folders.implementation, self.git)

    def _first_implementation_call(self, order: CallOrder) -> str:
        """The story's first call that did not write the story file: what it found there are the requirements."""
        numbers = range(1, order.id.number + 1)
        folders = (folder for number in numbers for folder in list_attempts(self.run, number))
        wrote = {step.name for step in self.lane.workflow.steps if step.owes is StepOutput.STORY}
        found = (folder for folder in folders if _found_story(folder, order.story, wrote))
        return next(found, self.folder(order.id))

    def choose_agent(self, step: Step) -> AgentChoice:
        return choose_agent(self.project, step)

    def clear_agent_state(self, story: str) -> None:
        clear_agent_state(self.story_paths(story).state)

    def unanswered_question(self, story: str) -> UnansweredQuestion | None:
        return read_unanswered_question(self.story_paths(story).state)


def _found_story(folder: str, story: str, wrote: set[str]) -> bool:
    try:
        if not os.path.exists(f"{folder}/{STORY}"):
            return False
        spec = read_call_spec(folder)
        return spec.story == story and spec.step not in wrote
    except FileError:
        return False
