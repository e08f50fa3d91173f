"""Why the loop did what it did: the facts that were not as usual, and the row of the table that fitted."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..core.rules import Rule
from ..core.table import TABLE
from ..runs.decisions import Decision
from ..runs.times import iso
from .figures import clock
from .log_lines import fit
from .terminal import Terminal, clean

MOST = 100

_RULES = {rule.name: rule for rule in TABLE}


class WhyView(NamedTuple):
    run: str
    decisions: list[Decision]
    steps: tuple[str, ...]  # those one can ask for


def render(view: WhyView, out: Terminal) -> Iterator[str]:
    first = view.decisions[0]
    about = f"step {first.step} {first.name}" if first.step else "before the first step"
    story = f" of {first.story}" if first.story and first.step else ""
    yield from (out.style(line, "bold") for line in fit(clean(f"{view.run}: {about}{story}"), out, "  "))
    for one in view.decisions[-MOST:]:
        yield ""
        yield from _decision(one, out)
    yield ""
    yield from fit(
        "the rows are tried from the top, the first that fits counts: docs/loop.md has them all", out, ""
    )


def _decision(one: Decision, out: Terminal) -> Iterator[str]:
    rule = _RULES.get(one.rule)
    action = does(rule) if rule else f"{one.did}, by a row that this version has no more"
    lines = fit(clean(f"{clock(one.at)}  {one.rule} → {action}"), out, " " * 10)
    yield out.style(lines[0][:8], "dim") + lines[0][8:]
    yield from lines[1:]
    if rule:
        yield from fit(" " * 10 + f"row    {when(rule) or 'nothing above it fitted'}", out, " " * 17)
    facts = ", ".join(f"{name}: {_word(value)}" for name, value in one.facts.items())
    yield from fit(" " * 10 + f"facts  {clean(facts) or 'all as usual'}", out, " " * 17)


def does(rule: Rule) -> str:
    words = rule.action.value.replace("-", " ")
    return f"{words} ({rule.question})" if rule.question else words


def when(rule: Rule) -> str:
    """`call is good, row is due`."""
    return ", ".join(
        f"{name} is {' or '.join(_word(value) for value in values)}" for name, values in rule.when.items()
    )


def _word(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def document(view: WhyView) -> dict[str, object]:
    return {
        "version": 1,
        "kind": "why",
        "run": view.run,
        "steps": list(view.steps),
        "decisions": [_document(one) for one in view.decisions],
    }


def _document(one: Decision) -> dict[str, object]:
    rule = _RULES.get(one.rule)
    conditions: Mapping[str, list[object]] = (
        {name: list(values) for name, values in rule.when.items()} if rule else {}
    )
    return {
        "at": iso(one.at),
        "step": one.step,
        "name": one.name,
        "story": one.story,
        "rule": one.rule,
        "action": rule.action.value if rule else None,
        "question": rule.question or None if rule else None,
        "when": conditions,
        "facts": dict(one.facts),
        "did": one.did,
    }
