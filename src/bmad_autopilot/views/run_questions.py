"""A run's question in full: what is asked, what it is about, what can be said."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..runs.answering import are_numbered
from ..runs.question import Kind, Question, bounded
from .choosing import choose_lines
from .interventions import MARGIN, head, option_lines

_AGENTS = ("agent", "left-behind")


def asked_in(data: Mapping[str, Any], step: str = "") -> Question:
    """The question of a journal's `asked`."""
    options = tuple(str(option) for option in data.get("options") or ())
    recommended = str(data.get("recommended") or "") or None
    story, text, context = (str(data.get(name) or "") for name in ("story", "text", "context"))
    kind = Kind.QUESTION if data.get("code") in _AGENTS else Kind.INTERVENTION
    cause, because, about = (str(data.get(name) or "") for name in ("cause", "because", "about"))
    labels = tuple(str(label) for label in data.get("labels") or ())
    asked = Question(story, step, 0, text, context, options, recommended, kind=kind, labels=labels)
    return bounded(asked._replace(cause=cause, because=because, about=about or "story"))


def question_lines(asked: Question) -> Iterator[str]:
    if asked.labels:
        yield from choose_lines(asked)
        return
    if asked.kind is Kind.INTERVENTION:
        yield head(asked)
        yield from (f"{MARGIN}{line}" for line in _lines(asked.context))
        yield from (f"{MARGIN}{line}" for line in _lines(asked.question))
        yield from (f"{MARGIN}{line}" for line in option_lines(asked))
        return
    yield from asked.question.expandtabs(4).split("\n")
    yield from (f"  {line}" for line in _lines(asked.context))
    numbered = are_numbered(asked.options)
    for number, option in enumerate(asked.options, 1):
        recommended = "  (recommended)" if option == asked.recommended else ""
        yield f"  {number if numbered else '-'}  {option}{recommended}"
    if asked.recommended and asked.recommended not in asked.options:
        yield f"  recommended: {asked.recommended}"


def _lines(text: str) -> list[str]:
    return [line for line in text.expandtabs(4).split("\n") if line.strip()]
