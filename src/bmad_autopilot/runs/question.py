"""A question: something only a human can answer, as a file in its run."""

import re
from enum import StrEnum
from typing import NamedTuple

from ..core.causes import Kind as Kind
from ..core.errors import FileError, Place
from .json_files import Object, list_of, number_of, read_object, text_of
from .times import iso, seconds_of

MAX_TEXT = 20_000
MAX_OPTION = 500
MAX_OPTIONS = 20
CUT = " … [cut]"

# Everything but line breaks and tabs that steers a terminal, and the marks that turn text around.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_SENTENCES = re.compile(r"(?<=[.!?:]) ")


class Source(StrEnum):
    AGENT = "agent"
    US = "us"


class By(StrEnum):
    HUMAN = "human"
    STANDING = "standing"  # an answer given in advance
    POLICY = "policy"  # what the settings choose where nobody is there
    US = "us"  # withdrawn: nobody needs an answer any more


_BY = {by.value: by for by in By}


class Question(NamedTuple):
    story: str
    step: str
    attempt: int
    question: str
    context: str = ""
    options: tuple[str, ...] = ()
    recommended: str | None = None
    reason: str = ""  # one of core.block_reasons, or what an agent has made of them
    kind: Kind = Kind.QUESTION
    source: Source = Source.US
    state_file: str = ""  # the agent-state file it was asked in, and its id there
    state_id: str = ""
    turn: int = 0  # questions of the run that were answered before: asked anew later, it is another
    id: str = ""  # `q1`, `q2` … in the run; given when it is asked
    asked_at: float = 0.0
    answer: str | None = None
    answered_at: float = 0.0
    by: By | None = None
    cause: str = ""  # a word of core.causes; "" in files of older runs
    about: str = "story"  # or a workflow: what `story` names
    because: str = ""  # why that is recommended
    labels: tuple[str, ...] = ()  # what each option means, in a line; they are then chosen by letters

    @property
    def key(self) -> tuple[str, str, int, str, int]:
        """By which it is found again after a crash between asking and writing that down."""
        return self.story, self.step, self.attempt, self.question, self.turn

    @property
    def in_short(self) -> str:
        """In one line: of an agent's last words the sentence that asks, which is seldom the first."""
        first, *more = self.question.strip().split("\n")
        words, mark, _ = " ".join(self.question.split()).rpartition("?")
        return _SENTENCES.split(words)[-1] + mark if more and mark else first


def cleaned(text: str, limit: int = MAX_TEXT) -> str:
    """Without what steers a terminal; line breaks of one kind; cut with a mark."""
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()
    return text if len(text) <= limit else text[: limit - len(CUT)] + CUT


def bounded(question: Question) -> Question:
    """As it is kept: texts from an agent are data of any length."""
    listed = (cleaned(option, MAX_OPTION) for option in question.options)
    options = tuple({option.casefold(): option for option in listed if option}.values())[:MAX_OPTIONS]
    recommended = cleaned(question.recommended, MAX_OPTION) if question.recommended else None
    return question._replace(
        question=cleaned(question.question),
        context=cleaned(question.context),
        options=options,
        recommended=recommended or None,
        reason=cleaned(question.reason, MAX_OPTION),
        cause=cleaned(question.cause, MAX_OPTION),
        because=cleaned(question.because, MAX_OPTION),
        state_id=cleaned(question.state_id, MAX_OPTION),
        labels=tuple(cleaned(label, MAX_OPTION) for label in question.labels[: len(options)]),
    )


def to_json(question: Question) -> Object:
    return {
        "version": 1,
        "id": question.id,
        **question._asdict(),
        "options": list(question.options),
        "labels": list(question.labels),
        "asked_at": iso(question.asked_at),
        "answered_at": iso(question.answered_at) if question.answer is not None else None,
    }


def read_question(path: str, id: str) -> Question | None:
    """None where there is no such file. One that does not ask anything is an error: somebody has edited it."""
    data = read_object(path)
    if data is None:
        return None
    asked = Question(
        story=text_of(data.get("story")),
        step=text_of(data.get("step")),
        attempt=number_of(data.get("attempt")),
        question=text_of(data.get("question")),
        context=text_of(data.get("context")),
        options=tuple(map(text_of, list_of(data.get("options")))),
        recommended=text_of(data.get("recommended")) or None,
        reason=text_of(data.get("reason")),
        kind=Kind.INTERVENTION if data.get("kind") == Kind.INTERVENTION else Kind.QUESTION,
        source=Source.AGENT if data.get("source") == Source.AGENT else Source.US,
        state_file=text_of(data.get("state_file")),
        state_id=text_of(data.get("state_id")),
        turn=number_of(data.get("turn")),
        cause=text_of(data.get("cause")),
        because=text_of(data.get("because")),
        labels=tuple(map(text_of, list_of(data.get("labels")))),
        about=text_of(data.get("about")) or "story",
    )
    if not asked.question or not asked.story:
        problem = "asks nothing" if not asked.question else "names no story"
        raise FileError(problem, place=Place(path))
    answer = data.get("answer")
    return bounded(asked)._replace(
        id=id,
        asked_at=seconds_of(data.get("asked_at")),
        answer=None if answer in (None, "") else text_of(answer),
        answered_at=seconds_of(data.get("answered_at")),
        by=_BY.get(text_of(data.get("by")), By.HUMAN) if answer not in (None, "") else None,
    )
