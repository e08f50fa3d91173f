"""Variables of a workflow: what they may be called, how much they may hold, and how they get into words.

A step hands them on as one JSON object in a file, so that no value is ever part of a script or of a path."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..core.errors import UsageError
from ..project.placeholders import fill

MAX_VARIABLES = 200
MAX_VALUE = 16_000  # characters of JSON: the journal cuts a longer text off
MAX_ALL = 32_000

_NAME = re.compile(r"[a-z_][a-z0-9_]{0,63}")
NAME_RULE = "small letters, digits and _, 64 at most"

Variables = Mapping[str, Any]


def is_name(word: str) -> bool:
    return _NAME.fullmatch(word) is not None


def given_variables(pairs: Iterable[str]) -> dict[str, str]:
    """`--var depth=2`, as often as there are variables; the last one of a name counts."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not is_name(name):
            raise UsageError(
                "--var needs a name and a value",
                found=pair[:60],
                expected=f"NAME=VALUE, the name in {NAME_RULE}",
            )
        found[name] = value
    problem = fault_of(found)
    if problem:
        raise UsageError(f"--var: {problem}")
    return found


def read_variables(raw: bytes) -> dict[str, Any]:
    """What a step left. ValueError: what is wrong with it, for whoever left it."""
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        raise ValueError("it is not valid JSON") from None
    if not isinstance(data, dict):
        raise ValueError("it is not a JSON object")
    problem = fault_of(data)
    if problem:
        raise ValueError(problem)
    return data


def fault_of(variables: Variables) -> str:
    """Empty, or why these cannot be a run's variables."""
    if len(variables) > MAX_VARIABLES:
        return f"{len(variables)} variables are too many: {MAX_VARIABLES} at most"
    odd = next((name for name in variables if not is_name(name)), None)
    if odd is not None:
        return f"{odd[:60]!r} is no variable's name: {NAME_RULE}"
    sizes = {name: len(as_json(value)) for name, value in variables.items()}
    large = next((name for name, size in sizes.items() if size > MAX_VALUE), None)
    if large is not None:
        return f"{large} is too long: {MAX_VALUE} characters at most; leave a file's path instead"
    if sum(sizes.values()) > MAX_ALL:
        return f"they are too long together: {MAX_ALL} characters at most; leave a file's path instead"
    if any("\\u0000" in as_json(value) for value in variables.values()):
        return "a value holds a NUL character"
    return ""


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)


def as_text(value: Any) -> str:
    """A text is itself, anything else its JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def filled(words: Iterable[str], variables: Variables) -> tuple[str, ...]:
    """Each word stays one word. One without a value stays as it is."""
    return tuple(
        fill(word, lambda name: as_text(variables[name]) if name in variables else f"{{{name}}}") for word in words
    )
