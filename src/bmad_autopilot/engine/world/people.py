"""The people's port: questions as files, answers from a terminal or from `bmad answer`, stop requests."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ...core.errors import ConflictError, FileError
from ...core.stop_causes import Cause, StopKind
from ...runs.question_file import AnswerSource, QuestionSource, answer_problem
from ...runs.question_file import RunQuestion as Kept
from ...runs.questions import ask_question, deliver_answer, questions_of, record_answer
from ...runs.supervisor_lock import ControlRequest, read_request, request_path
from ..ports import EventSink, LaneQuestion, PresetAnswer, Prompter
from ..waiting import Waiter
from .site import LaneSite

ASK = "ask"  # the policy for causes without a configured choice


class LanePeople:
    """`human`: a person at a terminal, if there is one. `is_autopilot_paused`: no lane may start a call."""

    def __init__(
        self,
        site: LaneSite,
        waiter: Waiter,
        on_event: EventSink,
        human: Prompter | None,
        is_autopilot_paused: Callable[[], bool],
    ) -> None:
        self._site = site
        self._run = site.run
        self._waiter = waiter
        self._on_event = on_event
        self._human = human
        self._is_autopilot_paused = is_autopilot_paused

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
            self._site.story_paths(question.story).state if question.agent_question_id else "",
            question.agent_question_id,
            turn=question.turn,
            cause=question.cause,
            about="workflow" if self._site.lane.is_workflow else "story",
            because=question.because,
            labels=question.labels,
        )
        return ask_question(self._run, kept, time.time()).id

    def is_asked(self, question: str) -> bool:
        return any(kept.id == question for _, kept in questions_of(self._run)[0])

    def answer(self, question: str) -> str | None:
        return next((kept.answer for _, kept in questions_of(self._run)[0] if kept.id == question), None)

    def deliver_answer(self, question: str) -> None:
        for _, kept in questions_of(self._run)[0]:
            try:
                if kept.id == question:
                    deliver_answer(kept)
            except (FileError, OSError) as error:  # the next call's prompt has the answer too
                text = f"the answer could not be written to {kept.state_file}: {error}"
                self._on_event("notice", {"text": text}, time.time())

    def is_attended(self) -> bool:
        return self._human is not None

    def preset_answer(self, question: str) -> PresetAnswer | None:
        kept = self._find_question(question)
        if kept is None:
            return None
        config = self._site.project.config
        standing = config.standing_answer(kept.question, kept.story)
        if standing is not None and answer_problem(kept, standing) is None:
            return PresetAnswer(standing, AnswerSource.STANDING, is_choice=False)
        policy = config.with_unattended(self._site.lane.unattended)
        choice = policy.unattended_choice(kept.cause) if self._human is None and kept.cause else ASK
        return PresetAnswer(choice, AnswerSource.POLICY, is_choice=True) if choice in kept.options else None

    def record_answer(self, question: str, advance: PresetAnswer) -> None:
        for path, kept in questions_of(self._run)[0]:
            if kept.id == question and kept.answer is None:
                _record(path, advance.text, AnswerSource(advance.by))

    def answered_by(self, question: str) -> str:
        kept = self._find_question(question)
        return str(kept.by) if kept is not None and kept.by is not None else ""

    def _find_question(self, question: str) -> Kept | None:
        return next((kept for _, kept in questions_of(self._run)[0] if kept.id == question), None)

    def is_stopping(self) -> bool:
        return self._waiter.stop_count > 0 or read_request(self._run) in (
            ControlRequest.STOP,
            ControlRequest.STOP_NOW,
        )

    def is_pausing(self) -> bool:
        return self._is_autopilot_paused() or read_request(self._run) is ControlRequest.PAUSE

    def wait_for_answer(self, question: str) -> bool:
        if self._human is None:
            return False
        found = [(path, kept) for path, kept in questions_of(self._run)[0] if kept.id == question]
        for path, kept in found:
            reply = self._human.ask({**kept._asdict(), **self._prompt_cancellation(path, question)})
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

        watched = (path, request_path(self._run))
        return {"folder": self._site.project.root.checkout, "answered": over, "watched": watched}


def _record(path: str, reply: str, by: AnswerSource = AnswerSource.HUMAN) -> None:
    with suppress(ConflictError):  # answered elsewhere meanwhile
        record_answer(path, reply, by)
