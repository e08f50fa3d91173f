"""Whether a planning document was finished: a skill writes its file first and fills it in over many steps, so that
one cut short leaves a document that looks like any other."""

import re
from collections.abc import Iterator

from ..core.diagnostics import Diagnostic
from ..core.errors import FileError
from ..files import read_text
from . import markdown
from .front_matter import read_front_matter, text_field
from .planning_names import ARCHITECTURE, BRIEF, EPICS, MEMLOG, PRD, READINESS, RESEARCH, UX

MAX_DOCUMENT = 4 * 1024 * 1024

# The step with which the document says all it should. Later ones polish, and versions differ in them.
_LAST_STEPS = {PRD: 10, UX: 13, ARCHITECTURE: 7, BRIEF: 5, RESEARCH: 4, EPICS: 3, READINESS: 5}
_FINISHED = ("complete", "completed", "final", "done", "approved", "ready")
_BEGUN = ("draft", "in-progress", "in progress", "wip")
_STEP = re.compile(r"(?:step-)?[a-z-]*?(\d{1,2})")
_SECTION = re.compile(r"^#{1,3}\s+\S", re.MULTILINE)
_VERDICT = re.compile(
    r"(?:readiness(?: status| assessment| verdict| decision)?|verdict|gate|recommendation)\b[^\n\w]{0,20}\n{0,2}"
    r"[^\n\w]{0,20}(?P<said>not[ -]ready|fail(?:ed)?|no[- ]go|blocked)\b",
    re.IGNORECASE,
)


def why_unfinished(artefact: str, path: str) -> str | None:
    """Why the document does not count yet, in words that go on after its path; None: it does."""
    if not path.lower().endswith(".md"):
        return None
    try:
        text = read_text(path, limit=MAX_DOCUMENT)
        body = markdown.unify_line_ends(text.text)
    except FileError as error:
        return f"cannot be read: {error.message}"
    ignored: list[Diagnostic] = []
    fields = read_front_matter(text, ignored)
    status = (text_field(fields, "status") or "").lower()
    if path.endswith(MEMLOG):
        return None if status in _FINISHED else "is of a session that was not brought to its end"
    if artefact == READINESS and (verdict := _VERDICT.search(body)):
        return f"says that the plan is not ready: {verdict['said']}"
    if status in _FINISHED:
        return None
    highest = max(_steps(fields.get("stepsCompleted")), default=0)
    if 0 < highest < _LAST_STEPS.get(artefact, 0):
        return f"was begun and not finished: it ends with step {highest}"
    # A brief's skill leaves `draft` there for good, so that only an empty one is unfinished.
    if status in _BEGUN and _in_run_folder(path) and (artefact != BRIEF or len(_SECTION.findall(body)) < 2):
        return f"was begun and not finished: its status is {status}"
    return None


def _steps(value: object) -> Iterator[int]:
    for item in value if isinstance(value, list) else ():
        if isinstance(item, int):
            yield item
        elif isinstance(item, str) and (match := _STEP.match(item)):
            yield int(match[1])


def _in_run_folder(path: str) -> bool:
    """`prds/prd-shop-2026-01-15/prd.md`: from 6.10 on, where a status in the front matter is the skill's own."""
    return path.split("/")[-3:-2] in (["prds"], ["briefs"], ["ux-designs"], ["architecture"], ["research"])
