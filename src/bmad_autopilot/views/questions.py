"""Questions that wait for a human, with all it takes to answer them."""

from collections.abc import Iterator
from typing import NamedTuple

from ..core.commands import command
from ..runs.answering import are_numbered
from ..runs.question import Kind, Question
from ..runs.supervisor import Owner, described
from .calls import span
from .interventions import head, option_lines
from .terminal import Terminal, clean, cut, display_width, wrap

MOST_LINES = 12  # of a context, in a list


class Waiting(NamedTuple):
    question: Question
    run: str
    seconds: float  # since it was asked
    more: int = 0  # questions of this story that come after it
    several: bool = False  # another run asks about this story too

    @property
    def command(self) -> str:
        """With what an answer could be: the recommended option, the first, or a place for words."""
        asked = self.question
        run = ("--run", self.run) if self.several else ()
        if asked.kind is Kind.INTERVENTION:
            return command("intervene", asked.story, asked.recommended or asked.options[0], *run)
        if not asked.options:
            return command("answer", asked.story, "your answer", *run)
        chosen = asked.recommended if asked.recommended in asked.options else asked.options[0]
        if are_numbered(asked.options):
            chosen = str(asked.options.index(chosen) + 1)
        return command("answer", asked.story, chosen, *run)


class QuestionsView(NamedTuple):
    waiting: list[Waiting]
    owner: Owner | None
    broken: list[str]  # files that cannot be read
    then: str  # what goes on with their runs, where nobody does


def render(view: QuestionsView, out: Terminal) -> Iterator[str]:
    for waiting in view.waiting:
        yield from one(waiting, out, MOST_LINES)
        yield f"  {out.style('→', 'cyan')} {clean(waiting.command)}"
        yield ""
    for problem in view.broken:
        first, *more = _fit(f"! {clean(problem)}", out, "  ")
        yield out.style(first[0], "yellow") + first[1:]
        yield from more
    yield from _fit(_summary(view), out, "  ")


def one(waiting: Waiting, out: Terminal, most: int | None = None) -> Iterator[str]:
    """A question with its context and its options."""
    asked = waiting.question
    is_choice = asked.kind is Kind.INTERVENTION
    words = [asked.step, "" if is_choice else asked.reason, f"waits {span(waiting.seconds)}"]
    if waiting.more:
        words.append(f"{waiting.more} more after it")
    story, details = (
        clean(head(asked) if is_choice else asked.story),
        " · ".join(clean(word) for word in words if word),
    )
    if out.is_terminal and display_width(story) + 2 + display_width(details) > out.width:
        yield out.style(cut(story, out.width), "bold")
        yield from (out.style(line, "dim") for line in wrap(f"  {details}", out.width, "  "))
    else:
        yield f"{out.style(story, 'bold')}  {out.style(details, 'dim')}"
    question = _text(asked.question, out, None)
    if not is_choice:
        yield from question
    for line in _text(asked.context, out, most):
        yield out.style(line, "dim")
    if is_choice:
        yield from question
        yield from (text for line in option_lines(asked) for text in _fit(f"  {clean(line)}", out, " " * 6))
    else:
        yield from _options(asked, out)


def _options(asked: Question, out: Terminal) -> Iterator[str]:
    numbered = are_numbered(asked.options)
    for number, option in enumerate(asked.options, 1):
        mark = f"{number:>2}  " if numbered else " -  "
        recommended = "  (recommended)" if option == asked.recommended else ""
        yield from _fit(f"    {mark}{clean(option)}{recommended}", out, " " * 8)
    if asked.recommended and asked.recommended not in asked.options:
        yield from _fit(f"    recommended: {clean(asked.recommended)}", out, " " * 6)


def _text(text: str, out: Terminal, most: int | None) -> Iterator[str]:
    lines = text.expandtabs(4).split("\n") if text else []
    for line in lines[:most]:
        yield from _fit(f"  {clean(line)}", out, "  ")
    if most is not None and len(lines) > most:
        yield f"  … {len(lines) - most} more lines"


def _fit(text: str, out: Terminal, indent: str) -> list[str]:
    return wrap(text, out.width, indent) if out.is_terminal else [text]


def _summary(view: QuestionsView) -> str:
    count = len(view.waiting)
    if not count:
        return "no question is open"
    head = f"{count} question{'s' * (count != 1)} open"
    if view.owner is None:
        return f"{head}; nobody is at work here: answer, then {view.then}"
    return f"{head}; {clean(described(view.owner))} goes on by itself when it is answered"


def document(view: QuestionsView) -> dict[str, object]:
    return {
        "version": 1,
        "kind": "questions",
        "questions": [_question_document(waiting) for waiting in view.waiting],
        "supervisor": view.owner._asdict() if view.owner else None,
        "broken": view.broken,
    }


_SHOWN = (
    "id",
    "story",
    "step",
    "attempt",
    "asked_at",
    "question",
    "context",
    "recommended",
    "reason",
    "kind",
    "source",
    "cause",
    "because",
    "about",
)


def _question_document(waiting: Waiting) -> dict[str, object]:
    asked = waiting.question
    return {
        **{name: getattr(asked, name) for name in _SHOWN},
        "options": list(asked.options),
        "run": waiting.run,
        "seconds": round(waiting.seconds, 3),
        "more": waiting.more,
        "command": waiting.command,
    }
