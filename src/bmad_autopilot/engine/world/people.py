"""The people's ports: questions as files, answers from a terminal or from `bmad answer`, stop requests; and the
lane's waits."""

import os
import time
from contextlib import suppress
from typing import Any

from ...agents.monitor import cancel_attempt, wait_for_any
from ...core.errors import ConflictError, FileError
from ...core.statuses import PARKED
from ...core.stop_causes import Cause, StopKind
from ...runs.question_file import AnswerSource, QuestionSource, answer_problem
from ...runs.question_file import RunQuestion as Kept
from ...runs.questions import ask_question, deliver_answer, questions_of, record_answer
from ...runs.supervisor_lock import ControlRequest, read_request, request_path
from ..call_outcome import STOPPED
from ..ports import CallId, LaneQuestion, PresetAnswer
from ..progress import CallProgress, last_lines
from ..waiting import BLOCKED_GRACE
from .base import LaneWorld

ASK = "ask"  # the policy for causes without a configured choice
GRACE_SECONDS = 3.0  # seconds to wait for a second Ctrl-C
CANCEL_SECONDS = 30.0  # seconds for a cancelled agent to end


class PeoplePorts(LaneWorld):
    progress: CallProgress | None = None
    _blocked_since: float | None = None
    _overtime_call: CallId | None = None

    def ask(self, question: LaneQuestion) -> str:
        own = question.cause == Cause.QUESTION
        kept = Kept(
            question.story,
            question.call.step if question.call else question.step,
            question.call.attempt if question.call else 0,
            question.text,
            question.context,
            question.options,
            question.recommended or None,
            question.reason,
            StopKind.QUESTION if own else StopKind.INTERVENTION,
            QuestionSource.AGENT if own else QuestionSource.AUTOPILOT,
            self.story_paths(question.story).state if question.agent_question_id else "",
            question.agent_question_id,
            turn=question.turn,
            cause=question.cause,
            about="workflow" if self.lane.is_workflow else "story",
            because=question.because,
            labels=question.labels,
        )
        return ask_question(self.run, kept, time.time()).id

    def last_output(self, call: CallId) -> str:
        return last_lines(self.folder(call), self.project.config)

    def related_files(self, story: str, call: CallId) -> tuple[str, ...]:
        story_paths = self.story_paths(story)
        found = (story_paths.story or story_paths.spec, self.folder(call), story_paths.board)
        there = (path for path in found if path and os.path.exists(path))
        return tuple(map(self.display_path, there))

    def is_asked(self, question: str) -> bool:
        return any(kept.id == question for _, kept in questions_of(self.run)[0])

    def answer(self, question: str) -> str | None:
        return next((kept.answer for _, kept in questions_of(self.run)[0] if kept.id == question), None)

    def deliver_answer(self, question: str) -> None:
        for _, kept in questions_of(self.run)[0]:
            try:
                if kept.id == question:
                    deliver_answer(kept)
            except (FileError, OSError) as error:  # the next call's prompt has the answer too
                text = f"the answer could not be written to {kept.state_file}: {error}"
                self.on_event("notice", {"text": text}, time.time())

    def is_attended(self) -> bool:
        return self.human is not None

    def preset_answer(self, question: str) -> PresetAnswer | None:
        kept = self._find_question(question)
        if kept is None:
            return None
        config = self.project.config
        standing = config.standing_answer(kept.question, kept.story)
        if standing is not None and answer_problem(kept, standing) is None:
            return PresetAnswer(standing, AnswerSource.STANDING, is_choice=False)
        policy = config.with_unattended(self.lane.unattended)
        choice = policy.unattended_choice(kept.cause) if self.human is None and kept.cause else ASK
        return PresetAnswer(choice, AnswerSource.POLICY, is_choice=True) if choice in kept.options else None

    def record_answer(self, question: str, advance: PresetAnswer) -> None:
        for path, kept in questions_of(self.run)[0]:
            if kept.id == question and kept.answer is None:
                _record(path, advance.text, AnswerSource(advance.by))

    def answered_by(self, question: str) -> str:
        kept = self._find_question(question)
        return str(kept.by) if kept is not None and kept.by is not None else ""

    def _find_question(self, question: str) -> Kept | None:
        return next((kept for _, kept in questions_of(self.run)[0] if kept.id == question), None)

    def is_stopping(self) -> bool:
        return self.waiter.stop_count > 0 or read_request(self.run) in (
            ControlRequest.STOP,
            ControlRequest.STOP_NOW,
        )

    def is_pausing(self) -> bool:
        return self.is_autopilot_paused() or read_request(self.run) is ControlRequest.PAUSE

    def cancel_on_second_stop(self, call: CallId) -> bool:
        asked = read_request(self.run)
        if asked is ControlRequest.STOP:
            return False
        if asked is not ControlRequest.STOP_NOW:
            self.on_event("lingering", {"seconds": GRACE_SECONDS}, time.time())
        if asked is not ControlRequest.STOP_NOW and not self.waiter.wait_for_second_stop(GRACE_SECONDS):
            return False
        cancel_attempt(self.folder(call), STOPPED)
        wait_for_any([self.folder(call)], CANCEL_SECONDS)
        return True

    def wait_for_answer(self, question: str) -> bool:
        if self.human is None:
            return False
        found = [(path, kept) for path, kept in questions_of(self.run)[0] if kept.id == question]
        for path, kept in found:
            reply = self.human.ask({**kept._asdict(), **self._prompt_cancellation(path, question)})
            if self.answer(question) is not None:  # answered elsewhere meanwhile
                return True
            if reply is None:
                return self.is_stopping() or self.is_pausing()
            _record(path, reply)
        return bool(found)

    def _prompt_cancellation(self, path: str, question: str) -> dict[str, Any]:
        """What ends the prompt: an answer from another terminal, or a stop or pause of the run."""

        def over() -> bool:
            return self.answer(question) is not None or self.is_stopping() or self.is_pausing()

        watched = (path, request_path(self.run))
        return {"folder": self.project.root.checkout, "answered": over, "watched": watched}

    def wait(self, until: float | None, call: CallId | None) -> None:
        if call is None:
            self.waiter.wait_until(until or 0.0, (request_path(self.run),))
            return
        folder = self.folder(call)
        self.slot.acquire(force=True)  # an earlier process may have started the call
        if self.progress is None or self.progress.call != call:
            self.progress = CallProgress(folder, call, self.project.config, self.on_event)
        story_paths = self.story_paths(self.progress.story or self.lane.key)
        files = (story_paths.board, story_paths.review, story_paths.state, request_path(self.run))
        self.waiter.wait_for_call(folder, files, self.progress.report)
        self._end_blocked(call)
        self._report_overtime(call)

    def _report_overtime(self, call: CallId) -> None:
        """Report overtime once per call. The agent may continue up to its cap unless a person ends it."""
        assert self.progress is not None
        config, minutes = self.project.config, self.progress.minutes
        if minutes >= config.story_timeout and self._overtime_call != call:
            self._overtime_call = call
            data = {"story": self.progress.story, "minutes": int(minutes), "cap": config.story_timeout_cap}
            self.on_event("overtime", data | {"number": call.number, "step": call.step}, time.time())

    def _end_blocked(self, call: CallId) -> None:
        """Cancel an agent whose story stays blocked for BLOCKED_GRACE seconds."""
        assert self.progress is not None
        try:
            row = self.board().rows.get(self.progress.story)
        except FileError:
            return
        if row is None or row.meaning != PARKED:
            self._blocked_since = None
        elif self._blocked_since is None:
            self._blocked_since = time.monotonic()
        elif time.monotonic() >= self._blocked_since + BLOCKED_GRACE:
            cancel_attempt(self.folder(call), f"the story is blocked: {row.reason or row.status.raw}")


def _record(path: str, reply: str, by: AnswerSource = AnswerSource.HUMAN) -> None:
    with suppress(ConflictError):  # answered elsewhere meanwhile
        record_answer(path, reply, by)
