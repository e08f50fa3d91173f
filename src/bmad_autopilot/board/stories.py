"""Story files: what is asked, what is ticked off, which files were touched, what reviewers found."""

import re
from typing import NamedTuple

from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import Place
from ..core.statuses import UNKNOWN, Kind, suggest_status
from ..files import Text
from . import markdown
from .file_list import ListedFile, read_file_list
from .front_matter import read_front_matter, text_field
from .headings import read_heading
from .markdown import Section
from .review_findings import Finding, Outcome, is_review_list, read_finding, read_outcome
from .status_line import status_in_front_matter
from .story_status import StoryStatus, find_status, read_story_status

__all__ = ["StoryFile", "StoryStatus", "Task", "read_story", "read_story_status"]

_BOX = re.compile(r"^([ \t]*)(?:[-*+]|\d{1,3}[.)])[ \t]+\[([^\[\]\n])\][ \t]+([^\n]*)$", re.MULTILINE)
_TASKS = re.compile(
    r"(?:implementation |development )?"
    r"(?:tasks|subtasks|任务|任務|tâches|tareas|tarefas|задачи|タスク|작업)(?!\w)",
    re.IGNORECASE,
)
_CRITERIA = re.compile(
    r"acceptance criteria|crit[eéè]res d.accept|crit[eé]rios de ac|验收标准|驗收標準|критерии при"
    r"|受け入れ基準|acs?\b",
    re.IGNORECASE,
)
_FILES = re.compile(
    r"file list|files? (?:modified|changed|touched)|文件列表|文件清单|liste des fichiers", re.IGNORECASE
)
_CHANGES = re.compile(r"change ?log|变更(?:记录|日志)|historique", re.IGNORECASE)
_CRITERION_TITLE = re.compile(r"\W*(?:ac\b|ac[-\d #]|scenario|criteri|\d)", re.IGNORECASE)
_ENTRY = re.compile(r" {0,3}(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(\S.*)")
# The forms criteria come in; the first that occurs is the one to count.
_CRITERION_FORMS = (
    re.compile(r"^ {0,3}\d{1,3}[.)][ \t]+\S", re.MULTILINE),
    re.compile(r"^ {0,3}(?:[-*+][ \t]+(?:\[.\][ \t]+)?)?[*_]{0,2}AC[-_ ]?#?\d", re.MULTILINE | re.IGNORECASE),
    re.compile(r"^ {0,3}(?:[-*+][ \t]+(?:\[.\][ \t]+)?)?[*_]{0,2}given\b", re.MULTILINE | re.IGNORECASE),
    re.compile(r"^[-*+][ \t]+\S", re.MULTILINE),
)
_DONE = frozenset("xX✓✔✅")
MAX_TASKS = 5000


class Task(NamedTuple):
    text: str
    done: bool
    line: int
    depth: int  # 0 for a task, 1 for its subtasks …


class StoryFile(NamedTuple):
    path: str
    title: str
    number: str | None  # from the heading
    status: StoryStatus | None
    criteria: int
    tasks: tuple[Task, ...]
    files: tuple[ListedFile, ...]
    findings: tuple[Finding, ...]
    outcome: Outcome | None  # of the last review
    baseline_commit: str | None  # a commit, or NO_VCS
    has_change_log: bool
    diagnostics: tuple[Diagnostic, ...]

    @property
    def tasks_done(self) -> int:
        return sum(task.done for task in self.tasks)

    @property
    def open_findings(self) -> list[Finding]:
        return [finding for finding in self.findings if not finding.done]


def read_story(text: Text) -> StoryFile:
    diagnostics: list[Diagnostic] = []
    fields = read_front_matter(text, diagnostics)
    prose = markdown.prose(markdown.unify_line_ends(text.text))
    sections = markdown.sections(prose.text)
    title, number = _title(sections)
    tasks, findings = _boxes(prose.text, sections)
    files: list[ListedFile] = []
    for section in _titled(sections, _FILES):
        files += read_file_list(prose.text, section, text.path, diagnostics)
    return StoryFile(
        path=text.path,
        title=title or text_field(fields, "title") or "",
        number=number,
        status=_status(text, diagnostics),
        criteria=sum(
            _count_criteria(prose.text, sections, section) for section in _titled(sections, _CRITERIA)[:1]
        ),
        tasks=tuple(tasks),
        files=tuple(files),
        findings=tuple(findings),
        outcome=read_outcome(prose.text, sections),
        baseline_commit=text_field(fields, "baseline_commit", "baseline_revision"),
        has_change_log=bool(_titled(sections, _CHANGES)),
        diagnostics=tuple(diagnostics),
    )


def criteria_of(text: Text) -> tuple[str, ...]:
    """What a story must meet, one by one: the entries of that section, else its lines."""
    prose = markdown.prose(markdown.unify_line_ends(text.text)).text
    found = _titled(markdown.sections(prose), _CRITERIA)[:1]
    lines = [line for section in found for line in prose[section.start : section.end].split("\n") if line.strip()]
    entries: list[str] = []
    for line in lines:
        entry = _ENTRY.match(line)
        if entry:
            entries.append(entry[1].rstrip())
        elif entries and line.startswith((" ", "\t")):  # Given … When … Then, a line each
            entries[-1] += f" {line.strip()}"
    return tuple(entries or (line.strip() for line in lines if not line.lstrip().startswith("#")))


def _title(sections: list[Section]) -> tuple[str, str | None]:
    """From the first heading that names a story, else from the first of all."""
    for section in sections[:5]:
        named = read_heading(section.title)
        if named is not None and named.kind is Kind.STORY and named.number is not None:
            return named.title, f"{named.outer}.{named.number}" if named.outer else named.number
    return (sections[0].title.strip("*_ ") if sections else ""), None


def _status(text: Text, diagnostics: list[Diagnostic]) -> StoryStatus | None:
    status = find_status(text.text)
    if status is None:
        hint = "add a line `Status: ready-for-dev` below the title"
        message = "no status in the first lines or the front matter"
        diagnostics.append(Diagnostic(Severity.NOTE, "no-status", message, Place(text.path, 1), hint))
        return None
    if status.meaning == UNKNOWN:
        close = suggest_status(status.raw)
        meant = f"did you mean {close}?" if close else None
        message = f"unknown status {status.raw[:80]!r}"
        place = Place(text.path, status.line)
        diagnostics.append(Diagnostic(Severity.WARNING, "unknown-status", message, place, meant))
    above = status_in_front_matter(markdown.unify_line_ends(text.text))
    if above is not None and above.meaning != status.meaning:
        message = f"the front matter says {above.raw[:80]!r}, the status line {status.raw[:80]!r}"
        place = Place(text.path, above.line)
        hint = f"the status line (line {status.line}) is the one BMAD writes; make them equal"
        diagnostics.append(Diagnostic(Severity.WARNING, "two-statuses", message, place, hint))
    return status


def _titled(sections: list[Section], pattern: re.Pattern[str]) -> list[Section]:
    return markdown.outermost([s for s in sections if pattern.match(s.title.lstrip("*_# "))])


def _boxes(text: str, sections: list[Section]) -> tuple[list[Task], list[Finding]]:
    """Check boxes in the task sections are tasks; those a reviewer wrote are findings, wherever they stand."""
    tasks: list[Task] = []
    findings: list[Finding] = []
    task_sections = _titled(sections, _TASKS)
    review_lists = markdown.outermost([section for section in sections if is_review_list(section)])
    line, at = 1, 0
    indents: list[int] = []
    for match in _BOX.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        done, item = match[2] in _DONE, match[3].strip()
        finding = read_finding(item, done, line, in_review_list=markdown.within(review_lists, at))
        if finding is not None:
            findings.append(finding)
        elif markdown.within(task_sections, at) and len(tasks) < MAX_TASKS:
            indent = len(match[1].expandtabs(4))
            while indents and indents[-1] >= indent:
                indents.pop()
            tasks.append(Task(item, done, line, len(indents)))
            indents.append(indent)
    return tasks, findings


def _count_criteria(text: str, sections: list[Section], criteria: Section) -> int:
    below = [s for s in sections if criteria.line < s.line and s.end <= criteria.end]
    top = min((section.level for section in below), default=0)
    titled = sum(section.level == top and bool(_CRITERION_TITLE.match(section.title)) for section in below)
    if titled:
        return titled
    for form in _CRITERION_FORMS:
        count = sum(1 for _ in form.finditer(text, criteria.start, criteria.end))
        if count:
            return count
    return 0
