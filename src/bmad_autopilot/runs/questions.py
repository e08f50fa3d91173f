"""Asks, lists and answers the questions of runs. Each is a file, is asked once and answered once."""

import os
import re
import time
from contextlib import suppress
from typing import NamedTuple

from ..core.errors import ConflictError, Diagnostic, FileError, Location, Severity, UsageError
from ..io.files import hold_lock, refuse_links
from ..io.json_files import write_json_object
from .agent_state import read_agent_state, write_answer
from .index import Run, unfinished_runs
from .question_file import (
    AnswerSource,
    RunQuestion,
    answer_problem,
    clip_question,
    match_option,
    normalise_answer,
    question_to_json,
    read_question,
    sanitise_text,
)

FOLDER = "questions"
WITHDRAWN = "(withdrawn: the story was begun anew)"
MAX_QUESTIONS = 999  # per run

_FILE = re.compile(r"([0-9]{3})\.json")


class PendingQuestion(NamedTuple):
    """An open question, its run and its file."""

    run: Run
    question: RunQuestion
    path: str


class Inbox(NamedTuple):
    pending: list[PendingQuestion]  # open questions, oldest first
    diagnostics: list[Diagnostic]  # unreadable files

    @property
    def next_per_story(self) -> list[PendingQuestion]:
        """The oldest open question per story of a run; the others wait until it is answered."""
        by_story = {(asked.run.id, asked.question.story): asked for asked in reversed(self.pending)}
        return list(by_story.values())[::-1]

    def runs_asking(self, story: str) -> list[Run]:
        """Newest first: that is the run `bmad resume` resumes. A run and its fork may both ask."""
        runs = {asked.run.id: asked.run for asked in self.pending if asked.question.story == story}
        return sorted(runs.values(), key=lambda run: run.last_activity, reverse=True)


def ask_question(run: str, question: RunQuestion, now: float) -> RunQuestion:
    """Stores a question once: after a crash between asking and recording it, the existing question is returned,
    possibly with its answer."""
    wanted = _with_recommended_option(clip_question(_redacted(question)))
    folder = os.path.join(run, FOLDER)
    refuse_links(run, folder)
    os.makedirs(folder, exist_ok=True)
    with hold_lock(_lock_path(folder)):
        for path, id in _question_files(folder):
            with suppress(FileError):
                there = read_question(path, id)
                if there is not None and there.key == wanted.key:
                    return there
        number = max((int(id[1:]) for _, id in _question_files(folder)), default=0) + 1
        if number > MAX_QUESTIONS:
            raise ConflictError(f"this run has asked {MAX_QUESTIONS} questions", location=Location(folder))
        asked = wanted._replace(id=f"q{number}", asked_at=round(now, 3))
        write_json_object(os.path.join(folder, f"{number:03}.json"), question_to_json(asked))
        return asked


def questions_of(run: str) -> tuple[list[tuple[str, RunQuestion]], list[Diagnostic]]:
    """Every question of a run in order, with its path; and diagnostics for unreadable files."""
    found, broken = [], []
    for path, id in _question_files(os.path.join(run, FOLDER)):
        try:
            question = read_question(path, id)
        except FileError as error:
            location, hint = error.location or Location(path), f"remove it: rm {path}; the run asks again"
            broken.append(Diagnostic(Severity.WARNING, "question-file", error.message, location, hint))
            continue
        if question is not None:
            found.append((path, question))
    return found, broken


def open_questions(run: str) -> list[RunQuestion]:
    return [question for _, question in questions_of(run)[0] if question.answer is None]


def load_inbox(runs: str) -> Inbox:
    asked, broken = [], []
    for run in unfinished_runs(runs):
        found, odd = questions_of(run.folder)
        asked += [PendingQuestion(run, question, path) for path, question in found if question.answer is None]
        broken += odd
    asked.sort(key=lambda one: (one.question.asked_at, one.run.id, one.path))
    return Inbox(asked, broken)


def record_answer(path: str, text: str, by: AnswerSource, now: float | None = None) -> RunQuestion:
    """Records an answer once. Raises UsageError, and changes nothing, if it breaks the rules."""
    with hold_lock(_lock_path(os.path.dirname(path))):
        question = _read_unanswered(path)
        problem = answer_problem(question, text)
        if problem:
            raise UsageError(problem)
        return _record(path, question, normalise_answer(question, text), by, time.time() if now is None else now)


def withdraw_questions(run: str, story: str) -> None:
    """Closes the open questions of a story that was restarted."""
    for path, question in questions_of(run)[0]:
        if question.story == story and question.answer is None:
            with (
                hold_lock(_lock_path(os.path.dirname(path))),
                suppress(ConflictError),
            ):  # just answered by the user
                _record(path, _read_unanswered(path), WITHDRAWN, AnswerSource.AUTOPILOT, time.time())


def _read_unanswered(path: str) -> RunQuestion:
    question = read_question(path, _question_id(os.path.basename(path)))
    if question is None:
        raise FileError("no such question", location=Location(path), hint="bmad questions")
    if question.answer is not None:
        raise ConflictError(
            f"question {question.id} of {question.story} has been answered",
            location=Location(path),
            found=question.answer,
            hint="bmad questions shows what is still open",
        )
    return question


def _record(path: str, question: RunQuestion, text: str, by: AnswerSource, now: float) -> RunQuestion:
    done = question._replace(answer=text, answered_at=round(now, 3), by=by)  # as it will be read back
    write_json_object(path, question_to_json(done))
    return done


def deliver_answer(question: RunQuestion) -> bool:
    """Writes the answer into the agent-state file it was asked in, for the next agent to read. False if it was not
    asked there or the file is gone. Idempotent."""
    path, id = question.state_file, question.state_id
    if question.answer is None or not path.endswith(".agent-state.json"):
        return False
    state = read_agent_state(path)
    # Another agent may have asked something else there since, under the same id.
    same = state and any(
        one.id == id and _as_recorded(one.question) == question.question for one in state.questions
    )
    return bool(same) and write_answer(path, id, question.answer)


def _redacted(question: RunQuestion) -> RunQuestion:
    """Redacts texts from agents and logs before truncation: half a secret would not be recognised."""
    from ..agents.shim.redact import redact

    return question._replace(
        question=redact(question.question),
        context=redact(question.context),
        options=tuple(map(redact, question.options)),
        recommended=redact(question.recommended) if question.recommended else None,
        reason=redact(question.reason),
        because=redact(question.because),
        labels=tuple(map(redact, question.labels)),
    )


def _as_recorded(text: str) -> str:
    """An agent's question text as `ask_question` stores it."""
    from ..agents.shim.redact import redact

    return sanitise_text(redact(text))


def _with_recommended_option(question: RunQuestion) -> RunQuestion:
    """Expands a recommendation such as `A` or 2 to the full option."""
    meant = match_option(question.options, question.recommended or "") if question.recommended else None
    return question._replace(recommended=meant) if meant else question


def _question_files(folder: str) -> list[tuple[str, str]]:
    """Path and id of each question file. Temporary files of a killed writer have other names."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [(os.path.join(folder, name), _question_id(name)) for name in names if _FILE.fullmatch(name)]


def _question_id(name: str) -> str:
    match = _FILE.fullmatch(name)
    if match is None:
        raise FileError("is no question's file", location=Location(name), expected="questions/001.json")
    return f"q{int(match[1])}"


def _lock_path(folder: str) -> str:
    return os.path.join(folder, "lock")
