"""Standing answers for dev-story."""

from ...core.stop_causes import BlockReason
from . import SkillAnswer, SkillAnswers, halt_rules, not_a_halt
from .common import COMMON, ENGINE

_ANSWERS = (
    SkillAnswer(
        "target",
        "The story is the one named above; its file is the story file named above. Take no other and offer no"
        " choice.",
    ),
    SkillAnswer(
        "no-story-file", "A story file that cannot be read: ask, and change nothing.", BlockReason.NO_RESOURCE
    ),
    SkillAnswer(
        "ambiguous",
        "A task that can be read in two ways: take the reading nearest to the acceptance criteria and note it in"
        " the Dev Agent Record. Ask (critical_decision) only where the criteria contradict each other.",
    ),
    SkillAnswer(
        "dependencies",
        "A new dependency that neither the story nor the architecture names: ask first. Named ones, and what is"
        " installed already, you may use.",
        BlockReason.CRITICAL_DECISION,
    ),
    SkillAnswer(
        "failures",
        "After three failures at the same task, or a validation you cannot mend: note what you tried, leave the"
        " task unticked, and ask. Never skip, weaken or delete a test to get past it.",
        BlockReason.HUMAN_REVIEW_REQUIRED,
    ),
    SkillAnswer(
        "configuration",
        "Configuration that is missing: write what the story and the code let you derive, with no real secret in"
        " it. Ask for what you cannot derive.",
        BlockReason.NO_RESOURCE,
    ),
    SkillAnswer(
        "gates",
        "A completion gate that fails (open task, failing test, short File List, definition of done): do what is"
        " missing, then check again; that is work, not a reason to stop.",
    ),
    SkillAnswer(
        "end",
        "When all is done, end: nobody needs an explanation, a tip or a choice of next steps.",
    ),
    ENGINE,
)

_NONE_READY = r"no ready-for-dev (?:or in-progress )?stor(?:y|ies) found.*"

_STOPS = (
    *halt_rules("no-story-file", r"story file inaccessible halt"),
    *halt_rules("ambiguous", r"requirements ambiguous ask user to clarify"),
    *halt_rules("dependencies", r"new dependencies required beyond story"),
    *halt_rules("configuration", r"required configuration is missing halt"),
    *halt_rules(
        "failures", r"3 consecutive implementation failures", r":: action halt if unable to fix validation"
    ),
    *halt_rules(
        "gates",
        r":: action if (?:any task is incomplete|regression failures exist) halt",
        r":: action if (?:file list is incomplete|definition-of-done validation fails) halt",
        r":: action if (?:regression|new) tests fail stop and fix",
    ),
    *halt_rules(
        "target",
        rf"{_NONE_READY} :: (?:check if user chooses|action halt -)",
        rf"{_NONE_READY} :: (?:ask )?(?:what would you like|choose option)",
        rf"{_NONE_READY} :: (?:ask |please )?provide the",
        rf"{_NONE_READY} :: ask it's unclear what story",
    ),
    *halt_rules(
        "end",
        r"completion communication .* :: action based on {user_skill_level} ask if",
        r"completion communication .*:: (?:- anything else they'd like|check if user asks|action remain flexible)",
        r"completion communication .* :: action provide the story file path",
    ),
    *not_a_halt(
        "tells the agent not to stop",
        r":: (?:critical |- )*absolutely do not stop because",
        r":: (?:critical |- )*continue in a single execution until",
        r":: (?:critical |- )*do not schedule a next session",
        r":: (?:critical |- )*execute continuously without pausing",
        r":: (?:critical |- )*do not propose to pause",
    ),
    *not_a_halt("an order of work, not a pause", r":: (?:critical )?never proceed to next task until"),
    *not_a_halt(
        "a check the agent makes by itself",
        r":: action (?:confirm|run tests to confirm) ",
        r"checklist\.md .*:: - no halt conditions",
    ),
    *not_a_halt(
        "names an outcome or a plan",
        r":: - review outcome approve/changes requested/blocked",
        r":: strategy will prioritize review follow-up",
    ),
    *COMMON,
)

DEV_STORY = SkillAnswers(_ANSWERS, _STOPS)
