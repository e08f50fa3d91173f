"""Reads and answers `{story_key}.agent-state.json`, the file in which an agent asks questions.

Agents write it from memory, on any system: with other key names, a question as plain text, or fields missing. The
reader accepts every form it can understand."""

import os
from typing import NamedTuple

from ..core.errors import FileError, Location
from ..io.json_files import JsonObject, as_list, as_text, read_json_object, write_json_object

MAX_QUESTIONS = 50
MAX_ARTIFACTS = 1000

_QUESTION_KEYS = ("question", "text", "prompt", "title")
_OPTIONS_KEYS = ("options", "choices", "alternatives")
_RECOMMENDED_KEYS = ("recommended", "recommendation", "recommendedOption", "default")
_OPTION_TEXT_KEYS = ("option", "label", "text", "title", "name", "value", "description", "id")


class AgentQuestion(NamedTuple):
    id: str
    question: str
    context: str = ""
    options: tuple[str, ...] = ()
    recommended: str | None = None
    answer: str | None = None


class AgentState(NamedTuple):
    story_key: str = ""
    phase: str = ""
    last_completed_step: str = ""
    blocked_at: str = ""
    block_reason: str = ""
    questions: tuple[AgentQuestion, ...] = ()
    artifacts_produced: tuple[str, ...] = ()

    @property
    def open_questions(self) -> tuple[AgentQuestion, ...]:
        return tuple(question for question in self.questions if question.answer is None)


def read_agent_state(path: str) -> AgentState | None:
    """None if there is no file. Raises FileError if it is not a JSON object: an agent has tried to report
    something."""
    data = read_json_object(path)
    if data is None:
        return None
    artifacts = as_list(_get_either_case(data, "artifactsProduced"))[:MAX_ARTIFACTS]
    return AgentState(
        as_text(_get_either_case(data, "storyKey")),
        as_text(_get_either_case(data, "phase")),
        as_text(_get_either_case(data, "lastCompletedStep")),
        as_text(_get_either_case(data, "blockedAt")),
        as_text(_get_either_case(data, "blockReason")),
        tuple(question for question in map(_parse_question, _normalise_questions(data)) if question.question),
        tuple(path for path in map(_artifact_path, artifacts) if path),
    )


def write_answer(path: str, id: str, answer: str) -> bool:
    """Keeps every other key. False if there is no such file, or no such question in it."""
    data = read_json_object(path)
    if data is None:
        return False
    questions = _normalise_questions(data)
    found = next((question for question in questions if question["id"] == id), None)
    if found is None:
        return False
    if found.get("answer") != answer:
        found["answer"] = answer
        write_json_object(path, {**data, "questions": questions})
    return True


def clear_agent_state(path: str) -> None:
    """Called when a step succeeds, so that an old question is not taken for a new one."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise FileError(f"cannot be removed: {error.strerror}", location=Location(path)) from None


def _normalise_questions(data: JsonObject) -> list[JsonObject]:
    """Every question as an object with a unique id, whatever form the file has."""
    found = _get_either_case(data, "questions")
    if isinstance(found, dict):
        named = not any(key in found for key in _QUESTION_KEYS)
        found = [_with_id(inner, name) for name, inner in found.items()] if named else [found]
    questions: dict[str, JsonObject] = {}
    for number, item in enumerate(as_list(found)[:MAX_QUESTIONS], 1):
        question = item if isinstance(item, dict) else {"question": as_text(item)}
        id = as_text(question.get("id")).strip()
        while not id or id in questions:
            id, number = f"q{number}", number + 1
        questions[id] = {**question, "id": id, "answer": question.get("answer")}
    return list(questions.values())


def _with_id(value: object, id: str) -> JsonObject:
    return {**value, "id": id} if isinstance(value, dict) else {"id": id, "question": as_text(value)}


def _parse_question(data: JsonObject) -> AgentQuestion:
    options = _first_present(data, _OPTIONS_KEYS)
    listed = [f"{name}) {as_text(text)}" for name, text in options.items()] if isinstance(options, dict) else None
    answer = data.get("answer")
    return AgentQuestion(
        data["id"],
        as_text(_first_present(data, _QUESTION_KEYS)).strip(),
        as_text(data.get("context")),
        tuple(filter(None, listed if listed is not None else map(_option_text, as_list(options)))),
        as_text(_first_present(data, _RECOMMENDED_KEYS)) or None,
        as_text(answer).strip() or None,
    )


def _option_text(value: object) -> str:
    return as_text(_first_present(value, _OPTION_TEXT_KEYS) if isinstance(value, dict) else value).strip()


def _artifact_path(value: object) -> str:
    """Uses forward slashes: some agents run on Windows."""
    return as_text(value.get("path") if isinstance(value, dict) else value).strip().replace("\\", "/")


def _first_present(data: JsonObject, names: tuple[str, ...]) -> object:
    return next((data[name] for name in names if data.get(name) not in (None, "")), None)


def _get_either_case(data: JsonObject, name: str) -> object:
    """Looks up the camelCase name, then its snake_case form."""
    if name in data:
        return data[name]
    return data.get("".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name))
