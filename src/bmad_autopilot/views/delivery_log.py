"""A delivery as a log: what was pushed, opened, answered and merged, and what is waited for."""

from collections.abc import Callable, Mapping
from typing import Any

from .log_lines import LogLine
from .words import clip, first_line

Data = Mapping[str, Any]

_STEP = "delivery"
_DONE: Mapping[str, Callable[[Data], tuple[str, str]]] = {
    "push": lambda data: ("pushed", str(data["key"])[:7]),
    "open-pull": lambda data: (f"#{data.get('number')} {'found' if data.get('found') else 'opened'}", ""),
    "reopen": lambda data: ("opened again", ""),
    "retarget": lambda data: ("goes to", str(data["key"])),
    "request-review": lambda data: ("review asked for", "of Copilot"),
    "no-review": lambda data: ("no review", "Copilot cannot be asked here: a person's approval is what counts"),
    "reply": lambda data: ("answered", "a review thread"),
    "resolve": lambda data: ("resolved", "a review thread"),
    "rerun": lambda data: ("checks run again", "as they are: it may pass"),
    "start-robot": lambda data: ("auto-approve started", "it is ready for that"),
    "enqueue": lambda data: ("in the merge queue", ""),
    "clear-branch": lambda data: ("moved", f"{_numbers(data)} to {data['base']}, which stood on its branch"),
    "merge-refused": lambda data: ("not merged", first_line(str(data.get("why", "")))),
}
_WHY = {
    "points": "reviewers want something",
    "red": "checks have failed there",
    "checks": "the project's own checks fail",
    "conflict": "the base has changed the same lines",
}


def delivery_lines(kind: str, data: Data, at: float) -> list[LogLine] | None:
    """None: not of a delivery."""
    tell = _KINDS.get(kind)
    if tell is None:
        return None
    return [LogLine(at, str(data.get("lane") or ""), _STEP, *words) for words in tell(data)]


Words = list[tuple[str, str, str]]  # word, text, colour


def _delivering(data: Data) -> Words:
    return [("its stories are over", f"{data.get('branch')} at {str(data['head'])[:7]}", "")]


def _did(data: Data) -> Words:
    if data.get("failed"):
        return [(f"{data['do']} failed", first_line(str(data.get("why", ""))), "red")]
    told = _DONE.get(str(data["do"]))
    if told is None or (data["do"] == "clear-branch" and not data.get("moved")):
        return []
    if data.get("refused"):
        return [(f"{data['do']} refused", first_line(str(data["refused"])), "yellow")]
    word, text = told(data)
    return [(word, text, "yellow" if data["do"] in ("merge-refused", "no-review") else "")]


def _numbers(data: Data) -> str:
    return ", ".join(f"#{number}" for number in data["moved"])


def _trouble(data: Data) -> Words:
    what = "too late" if data.get("raced") else "no answer"
    return [(f"{data['do']}: {what}", f"{first_line(str(data.get('why', '')))}; looked at again", "yellow")]


def _round(data: Data) -> Words:
    points, number = len(data.get("points", ())), str(data["story"]).rpartition("-")[2]
    why, some = str(data.get("why")), f": {points} point{'s' if points != 1 else ''}" if points else ""
    reasons = [_WHY.get(why, ""), *([_WHY["points"]] if some and why == "red" else [])]
    return [(f"round {number}", f"{', and '.join(reasons)}{some}", "yellow")]


def _base_taken(data: Data) -> Words:
    merged = f", {', '.join(data['semantic'])} by what they mean" if data.get("semantic") else ""
    return [("base taken in", f"{data.get('branch')} at {str(data.get('base'))[:7]}{merged}", "")]


def _foreign_taken(data: Data) -> Words:
    return [("taken in", "what others have put on its branch", "")]


def _merged(data: Data) -> Words:
    number = f"#{data['pull']} " if data.get("pull") else ""
    if data.get("proof") == "differs":
        return [("merged", f"{number}as {str(data['sha'])[:7]}, and not what was tested", "red")]
    return [
        ("merged", f"{number}into {data.get('base')} as {str(data['sha'])[:7]}, just what was tested", "green")
    ]


def _pending(data: Data) -> Words:
    number = f"#{data['pull']}: " if data.get("pull") else ""
    return [("waits", f"{number}{clip(first_line(str(data.get('why', ''))))}", "cyan")]


_KINDS: Mapping[str, Callable[[Data], Words]] = {
    "delivering": _delivering,
    "did": _did,
    "trouble": _trouble,
    "pull-round": _round,
    "base-taken": _base_taken,
    "foreign-taken": _foreign_taken,
    "merged": _merged,
    "pending": _pending,
}
