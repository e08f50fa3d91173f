"""The people behind the doors of a lane, in memory: questions, and answers that come when somebody has time."""

from typing import Any

from ..core.causes import chosen
from ..engine.doors import Advance, Question
from ..engine.looking import BY_POLICY
from .faults import Phase
from .log import Actor
from .memory import MemoryQuestion, World
from .scenario import Cast


class MemoryPeople:
    def __init__(self, world: World, run: str, cast: Cast) -> None:
        self.world = world
        self.run = run
        self._cast = cast

    def _done(self, kind: str, /, **data: Any) -> None:
        self.world.did(Actor.US, kind, self.run, **data)
        self.world.point(kind, Phase.AFTER_EFFECT)

    def ask(self, question: Question) -> str:
        self.world.point("ask", Phase.BEFORE_INTENT)
        for (run, name), known in self.world.questions.items():
            if run == self.run and _same(known.asked, question):
                return name
        name = f"q{len(self.world.questions) + 1}"
        asked = MemoryQuestion(name, question, self.world.now)
        self.world.questions[self.run, name] = asked
        self._cast.humans.hear(self.world, asked)
        call = question.call
        self._done("ask", question=name, code=question.code, story=question.story, call=call, turn=question.turn)
        return name

    def is_asked(self, question: str) -> bool:
        return (self.run, question) in self.world.questions

    def answer(self, question: str) -> str | None:
        return self.world.questions[self.run, question].answer

    def advance(self, question: str) -> Advance | None:
        asked = self.world.questions[self.run, question].asked
        choice = chosen(self._cast.unattended, asked.cause)
        is_free = not self.attended() and choice in asked.options
        return Advance(choice, BY_POLICY, is_choice=True) if is_free else None

    def record_answer(self, question: str, advance: Advance) -> None:
        asked = self.world.questions[self.run, question]
        if asked.answer is None:
            asked.answer, asked.by = advance.text, advance.by
            self._done("answer", code=asked.asked.code, story=asked.asked.story, answer=advance.text)

    def answered_by(self, question: str) -> str:
        return self.world.questions[self.run, question].by

    def deliver(self, question: str) -> None:
        asked = self.world.questions[self.run, question]
        self.world.deliver(asked)

    def attended(self) -> bool:
        return self._cast.humans.attended

    def wait_for_answer(self, question: str) -> bool:
        asked = self.world.questions[self.run, question]
        if not self._cast.humans.attended or asked.answer_at is None:
            return False
        self.world.did(Actor.US, "wait", self.run, until=asked.answer_at)
        following = self.world.next_event()
        ends = asked.answer_at if following is None else min(asked.answer_at, following)
        self.world.advance(max(ends, self.world.now) + 0.001)
        return True


def _same(one: Question, other: Question) -> bool:
    return one.turn == other.turn and (one.story, one.call, one.text) == (other.story, other.call, other.text)
