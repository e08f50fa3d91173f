"""Judges whether the evidence supports accepting a step. Pure.

The status an agent gives its own board row is a claim that the engine handles, not an objection. The comparison
starts at the story's baseline, so a violation of the first attempt still counts after the second; only board rows
and other work trees are compared per attempt."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ..board import markdown
from ..board.spec_file import SpecFile, read_spec
from ..board.story_file import StoryFile, StoryTask, read_story
from ..core.errors import FileError
from ..core.statuses import DONE, PARKED, REVIEW
from ..core.step_output import StepOutput
from ..io.files import TextFile
from .evidence import Document, Evidence, GateObjection, missing_output, quote, violation
from .scope import (
    find_git_settings_changes,
    find_misplaced_work,
    find_other_row_changes,
    find_protected_path_changes,
)
from .tampering import find_test_tampering
from .weakened_checks import find_weakened_checks

# Required output: a complete story file, changed code, ticked tasks.

# Real story files also have labels instead of headings, and lists without checkboxes.
_CRITERIA = re.compile(
    r"^[^\w\n]{0,20}(?:acceptance|crit[eéè]r|\bacs?\b|验收|驗收|критери|受け入れ|definition of done"
    r"|success)[^\n]*\n\s{0,200}\S",
    re.IGNORECASE | re.MULTILINE,
)
_TASKS = re.compile(
    r"^[^\w\n]{0,20}(?:[\w-]+ ){0,2}(?:tasks|subtasks|steps|plan|checklist|任务|任務|tâches|tareas|tarefas|задачи"
    r"|タスク|작업)\b"
    r"[^\n]*\n\s{0,200}\S",
    re.IGNORECASE | re.MULTILINE,
)
_DEFERRED = re.compile(
    r"~~|\b(?:optional|deferred?|n/?a|not applicable|skipped|out of scope|follow[ -]?up"
    r"|manual(?:ly)?|later|postponed"
    r"|post-merge|stretch|nice[ -]to[ -]have|obsolete|superseded|moved to)\b",
    re.IGNORECASE,
)


def find_missing_output(evidence: Evidence) -> Iterator[GateObjection]:
    if evidence.required_output is StepOutput.NOTHING:
        return
    document = evidence.document
    if document is None:
        yield missing_output(
            "no-story-file", f"There is no story file for {evidence.key}. Write it, or put it back."
        )
    elif evidence.spec is not None:
        yield from _spec_problems(
            evidence.spec, must_end=evidence.required_output is StepOutput.CODE and evidence.is_build_step
        )
    else:
        yield from _story_problems(evidence, document)
    yield from _code_problems(evidence)


def _code_problems(evidence: Evidence) -> Iterator[GateObjection]:
    if evidence.required_output is StepOutput.STORY or evidence.differs_from_baseline:
        return
    if evidence.required_output is StepOutput.CODE:
        yield missing_output(
            "no-change",
            "Nothing but the story file and the board differs from the baseline: the story is not implemented.",
        )
    elif evidence.changed_in_attempt:
        yield violation("emptied", "The story's work was undone: the code is again what it was at the baseline.")
    else:
        yield missing_output("no-change", "There is no work to look at: the code is what it was at the baseline.")


def _read(document: Document) -> TextFile | GateObjection:
    try:
        return TextFile(document.path, document.raw)
    except FileError as error:
        return missing_output("story-file-incomplete", f"{quote([document.path])} {error.message}.")


@lru_cache(maxsize=256)  # the same file is read after every call of a story
def _story(document: Document) -> StoryFile:
    return read_story(TextFile(document.path, document.raw))


@lru_cache(maxsize=256)
def _spec(document: Document) -> SpecFile:
    return read_spec(TextFile(document.path, document.raw))


def _spec_problems(document: Document, *, must_end: bool) -> Iterator[GateObjection]:
    text = _read(document)
    if isinstance(text, GateObjection):
        yield text
        return
    spec = _spec(document)
    name = quote([document.path])
    said = spec.result.status if spec.result else None
    if spec.status is None:
        yield missing_output("story-file-incomplete", f"{name} has no status in its front matter.")
    elif spec.status.meaning == PARKED or (said or "").lower().startswith("block"):
        reason = f": {quote([spec.blocked_reason])}" if spec.blocked_reason else ""
        yield missing_output("story-file-incomplete", f"{name} says that the build is blocked{reason}.")
    elif must_end and spec.status.meaning not in (DONE, REVIEW):
        found = quote([spec.status.raw])
        yield missing_output(
            "story-file-incomplete", f"{name} has the status {found}; a build ends in `in-review` or `done`."
        )


def _story_problems(evidence: Evidence, document: Document) -> Iterator[GateObjection]:
    text = _read(document)
    if isinstance(text, GateObjection):
        yield text
        return
    story = _story(document)
    if evidence.required_output is StepOutput.STORY:
        missing = _missing_sections(story, text.text)
        if missing:
            name = quote([document.path])
            yield missing_output("story-file-incomplete", f"{name} has no {' and no '.join(missing)}.")
        return
    yield from _find_story_cuts(evidence, story)
    if evidence.required_output is StepOutput.CODE:
        yield from _find_open_tasks(story)


def _missing_sections(story: StoryFile, text: str) -> list[str]:
    prose = markdown.prose(markdown.unify_line_ends(text)).text
    found = {
        "status": story.status is not None,
        "acceptance criteria": story.criteria > 0 or _CRITERIA.search(prose) is not None,
        "tasks": bool(story.tasks) or _TASKS.search(prose) is not None,
    }
    return [name for name, there in found.items() if not there]


def _find_open_tasks(story: StoryFile) -> Iterator[GateObjection]:
    """Unticked tasks; a story without checkboxes has none."""
    if not story.tasks:
        return
    still_open = open_tasks(story.tasks)
    name = quote([story.path])
    if still_open and not story.tasks_done:
        yield missing_output("tasks-open", f"No task in {name} is ticked. Tick each one that is really done.")
    elif still_open:
        yield missing_output("tasks-open", f"{name} has tasks that are not ticked: {quote(still_open)}.")


def open_tasks(tasks: Sequence[StoryTask]) -> list[str]:
    """Open tasks. A task is not open below a ticked one, above only ticked ones, or if its text defers it."""
    found: list[str] = []
    path: list[StoryTask] = []
    for index, task in enumerate(tasks):
        path = [*path[: task.depth], task]
        if task.is_done or any(above.is_done or _DEFERRED.search(above.text) for above in path):
            continue
        if not _all_below_done(tasks, index):
            found.append(task.text)
    return found


def _all_below_done(tasks: Sequence[StoryTask], index: int) -> bool:
    below = []
    for task in tasks[index + 1 :]:
        if task.depth <= tasks[index].depth:
            break
        below.append(task)
    return bool(below) and all(task.is_done for task in below)


def _find_story_cuts(evidence: Evidence, story: StoryFile) -> Iterator[GateObjection]:
    """Removed tasks or criteria. Rewording and adding are allowed; fewer of them is a violation."""
    if evidence.story_before is None or isinstance(_read(evidence.story_before), GateObjection):
        return
    then = _story(evidence.story_before)
    now = {_bare_words(task.text) for task in story.tasks}
    gone = [task.text for task in then.tasks if not task.is_done and _bare_words(task.text) not in now]
    if gone and len(story.tasks) < len(then.tasks):
        yield violation("story-cut", f"Tasks are gone from {quote([story.path])}: {quote(gone)}. Put them back.")
    if story.criteria < then.criteria:
        yield violation(
            "story-cut",
            f"{quote([story.path])} had {then.criteria} acceptance criteria and has {story.criteria} now.",
        )


def _bare_words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


_RULES = (
    *(find_missing_output, find_misplaced_work, find_protected_path_changes, find_git_settings_changes),
    *(find_test_tampering, find_weakened_checks, find_other_row_changes),
)


def judge_work(evidence: Evidence) -> tuple[GateObjection, ...]:
    """All objections against the step; none means it is accepted."""
    return tuple(objection for rule in _RULES for objection in rule(evidence))
