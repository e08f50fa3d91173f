"""A run's question in full: what is asked, what it is about, what can be said."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..runs.answering import are_numbered
from ..runs.question import Question, bounded

_WORDS = {
    "retry": "try again",
    "skip": "set the story to blocked and go on with the next",
    "fix": "fix it manually; the run waits for you",
    "abort": "end the run",
    "more": "allow as much again",
    "approve": "take it as it is",
    "stop": "end the run",
    "mine": "yes; leave the board as it is",
    "undo": "no; set them back",
    "close": "close the epic without them",
    "leave": "leave the epic open",
}


def asked_in(data: Mapping[str, Any]) -> Question:
    """The question of a journal's `asked`."""
    options = tuple(str(option) for option in data.get("options") or ())
    recommended = str(data.get("recommended") or "") or None
    story, text, context = (str(data.get(name) or "") for name in ("story", "text", "context"))
    return bounded(Question(story, "", 0, text, context, options, recommended))


def question_lines(asked: Question, *, ours: bool) -> Iterator[str]:
    """`ours`: put by us, with options of one word each, of which the first letter is enough."""
    yield from asked.question.expandtabs(4).split("\n")
    yield from (f"  {line}" for line in asked.context.expandtabs(4).split("\n") if line.strip())
    numbered = are_numbered(asked.options)
    for number, option in enumerate(asked.options, 1):
        mark = _letter(asked.options, option) if ours else f"{number}" if numbered else "-"
        said = f"  {_WORDS[option]}" if ours and option in _WORDS else ""
        recommended = "  (recommended)" if option == asked.recommended else ""
        yield f"  {mark}  {option}{said}{recommended}"
    if asked.recommended and asked.recommended not in asked.options:
        yield f"  recommended: {asked.recommended}"


def _letter(options: tuple[str, ...], option: str) -> str:
    """`[r]`, where that letter begins no other option."""
    same = sum(other[:1] == option[:1] for other in options)
    return f"[{option[:1]}]" if same == 1 else f"[{option}]"
