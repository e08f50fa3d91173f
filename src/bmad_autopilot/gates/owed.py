"""What a step must have left: a story file that says what is asked, code that differs, tasks ticked."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ..board import markdown
from ..board.specs import SpecFile, read_spec
from ..board.stories import StoryFile, Task, read_story
from ..core.errors import FileError
from ..core.owes import Owes
from ..core.statuses import DONE, PARKED, REVIEW
from ..files import Text
from .look import Document, WorkLook
from .objections import Objection, foul, listed, owes

# A label instead of a heading, or a list without boxes: real story files have all of these.
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
_LATER = re.compile(
    r"~~|\b(?:optional|deferred?|n/?a|not applicable|skipped|out of scope|follow[ -]?up"
    r"|manual(?:ly)?|later|postponed"
    r"|post-merge|stretch|nice[ -]to[ -]have|obsolete|superseded|moved to)\b",
    re.IGNORECASE,
)


def what_is_owed(look: WorkLook) -> Iterator[Objection]:
    if look.owes is Owes.NOTHING:
        return
    document = look.document
    if document is None:
        yield owes("no-story-file", f"There is no story file for {look.key}. Write it, or put it back.")
    elif look.spec is not None:
        yield from _spec_problems(look.spec, must_end=look.owes is Owes.CODE and look.builds)
    else:
        yield from _story_problems(look, document)
    yield from _code_problems(look)


def _code_problems(look: WorkLook) -> Iterator[Objection]:
    if look.owes is Owes.STORY or look.code_differs:
        return
    if look.owes is Owes.CODE:
        yield owes(
            "no-change",
            "Nothing but the story file and the board differs from the baseline: the story is not implemented.",
        )
    elif look.code_moved:
        yield foul("emptied", "The story's work was undone: the code is again what it was at the baseline.")
    else:
        yield owes("no-change", "There is no work to look at: the code is what it was at the baseline.")


def _read(document: Document) -> Text | Objection:
    try:
        return Text(document.path, document.raw)
    except FileError as error:
        return owes("story-file-incomplete", f"{listed([document.path])} {error.message}.")


@lru_cache(maxsize=256)  # the same file is looked at after every call of a story
def _story(document: Document) -> StoryFile:
    return read_story(Text(document.path, document.raw))


@lru_cache(maxsize=256)
def _spec(document: Document) -> SpecFile:
    return read_spec(Text(document.path, document.raw))


def _spec_problems(document: Document, *, must_end: bool) -> Iterator[Objection]:
    text = _read(document)
    if isinstance(text, Objection):
        yield text
        return
    spec = _spec(document)
    name = listed([document.path])
    said = spec.result.status if spec.result else None
    if spec.status is None:
        yield owes("story-file-incomplete", f"{name} has no status in its front matter.")
    elif spec.status.meaning == PARKED or (said or "").lower().startswith("block"):
        reason = f": {listed([spec.blocked_reason])}" if spec.blocked_reason else ""
        yield owes("story-file-incomplete", f"{name} says that the build is blocked{reason}.")
    elif must_end and spec.status.meaning not in (DONE, REVIEW):
        found = listed([spec.status.raw])
        yield owes(
            "story-file-incomplete", f"{name} has the status {found}; a build ends in `in-review` or `done`."
        )


def _story_problems(look: WorkLook, document: Document) -> Iterator[Objection]:
    text = _read(document)
    if isinstance(text, Objection):
        yield text
        return
    story = _story(document)
    if look.owes is Owes.STORY:
        missing = _missing(story, text.text)
        if missing:
            name = listed([document.path])
            yield owes("story-file-incomplete", f"{name} has no {' and no '.join(missing)}.")
        return
    yield from _cut(look, story)
    if look.owes is Owes.CODE:
        yield from _open_tasks(story)


def _missing(story: StoryFile, text: str) -> list[str]:
    prose = markdown.prose(markdown.unify_line_ends(text)).text
    found = {
        "status": story.status is not None,
        "acceptance criteria": story.criteria > 0 or _CRITERIA.search(prose) is not None,
        "tasks": bool(story.tasks) or _TASKS.search(prose) is not None,
    }
    return [name for name, there in found.items() if not there]


def _open_tasks(story: StoryFile) -> Iterator[Objection]:
    """A story without boxes has nothing to tick."""
    if not story.tasks:
        return
    still_open = open_tasks(story.tasks)
    name = listed([story.path])
    if still_open and not story.tasks_done:
        yield owes("tasks-open", f"No task in {name} is ticked. Tick each one that is really done.")
    elif still_open:
        yield owes("tasks-open", f"{name} has tasks that are not ticked: {listed(still_open)}.")


def open_tasks(tasks: Sequence[Task]) -> list[str]:
    """Tasks left to do. Not those below a ticked one or above ticked ones only, nor what is put off in words."""
    found: list[str] = []
    path: list[Task] = []
    for index, task in enumerate(tasks):
        path = [*path[: task.depth], task]
        if task.done or any(above.done or _LATER.search(above.text) for above in path):
            continue
        if not _all_below_done(tasks, index):
            found.append(task.text)
    return found


def _all_below_done(tasks: Sequence[Task], index: int) -> bool:
    below = []
    for task in tasks[index + 1 :]:
        if task.depth <= tasks[index].depth:
            break
        below.append(task)
    return bool(below) and all(task.done for task in below)


def _cut(look: WorkLook, story: StoryFile) -> Iterator[Objection]:
    """Tasks and criteria may be worded anew and added to; fewer of them is less than was asked for."""
    if look.story_before is None or isinstance(_read(look.story_before), Objection):
        return
    then = _story(look.story_before)
    now = {_bare(task.text) for task in story.tasks}
    gone = [task.text for task in then.tasks if not task.done and _bare(task.text) not in now]
    if gone and len(story.tasks) < len(then.tasks):
        yield foul("story-cut", f"Tasks are gone from {listed([story.path])}: {listed(gone)}. Put them back.")
    if story.criteria < then.criteria:
        yield foul(
            "story-cut",
            f"{listed([story.path])} had {then.criteria} acceptance criteria and has {story.criteria} now.",
        )


def _bare(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))
