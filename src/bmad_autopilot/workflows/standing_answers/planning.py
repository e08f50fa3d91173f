"""Standing answers for the planning skills, from brainstorm to sprint planning.

These skills are conversations: some have hundreds of points where the user is to speak, which differ in every
version. So the answers are general rules, without a table of halts."""

from collections.abc import Mapping

from ...core.stop_causes import BlockReason
from . import SkillAnswer
from .common import ENGINE, SUBAGENTS

_RUN_FOLDERS = (6, 10)

_MENU = SkillAnswer(
    "menu",
    "Answer every menu yourself, at once: continue ([C]) where that is offered, else whatever leads on to the"
    " finished document. No advanced elicitation, no party mode ([A], [P]), no second round of a section that"
    " stands.",
)
_DRAFT = SkillAnswer(
    "draft",
    "Where the skill wants a user's vision, opinion or consent before it writes, write: from the repository,"
    " from the documents before this one and from answers quoted above, in the plainest reading, each guess"
    " marked [ASSUMPTION].",
)
_OPEN = SkillAnswer(
    "open-questions",
    "What stays open goes into the document itself, under Open Questions, with the reading you went on with"
    " and who could decide it.",
)
_DECISIONS = SkillAnswer(
    "decisions",
    "Ask only what nothing written decides and a wrong guess would ruin: what the product is and for whom,"
    " money, law, promises to others. Ask all of it at once, with options and the one you would take.",
    BlockReason.CRITICAL_DECISION,
)
_BEGUN = SkillAnswer(
    "begun",
    "A document of this kind that was begun is gone on with where it stops; nobody has to agree. One that"
    " belongs to another product or component is left alone.",
)
_INPUTS = SkillAnswer(
    "inputs",
    "Documents you find are the right ones: take all that belong to this product, of two versions the newer,"
    " of a whole one and its shards the whole one. One that is not there stays unread, and you name the gap.",
)
_WAY = SkillAnswer(
    "way",
    "Where the skill lets one choose how to work, take the way without a person: headless, fast path, draft"
    " first. No greeting, no page to open in a browser, no prompt for another tool.",
)
_REVIEW = SkillAnswer(
    "review",
    "A review or a checklist that the skill offers is run, whole, and what it finds is mended where the"
    " documents say how; the rest goes under Open Questions.",
)
_END = SkillAnswer(
    "end",
    "The step ends with its document: every section written, no placeholder left, and its front matter as the"
    " skill leaves it at the very end (status, stepsCompleted). Begin no other skill, and suggest none.",
)
_MISSING = SkillAnswer(
    "missing",
    "A tool of the skill that cannot be run (uv, a script, the web): do its work by hand as its text"
    " describes, and say so. Ask only where an input is missing without which there is nothing to write.",
    BlockReason.NO_RESOURCE,
)

_GENERAL = (
    *(_MENU, _DRAFT, _OPEN, _DECISIONS, _BEGUN, _INPUTS, _WAY, _REVIEW, _END, _MISSING),
    SUBAGENTS._replace(since=_RUN_FOLDERS),
    ENGINE,
)

_NOT_READY = SkillAnswer(
    "not-ready",
    "A plan that is not ready: mend what the documents themselves decide and judge again. Ask what only a"
    " human can settle. Never call it ready to get on.",
    BlockReason.HUMAN_REVIEW_REQUIRED,
)
_READINESS = (_MENU, _INPUTS, _NOT_READY, _WAY, _END, _MISSING, SUBAGENTS._replace(since=_RUN_FOLDERS), ENGINE)

_GATE = SkillAnswer(
    "gate",
    "A gate's concerns do not stop the board. Where it fails, mend what the documents decide and judge again;"
    " else make no board, name the story that cannot be built, and ask. Where only readiness is to be judged,"
    " the report is the end.",
    BlockReason.HUMAN_REVIEW_REQUIRED,
    since=(6, 11),
)
_MERGE = SkillAnswer(
    "merge",
    "Rows of the board whose story is in no epics file stay as they are and are named in your record; headings"
    " that the script does not understand are mended in the epics file, and the script is run again.",
)
_SPRINT = (_GATE, _MERGE, _INPUTS, _WAY, _END, _MISSING, ENGINE)

_CONVERSATIONS = (
    *("brainstorming", "brainstorm-project"),
    *("deep-recon", "market-research", "domain-research", "technical-research", "research"),
    *("product-brief", "create-product-brief"),
    *("prd", "create-prd"),
    *("ux", "create-ux-design"),
    *("architecture", "create-architecture"),
    "create-epics-and-stories",
)
_CHECKS = ("check-implementation-readiness", "implementation-readiness", "solutioning-gate-check")

PLANNING: Mapping[str, tuple[SkillAnswer, ...]] = {
    **dict.fromkeys(_CONVERSATIONS, _GENERAL),
    **dict.fromkeys(_CHECKS, _READINESS),
    "sprint-planning": _SPRINT,
}
