"""Standing answers for retrospective.

Until 6.10 it is a role-played discussion with the project lead; from 6.11 a report on evidence, with a headless
mode that our prompt requests."""

from ...core.stop_causes import BlockReason
from . import SkillAnswer, SkillAnswers, halt_rules, not_a_halt
from .common import COMMON, ENGINE, REVIEWER_STOPS

_EVIDENCE = (6, 11)

_ANSWERS = (
    SkillAnswer("epic", "The epic is the one named above. Neither detect nor confirm another."),
    SkillAnswer(
        "unfinished",
        "Unfinished stories do not stop the retrospective: go on, list them, and say that it is a partial one.",
    ),
    SkillAnswer(
        "discussion",
        "Nobody takes part in the discussion. Play no project lead and put no words into anybody's mouth: fill"
        " each section from the story files, the review notes, the board and git, and write what only the project"
        " lead knows as an open question into the document.",
        before=_EVIDENCE,
    ),
    SkillAnswer(
        "plan",
        "Action items and preparation are proposals with an owner's role. None needs an approval now, and none is"
        " carried out.",
        before=_EVIDENCE,
    ),
    SkillAnswer(
        "headless",
        "This is a headless run: no greeting, no confirmation, no team discussion; what you assumed goes into the"
        " Assumptions section, and the verdict rests on the evidence alone.",
        since=_EVIDENCE,
    ),
    SkillAnswer(
        "action-items",
        "Change no action item of an earlier retrospective; record the change you would propose.",
        since=_EVIDENCE,
    ),
    SkillAnswer(
        "no-epic",
        "No such epic on the board, an unreadable board, or several spec folders: ask, and change nothing.",
        BlockReason.NO_RESOURCE,
        since=_EVIDENCE,
    ),
    ENGINE,
)

_CLASSIC = r"retrospective/(?:instructions\.md|workflow\.md|skill\.md)"
_DISCOVERY = rf"{_CLASSIC} epic discovery"
_SPEAKER = r"(?:output )?(?:bob|alice|amelia|charlie|dana|elena) "
_SKILL = r"bmad-retrospective/skill\.md"
_VERDICT = r"references/acceptance-verdict\.md"
_DOCUMENT = r"references/retro-document\.md"

_STOPS = (
    *halt_rules(
        "unfinished",
        rf"{_DISCOVERY} .*epic is not complete.* :: (?:ask if|yes/no|action halt|what would you like to do)",
        rf"{_DISCOVERY} .*epic is not complete :: {_SPEAKER}.*wait ",
        rf"{_SKILL} inputs :: (?:when the list is non-empty|headless proceed and record|either way the list)",
        rf"{_VERDICT} .*:: (?:- )?(?:record the unfinished keys|interactive runs may still let a human)",
    ),
    *halt_rules(
        "epic",
        rf"{_DISCOVERY} .*:: (?:check if {{user_name}} confirms|action (?:wait for|present finding|priority 2))",
        rf"{_DISCOVERY} .*:: (?:action set {{{{epic_number}}}} confirmed|is that the epic|.*which epic number)",
        rf"{_SKILL} inputs :: confirm the detected epic",
    ),
    *halt_rules("no-epic", rf"{_SKILL} inputs :: (?:ask the user which to retro|if detection returns none)"),
    *halt_rules("no-epic", rf"{_SKILL} inputs :: (?:story_count is that same|if the script exits non-zero)"),
    *halt_rules("no-epic", r"references/evidence-gathering\.md .*:: .*or ask the user for it"),
    *halt_rules(
        "plan",
        rf"{_CLASSIC} (?:next epic prep|synthesize action items) .*:: action (?:wait for|ensure) {{user_name}}",
    ),
    *halt_rules(
        "discussion",
        rf"{_CLASSIC} .*:: action wait for {{user_name}}",
        rf"{_CLASSIC} .*:: (?:action after {{user_name}} responds|action use {{user_name}}'s response)",
        rf"{_CLASSIC} .*:: - team members ask {{user_name}} questions",
        rf"{_CLASSIC} .*:: .*\?(?: /guideline)?$",
        rf"{_CLASSIC} .*:: {_SPEAKER}.*(?:tell me about|how (?:do|does|did)|what's the)",
    ),
    *halt_rules(
        "headless",
        rf"{_SKILL} modes :: (?:interactive by default|with -h / --headless)",
        rf"{_SKILL} on activation :: (?:greet and orient|greet {{user_name}})",
        rf"{_SKILL} phase 3 .*:: when the user asks to discuss",
        r"references/team-discussion\.md .*:: (?:only when asked|if bmad-party-mode is unavailable)",
        rf"{_SKILL} phase 4 .*:: (?:fixes and spec reconciliations|a human decision|an epic that fails)",
        rf"{_VERDICT} .*:: (?:the human decides|a human decision|an epic that fails)",
        rf"{_DOCUMENT} .*:: (?:- assumptions|omit in interactive runs|note which are proposed remediation)",
    ),
    *halt_rules(
        "action-items",
        rf"{_SKILL} phase 5 .*:: where the phase 4 follow-through",
        rf"{_VERDICT} .*:: that record is exactly what phase 5",
        rf"{_DOCUMENT} .*:: (?:when the phase 4 follow-through|(?:- )?only ever apply a status)",
    ),
    *not_a_halt(
        "part of the play, or a heading",
        rf"{_CLASSIC} .*:: - example {{user_name}}",
        rf"{_CLASSIC} .*:: step n \d+ goal",
        rf"{_CLASSIC} .*:: {_SPEAKER}.*(?:escalate something|asked plenty|responds)",
        rf"{_CLASSIC} .*:: (?:we only clarified requirements|alice you feel the right questions)",
        rf"{_CLASSIC} .*:: {{{{nice_to_have_prep_item}}}} can wait",
        rf"{_CLASSIC} .*:: (?:nice-to-have preparation|- technical debt level unsustainable)",
    ),
    *not_a_halt(
        "where the report ends, or what it says",
        rf"{_SKILL} (?:flow|phase 5 .*) :: (?:a default run stops|in stories mode finalize)",
        rf"{_VERDICT} .*:: (?:accepted deviations are recorded|- (?:accepted|rejected) )",
        r"references/aggregate-views\.md .*:: each divergence is either",
        r"references/team-discussion\.md .*:: - the improvements the evidence confirms",
        rf"{_DOCUMENT} .*:: (?:- retro_key_found|distinct from false|matching nothing matching more than one)",
    ),
    *REVIEWER_STOPS,
    *COMMON,
)

RETROSPECTIVE = SkillAnswers(_ANSWERS, _STOPS)
