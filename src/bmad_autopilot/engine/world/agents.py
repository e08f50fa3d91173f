"""The agents' door: a call started once, watched, and what it left gathered."""

import os
import time
import uuid

from ...agents.attempts import State, read_result, read_spec, state_of
from ...agents.settling import stop
from ...agents.shim import records
from ...agents.verdicts import is_harvested
from ...core.errors import AutopilotError, ConflictError, FileError
from ...core.owes import Owes
from ...files import refuse_links
from ...github.staging import stage
from ...project.custom import EVIDENCE
from ...runs.agent_state import clear, read_agent_state
from ...runs.layout import attempts_of
from ...runs.requests import request_path
from ...workflows.pipelines import Step
from ...workflows.step_context import Halfway
from ..adopting import left_halfway, left_question
from ..briefing import brief
from ..callers import caller_for
from ..calling import AccountParked, Job, begin, skill_for
from ..closing import DEAF_SECONDS, RESCAN
from ..delivery.answers import set_aside_answers, with_answers
from ..doors import Asked, Caller, CallId, CallOrder, Gathered
from ..evidence import Evidence
from ..snapshots import STATE, STORY, keep_before, layout_of
from .people import PeopleDoors
from .repository import RepositoryDoors


class AgentDoors(RepositoryDoors, PeopleDoors):
    _told_of = ""  # whose turn we have said that we wait for

    def call_state(self, call: CallId) -> str:
        state = state_of(self.folder(call))
        return State.RUNNING.value if state is State.FINISHED and self._goes_on(call) else state.value

    def _goes_on(self, call: CallId) -> bool:
        """An instance's command has only begun the work: what the files say decides, within the same time."""
        folder, config = self.folder(call), self.project.config
        if is_harvested(folder) or not any(agent.completion == EVIDENCE for agent in config.agents.values()):
            return False
        spec, result = read_spec(folder), read_result(folder)
        custom = config.agents.get(spec.agent)
        if custom is None or custom.completion != EVIDENCE or result is None or result.exit != 0:
            return False
        if time.time() > result.started_at + config.story_timeout_cap * 60:
            stop(spec)
            return False
        return not self._shows(spec.story, call.step)

    def _shows(self, story: str, name: str) -> bool:
        steps = (*self.lane.workflow.steps, self.lane.workflow.fix)
        step = next((step for step in steps if step.name == name), None)
        try:
            look = Evidence(self.project, story)
            return step is None or look.is_blocked or look.question() is not None or look.shows(step)
        except AutopilotError:
            return False

    def has_slot(self) -> bool:
        return self.slot.is_free()

    def wait_for_slot(self) -> None:
        self.slot.want(self.waiting.poke)
        self.waiting.until(time.time() + RESCAN, (request_path(self.run),))

    def start(self, order: CallOrder) -> None:
        folder = self.folder(order.id)
        if state_of(folder) is not State.NEW:
            return
        refuse_links(self.run, folder)
        if not self.slot.take():
            return
        books = self.books(order.story)
        project, step = self.project, order.step
        name = f"bmad-{order.story}-{order.id.number}-{order.id.attempt}"
        skill = skill_for(project, step, order.agent)
        job = Job(
            uuid.uuid4().hex,
            project,
            step,
            order.story,
            name,
            branch=self.lane.branch,
            skill=skill,
            dollars=order.dollars,
            seconds=project.config.story_timeout_cap * 60.0 * order.times if order.times > 1 else 0.0,
            agent=order.agent,
        )
        prompt = brief(
            job,
            books,
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
            keep_before(folder, books, project.root.checkout)
            self._layout = layout_of(books, project.root.checkout)
            if order.points:
                set_aside_answers(project.folders.implementation, order.story, folder)
            if step.owes is Owes.VERDICT:
                self._stage(order)

        try:
            self.hold(begin(folder, job._replace(prompt=prompt), ready).tree)
        except AccountParked:
            self.slot.give_back()  # the next look sees until when
        except ConflictError as error:
            self._await_turn(folder, error)

    def _await_turn(self, folder: str, refused: ConflictError) -> None:
        """One agent per work tree: another run's is waited for, until it ends, its time is over, or somebody asks
        us to leave."""
        owner = refused.found or ""
        if state_of(folder) is not State.NEW or not owner:
            raise refused
        if self._told_of != owner:
            self._told_of = owner
            steps, step = os.path.split(os.path.dirname(owner))
            whose = f"{os.path.basename(os.path.dirname(steps))}/{step}"
            self.told("notice", {"text": f"waits for {whose}, which works in this work tree"}, time.time())
        started = records.read_started(owner)
        limit = records.read_time_limit(owner, 0.0)
        until = (started[1] if started else time.time()) + limit + DEAF_SECONDS
        while state_of(owner) is State.RUNNING and time.time() < until and not (self.stopping() or self.pausing()):
            self.waiting.for_call(owner, (request_path(self.run),), None)

    def _stage(self, order: CallOrder) -> None:
        """A reviewer whose sandbox shows only what git knows must see new files."""
        calls = [call for call in order.calls if call != order.id]
        stage(self.git, sorted(path for path in self.paths_of(order, calls, order.now) if path not in self.users))

    def _halfway(self, order: CallOrder) -> Halfway | None:
        """Where the call before stopped to ask, as it said itself."""
        if order.story == self.lane.adopted and len(order.calls) == 1:
            return left_halfway(self.books(order.story).state)
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

    def gather(self, order: CallOrder) -> Gathered:
        from ..gathering import Place, gather  # all that judges: of no use before the first call has ended

        self.slot.give_back()
        calls = tuple(map(self.folder, order.calls))
        folder = self.folder(order.id)
        handed_over = frozenset(map(self.folder, order.handed_over))
        place = Place(
            self.project,
            self.git,
            self.lane,
            folder,
            self._first(order),
            self.dirty,
            calls,
            handed_over,
            self.layout(),
        )
        got = gather(place, order, self.tree_of)
        return with_answers(got, order, self.project.folders.implementation, self.git)

    def _first(self, order: CallOrder) -> str:
        """The first call of this story that did not write its story file: what it found there was asked for."""
        numbers = range(1, order.id.number + 1)
        folders = (folder for number in numbers for folder in attempts_of(self.run, number))
        wrote = {step.name for step in self.lane.workflow.steps if step.owes is Owes.STORY}
        found = (folder for folder in folders if _found_story(folder, order.story, wrote))
        return next(found, self.folder(order.id))

    def caller(self, step: Step) -> Caller:
        return caller_for(self.project, step)

    def clear_state(self, story: str) -> None:
        clear(self.books(story).state)

    def left_question(self, story: str) -> Asked | None:
        return left_question(self.books(story).state)


def _found_story(folder: str, story: str, wrote: set[str]) -> bool:
    try:
        if not os.path.exists(f"{folder}/{STORY}"):
            return False
        spec = read_spec(folder)
        return spec.story == story and spec.step not in wrote
    except FileError:
        return False
