"""Questions of runs: asked once, kept as files, answered once, shown over all runs that are not over."""

import os
import re
import time
from contextlib import suppress
from typing import NamedTuple

from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import ConflictError, FileError, Place, UsageError
from ..files import locked, refuse_links
from .agent_state import read_agent_state, write_answer
from .answering import normalised, option_meant, why_invalid
from .finding import Run, unfinished
from .json_files import write_object
from .question import By, Question, bounded, cleaned, read_question, to_json

FOLDER = "questions"
WITHDRAWN = "(withdrawn: the story was begun anew)"
MAX_QUESTIONS = 999  # of one run

_FILE = re.compile(r"([0-9]{3})\.json")


class Asked(NamedTuple):
    """A question and where it stands."""

    run: Run
    question: Question
    path: str


class Inbox(NamedTuple):
    asked: list[Asked]  # open ones, the oldest first
    diagnostics: list[Diagnostic]  # files that cannot be read

    @property
    def first(self) -> list[Asked]:
        """One at a time per story of a run: the next waits until this one is answered."""
        by_story = {(asked.run.id, asked.question.story): asked for asked in reversed(self.asked)}
        return list(by_story.values())[::-1]

    def runs_asking(self, story: str) -> list[Run]:
        """The newest first: the run that `bmad resume` goes on with. A run and its fork may both ask."""
        runs = {asked.run.id: asked.run for asked in self.asked if asked.question.story == story}
        return sorted(runs.values(), key=lambda run: run.last_sign, reverse=True)


def ask(run: str, question: Question, now: float) -> Question:
    """Put a question, once: after a crash between asking and recording it, the same question is found again, and
    may have its answer."""
    wanted = _with_recommended_option(bounded(_redacted(question)))
    folder = os.path.join(run, FOLDER)
    refuse_links(run, folder)
    os.makedirs(folder, exist_ok=True)
    with locked(_lock(folder)):
        for path, id in _files(folder):
            with suppress(FileError):
                there = read_question(path, id)
                if there is not None and there.key == wanted.key:
                    return there
        number = max((int(id[1:]) for _, id in _files(folder)), default=0) + 1
        if number > MAX_QUESTIONS:
            raise ConflictError(f"this run has asked {MAX_QUESTIONS} questions", place=Place(folder))
        asked = wanted._replace(id=f"q{number}", asked_at=round(now, 3))
        write_object(os.path.join(folder, f"{number:03}.json"), to_json(asked))
        return asked


def questions_of(run: str) -> tuple[list[tuple[str, Question]], list[Diagnostic]]:
    """Every question of a run in its order, with its path; and the files that cannot be read."""
    found, broken = [], []
    for path, id in _files(os.path.join(run, FOLDER)):
        try:
            question = read_question(path, id)
        except FileError as error:
            place, hint = error.place or Place(path), f"remove it: rm {path}; the run asks again"
            broken.append(Diagnostic(Severity.WARNING, "question-file", error.message, place, hint))
            continue
        if question is not None:
            found.append((path, question))
    return found, broken


def open_questions(run: str) -> list[Question]:
    return [question for _, question in questions_of(run)[0] if question.answer is None]


def all_open(runs: str) -> Inbox:
    asked, broken = [], []
    for run in unfinished(runs):
        found, odd = questions_of(run.folder)
        asked += [Asked(run, question, path) for path, question in found if question.answer is None]
        broken += odd
    asked.sort(key=lambda one: (one.question.asked_at, one.run.id, one.path))
    return Inbox(asked, broken)


def answer(path: str, text: str, by: By, now: float | None = None) -> Question:
    """Record an answer, once. One that breaks the rules changes nothing."""
    with locked(_lock(os.path.dirname(path))):
        question = _unanswered(path)
        problem = why_invalid(question, text)
        if problem:
            raise UsageError(problem)
        return _record(path, question, normalised(question, text), by, time.time() if now is None else now)


def withdraw(run: str, story: str) -> None:
    """The open questions of a story that was begun anew: nobody is asked them any more."""
    for path, question in questions_of(run)[0]:
        if question.story == story and question.answer is None:
            with locked(_lock(os.path.dirname(path))), suppress(ConflictError):  # somebody has just answered
                _record(path, _unanswered(path), WITHDRAWN, By.US, time.time())


def _unanswered(path: str) -> Question:
    question = read_question(path, _id(os.path.basename(path)))
    if question is None:
        raise FileError("no such question", place=Place(path), hint="bmad questions")
    if question.answer is not None:
        raise ConflictError(
            f"question {question.id} of {question.story} has been answered",
            place=Place(path),
            found=question.answer,
            hint="bmad questions shows what is still open",
        )
    return question


def _record(path: str, question: Question, text: str, by: By, now: float) -> Question:
    done = question._replace(answer=text, answered_at=round(now, 3), by=by)  # as it will be read back
    write_object(path, to_json(done))
    return done


def deliver(question: Question) -> bool:
    """Write the answer into the file the agent has asked in, for the next one to read there. False: it was not
    asked there, or the file is gone. Doing it twice changes nothing."""
    path, id = question.state_file, question.state_id
    if question.answer is None or not path.endswith(".agent-state.json"):
        return False
    state = read_agent_state(path)
    # Another agent may have asked something else there since, under the same id.
    same = state and any(one.id == id and _as_kept(one.question) == question.question for one in state.questions)
    return bool(same) and write_answer(path, id, question.answer)


def _redacted(question: Question) -> Question:
    """Its texts come from agents and from logs. Before they are cut: half a secret would not be recognised."""
    from ..agents.shim.redaction import redact

    return question._replace(
        question=redact(question.question),
        context=redact(question.context),
        options=tuple(map(redact, question.options)),
        recommended=redact(question.recommended) if question.recommended else None,
        reason=redact(question.reason),
        because=redact(question.because),
        labels=tuple(map(redact, question.labels)),
    )


def _as_kept(text: str) -> str:
    """A question of an agent's, as `ask` has written it down."""
    from ..agents.shim.redaction import redact

    return cleaned(redact(text))


def _with_recommended_option(question: Question) -> Question:
    """An agent may recommend `A`, or 2."""
    meant = option_meant(question.options, question.recommended or "") if question.recommended else None
    return question._replace(recommended=meant) if meant else question


def _files(folder: str) -> list[tuple[str, str]]:
    """Path and id of each question's file. What a killed writer left beside them has another name."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [(os.path.join(folder, name), _id(name)) for name in names if _FILE.fullmatch(name)]


def _id(name: str) -> str:
    match = _FILE.fullmatch(name)
    if match is None:
        raise FileError("is no question's file", place=Place(name), expected="questions/001.json")
    return f"q{int(match[1])}"


def _lock(folder: str) -> str:
    return os.path.join(folder, "lock")
