"""What planning documents are called, from v4 to 6.12: patterns over a path below one of the planning folders.

Until 6.9 each is one file, or a folder of shards with an index; from 6.10 on each run of a skill has a folder of
its own. Real projects put a topic or a date into the names, and a folder per component above them."""

import re
from typing import NamedTuple

from ..core.keys import natural

BRAINSTORM, RESEARCH, BRIEF, PRD, UX = "brainstorm", "research", "brief", "prd", "ux"
ARCHITECTURE, EPICS, READINESS, BOARD = "architecture", "epics", "readiness", "board"
ARTEFACTS = (BRAINSTORM, RESEARCH, BRIEF, PRD, UX, ARCHITECTURE, EPICS, READINESS, BOARD)

MEMLOG = ".memlog.md"  # of a run's folder: all that a brainstorm may leave

_ONE = r"(?:[^/]+/)?"  # a component, or a folder such as `analysis/`


class _Rule(NamedTuple):
    artefact: str
    pattern: re.Pattern[str]
    rank: int  # the smaller, the surer


def _rules(artefact: str, *patterns: str) -> tuple[_Rule, ...]:
    return tuple(_Rule(artefact, re.compile(pattern), rank) for rank, pattern in enumerate(patterns))


def _word(word: str) -> str:
    """A name with this word in it: `prd.md`, `prd-shop-2026.md`, `bmm-prd.md`."""
    return rf"{_ONE}(?:[^/]*[-_ .])?{word}(?:[-_ .][^/]*)?\.md"


_RULES = (
    *_rules(
        BRAINSTORM,
        rf"{_ONE}brainstorming/[^/]+/brainstorm-intent\.md",
        rf"{_ONE}(?:brainstorm(?:ing|s)?/)?[^/]*(?:brainstorm|ideation)[^/]*\.md",
        rf"{_ONE}brainstorming/(?:[^/]+/)?(?:brainstorm\.html|\.memlog\.md|[^/.]+\.md)",
    ),
    *_rules(
        RESEARCH,
        rf"{_ONE}research/[^/]+/research\.md",
        rf"{_ONE}research/[^/.][^/]*\.md",
        _word(r"research"),
        rf"{_ONE}domain-brief\.md",
    ),
    *_rules(
        BRIEF,
        rf"{_ONE}briefs/[^/]+/brief\.md",
        rf"{_ONE}(?:product-|project-)?brief\.md",
        rf"{_ONE}(?:[^/]*[-_ .])?(?:product|project)[-_ ]brief(?:[-_ .][^/]*)?\.md",
        rf"{_ONE}prfaqs?/(?:[^/]+/)?prfaq[^/]*\.md",
        _word(r"prfaq"),
        rf"{_ONE}[^/]*brief[^/]*/index\.md",
    ),
    *_rules(
        PRD,
        rf"{_ONE}prds/[^/]+/prd\.md",
        rf"{_ONE}prd\.md",
        _word(r"prd"),
        rf"{_ONE}product-requirements[^/]*\.md",
        rf"{_ONE}[^/]*prd[^/]*/index\.md",
    ),
    *_rules(
        UX,
        rf"{_ONE}ux-designs/[^/]+/(?:design|experience)\.md",
        rf"{_ONE}ux-design-specification\.md",
        _word(r"ux"),
        rf"{_ONE}(?:[^/]*[-_ ])?ux-(?:design|spec)[^/]*\.md",
        rf"{_ONE}front-end-spec[^/]*\.md",
        rf"{_ONE}(?:[^/]*[-_ ])?ux(?:[-_ ][^/]*)?/index\.md",
    ),
    *_rules(
        ARCHITECTURE,
        rf"{_ONE}architecture/[^/]+/architecture-spine\.md",
        rf"{_ONE}(?:architecture|architecture-spine|solution-architecture)\.md",
        _word(r"architecture"),
        rf"{_ONE}(?:[^/]*[-_ ])?architecture(?:[-_ ][^/]*)?/index\.md",
    ),
    *_rules(
        READINESS,
        rf"{_ONE}implementation-readiness[^/]*\.md",
        rf"{_ONE}[^/]*(?:readiness|gate-check)[^/]*\.md",
    ),
)

# One of these is in every name above: ten thousand other files are told apart by it.
_ANY = re.compile(
    r"brainstorm|ideation|research|brief|prfaq|prd|product-req|ux|front-end|architecture|readiness|gate-check"
)
# Written about a document, or kept from before it: no document itself.
_ABOUT = re.compile(
    r"^test[-_]|(?:^|[-_. ])(?:validation|validate|review|reconcile|checklist|template|distillate|addendum"
    r"|proposal|backup|bak|old|draft|archived?|example|retro(?:spective)?|handoff)(?:[-_. ]|$)"
)
# A story, an epic's context, a build's spec: its title may hold any of these words.
_OF_STORIES = re.compile(r"(?:\d+[a-z]?[-.]\d+|epics?[-_ ]?\d|spec-|story[-_ ]|tech-spec|sprint)")


def named(path: str) -> tuple[str, int] | None:
    """Which document a file of this name is, and how surely: the path is relative to a planning folder."""
    lower = path.lower()
    title = lower.rpartition("/")[2].removesuffix(".md")
    if not _ANY.search(lower) or _OF_STORIES.match(title):
        return None
    found: dict[str, int] = {}
    for rule in _RULES:
        if rule.artefact not in found and rule.pattern.fullmatch(lower):
            found[rule.artefact] = rule.rank
    if READINESS in found:  # a report by its nature, whatever else is in its name
        return READINESS, found[READINESS]
    if not found or _ABOUT.search(title):
        return None
    # `research/ux-patterns.md` is research all the same.
    name = RESEARCH if "research/" in lower and RESEARCH in found else min(found, key=lambda one: found[one])
    return name, found[name]


def order(path: str, rank: int) -> tuple[int, int, object]:
    """The surest name first, then the nearest to the top."""
    return rank, path.count("/"), natural(path.lower())


# What bmm-workflow-status.yaml and bmad-help.csv call the workflows that leave them.
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


def left_by(workflow: str) -> str | None:
    """`create-prd`, `bmad-bmm-create-prd`, `bmad-prd` → prd."""
    word = workflow.strip().lower().removeprefix("/")
    for prefix in ("bmad-bmm-", "bmad-", "bmad:bmm:workflows:", "bmad_bmm_"):
        word = word.removeprefix(prefix)
    return _BY_WORKFLOW.get(word.replace("_", "-"))
