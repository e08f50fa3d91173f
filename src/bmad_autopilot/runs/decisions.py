"""The decisions of a run, as its journal has them: which row of the table, and the facts that were not as usual.
Pure."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .journal_lines import Entry
from .json_files import number_of, text_of


class Decision(NamedTuple):
    at: float
    step: int  # 0: before the first
    name: str  # of the step
    story: str
    rule: str
    facts: Mapping[str, Any]
    did: str  # the kind of the entry that came of it


def decisions(entries: Iterable[Entry]) -> list[Decision]:
    found = []
    step, name, story = 0, "", ""
    for entry in entries:
        data = entry.data
        if entry.kind == "step":
            step, name = number_of(data.get("number")), text_of(data.get("step"))
        story = text_of(data.get("story")) or story
        made = data.get("decided")
        if isinstance(made, dict) and isinstance(made.get("facts", {}), dict):
            rule = text_of(made.get("rule"))
            found.append(Decision(entry.at, step, name, story, rule, made.get("facts", {}), entry.kind))
    return found


def of_step(found: list[Decision], wanted: str | None) -> list[Decision]:
    """Those of one step, by its number or its name (the last of that name); of the last one unless it is named."""
    if wanted is None:
        return [one for one in found if one.step == found[-1].step] if found else []
    if wanted.isdecimal():
        return [one for one in found if one.step == int(wanted[:9])]
    last = next((one.step for one in reversed(found) if one.name == wanted), None)
    return [one for one in found if one.step == last and last is not None]
