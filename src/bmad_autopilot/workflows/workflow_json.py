"""A workflow as JSON: a run keeps the one it began with, whatever becomes of the settings."""

from typing import Any, cast

from ..core.errors import FileError, Place
from ..core.owes import Owes
from .pipelines import FlowPart, Gate, Step, Workflow

MAX_STEPS = 100  # of a file of steps; a story's workflow has fewer

_TEXTS = ("skill", "prompt", "before", "after")
_FLAGS = ("clean", "fresh", "shell", "checkpoint")
_LISTS = ("command", "persist")


def workflow_to_json(workflow: Workflow) -> dict[str, object]:
    steps = [_to_json(step) for step in workflow.steps]
    return {"name": workflow.name, "steps": steps, "fix": _to_json(workflow.fix)}


def _to_json(step: Step) -> dict[str, object]:
    """Runs that are no flow's are written as they ever were."""
    data = step._asdict()
    part = data.pop("flow")
    if part is not None:
        data["flow"] = {**part._asdict(), "gate": part.gate._asdict() if part.gate else None}
    return data


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
    flow = _flow_part(table.get("flow"), f"{what}'s place in the flow", place)
    return step._replace(flow=flow, **cast(dict[str, Any], {**texts, **flags, **lists}))


def _flow_part(data: object, what: str, place: Place | None) -> FlowPart | None:
    if data is None:
        return None
    table = _table(data, what, place)
    defaults = FlowPart._field_defaults
    known: dict[str, Any] = {}
    for key in (key for key in FlowPart._fields if key in table and key != "gate"):
        value, usual = table[key], defaults.get(key, 0)
        if isinstance(usual, tuple):
            value = _words(value, f"{what}: {key}", place)
        elif type(value) is not type(usual):
            raise _refusal(f"{what}: {key}", value, type(usual).__name__, place)
        known[key] = value
    if "number" not in known:
        raise _refusal(f"{what}: number", None, "a number", place)
    return FlowPart(**known, gate=_gate(table.get("gate"), f"{what}: gate", place))


def _gate(data: object, what: str, place: Place | None) -> Gate | None:
    if data is None:
        return None
    table = _table(data, what, place)
    texts = {key: _name(table, key, what, place) for key in ("ask", "again", "go_on")}
    more = {key: str(table[key]) for key in ("recommended", "because") if table.get(key)}
    return Gate(**texts, **more, passed=_words(table.get("passed", ()), f"{what}'s passed", place))


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
