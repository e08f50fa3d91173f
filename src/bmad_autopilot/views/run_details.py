"""Renders checkpoint diffs, the decisions of a step, the list of checkpoints, and protocol runs."""

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..core.changes import ChangeKind, FileChange
from ..core.json_types import Count, Digest, Moment, ShortId, pick
from ..core.text import clip, printable
from ..core.transitions import TABLE, Rule
from ..runs.checkpoint_protocol import ProtocolResume
from ..runs.checkpoints import Checkpoint, CheckpointDifference, CheckpointDifferences
from ..runs.state_file import StepArtefact
from ..runs.timeline import JournalDecision
from .format import clock, fit, pluralize, resume_banner
from .runs import short_timestamp
from .terminal import Terminal, cut, display_width, pad

MAX_DIFFERENCES = 40  # listed per section
MAX_VALUE = 200

_LETTERS = {"added": "A", "modified": "M", "deleted": "D", "renamed": "R", "retyped": "T"}


class DiffView(NamedTuple):
    before: Checkpoint
    after: Checkpoint
    differences: CheckpointDifferences
    files: list[FileChange] | None  # None: the trees cannot be compared
    files_problem: str  # the reason, if files is None
    now: float


def render_diff(view: DiffView, out: Terminal) -> Iterator[str]:
    for sign, color, one in (("−", "red", view.before), ("+", "green", view.after)):
        story = f" of {one.story}" if one.story else ""
        text = f"{one.id}  {one.run}  step {one.step} {one.name}{story}  {short_timestamp(one.at, view.now)}"
        lines = fit(f"{sign} {printable(text)}", out, "  ")
        yield out.style(lines[0], color)
        yield from lines[1:]
    found = view.differences
    same = not (found.variables or found.rows or found.artefacts or found.head or view.files)
    yield from _section("variables", found.variables, out)
    yield from _section("board", found.rows, out)
    yield from _section("artefacts", found.artefacts, out)
    if found.head is not None:
        yield from ("", out.style("git", "bold"))
        yield f"  head {_sha(found.head.before)} → {_sha(found.head.after)}"
    yield from _files(view, out)
    if same and view.files is not None:
        yield from ("", "nothing differs")


def _section(title: str, found: tuple[CheckpointDifference, ...], out: Terminal) -> Iterator[str]:
    if not found:
        return
    yield from ("", out.style(title, "bold"))
    for one in found[:MAX_DIFFERENCES]:
        if not one.was_there:
            text, color = f"+ {one.name}: {_value(one.after)}", "green"
        elif not one.is_there:
            text, color = f"− {one.name}: {_value(one.before)}", "red"
        elif one.before == one.after:
            text, color = f"~ {one.name}: its content", "yellow"
        else:
            text, color = f"~ {one.name}: {_value(one.before)} → {_value(one.after)}", "yellow"
        lines = fit(f"  {printable(text)}", out, "      ")
        yield out.style(lines[0][:3], color) + lines[0][3:]
        yield from lines[1:]
    if len(found) > MAX_DIFFERENCES:
        yield f"  … {len(found) - MAX_DIFFERENCES} more: --json has them all"


def _files(view: DiffView, out: Terminal) -> Iterator[str]:
    if view.files is None:
        yield ""
        yield from fit(f"files: {printable(view.files_problem)}", out, "  ")
        return
    if not view.files:
        return
    yield from ("", f"{out.style('files', 'bold')} ({pluralize(len(view.files), 'file')})")
    for one in view.files[:MAX_DIFFERENCES]:
        lines = f" (+{one.added} −{one.removed})" if one.added is not None else " (binary)"
        name = f"{one.renamed_from} → {one.path}" if one.renamed_from else one.path
        yield from fit(f"  {_LETTERS.get(one.kind.value, '?')} {printable(name)}{lines}", out, "      ")
    if len(view.files) > MAX_DIFFERENCES:
        yield f"  … {len(view.files) - MAX_DIFFERENCES} more"
    trees = f"git diff {(view.before.tree or '')[:12]} {(view.after.tree or '')[:12]}"
    yield f"  {out.style('→', 'cyan')} {printable(trees)}"


def _sha(value: object) -> str:
    return printable(str(value)[:7]) if value else "nothing"


def _value(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return clip(" ".join(text.split()), MAX_VALUE) if text else '""'


class CheckpointReference(NamedTuple):
    id: ShortId
    digest: Digest
    run: str
    session: str
    step: Count
    name: str
    story: str
    head: str | None
    branch: str
    tree: str | None
    ref: str
    at: Moment


class HeadChange(NamedTuple):
    before: str | None
    after: str | None


class FileRow(NamedTuple):
    path: str
    kind: ChangeKind
    before: str | None
    added: int | None
    removed: int | None


class CheckpointDiff(NamedTuple):
    before: CheckpointReference
    after: CheckpointReference
    variables: tuple[CheckpointDifference, ...]
    rows: tuple[CheckpointDifference, ...]
    artefacts: tuple[CheckpointDifference, ...]
    head: HeadChange | None
    files: list[FileRow] | None
    files_unknown: str | None


def checkpoint_diff(view: DiffView) -> CheckpointDiff:
    found = view.differences
    return pick(
        CheckpointDiff,
        found,
        before=pick(CheckpointReference, view.before),
        after=pick(CheckpointReference, view.after),
        head=pick(HeadChange, found.head) if found.head else None,
        files=None
        if view.files is None
        else [pick(FileRow, one, before=one.renamed_from or None) for one in view.files],
        files_unknown=view.files_problem or None,
    )


# `bmad runs why`: the facts of each decision that differ from their defaults, and the rule that matched.

MAX_DECISIONS = 100

_RULES = {rule.name: rule for rule in TABLE}


class WhyView(NamedTuple):
    run: str
    decisions: list[JournalDecision]
    steps: tuple[str, ...]  # steps with decisions


def render_why(view: WhyView, out: Terminal) -> Iterator[str]:
    first = view.decisions[0]
    about = f"step {first.step} {first.name}" if first.step else "before the first step"
    story = f" of {first.story}" if first.story and first.step else ""
    yield from (out.style(line, "bold") for line in fit(printable(f"{view.run}: {about}{story}"), out, "  "))
    for one in view.decisions[-MAX_DECISIONS:]:
        yield ""
        yield from _decision(one, out)
    yield ""
    yield from fit(
        "the rows are tried from the top, the first that fits counts: docs/loop.md has them all", out, ""
    )


def _decision(one: JournalDecision, out: Terminal) -> Iterator[str]:
    rule = _RULES.get(one.rule)
    action = action_text(rule) if rule else f"{one.did}, by a row that this version has no more"
    lines = fit(printable(f"{clock(one.at)}  {one.rule} → {action}"), out, " " * 10)
    yield out.style(lines[0][:8], "dim") + lines[0][8:]
    yield from lines[1:]
    if rule:
        yield from fit(" " * 10 + f"row    {condition_text(rule) or 'nothing above it fitted'}", out, " " * 17)
    facts = ", ".join(f"{name}: {_word(value)}" for name, value in one.facts.items())
    yield from fit(" " * 10 + f"facts  {printable(facts) or 'all as usual'}", out, " " * 17)


def action_text(rule: Rule) -> str:
    words = rule.action.value.replace("-", " ")
    return f"{words} ({rule.question})" if rule.question else words


def condition_text(rule: Rule) -> str:
    """`call is good, row is due`."""
    return ", ".join(
        f"{name} is {' or '.join(_word(value) for value in values)}" for name, values in rule.when.items()
    )


def _word(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


class DecisionRow(NamedTuple):
    at: Moment
    step: Count
    name: str
    story: str
    rule: str
    action: str | None
    question: str | None
    when: Mapping[str, tuple[Any, ...]]
    facts: Mapping[str, Any]
    did: str


class DecisionList(NamedTuple):
    run: str
    steps: tuple[str, ...]
    decisions: list[DecisionRow]


def explain_decisions(view: WhyView) -> DecisionList:
    return DecisionList(view.run, view.steps, [_decision_row(one) for one in view.decisions])


def _decision_row(one: JournalDecision) -> DecisionRow:
    rule = _RULES.get(one.rule)
    if rule is None:  # of another version
        return pick(DecisionRow, one, action=None, question=None, when={})
    return pick(DecisionRow, one, action=rule.action, question=rule.question or None, when=rule.when)


# The list of checkpoints.

MAX_CHECKPOINTS = 60


def render_checkpoints(found: list[Checkpoint], out: Terminal, folder: str) -> Iterator[str]:
    if not found:
        yield f"no checkpoint is recorded below {printable(folder)} yet: each completed step makes one"
        return
    ids = _short_ids(found)
    shown = found[:MAX_CHECKPOINTS]
    width = max(display_width(one.run) for one in shown)
    digits = max(len(str(one.step)) for one in shown)
    times = [short_timestamp(one.at, time.time()) for one in shown]
    for one, at in zip(shown, times, strict=True):
        when = pad(at, max(map(len, times)))
        step = f"step {one.step:>{digits}}  {printable(one.name)}" + (
            f" of {printable(one.story)}" if one.story else ""
        )
        line = f"{ids[one.digest]}  {when}  {one.run:<{width}}  {step}".rstrip()
        line = cut(line, out.width) if out.is_terminal else line
        yield out.style(line[: len(ids[one.digest])], "bold") + line[len(ids[one.digest]) :]
    if len(found) > len(shown):
        yield f"… {len(found) - len(shown)} more: bmad runs show RUN"
    yield ""
    yield "bmad resume --checkpoint ID  goes back to one, on a branch of its own"


def _short_ids(found: list[Checkpoint]) -> dict[str, str]:
    """The shortest ids, of at least six digits, that are unique."""
    length = 6
    while len({one.digest[:length] for one in found}) < len({one.digest for one in found}):
        length += 1
    return {one.digest: one.digest[:length] for one in found}


class CheckpointRow(NamedTuple):
    id: ShortId
    digest: Digest
    run: str
    session: str
    step: Count
    name: str
    story: str | None
    at: Moment
    head: str | None
    branch: str | None
    ref: str | None
    variables: Mapping[str, Any]
    artefacts: tuple[StepArtefact, ...]
    rows: Mapping[str, str]


class CheckpointList(NamedTuple):
    checkpoints: list[CheckpointRow]


def checkpoint_list(found: list[Checkpoint]) -> CheckpointList:
    return CheckpointList(
        [
            pick(CheckpointRow, one, story=one.story or None, branch=one.branch or None, ref=one.ref or None)
            for one in found
        ]
    )


# A run recorded by agents with `bmad checkpoint`: where to resume it, and its variables and artefacts.


def render_protocol_resume(found: ProtocolResume, out: Terminal) -> Iterator[str]:
    yield out.style(resume_banner(found.run, found.step, max(found.step, found.total)), "bold")
    yield f"  workflow   {printable(found.workflow)}" + (f" ({printable(found.path)})" if found.path else "")
    yield f"  completed  {', '.join(map(str, found.completed)) or 'no step yet'}"
    for name, value in found.variables.items():
        yield f"  variable   {printable(name)} = {printable(json.dumps(value, ensure_ascii=False))}"
    for step, path in found.artefacts:
        yield f"  artefact   step {step}: {printable(path)}"
    for path in found.missing:
        yield f"  missing    {printable(path)}"
    for note in found.notes:
        yield f"  note       {printable(note)}"
    yield f"  next       do step {found.step}; then bmad checkpoint update --run {found.run} --step {found.step}"
