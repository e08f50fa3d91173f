"""The agents' port: starts each call once, watches it, collects its result. And the calls of a story's steps."""

import os
import time
import uuid
from typing import Protocol

from ...agents.attempt import AttemptState, attempt_state, read_call_spec, read_result
from ...agents.monitor import cancel_attempt, run_stop_command, wait_for_any
from ...agents.shim import attempt_files
from ...agents.start import claim_attempt
from ...agents.verdicts import has_verdict
from ...core.errors import AutopilotError, ConflictError, FileError
from ...core.statuses import PARKED
from ...core.step_output import StepOutput
from ...git.commits import stage_paths
from ...io.files import refuse_links
from ...project.config import EVIDENCE
from ...runs.agent_state import clear_agent_state, read_agent_state
from ...runs.layout import list_attempts
from ...runs.supervisor_lock import ControlRequest, read_request, request_path
from ...workflows.agent_call import PausedAttempt
from ...workflows.workflow import Step
from ..call_outcome import STOPPED
from ..delivery.threads import collect_answers, set_aside_answers
from ..dispatched_call import StoryEvidence
from ..ports import AgentCall, AgentChoice, AgentResult, CallId, EventSink, UnansweredQuestion
from ..progress import CallProgress, last_lines
from ..run_setup import read_previous_progress, read_unanswered_question
from ..slots import SlotHandle
from ..start_agent import (
    AccountParked,
    build_prompt,
    choose_agent,
    prepare_call,
    scratch_folder,
    skill_for,
    start_call,
)
from ..story_paths import STATE, STORY, capture_layout, save_before_call
from ..waiting import BLOCKED_GRACE, RESCAN, UNRESPONSIVE_SECONDS, Waiter
from .people import LanePeople
from .site import LaneSite
from .worktree import GitWorktree

GRACE_SECONDS = 3.0  # seconds to wait for a second Ctrl-C
CANCEL_SECONDS = 30.0  # seconds for a cancelled agent to end


class CallKind(Protocol):
    """How the calls of a lane are prepared and collected: a story's steps, a workflow file's, or a flow's."""

    def choose(self, step: Step) -> AgentChoice: ...
    def start(self, order: AgentCall) -> None:
        """Start the attempt. AccountParked, ConflictError: it cannot start now."""

    def collect(self, order: AgentCall) -> AgentResult: ...
    def is_step_done(self, story: str, call: CallId) -> bool:
        """Whether the project's files show the step's end, for an agent whose command only starts the work."""

    def blocked_reason(self, story: str) -> str:
        """Why the story's row is parked; empty: it is not."""


class AgentCalls:
    def __init__(
        self,
        site: LaneSite,
        kind: CallKind,
        people: LanePeople,
        waiter: Waiter,
        slot: SlotHandle,
        on_event: EventSink,
    ) -> None:
        self._site = site
        self._kind = kind
        self._people = people
        self._waiter = waiter
        self._slot = slot
        self._on_event = on_event
        self._reported_owner = ""  # the attempt we have reported waiting for
        self._progress: CallProgress | None = None
        self._blocked_since: float | None = None
        self._overtime_call: CallId | None = None

    def choose(self, step: Step) -> AgentChoice:
        return self._kind.choose(step)

    def has_slot(self) -> bool:
        return self._slot.is_free()

    def wait_for_slot(self) -> None:
        self._slot.request(self._waiter.wake)
        self._waiter.wait_until(time.time() + RESCAN, (request_path(self._site.run),))

    # starting

    def start(self, order: AgentCall) -> None:
        folder = self._site.folder(order.id)
        if attempt_state(folder) is not AttemptState.NEW:
            return
        refuse_links(self._site.run, folder)
        if not self._slot.acquire():
            return
        try:
            self._kind.start(order)
        except AccountParked:
            self._slot.release()  # the next observation reads the limit's end
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
            self._on_event("notice", {"text": f"waits for {whose}, which works in this work tree"}, time.time())
        started = attempt_files.read_started(owner)
        limit = attempt_files.read_time_limit(owner, 0.0)
        until = (started[1] if started else time.time()) + limit + UNRESPONSIVE_SECONDS
        while (
            attempt_state(owner) is AttemptState.RUNNING
            and time.time() < until
            and not (self._people.is_stopping() or self._people.is_pausing())
        ):
            self._waiter.wait_for_call(owner, (request_path(self._site.run),), None)

    # while it runs

    def state(self, call: CallId) -> str:
        state = attempt_state(self._site.folder(call))
        is_running = state is AttemptState.FINISHED and self._is_work_pending(call)
        return (AttemptState.RUNNING if is_running else state).value

    def _is_work_pending(self, call: CallId) -> bool:
        """An instance's command only starts the work: the project's files decide, within the same time limit."""
        folder, config = self._site.folder(call), self._site.project.config
        if has_verdict(folder) or not any(agent.completion == EVIDENCE for agent in config.agents.values()):
            return False
        spec, result = read_call_spec(folder), read_result(folder)
        custom = config.agents.get(spec.agent)
        if custom is None or custom.completion != EVIDENCE or result is None or result.exit != 0:
            return False
        if time.time() > result.started_at + config.story_timeout_cap * 60:
            run_stop_command(spec)
            return False
        return not self._kind.is_step_done(spec.story, call)

    def wait(self, call: CallId) -> None:
        folder = self._site.folder(call)
        self._slot.acquire(force=True)  # an earlier process may have started the call
        progress = self._progress
        if progress is None or progress.call != call:
            progress = CallProgress(folder, call, self._site.project.config, self._on_event)
            self._progress = progress
        story_paths = self._site.story_paths(progress.story or self._site.lane.key)
        files = (story_paths.board, story_paths.review, story_paths.state, request_path(self._site.run))
        self._waiter.wait_for_call(folder, files, progress.report)
        self._end_blocked(call, progress.story)
        self._report_overtime(call, progress)

    def _report_overtime(self, call: CallId, progress: CallProgress) -> None:
        """Report overtime once per call. The agent may continue up to its cap unless a person ends it."""
        config, minutes = self._site.project.config, progress.minutes
        if minutes >= config.story_timeout and self._overtime_call != call:
            self._overtime_call = call
            data = {"story": progress.story, "minutes": int(minutes), "cap": config.story_timeout_cap}
            self._on_event("overtime", data | {"number": call.number, "step": call.step}, time.time())

    def _end_blocked(self, call: CallId, story: str) -> None:
        """Cancel an agent whose story stays blocked for BLOCKED_GRACE seconds."""
        try:
            reason = self._kind.blocked_reason(story)
        except FileError:
            return
        if not reason:
            self._blocked_since = None
        elif self._blocked_since is None:
            self._blocked_since = time.monotonic()
        elif time.monotonic() >= self._blocked_since + BLOCKED_GRACE:
            cancel_attempt(self._site.folder(call), f"the story is blocked: {reason}")

    def cancel_on_second_stop(self, call: CallId) -> bool:
        asked, folder = read_request(self._site.run), self._site.folder(call)
        if asked is ControlRequest.STOP:
            return False
        if asked is not ControlRequest.STOP_NOW:
            self._on_event("lingering", {"seconds": GRACE_SECONDS}, time.time())
        if asked is not ControlRequest.STOP_NOW and not self._waiter.wait_for_second_stop(GRACE_SECONDS):
            return False
        cancel_attempt(folder, STOPPED)
        wait_for_any([folder], CANCEL_SECONDS)
        return True

    # after it

    def collect(self, order: AgentCall) -> AgentResult:
        self._slot.release()
        return self._kind.collect(order)

    def clear_state(self, story: str) -> None:
        clear_agent_state(self._site.story_paths(story).state)

    def unanswered_question(self, story: str) -> UnansweredQuestion | None:
        return read_unanswered_question(self._site.story_paths(story).state)

    def last_output(self, call: CallId) -> str:
        return last_lines(self._site.folder(call), self._site.project.config)

    def related_files(self, story: str, call: CallId) -> tuple[str, ...]:
        story_paths = self._site.story_paths(story)
        found = (story_paths.story or story_paths.spec, self._site.folder(call), story_paths.board)
        there = (path for path in found if path and os.path.exists(path))
        return tuple(map(self._site.display_path, there))


def paused_attempt(site: LaneSite, order: AgentCall) -> PausedAttempt | None:
    """Where the previous call stopped to ask, according to its agent-state file."""
    if order.story == site.lane.adopted and len(order.calls) == 1:
        return read_previous_progress(site.story_paths(order.story).state)
    if order.halfway is None or order.id.attempt < 2:
        return order.halfway
    before = order.id._replace(attempt=order.id.attempt - 1)
    try:
        state = read_agent_state(f"{site.folder(before)}/{STATE}")
    except FileError:
        state = None
    if state is None:
        return order.halfway
    return order.halfway._replace(
        blocked_at=state.blocked_at,
        last_completed=state.last_completed_step,
        artifacts=state.artifacts_produced,
    )


class StoryCalls:
    """The calls of a story's steps, of fix rounds and of a retrospective."""

    def __init__(self, site: LaneSite, worktree: GitWorktree) -> None:
        self._site = site
        self._worktree = worktree

    def choose(self, step: Step) -> AgentChoice:
        return choose_agent(self._site.project, step)

    def start(self, order: AgentCall) -> None:
        site, project, step = self._site, self._site.project, order.step
        folder = site.folder(order.id)
        story_paths = site.story_paths(order.story)
        attempt, skill = uuid.uuid4().hex, skill_for(project, step, order.agent)
        resumed = order._replace(halfway=paused_attempt(site, order))
        prompt = build_prompt(project, resumed, story_paths, skill, scratch_folder(attempt))
        prepared = prepare_call(project, order, prompt, attempt=attempt, skill=skill)
        with claim_attempt(folder, project.root.checkout) as claim:
            save_before_call(folder, story_paths, project.root.checkout)
            site.keep_layout(capture_layout(story_paths, project.root.checkout))
            if order.points:
                set_aside_answers(project.folders.implementation, order.story, folder)
            if step.owes is StepOutput.VERDICT:
                self._stage(order)
            self._worktree.pin_tree(start_call(claim, prepared).tree)

    def _stage(self, order: AgentCall) -> None:
        """Stage new files: a reviewer's sandbox may show only what git tracks."""
        calls = [call for call in order.calls if call != order.id]
        changed = self._worktree.story_changes(order, calls, order.current_tree)
        stage_paths(self._site.git, sorted(path for path in changed if path not in self._worktree.users_files))

    def is_step_done(self, story: str, call: CallId) -> bool:
        workflow = self._site.lane.workflow
        step = next((step for step in (*workflow.steps, workflow.fix) if step.name == call.step), None)
        try:
            evidence = StoryEvidence(self._site.project, story)
            return (
                step is None
                or evidence.is_blocked
                or evidence.question() is not None
                or evidence.is_step_done(step)
            )
        except AutopilotError:
            return False

    def blocked_reason(self, story: str) -> str:
        row = self._site.board().rows.get(story)
        return (row.reason or row.status.raw) if row is not None and row.meaning == PARKED else ""

    def collect(self, order: AgentCall) -> AgentResult:
        from ..collect import CallSite, collect_call

        site = self._site
        call_site = CallSite(
            site.project,
            site.git,
            site.lane,
            site.folder(order.id),
            self._first_implementation_call(order),
            site.dirty,
            tuple(map(site.folder, order.calls)),
            frozenset(map(site.folder, order.handed_over)),
            site.layout(),
        )
        got = collect_call(call_site, order, self._worktree.snapshot_after)
        return collect_answers(got, order, site.project.folders.implementation, site.git)

    def _first_implementation_call(self, order: AgentCall) -> str:
        """The story's first call that did not write the story file: what it found there are the requirements."""
        numbers = range(1, order.id.number + 1)
        folders = (folder for number in numbers for folder in list_attempts(self._site.run, number))
        wrote = {step.name for step in self._site.lane.workflow.steps if step.owes is StepOutput.STORY}
        found = (folder for folder in folders if _found_story(folder, order.story, wrote))
        return next(found, self._site.folder(order.id))


def _found_story(folder: str, story: str, wrote: set[str]) -> bool:
    try:
        if not os.path.exists(f"{folder}/{STORY}"):
            return False
        spec = read_call_spec(folder)
        return spec.story == story and spec.step not in wrote
    except FileError:
        return False
