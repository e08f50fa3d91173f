"""Standing answers for build-auto.

build-auto never asks: it ends as `blocked` with a condition. Each condition has an answer here or becomes a
question."""

from ...core.stop_causes import BlockReason
from . import SkillAnswer, SkillAnswers, halt_rules, not_a_halt
from .common import COMMON, REVIEWER_STOPS, SUBAGENTS

_ANSWERS = (
    SkillAnswer(
        "record",
        "Wherever the workflow ends as blocked, record that as it says, and write the blocking condition as a"
        " question into the agent-state file too.",
    ),
    SkillAnswer(
        "blocked-before",
        "A spec that is already blocked: where this text answers what blocked it, take the answers into the"
        " intent, set its status to draft and plan again. Where it does not, end as blocked.",
    ),
    SkillAnswer(
        "branch",
        "The branch that is checked out is the right one, whatever its name. Changes in the tree that this run did"
        " not make are not yours to commit or undo: end as blocked and ask.",
        BlockReason.HUMAN_REVIEW_REQUIRED,
    ),
    SkillAnswer(
        "continuity",
        "A previous story of the epic whose spec is still in review counts as done for continuity.",
    ),
    SUBAGENTS,
    SkillAnswer(
        "intent",
        "The intent is the story named above, as its epic and its story file tell it. Readings that differ in what"
        " a user would see, and nothing that chooses between them: end as blocked and ask.",
        BlockReason.CRITICAL_DECISION,
    ),
    SkillAnswer(
        "missing",
        "A file, a tool or an access the workflow needs and cannot find or use: end as blocked and ask.",
        BlockReason.NO_RESOURCE,
    ),
    SkillAnswer(
        "verification",
        "A verification that cannot be mended, or a review that does not converge: keep the work, end as blocked"
        " and ask. Never weaken a test or a matrix row to get past it.",
        BlockReason.HUMAN_REVIEW_REQUIRED,
    ),
)

_BLOCKED = r":: .*\bhalts? with (?:status blocked|blocking condition)\b.*"

_STOPS = (
    *halt_rules("blocked-before", rf"{_BLOCKED}(?:blocked spec supplied|story already blocked)"),
    *halt_rules("continuity", rf"{_BLOCKED}missing previous-story continuity"),
    *halt_rules("subagents", rf"{_BLOCKED}no subagents"),
    *halt_rules("branch", r":: halt on a dirty tree or obvious branch"),
    *halt_rules(
        "intent",
        rf"{_BLOCKED}(?:unclear intent|intent gap|unresolved questions as blocking|matrix ambiguity)",
        rf"{_BLOCKED}handoff conflicts with spec",
        r"spec-template\.md .*:: -- agent if any of these trigger .*halt with status blocked",
    ),
    *halt_rules(
        "missing",
        r"skill\.md .*:: - on failure including uv being unavailable",
        rf"{_BLOCKED}(?:no stories\.yaml found|story id not found|ambiguous story file match)",
        rf"{_BLOCKED}(?:unrecognized status in existing|no epic spec found|missing spec_file before)",
        rf"{_BLOCKED}(?:planned spec file disappeared|context compilation verification|metadata not writable)",
    ),
    *halt_rules(
        "verification",
        rf"{_BLOCKED}(?:implementation verification failed|patch verification failed|matrix test audit failed)",
        rf"{_BLOCKED}(?:spec failed ready-for-development|review repair loop exceeded|left repository dirty)",
    ),
    *halt_rules("record", r"workflow\.md halt :: (?:halt|to halt with a final status)"),
    *not_a_halt(
        "how the end is written down",
        r"workflow\.md halt :: (?:the {{\.implementation_artifacts}} fallback|- ambiguous on-disk match)",
        r"workflow\.md (?:auto run result|bmad build auto result) ::",
        r"workflow\.md subagents :: the only sanctioned way to end a turn",
        r"spec-template\.md .*:: (?:--- title|populated by step-04 on every)",
        r"step-01-clarify-and-route\.md +:: --- spec_file",
    ),
    *not_a_halt(
        "subagents are waited for in the same turn",
        r":: invoke (?:the|every) subagent synchronously",
        r":: (?:parallel means several blocking calls|when a step says to run subagents in parallel)",
        r":: (?:launch all the subagents|run_in_background true and never end)",
    ),
    *not_a_halt("tells the agent not to ask", r":: - no human interaction do not ask"),
    *not_a_halt("only on a phrase that we never write", r"halt after planning", r"halt-after-planning check"),
    *not_a_halt(
        "the good end", r":: halt with status done", r":: if version control is unavailable .* proceed to halt"
    ),
    *not_a_halt(
        "an order of work, not a pause",
        r":: (?:step 1 clarify and route|- early exit means stop this step)",
        r":: otherwise derive a valid kebab-case slug from the clarified",
        r":: take only that entry's title .* checkpoint fields",
        r":: after the implementation subagent returns .* before proceeding",
        r":: change {spec_file} status to in-review .* before continuing",
        r":: repair serialization errors before continuing",
    ),
    *not_a_halt(
        "words about the work, not to a person",
        r"spec-template\.md .*:: -- how the agent confirms its own work",
        r":: - patch caused by the change .*without human input",
        r"step-04-review\.md .*:: at the cited file and line does the bad outcome",
    ),
    *REVIEWER_STOPS,
    *COMMON,
)

BUILD_AUTO = SkillAnswers(_ANSWERS, _STOPS)
