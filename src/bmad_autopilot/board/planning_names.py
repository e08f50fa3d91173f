"""Recognizes planning documents, from v4 to 6.12, by patterns on the path below a planning folder.

Until 6.9 each is one file, or a folder of shards with an index; since 6.10 each run of a skill has its own folder.
Real projects add a topic or a date to the names, and a folder per component above them."""

import csv
import re
from typing import NamedTuple

from ..core.errors import FileError
from ..core.keys import natural_order
from ..io.files import read_text

BRAINSTORM, RESEARCH, BRIEF, PRD, UX = "brainstorm", "research", "brief", "prd", "ux"
ARCHITECTURE, EPICS, READINESS, BOARD = "architecture", "epics", "readiness", "board"
ARTEFACTS = (BRAINSTORM, RESEARCH, BRIEF, PRD, UX, ARCHITECTURE, EPICS, READINESS, BOARD)

MEMLOG = ".memlog.md"  # in a run's folder: possibly the only output of a brainstorm

_OPTIONAL_FOLDER = r"(?:[^/]+/)?"  # a component, or a folder such as `analysis/`


class _Rule(NamedTuple):
    artefact: str
    pattern: re.Pattern[str]
    rank: int  # the smaller, the more certain


def _rules(artefact: str, *patterns: str) -> tuple[_Rule, ...]:
    return tuple(_Rule(artefact, re.compile(pattern), rank) for rank, pattern in enumerate(patterns))


def _name_with(word: str) -> str:
    """A pattern for names with this word: `prd.md`, `prd-shop-2026.md`, `bmm-prd.md`."""
    return rf"{_OPTIONAL_FOLDER}(?:[^/]*[-_ .])?{word}(?:[-_ .][^/]*)?\.md"


_RULES = (
    *_rules(
        BRAINSTORM,
        rf"{_OPTIONAL_FOLDER}brainstorming/[^/]+/brainstorm-intent\.md",
        rf"{_OPTIONAL_FOLDER}(?:brainstorm(?:ing|s)?/)?[^/]*(?:brainstorm|ideation)[^/]*\.md",
        rf"{_OPTIONAL_FOLDER}brainstorming/(?:[^/]+/)?(?:brainstorm\.html|\.memlog\.md|[^/.]+\.md)",
    ),
    *_rules(
        RESEARCH,
        rf"{_OPTIONAL_FOLDER}research/[^/]+/research\.md",
        rf"{_OPTIONAL_FOLDER}research/[^/.][^/]*\.md",
        _name_with(r"research"),
        rf"{_OPTIONAL_FOLDER}domain-brief\.md",
    ),
    *_rules(
        BRIEF,
        rf"{_OPTIONAL_FOLDER}briefs/[^/]+/brief\.md",
        rf"{_OPTIONAL_FOLDER}(?:product-|project-)?brief\.md",
        rf"{_OPTIONAL_FOLDER}(?:[^/]*[-_ .])?(?:product|project)[-_ ]brief(?:[-_ .][^/]*)?\.md",
        rf"{_OPTIONAL_FOLDER}prfaqs?/(?:[^/]+/)?prfaq[^/]*\.md",
        _name_with(r"prfaq"),
        rf"{_OPTIONAL_FOLDER}[^/]*brief[^/]*/index\.md",
    ),
    *_rules(
        PRD,
        rf"{_OPTIONAL_FOLDER}prds/[^/]+/prd\.md",
        rf"{_OPTIONAL_FOLDER}prd\.md",
        _name_with(r"prd"),
        rf"{_OPTIONAL_FOLDER}product-requirements[^/]*\.md",
        rf"{_OPTIONAL_FOLDER}[^/]*prd[^/]*/index\.md",
    ),
    *_rules(
        UX,
        rf"{_OPTIONAL_FOLDER}ux-designs/[^/]+/(?:design|experience)\.md",
        rf"{_OPTIONAL_FOLDER}ux-design-specification\.md",
        _name_with(r"ux"),
        rf"{_OPTIONAL_FOLDER}(?:[^/]*[-_ ])?ux-(?:design|spec)[^/]*\.md",
        rf"{_OPTIONAL_FOLDER}front-end-spec[^/]*\.md",
        rf"{_OPTIONAL_FOLDER}(?:[^/]*[-_ ])?ux(?:[-_ ][^/]*)?/index\.md",
    ),
    *_rules(
        ARCHITECTURE,
        rf"{_OPTIONAL_FOLDER}architecture/[^/]+/architecture-spine\.md",
        rf"{_OPTIONAL_FOLDER}(?:architecture|architecture-spine|solution-architecture)\.md",
        _name_with(r"architecture"),
        rf"{_OPTIONAL_FOLDER}(?:[^/]*[-_ ])?architecture(?:[-_ ][^/]*)?/index\.md",
    ),
    *_rules(
        READINESS,
        rf"{_OPTIONAL_FOLDER}implementation-readiness[^/]*\.md",
        rf"{_OPTIONAL_FOLDER}[^/]*(?:readiness|gate-check)[^/]*\.md",
    ),
)

# Every name above contains one of these words: a fast filter for ten thousand other files.
_ANY_WORD = re.compile(
    r"brainstorm|ideation|research|brief|prfaq|prd|product-req|ux|front-end|architecture|readiness|gate-check"
)
# Documents about a document, and old copies.
_NOT_DOCUMENTS = re.compile(
    r"^test[-_]|(?:^|[-_. ])(?:validation|validate|review|reconcile|checklist|template|distillate|addendum"
    r"|proposal|backup|bak|old|draft|archived?|example|retro(?:spective)?|handoff)(?:[-_. ]|$)"
)
# Stories, epic contexts and build specs: their titles may contain any of these words.
_STORY_NAMES = re.compile(r"(?:\d+[a-z]?[-.]\d+|epics?[-_ ]?\d|spec-|story[-_ ]|tech-spec|sprint)")


def classify_document(path: str) -> tuple[str, int] | None:
    """The document that a path below a planning folder names, and the rank of the match."""
    lower = path.lower()
    title = lower.rpartition("/")[2].removesuffix(".md")
    if not _ANY_WORD.search(lower) or _STORY_NAMES.match(title):
        return None
    found: dict[str, int] = {}
    for rule in _RULES:
        if rule.artefact not in found and rule.pattern.fullmatch(lower):
            found[rule.artefact] = rule.rank
    if READINESS in found:  # it is a report, so _NOT_DOCUMENTS does not apply
        return READINESS, found[READINESS]
    if not found or _NOT_DOCUMENTS.search(title):
        return None
    # `research/ux-patterns.md` is research.
    name = RESEARCH if "research/" in lower and RESEARCH in found else min(found, key=lambda one: found[one])
    return name, found[name]


def sort_key(path: str, rank: int) -> tuple[int, int, object]:
    """Sorts the most certain name first, then the one nearest to the top."""
    return rank, path.count("/"), natural_order(path.lower())


# The names in bmm-workflow-status.yaml and bmad-help.csv of the workflows that write each document.
_WORKFLOWS = {
    BRAINSTORM: "brainstorm brainstorming brainstorm-project",
    RESEARCH: "research deep-recon domain-research market-research technical-research",
    BRIEF: "brief product-brief create-product-brief create-brief prfaq",
    PRD: "prd create-prd",
    UX: "ux ux-design ux-spec create-ux-design create-design create-ux",
    ARCHITECTURE: "architecture create-architecture solution-architecture",
    EPICS: "epics epics-and-stories create-epics-and-stories create-epics",
    READINESS: "readiness implementation-readiness check-implementation-readiness solutioning-gate-check",
    BOARD: "sprint-planning",
}
_BY_WORKFLOW = {word: name for name, words in _WORKFLOWS.items() for word in words.split()}


def document_of_workflow(workflow: str) -> str | None:
    """`create-prd`, `bmad-bmm-create-prd`, `bmad-prd` → prd."""
    word = workflow.strip().lower().removeprefix("/")
    for prefix in ("bmad-bmm-", "bmad-", "bmad:bmm:workflows:", "bmad_bmm_"):
        word = word.removeprefix(prefix)
    return _BY_WORKFLOW.get(word.replace("_", "-"))


# bmad-help.csv, the index of BMAD's own help: we read the output location of each workflow.
#
# Two sets of columns are in use: `skill` since 6.3, `command` and `workflow-file` before.

MAX_HELP = 1024 * 1024
MAX_ROWS = 2000
_FILES = ("_config/bmad-help.csv", "_cfg/bmad-help.csv")


class HelpRow(NamedTuple):
    workflow: str  # `bmad-prd`, `bmad-bmm-create-prd`
    locations: tuple[str, ...]  # as written: `planning_artifacts`, `{output_folder}/brainstorming`


def read_help(bmad_folder: str | None) -> tuple[HelpRow, ...]:
    """Every workflow with an output location. Empty if the file is missing or has other columns."""
    for name in _FILES if bmad_folder else ():
        try:
            text = read_text(f"{bmad_folder}/{name}", limit=MAX_HELP).text
        except FileError:
            continue
        return tuple(_rows(text))
    return ()


def _rows(text: str) -> list[HelpRow]:
    found = []
    try:
        for row, _ in zip(csv.DictReader(text.splitlines()), range(MAX_ROWS), strict=False):
            workflow = row.get("skill") or row.get("command") or ""
            places = (row.get("output-location") or "").split("|")
            locations = tuple(location.strip() for location in places if location.strip())
            if workflow and not workflow.startswith("_") and locations:
                found.append(HelpRow(workflow, locations))
    except csv.Error:  # an unclosed field, a NUL
        pass
    return found
