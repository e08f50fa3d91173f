"""People: questions as files, answers from a terminal or from `bmad answer`; and waiting for whatever comes."""

import time
from contextlib import suppress

from ...agents.watching import cancel, wait_for_any
from ...core.errors import ConflictError, FileError
from ...core.statuses import PARKED
from ...runs.question import By, Kind, Source
from ...runs.question import Question as Kept
from ...runs.questions import answer, ask, deliver, questions_of
from ..closing import BLOCKED_GRACE
from ..doors import CallId, Question
from ..judging import STOPPED
from ..progress import Progress
from .ground import Ground

LINGER = 3.0  # seconds in which a second Ctrl-C still reaches us
ENDING = 30.0  # an agent is given to end


class PeopleDoors(Ground):
    progress: Progress | None = None
    _blocked_since: float | None = None
    _overtime: CallId | None = None

    def ask(self, question: Question) -> str:
        own = question.code == "agent"
        kept = Kept(
            question.story,
            question.call.step if question.call else "",
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
        )
        return ask(self.run, kept, time.time()).id

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

    def stopping(self) -> bool:
        return self.waiting.stops > 0

    def linger(self, call: CallId) -> bool:
        self.told("lingering", {"seconds": LINGER}, time.time())
        if not self.waiting.for_another_stop(LINGER):
            return False
        cancel(self.folder(call), STOPPED)
        wait_for_any([self.folder(call)], ENDING)
        return True

    def wait_for_answer(self, question: str) -> bool:
        if self.human is None:
            return False
        found = [(path, kept) for path, kept in questions_of(self.run)[0] if kept.id == question]
        for path, kept in found:
            elsewhere = {"answered": lambda: self.answer(question) is not None}
            said = self.human.ask({**kept._asdict(), "folder": self.project.root.checkout, **elsewhere})
            if self.answer(question) is not None:  # somebody was quicker
                return True
            if said is None:
                return self.stopping()
            _record(path, said)
        return bool(found)

    def wait(self, until: float | None, call: CallId | None) -> None:
        if call is None:
            self.waiting.until(until or 0.0)
            return
        folder = self.folder(call)
        if self.progress is None or self.progress.call != call:
            self.progress = Progress(folder, call, self.project.config, self.told)
        books = self.books(self.progress.story or self.lane.key)
        self.waiting.for_call(folder, (books.board, books.review, books.state), self.progress.tell)
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


def _record(path: str, said: str) -> None:
    with suppress(ConflictError):  # somebody else was quicker
        answer(path, said, By.HUMAN)
