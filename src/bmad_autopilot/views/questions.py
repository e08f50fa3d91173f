"""Renders open questions with their context, options and answer commands."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple

from ..core.errors import command
from ..core.json_types import Count, Keywords, Seconds, pick
from ..core.stop_causes import CAUSE_MENUS, Cause, StopKind
from ..core.text import printable
from ..runs.question_file import (
    MAX_OPTIONS,
    QuestionId,
    QuestionSource,
    QuestionSubject,
    RunQuestion,
    can_be_numbered,
    clip_question,
    option_letter,
)
from ..runs.supervisor_lock import LockOwner, describe_owner
from .agents import coarse_duration
from .terminal import Terminal, cut, display_width, wrap

# The decision block: a letter per option, and the recommendation.

RULE = "═" * 38


def decision_options(asked: RunQuestion) -> Iterator[str]:
    for index, (option, label) in enumerate(zip(asked.options, asked.labels, strict=False)):
        yield f"{option_letter(index)}) {label or option}"


def decision_lines(asked: RunQuestion) -> Iterator[str]:
    yield from (line for line in asked.context.expandtabs(4).split("\n") if line.strip())
    yield RULE
    yield f"DECISION REQUIRED: {asked.question}"
    yield RULE
    yield from decision_options(asked)
    yield RULE
    if asked.recommended in asked.options:
        letter = option_letter(asked.options.index(asked.recommended))
        yield f"Recommendation: {letter}" + (f" — {asked.because}" if asked.because else "")
        yield RULE


# The intervention menu of a stopped step: one letter per choice.

MARGIN = "    "

_WORDS = {
    "retry": "Retry story ({step} once more)",
    "skip": "Skip story (marked blocked, the epic goes on)",
    "fix": "Fix manually (you take over)",
    "extend": "Extend (as much time again)",
    "abort": "Abort (the run ends)",
    "more": "More (as much again)",
    "approve": "Approve (take it as it is)",
    "stop": "Stop (the run ends)",
    "mine": "Mine (leave the board as it is)",
    "undo": "Undo (set the board back)",
    "close": "Close the epic without them",
    "leave": "Leave it as it is",
    "continue": "Continue",
    "new": "New settings",
    "old": "Old settings (those the run began with)",
    "run": "Run it",
}
_RETRY = {
    Cause.CHECKS: "Retry story (more mends)",
    Cause.ENVIRONMENT: "Retry (run the checks again)",
    Cause.CONFLICT: "Retry (look again)",
    Cause.UNSAFE_WORKTREE: "Retry (look again)",
    Cause.STUCK: "Retry (look again)",
    Cause.RETROSPECTIVE: "Retry (hold it)",
}
_WORKFLOW_WORDS = {"retry": "Retry ({step} once more)", "skip": "Skip {step} (the next step is begun)"}
WORKFLOW = "workflow"
_EPIC_CAUSES = (Cause.EPIC_COMPLETE, Cause.EXCLUDED, Cause.RETROSPECTIVE)


def intervention_heading(asked: RunQuestion) -> str:
    """`[!] Story 1-3-protected-routes BLOCKED`; older runs record no cause and get STOPPED."""
    cause = next((cause for cause in Cause if cause == asked.cause), None)
    kind = "Workflow" if asked.about == WORKFLOW else "Story"
    what = asked.story if cause in _EPIC_CAUSES else f"{kind} {asked.story}"
    return f"[!] {what} {CAUSE_MENUS[cause].head if cause else 'STOPPED'}"


def option_lines(asked: RunQuestion) -> Iterator[str]:
    if asked.labels:
        yield from decision_options(asked)
        return
    for option in asked.options:
        because = f": {asked.because}" if asked.because else ""
        recommended = f"  (recommended{because})" if option == asked.recommended else ""
        yield f"{_letter(asked.options, option)} {_option_text(asked, option)}{recommended}"


def _option_text(asked: RunQuestion, option: str) -> str:
    own = {str(cause): words for cause, words in _RETRY.items()} if option == "retry" else {}
    words = own.get(asked.cause) or _WORDS.get(option) or option
    words = _WORKFLOW_WORDS.get(option, words) if asked.about == WORKFLOW else words
    return words.format(step=asked.step or "the step")


def _letter(options: tuple[str, ...], option: str) -> str:
    """`[r]` if no other option starts with that letter, else the whole option."""
    same = sum(other[:1] == option[:1] for other in options)
    return f"[{option[:1]}]" if same == 1 else f"[{option}]"


MAX_CONTEXT_LINES = 12  # context lines per question in the list


class OpenQuestion(NamedTuple):
    question: RunQuestion
    run: str
    seconds: float  # since it was asked
    remaining: int = 0  # later questions of this story
    has_other_runs: bool = False  # another run asks about this story as well

    @property
    def command(self) -> str:
        """The command that answers it, with the recommended or first option, or a placeholder for text."""
        asked = self.question
        run = ("--run", self.run) if self.has_other_runs else ()
        if asked.kind is StopKind.INTERVENTION:
            return command("intervene", asked.story, asked.recommended or asked.options[0], *run)
        if not asked.options:
            return command("answer", asked.story, "your answer", *run)
        chosen = asked.recommended if asked.recommended in asked.options else asked.options[0]
        if can_be_numbered(asked.options):
            chosen = str(asked.options.index(chosen) + 1)
        return command("answer", asked.story, chosen, *run)


class QuestionsView(NamedTuple):
    questions: list[OpenQuestion]
    owner: LockOwner | None
    unreadable: list[str]  # files that cannot be read
    resume_command: str  # command that resumes their runs if no supervisor is running


def render(view: QuestionsView, out: Terminal) -> Iterator[str]:
    for waiting in view.questions:
        yield from question_block(waiting, out, MAX_CONTEXT_LINES)
        yield f"  {out.style('→', 'cyan')} {printable(waiting.command)}"
        yield ""
    for problem in view.unreadable:
        first, *more = _fit(f"! {printable(problem)}", out, "  ")
        yield out.style(first[0], "yellow") + first[1:]
        yield from more
    yield from _fit(_summary(view), out, "  ")


def question_block(waiting: OpenQuestion, out: Terminal, most: int | None = None) -> Iterator[str]:
    """A question with its context and its options."""
    asked = waiting.question
    is_choice = asked.kind is StopKind.INTERVENTION
    words = [asked.step, "" if is_choice else asked.reason, f"waits {coarse_duration(waiting.seconds)}"]
    if waiting.remaining:
        words.append(f"{waiting.remaining} more after it")
    story, details = (
        printable(intervention_heading(asked) if is_choice else asked.story),
        " · ".join(printable(word) for word in words if word),
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
        yield from (text for line in option_lines(asked) for text in _fit(f"  {printable(line)}", out, " " * 6))
    else:
        yield from _options(asked, out)


def _options(asked: RunQuestion, out: Terminal) -> Iterator[str]:
    numbered = can_be_numbered(asked.options)
    for number, option in enumerate(asked.options, 1):
        mark = f"{number:>2}  " if numbered else " -  "
        recommended = "  (recommended)" if option == asked.recommended else ""
        yield from _fit(f"    {mark}{printable(option)}{recommended}", out, " " * 8)
    if asked.recommended and asked.recommended not in asked.options:
        yield from _fit(f"    recommended: {printable(asked.recommended)}", out, " " * 6)


def _text(text: str, out: Terminal, most: int | None) -> Iterator[str]:
    lines = text.expandtabs(4).split("\n") if text else []
    for line in lines[:most]:
        yield from _fit(f"  {printable(line)}", out, "  ")
    if most is not None and len(lines) > most:
        yield f"  … {len(lines) - most} more lines"


def _fit(text: str, out: Terminal, indent: str) -> list[str]:
    return wrap(text, out.width, indent) if out.is_terminal else [text]


def _summary(view: QuestionsView) -> str:
    count = len(view.questions)
    if not count:
        return "no question is open"
    head = f"{count} question{'s' * (count != 1)} open"
    if view.owner is None:
        return f"{head}; nobody is at work here: answer, then {view.resume_command}"
    return f"{head}; {printable(describe_owner(view.owner))} goes on by itself when it is answered"


class QuestionRow(NamedTuple):
    id: QuestionId
    story: str
    step: str
    attempt: Count
    asked_at: Seconds
    question: str
    context: str
    recommended: str | None
    reason: str
    kind: StopKind
    source: QuestionSource
    cause: Annotated[str, "why a person is asked, as docs/humans.md lists it; empty in runs of older versions"]
    because: Annotated[str, "why that is recommended"]
    about: QuestionSubject
    options: Annotated[tuple[str, ...], Keywords(maxItems=MAX_OPTIONS)]
    run: str
    seconds: Annotated[float, "how long it has waited"]
    more: Annotated[Count, "questions of this story that come after it"]
    command: Annotated[str, "what answers it"]


class QuestionList(NamedTuple):
    questions: list[QuestionRow]
    supervisor: LockOwner | None
    broken: Annotated[list[str], "question files that cannot be read"]


def question_list(view: QuestionsView) -> QuestionList:
    return QuestionList([_question_row(one) for one in view.questions], view.owner, view.unreadable)


def _question_row(waiting: OpenQuestion) -> QuestionRow:
    return pick(
        QuestionRow,
        waiting.question,
        run=waiting.run,
        seconds=round(waiting.seconds, 3),
        more=waiting.remaining,
        command=waiting.command,
    )


# A question of the journal, in full.

_AGENT_CODES = ("agent", "left-behind")


def question_from_entry(data: Mapping[str, Any], step: str = "") -> RunQuestion:
    """The question of an `asked` journal entry."""
    options = tuple(str(option) for option in data.get("options") or ())
    recommended = str(data.get("recommended") or "") or None
    story, text, context = (str(data.get(name) or "") for name in ("story", "text", "context"))
    kind = StopKind.QUESTION if data.get("code") in _AGENT_CODES else StopKind.INTERVENTION
    cause, because, about = (str(data.get(name) or "") for name in ("cause", "because", "about"))
    labels = tuple(str(label) for label in data.get("labels") or ())
    asked = RunQuestion(story, step, 0, text, context, options, recommended, kind=kind, labels=labels)
    return clip_question(asked._replace(cause=cause, because=because, about=about or "story"))


def question_lines(asked: RunQuestion) -> Iterator[str]:
    if asked.labels:
        yield from decision_lines(asked)
        return
    if asked.kind is StopKind.INTERVENTION:
        yield intervention_heading(asked)
        yield from (f"{MARGIN}{line}" for line in _lines(asked.context))
        yield from (f"{MARGIN}{line}" for line in _lines(asked.question))
        yield from (f"{MARGIN}{line}" for line in option_lines(asked))
        return
    yield from asked.question.expandtabs(4).split("\n")
    yield from (f"  {line}" for line in _lines(asked.context))
    numbered = can_be_numbered(asked.options)
    for number, option in enumerate(asked.options, 1):
        recommended = "  (recommended)" if option == asked.recommended else ""
        yield f"  {number if numbered else '-'}  {option}{recommended}"
    if asked.recommended and asked.recommended not in asked.options:
        yield f"  recommended: {asked.recommended}"


def _lines(text: str) -> list[str]:
    return [line for line in text.expandtabs(4).split("\n") if line.strip()]
