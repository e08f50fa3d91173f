"""Reads build specs (`spec-3-2-digest.md`), the result files that `bmad-build-auto` writes if it stops before a
spec, and the verdicts of retrospectives."""

import os
import re
from typing import NamedTuple

from ..core.errors import Diagnostic, FileError
from ..core.keys import normalize_number
from ..core.statuses import BACKLOG
from ..io.files import TextFile, read_text
from . import markdown
from .markdown import list_field, read_front_matter, text_field
from .status_line import status_in_front_matter
from .story_status import StoryStatus

_NUMBERED = re.compile(r"spec-(\d{1,6}[a-z]?)-(\d{1,6}[a-z]?)(?=[-.])", re.IGNORECASE)
_RESULT_NAME = re.compile(r"bmad-(?:build|dev)-auto-result-.*\.md")
_RESULT_FIELD = re.compile(
    r"^[ \t]*(?:[-*+][ \t]+)?[*_]{0,2}(status|blocking condition|blocked reason)[*_]{0,2}[ \t]*:"
    r"[*_]{0,2}[ \t]*([^\n]*)$",
    re.IGNORECASE | re.MULTILINE,
)


class AutoResult(NamedTuple):
    """How an unattended build ended, in its own words."""

    status: str | None
    blocking_condition: str | None
    line: int


class SpecFile(NamedTuple):
    path: str
    number: str | None  # from the file name
    title: str
    type: str | None
    status: StoryStatus | None  # draft, ready-for-dev, in-progress, in-review, done, blocked
    baseline: str | None  # a commit, or a word such as NO_VCS
    followup_review: bool
    warnings: tuple[str, ...]
    deferred: tuple[str, ...]
    result: AutoResult | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def blocked_reason(self) -> str | None:
        return self.result.blocking_condition if self.result else None


def read_spec(text: TextFile) -> SpecFile:
    diagnostics: list[Diagnostic] = []
    fields = read_front_matter(text, diagnostics)
    unified = markdown.unify_line_ends(text.text)
    status = status_in_front_matter(unified)
    if status is not None and status.raw.lower() == "draft":
        status = status._replace(meaning=BACKLOG)  # the spec is incomplete: work cannot start
    return SpecFile(
        path=text.path,
        number=spec_number(text.path),
        title=text_field(fields, "title") or "",
        type=text_field(fields, "type"),
        status=status,
        baseline=text_field(fields, "baseline_revision", "baseline_commit"),
        followup_review=(text_field(fields, "followup_review_recommended") or "").lower() in ("true", "yes"),
        warnings=list_field(fields, "warnings"),
        deferred=list_field(fields, "deferred"),
        result=_auto_result(unified),
        diagnostics=tuple(diagnostics),
    )


def spec_number(path: str) -> str | None:
    """`spec-3-2-digest.md` is about story 3.2; `spec-2-factor-login.md` about no story."""
    match = _NUMBERED.match(os.path.basename(path))
    return normalize_number(f"{match[1]}.{match[2]}") if match else None


def find_auto_results(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if _RESULT_NAME.fullmatch(name)]


def read_auto_result(text: TextFile) -> AutoResult | None:
    """Read a `bmad-build-auto-result-*.md`: its result section, else its front matter and lines."""
    unified = markdown.unify_line_ends(text.text)
    found = _auto_result(unified) or _result(markdown.prose(unified).text, 0, len(unified))
    if found is not None and found.status:
        return found
    fields = read_front_matter(text, [])
    status = text_field(fields, "status")
    condition = text_field(fields, "blocking_condition", "blocked_reason")
    if found is not None:
        return found._replace(status=status, blocking_condition=found.blocking_condition or condition)
    return AutoResult(status, condition, 1) if status or condition else None


def _auto_result(text: str) -> AutoResult | None:
    prose = markdown.prose(text).text
    latest = None
    for section in markdown.sections(prose):
        if section.title.lower().startswith("auto run result"):
            latest = _result(prose, section.start, section.end) or latest
    return latest


def _result(prose: str, start: int, end: int) -> AutoResult | None:
    values: dict[str, str] = {}
    first = None
    for match in _RESULT_FIELD.finditer(prose, start, end):
        first = first or match
        name = match[1].lower()
        if name not in values:
            values[name] = match[2].strip().strip("*_`").strip() or _next_line(prose, match.end(), end)
    if first is None:
        return None
    condition = values.get("blocking condition") or values.get("blocked reason") or None
    return AutoResult(values.get("status") or None, condition, markdown.line_at(prose, first.start()))


def _next_line(prose: str, start: int, end: int) -> str:
    """A value on the line below its label."""
    below = prose[start : min(end, start + 2000)].strip().partition("\n")[0].strip()
    return "" if _RESULT_FIELD.match(below) or below.startswith("#") else below


# The verdict of a retrospective, from the front matter of `epic-3-retro-2026-01-31.md`.

_NAME = re.compile(r"epic-(?P<epic>[\w.-]+?)-retro(?:spective)?\b.*\.md", re.IGNORECASE)
_VERDICTS = ("accepted", "accepted-with-open-items", "rejected")


def retrospective_verdict(folder: str, epic: str) -> str:
    """The verdict in this epic's newest file; empty if there is no file or no known verdict."""
    try:
        names = [
            name for name in os.listdir(folder) if (found := _NAME.fullmatch(name)) and _is_for_epic(found, epic)
        ]
        newest = max((os.path.join(folder, name) for name in names), key=os.path.getmtime, default=None)
        fields = read_front_matter(read_text(newest), []) if newest else {}
    except (OSError, FileError):
        return ""
    verdict = (text_field(fields, "verdict") or "").lower()
    return verdict if verdict in _VERDICTS else ""


def _is_for_epic(found: re.Match[str], epic: str) -> bool:
    return normalize_number(found["epic"]) == epic
