"""`{story_key}.agent-state.json`: how an agent asks, and where it finds the answer.

Agents write it from memory, on any system: other names for the keys, a question as a bare text, nothing where
something should be. Whatever can be understood is."""

import os
from typing import NamedTuple

from ..core.errors import FileError, Place
from .json_files import Object, list_of, read_object, text_of, write_object

MAX_QUESTIONS = 50
MAX_ARTIFACTS = 1000

_TEXTS = ("question", "text", "prompt", "title")
_OPTIONS = ("options", "choices", "alternatives")
_RECOMMENDED = ("recommended", "recommendation", "recommendedOption", "default")
_OPTION_TEXTS = ("option", "label", "text", "title", "name", "value", "description", "id")


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
    def open(self) -> tuple[AgentQuestion, ...]:
        return tuple(question for question in self.questions if question.answer is None)


def read_agent_state(path: str) -> AgentState | None:
    """None where there is none. A FileError where it is no JSON object: an agent has tried to say something."""
    data = read_object(path)
    if data is None:
        return None
    artifacts = list_of(_get(data, "artifactsProduced"))[:MAX_ARTIFACTS]
    return AgentState(
        text_of(_get(data, "storyKey")),
        text_of(_get(data, "phase")),
        text_of(_get(data, "lastCompletedStep")),
        text_of(_get(data, "blockedAt")),
        text_of(_get(data, "blockReason")),
        tuple(question for question in map(_question, _questions(data)) if question.question),
        tuple(path for path in map(_path, artifacts) if path),
    )


def write_answer(path: str, id: str, answer: str) -> bool:
    """Every other key stays. False: there is no such file, or no such question in it."""
    data = read_object(path)
    if data is None:
        return False
    questions = _questions(data)
    found = next((question for question in questions if question["id"] == id), None)
    if found is None:
        return False
    if found.get("answer") != answer:
        found["answer"] = answer
        write_object(path, {**data, "questions": questions})
    return True


def clear(path: str) -> None:
    """When a step succeeds, so that nobody takes an old question for a new one."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise FileError(f"cannot be removed: {error.strerror}", place=Place(path)) from None


def _questions(data: Object) -> list[Object]:
    """Each as an object with an id of its own, in place of whatever stands there."""
    found = _get(data, "questions")
    if isinstance(found, dict):
        named = not any(key in found for key in _TEXTS)
        found = [_with_id(inner, name) for name, inner in found.items()] if named else [found]
    questions: dict[str, Object] = {}
    for number, item in enumerate(list_of(found)[:MAX_QUESTIONS], 1):
        question = item if isinstance(item, dict) else {"question": text_of(item)}
        id = text_of(question.get("id")).strip()
        while not id or id in questions:
            id, number = f"q{number}", number + 1
        questions[id] = {**question, "id": id, "answer": question.get("answer")}
    return list(questions.values())


def _with_id(value: object, id: str) -> Object:
    return {**value, "id": id} if isinstance(value, dict) else {"id": id, "question": text_of(value)}


def _question(data: Object) -> AgentQuestion:
    options = _first(data, _OPTIONS)
    listed = [f"{name}) {text_of(text)}" for name, text in options.items()] if isinstance(options, dict) else None
    answer = data.get("answer")
    return AgentQuestion(
        data["id"],
        text_of(_first(data, _TEXTS)).strip(),
        text_of(data.get("context")),
        tuple(filter(None, listed if listed is not None else map(_option, list_of(options)))),
        text_of(_first(data, _RECOMMENDED)) or None,
        text_of(answer).strip() or None,
    )


def _option(value: object) -> str:
    return text_of(_first(value, _OPTION_TEXTS) if isinstance(value, dict) else value).strip()


def _path(value: object) -> str:
    """With forward slashes: some agents work on Windows."""
    return text_of(value.get("path") if isinstance(value, dict) else value).strip().replace("\\", "/")


def _first(data: Object, names: tuple[str, ...]) -> object:
    return next((data[name] for name in names if data.get(name) not in (None, "")), None)


def _get(data: Object, name: str) -> object:
    """By its name, or by that in snake case."""
    if name in data:
        return data[name]
    return data.get("".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name))
