"""Standing answers for create-story and for validate, which is an action of the same skill."""

from ...core.stop_causes import BlockReason
from . import SkillAnswer, SkillAnswers, halt_rules, not_a_halt
from .common import COMMON, ENGINE, INPUTS, SUBAGENTS

_ANSWERS = (
    SkillAnswer(
        "target",
        "The story is the one named above, whatever the board lists first. Take no other, offer no choice, and do"
        " not send anybody to sprint-planning.",
    ),
    SkillAnswer(
        "epic",
        "Where the epic of this story is done, or has a status you do not know, leave the board as it is and ask"
        " whether the epic is to be opened again.",
        BlockReason.CRITICAL_DECISION,
    ),
    SkillAnswer(
        "improvements",
        "Of the checklist's suggestions apply all that the planning documents support, straight into the story"
        " file, without a list to choose from.",
    ),
    SkillAnswer(
        "open-questions",
        "Questions that came up go into the story's Dev Notes, each with the reading you chose. Ask only where no"
        " reading lets the story be built.",
    ),
    INPUTS._replace(since=(6, 1)),
    ENGINE,
    SUBAGENTS._replace(since=(6, 10)),
)

_STOPS = (
    *halt_rules("epic", r"epic status is (?:'done'|not one of).*:: action halt - cannot proceed"),
    *halt_rules(
        "target",
        r"no backlog story found :: action halt /action",
        r"sprint status file does not exist .*:: (?:ask )?(?:choose option|provide (?:specific|path))",
        r"sprint status file does not exist .*:: (?:check if user chooses|action halt -)",
    ),
    *halt_rules(
        "improvements",
        r"checklist\.md .*:: (?:interactive improvement process|step 6 interactive user selection)",
        r"checklist\.md .*:: after (?:completing your systematic analysis present|presenting the suggestions)",
        r"checklist\.md .*:: (?:which improvements would you like|select from the numbered list|your choice)",
        r"checklist\.md .*:: -? ?select - i'll choose",
    ),
    *halt_rules("open-questions", r":: (?:critical |- )*save questions"),
    *halt_rules("subagents", r":: if you need an explicit user instruction to run them"),
    *not_a_halt("says itself that nobody is asked", r":: (?:critical |- )*zero user intervention"),
    *not_a_halt(
        "follows from the story being named",
        r":: check if no user input provided",
        r":: -- auto-discover from sprint status only if",
        r":: action (?:set .* from user input|parse user input)",
    ),
    *not_a_halt(
        "a variable's comment; the title is in the epics file", r":: .*story_title .* (?:will be )?elicited if not"
    ),
    *not_a_halt(
        "how the checklist is worked through, not a question to anybody",
        r"checklist\.md .*understand current status what story",
        r"checklist\.md .*for each gap identified provide specific",
        r"checklist\.md .*:: step 8 confirmation",
        r"checklist\.md .*user should provide the story file path",
    ),
    *COMMON,
)

CREATE_STORY = SkillAnswers(_ANSWERS, _STOPS)
