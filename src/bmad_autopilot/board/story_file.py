"""Reads story files: acceptance criteria, tasks, the File List, review findings and the review's outcome."""

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from ..core.errors import Diagnostic, Location, Severity
from ..core.statuses import UNKNOWN, RowKind, suggest_status
from ..io.files import TextFile
from . import markdown
from .epics_file import read_heading
from .markdown import Section, drop_nested, is_within, line_at, read_front_matter, text_field
from .status_line import status_in_front_matter
from .story_status import StoryStatus, find_status, read_story_status

# The File List: the files that its author reports as changed.

MAX_PATH = 500
MAX_FILES = 5000

_ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+([^\n]+)$|^[ \t]*\|[ \t]*([^|\n]*)\|[^\n]*$", re.MULTILINE)
_CHECKBOX = re.compile(r"\[.\][ \t]+")
_LEAD = re.compile(
    r"(?:[\[(]?(?:new|modified|created|updated|deleted|added|removed|renamed|changed|edited)[\])]?\s*[:：]?\s+|[MADR]\s+)",
    re.IGNORECASE,
)
_CODE = re.compile(r"[*_]{0,2}`([^`\n]+)`[*_]{0,2}")
_MORE_CODE = re.compile(r"\s*(?:,|/|&|and|、|\+)\s*`([^`\n]+)`")
_LINK = re.compile(r"\[([^\[\]\n]+)\]\([^()\n]*\)")
_ANNOTATION = re.compile(r"\s[-–—→(\[#]|[（：]|:\s|:$|\s—|,\s|\s{2,}")
_LINE_SUFFIX = re.compile(r":\d+(?:-\d+)?$")
_BARE_NAME = re.compile(r"\.?[\w@+-][\w.@+-]*")
_EXTENSIONLESS = frozenset(
    "makefile dockerfile license justfile procfile gemfile rakefile codeowners readme".split()
)


class ListedFile(NamedTuple):
    path: str  # as written, without the marks around it
    line: int


def read_file_list(text: str, section: Section, file: str, diagnostics: list[Diagnostic]) -> list[ListedFile]:
    """The paths in one File List section of a prose text. A path that leaves the project is a diagnostic."""
    found: list[ListedFile] = []
    line, at = section.line + 1, section.start
    for match in _ITEM.finditer(text, section.start, section.end):
        line += text.count("\n", at, match.start())
        at = match.start()
        for path in _paths(match[1] or match[2] or ""):
            problem = unsafe_path_reason(path)
            if problem is None:
                found.append(ListedFile(path, line))
            else:
                message = f"the File List names {path[:100]!r}, which {problem}"
                hint = "paths are relative to the project"
                diagnostics.append(
                    Diagnostic(Severity.WARNING, "unsafe-path", message, Location(file, line), hint)
                )
            if len(found) >= MAX_FILES:
                return found
    return found


def unsafe_path_reason(path: str) -> str | None:
    """Why a path from a file must not be used, or None."""
    parts = path.replace("\\", "/").split("/")
    if path.startswith(("/", "\\", "~")) or path[1:2] == ":" or "://" in path:
        return "is not relative"
    if ".." in parts:
        return "leaves the project"
    if len(path) > MAX_PATH or any(ord(character) < 32 for character in path):
        return "is not a path"
    return None


def _paths(item: str) -> Iterator[str]:
    item = _LINK.sub(r"\1", item.strip())
    if box := _CHECKBOX.match(item):
        item = item[box.end() :]
    first = next((i for i, char in enumerate(item) if char.isalnum() or char in "`./~_@[\\*"), len(item))
    item = item[first:]  # without ✅ and arrows
    if lead := _LEAD.match(item):
        item = item[lead.end() :]
    code = _CODE.match(item)
    if code is None:
        candidate = _clean(_cut(item))
        if looks_like_path(candidate):
            yield candidate
        return
    while code is not None:
        candidate = _clean(code[1])
        if looks_like_path(candidate):
            yield candidate
        code = _MORE_CODE.match(item, code.end())


def _cut(item: str) -> str:
    annotation = _ANNOTATION.search(item)
    return item[: annotation.start()] if annotation else item


def _clean(path: str) -> str:
    return _LINE_SUFFIX.sub("", path.strip().strip("*").rstrip(",;").strip())


def looks_like_path(text: str) -> bool:
    """Tell `src/a.py` and `package.json` from `None`, `foo()` and a sentence."""
    if not text or (" " in text and not re.search(r"\.\w{1,10}$", text)):
        return False
    if "/" in text or "\\" in text:
        return any(map(str.isalnum, text)) or text.startswith(".")
    if text.lower() in _EXTENSIONLESS:
        return True
    return " " not in text and "." in text.rstrip(".") and _BARE_NAME.fullmatch(text) is not None


# Review findings and outcomes, in the forms of every BMAD version.

_TAGGED = re.compile(r"[*_]{0,2}\[(?:AI-)?Review\][ \t]?\[([^\[\]\n]{1,30})\][*_]{0,2}[ \t:：]*", re.IGNORECASE)
_KINDS = {
    "hi": "high",
    "med": "medium",
    "mid": "medium",
    "lo": "low",
    "deferred": "defer",
    "decision-needed": "decision",
}
_OUTCOME = re.compile(r"\b(?:outcome|verdict)\b[*_]{0,3}[ \t]*[:：][*_]{0,3}[ \t]*([^\n]+)", re.IGNORECASE)
_OUTCOME_END = re.compile(r"[ \t][·|—–-][ \t]|\*\*")


class Finding(NamedTuple):
    kind: str  # high, medium, low (up to 6.1); decision, patch, defer (since 6.2.1); "" if none is given
    text: str
    is_done: bool
    line: int


class StoryVerdict(Enum):
    APPROVED = "approved"
    CHANGES_REQUESTED = "changes-requested"
    BLOCKED = "blocked"
    UNKNOWN = "unknown"


class ReviewOutcome(NamedTuple):
    raw: str
    verdict: StoryVerdict
    line: int


def is_review_list(section: Section) -> bool:
    """Whether the check boxes below this heading are findings: `Review Follow-ups (AI)`, `Review Findings`."""
    return (
        section.title.lower().lstrip("*_ ").startswith(("review follow", "review finding", "code review finding"))
    )


def read_finding(item: str, done: bool, line: int, *, in_review_list: bool) -> Finding | None:
    """A check box's text as a finding, or None if it is a task."""
    tagged = _TAGGED.match(item)
    if tagged is not None:
        kind = tagged[1].strip().lower()
        return Finding(_KINDS.get(kind, kind), item[tagged.end() :].strip(), done, line)
    return Finding("", item, done, line) if in_review_list else None


def read_outcome(text: str, sections: list[Section]) -> ReviewOutcome | None:
    """The outcome of the last review."""
    latest: tuple[int, str] | None = None
    reviews = drop_nested([s for s in sections if "review" in s.title.lower() and not is_review_list(s)])
    for review in reviews:
        for match in _OUTCOME.finditer(text, review.start, review.end):
            latest = max(latest or (0, ""), (match.start(1), match[1]))
    for section in sections:
        named = section.title.lower().strip("*_: ") in ("outcome", "review outcome", "verdict")
        if named and is_within(reviews, section.start):
            body = text[section.start : section.end]
            first = body.lstrip().partition("\n")[0]
            if first and not first.startswith("#"):
                latest = max(latest or (0, ""), (section.start + len(body) - len(body.lstrip()), first))
    if latest is None:
        return None
    offset, raw = latest
    raw = raw.strip().strip("*_").strip()
    raw = _OUTCOME_END.split(raw, maxsplit=1)[0].strip()
    return ReviewOutcome(raw, _verdict(raw), line_at(text, offset))


def _verdict(raw: str) -> StoryVerdict:
    words = "".join(c if c.isalnum() else " " for c in raw.lower()).split()
    plain = " ".join(words)
    if any(
        phrase in plain for phrase in ("changes request", "request changes", "needs work", "reject", "not approv")
    ):
        return StoryVerdict.CHANGES_REQUESTED
    if plain.startswith("block"):
        return StoryVerdict.BLOCKED
    if plain.startswith(("approv", "pass", "accept")):
        return StoryVerdict.APPROVED
    return StoryVerdict.UNKNOWN


__all__ = ["StoryFile", "StoryStatus", "StoryTask", "read_story", "read_story_status"]

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
# The forms of criteria; the first form that occurs is counted.
_CRITERION_FORMS = (
    re.compile(r"^ {0,3}\d{1,3}[.)][ \t]+\S", re.MULTILINE),
    re.compile(r"^ {0,3}(?:[-*+][ \t]+(?:\[.\][ \t]+)?)?[*_]{0,2}AC[-_ ]?#?\d", re.MULTILINE | re.IGNORECASE),
    re.compile(r"^ {0,3}(?:[-*+][ \t]+(?:\[.\][ \t]+)?)?[*_]{0,2}given\b", re.MULTILINE | re.IGNORECASE),
    re.compile(r"^[-*+][ \t]+\S", re.MULTILINE),
)
_DONE = frozenset("xX✓✔✅")
MAX_TASKS = 5000


class StoryTask(NamedTuple):
    text: str
    is_done: bool
    line: int
    depth: int  # 0 for a task, 1 for its subtasks …


class StoryFile(NamedTuple):
    path: str
    title: str
    number: str | None  # from the heading
    status: StoryStatus | None
    criteria: int
    tasks: tuple[StoryTask, ...]
    files: tuple[ListedFile, ...]
    findings: tuple[Finding, ...]
    outcome: ReviewOutcome | None  # of the last review
    baseline_commit: str | None  # a commit, or NO_VCS
    has_change_log: bool
    diagnostics: tuple[Diagnostic, ...]

    @property
    def tasks_done(self) -> int:
        return sum(task.is_done for task in self.tasks)

    @property
    def open_findings(self) -> list[Finding]:
        return [finding for finding in self.findings if not finding.is_done]


def read_story(text: TextFile) -> StoryFile:
    diagnostics: list[Diagnostic] = []
    fields = read_front_matter(text, diagnostics)
    prose = markdown.prose(markdown.unify_line_ends(text.text))
    sections = markdown.sections(prose.text)
    title, number = _title(sections)
    tasks, findings = _read_check_boxes(prose.text, sections)
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


def read_criteria(text: TextFile) -> tuple[str, ...]:
    """The acceptance criteria, one by one: the entries of their section, else its lines."""
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
    """Title and number from the first heading that names a story, else the title of the first heading."""
    for section in sections[:5]:
        named = read_heading(section.title)
        if named is not None and named.kind is RowKind.STORY and named.number is not None:
            return named.title, f"{named.epic_number}.{named.number}" if named.epic_number else named.number
    return (sections[0].title.strip("*_ ") if sections else ""), None


def _status(text: TextFile, diagnostics: list[Diagnostic]) -> StoryStatus | None:
    status = find_status(text.text)
    if status is None:
        hint = "add a line `Status: ready-for-dev` below the title"
        message = "no status in the first lines or the front matter"
        diagnostics.append(Diagnostic(Severity.NOTE, "no-status", message, Location(text.path, 1), hint))
        return None
    if status.meaning == UNKNOWN:
        close = suggest_status(status.raw)
        meant = f"did you mean {close}?" if close else None
        message = f"unknown status {status.raw[:80]!r}"
        location = Location(text.path, status.line)
        diagnostics.append(Diagnostic(Severity.WARNING, "unknown-status", message, location, meant))
    above = status_in_front_matter(markdown.unify_line_ends(text.text))
    if above is not None and above.meaning != status.meaning:
        message = f"the front matter says {above.raw[:80]!r}, the status line {status.raw[:80]!r}"
        location = Location(text.path, above.line)
        hint = f"the status line (line {status.line}) is the one BMAD writes; make them equal"
        diagnostics.append(Diagnostic(Severity.WARNING, "two-statuses", message, location, hint))
    return status


def _titled(sections: list[Section], pattern: re.Pattern[str]) -> list[Section]:
    return markdown.drop_nested([s for s in sections if pattern.match(s.title.lstrip("*_# "))])


def _read_check_boxes(text: str, sections: list[Section]) -> tuple[list[StoryTask], list[Finding]]:
    """Check boxes in the task sections are tasks; those a reviewer wrote are findings, in any section."""
    tasks: list[StoryTask] = []
    findings: list[Finding] = []
    task_sections = _titled(sections, _TASKS)
    review_lists = markdown.drop_nested([section for section in sections if is_review_list(section)])
    line, at = 1, 0
    indents: list[int] = []
    for match in _BOX.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        done, item = match[2] in _DONE, match[3].strip()
        finding = read_finding(item, done, line, in_review_list=markdown.is_within(review_lists, at))
        if finding is not None:
            findings.append(finding)
        elif markdown.is_within(task_sections, at) and len(tasks) < MAX_TASKS:
            indent = len(match[1].expandtabs(4))
            while indents and indents[-1] >= indent:
                indents.pop()
            tasks.append(StoryTask(item, done, line, len(indents)))
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
