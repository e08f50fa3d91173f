"""People: questions as files, answers from a terminal or from `bmad answer`; and waiting for whatever comes."""

import os
import time
from contextlib import suppress
from typing import Any

from ...agents.watching import cancel, wait_for_any
from ...core.causes import Cause
from ...core.errors import ConflictError, FileError
from ...core.statuses import PARKED
from ...runs.answering import why_invalid
from ...runs.question import By, Kind, Source
from ...runs.question import Question as Kept
from ...runs.questions import answer, ask, deliver, questions_of
from ...runs.requests import Ask, read_request, request_path
from ..closing import BLOCKED_GRACE
from ..doors import Advance, CallId, Question
from ..judging import STOPPED
from ..last_lines import last_lines
from ..progress import Progress
from .ground import Ground

ASK = "ask"  # what the settings choose where they choose nothing
LINGER = 3.0  # seconds in which a second Ctrl-C still reaches us
ENDING = 30.0  # an agent is given to end


class PeopleDoors(Ground):
    progress: Progress | None = None
    _blocked_since: float | None = None
    _overtime: CallId | None = None

    def ask(self, question: Question) -> str:
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
            Kind.QUESTION if own else Kind.INTERVENTION,
            Source.AGENT if own else Source.US,
            self.books(question.story).state if question.agents_own else "",
            question.agents_own,
            turn=question.turn,
            cause=question.cause,
            about="workflow" if self.lane.is_workflow else "story",
            because=question.because,
            labels=question.labels,
        )
        return ask(self.run, kept, time.time()).id

    def tail(self, call: CallId) -> str:
        return last_lines(self.folder(call), self.project.config)

    def places(self, story: str, call: CallId) -> tuple[str, ...]:
        books = self.books(story)
        found = (books.story or books.spec, self.folder(call), books.board)
        there = (path for path in found if path and os.path.exists(path))
        return tuple(map(self.shown, there))

    def is_asked(self, question: str) -> bool:
        return any(kept.id == question for _, kept in questions_of(self.run)[0])

    def answer(self, question: str) -> str | None:
        return next((kept.answer for _, kept in questions_of(self.run)[0] if kept.id == question), None)

    def deliver(self, question: str) -> None:
        for _, kept in questions_of(self.run)[0]:
            try:
                if kept.id == question:
                    deliver(kept)
            except (FileError, OSError) as error:  # the next call is told it all the same
                text = f"the answer could not be written to {kept.state_file}: {error}"
                self.told("notice", {"text": text}, time.time())

    def attended(self) -> bool:
        return self.human is not None

    def advance(self, question: str) -> Advance | None:
        kept = self._kept(question)
        if kept is None:
            return None
        config = self.project.config
        standing = config.standing_answer(kept.question, kept.story)
        if standing is not None and why_invalid(kept, standing) is None:
            return Advance(standing, By.STANDING, is_choice=False)
        policy = config.overruled(self.lane.unattended)
        choice = policy.choice_for(kept.cause) if self.human is None and kept.cause else ASK
        return Advance(choice, By.POLICY, is_choice=True) if choice in kept.options else None

    def record_answer(self, question: str, advance: Advance) -> None:
        for path, kept in questions_of(self.run)[0]:
            if kept.id == question and kept.answer is None:
                _record(path, advance.text, By(advance.by))

    def answered_by(self, question: str) -> str:
        kept = self._kept(question)
        return str(kept.by) if kept is not None and kept.by is not None else ""

    def _kept(self, question: str) -> Kept | None:
        return next((kept for _, kept in questions_of(self.run)[0] if kept.id == question), None)

    def stopping(self) -> bool:
        return self.waiting.stops > 0 or read_request(self.run) in (Ask.STOP, Ask.STOP_NOW)

    def pausing(self) -> bool:
        return self.held_back() or read_request(self.run) is Ask.PAUSE

    def linger(self, call: CallId) -> bool:
        asked = read_request(self.run)
        if asked is Ask.STOP:
            return False
        if asked is not Ask.STOP_NOW:
            self.told("lingering", {"seconds": LINGER}, time.time())
        if asked is not Ask.STOP_NOW and not self.waiting.for_another_stop(LINGER):
            return False
        cancel(self.folder(call), STOPPED)
        wait_for_any([self.folder(call)], ENDING)
        return True

    def wait_for_answer(self, question: str) -> bool:
        if self.human is None:
            return False
        found = [(path, kept) for path, kept in questions_of(self.run)[0] if kept.id == question]
        for path, kept in found:
            said = self.human.ask({**kept._asdict(), **self._elsewhere(path, question)})
            if self.answer(question) is not None:  # somebody was quicker
                return True
            if said is None:
                return self.stopping() or self.pausing()
            _record(path, said)
        return bool(found)

    def _elsewhere(self, path: str, question: str) -> dict[str, Any]:
        """What ends the asking here: an answer from another terminal, or the run's own end."""

        def over() -> bool:
            return self.answer(question) is not None or self.stopping() or self.pausing()

        watched = (path, request_path(self.run))
        return {"folder": self.project.root.checkout, "answered": over, "watched": watched}

    def wait(self, until: float | None, call: CallId | None) -> None:
        if call is None:
            self.waiting.until(until or 0.0, (request_path(self.run),))
            return
        folder = self.folder(call)
        self.slot.take(anyway=True)  # it may have been started by somebody before us
        if self.progress is None or self.progress.call != call:
            self.progress = Progress(folder, call, self.project.config, self.told)
        books = self.books(self.progress.story or self.lane.key)
        files = (books.board, books.review, books.state, request_path(self.run))
        self.waiting.for_call(folder, files, self.progress.tell)
        self._end_blocked(call)
        self._tell_overtime(call)

    def _tell_overtime(self, call: CallId) -> None:
        """Once: it may go on to its cap, unless somebody ends it."""
        assert self.progress is not None
        config, minutes = self.project.config, self.progress.minutes
        if minutes >= config.story_timeout and self._overtime != call:
            self._overtime = call
            data = {"story": self.progress.story, "minutes": int(minutes), "cap": config.story_timeout_cap}
            self.told("overtime", data | {"number": call.number, "step": call.step}, time.time())

    def _end_blocked(self, call: CallId) -> None:
        """An agent that declares its story blocked, and stays by that, is given time to end and then ended."""
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
            cancel(self.folder(call), f"the story is blocked: {row.reason or row.status.raw}")


def _record(path: str, said: str, by: By = By.HUMAN) -> None:
    with suppress(ConflictError):  # somebody else was quicker
        answer(path, said, by)
