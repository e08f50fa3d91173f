"""A workflow as JSON: a run keeps the one it began with, whatever becomes of the settings."""

from typing import Any, cast

from ..core.errors import FileError, Place
from ..core.owes import Owes
from .pipelines import Step, Workflow

MAX_STEPS = 100  # of a file of steps; a story's workflow has fewer

_TEXTS = ("skill", "prompt", "before", "after")
_FLAGS = ("clean", "fresh", "shell", "checkpoint")
_LISTS = ("command", "persist")


def workflow_to_json(workflow: Workflow) -> dict[str, object]:
    steps = [step._asdict() for step in workflow.steps]
    return {"name": workflow.name, "steps": steps, "fix": workflow.fix._asdict()}


def workflow_from_json(data: object, place: Place | None = None) -> Workflow:
    """What another version added is passed over, and what it left out has its default; `place` is named where the
    rest is no workflow."""
    whole = _table(data, "the workflow", place)
    steps = whole.get("steps")
    if not isinstance(steps, list) or not 0 < len(steps) <= MAX_STEPS:
        raise _refusal("the workflow's steps", steps, f"a list of 1 to {MAX_STEPS}", place)
    return Workflow(
        _name(whole, "name", "the workflow", place),
        tuple(_step(step, f"step {number}", place) for number, step in enumerate(steps, 1)),
        _step(whole.get("fix"), "the fix", place),
    )


def _step(data: object, what: str, place: Place | None) -> Step:
    table = _table(data, what, place)
    texts = {key: table[key] for key in _TEXTS if table.get(key) is not None}
    flags = {key: table[key] for key in _FLAGS if key in table}
    for kind, values in ((str, texts), (bool, flags)):
        for key, value in values.items():
            if not isinstance(value, kind):
                raise _refusal(f"{what}'s {key}", value, "a text" if kind is str else "true or false", place)
    lists = {key: _words(table[key], f"{what}'s {key}", place) for key in _LISTS if key in table}
    owes = table.get("owes", Owes.NOTHING)
    if owes not in tuple(Owes):
        raise _refusal(f"what {what} owes", owes, ", ".join(Owes), place)
    step = Step(_name(table, "name", what, place), _name(table, "role", what, place), owes=Owes(str(owes)))
    return step._replace(**cast(dict[str, Any], {**texts, **flags, **lists}))


def _words(value: object, what: str, place: Place | None) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
        raise _refusal(what, value, "a list of texts", place)
    return tuple(value)


def _table(data: object, what: str, place: Place | None) -> dict[str, object]:
    if not isinstance(data, dict):
        raise _refusal(what, data, "an object", place)
    return data


def _name(table: dict[str, object], key: str, what: str, place: Place | None) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise _refusal(f"{what}'s {key}", value, "a text", place)
    return value


def _refusal(what: str, found: object, expected: str, place: Place | None) -> FileError:
    shown = "nothing" if found is None else repr(found)[:60]
    return FileError(f"{what} cannot be read", place=place, found=shown, expected=expected)
