"""Answers and halt rules shared by several skills: the engine of 6.0, activation, input discovery, reviewers."""

from . import HaltRule, SkillAnswer, halt_rules, not_a_halt

# Until 6.0 every workflow ran on one engine, which asks after each step by default.
ENGINE = SkillAnswer(
    "engine",
    "The workflow engine runs in its #yolo mode from the first step: no confirmation between steps, every template"
    " section continued, optional steps taken where they serve the story, unknown variables worked out from the"
    " configuration and from this text, missing documents left out.",
    before=(6, 1),
)
INPUTS = SkillAnswer(
    "inputs",
    "A planning document that is not there stays unread: go on with what there is, and name the gap where you"
    " record your work.",
)
SUBAGENTS = SkillAnswer(
    "subagents",
    "You may start subagents, and wait for each of them. Where none can be started, do the work of each yourself,"
    " one after another, and say so in your record; hand no prompt to anybody.",
)

_ENGINE_STOPS = (
    *not_a_halt("defines how a tag is read", r"workflow\.xml .*:: tag template-output"),
    *not_a_halt("a duty, not a pause", r"workflow\.xml .*:: check confirm document saved"),
    *halt_rules("engine", r"core/tasks/workflow\.xml "),
)

_ACTIVATION_STOPS = not_a_halt(
    "customised activation steps run in order; none is there unless the project added one",
    r":: execute each (?:entry in|of these steps) .*before proceeding",
    r":: if activation_steps_prepend or .* were non-empty confirm every entry",
    r"customize\.toml .*:: instruction run by halt after",
)

_INPUT_STOPS = (
    *halt_rules(
        "inputs", r"discover-inputs\.md .*:: (?:if the variable is undefined ask|offer the user a chance)"
    ),
)

REVIEWER_STOPS = not_a_halt(
    "a reviewer's own instruction: it ends that subagent, not the workflow",
    r"bmad-review-(?:adversarial-general|edge-case-hunter)/",
    r"bmad-review/references/(?:lens-[\w-]+|editorial-common)\.md ",
    r"bmad-review/skill\.md .*:: (?:use when and only when|if (?:it|the content) is empty or cannot)",
    r"review-prompts/(?:edge-case-hunter|verification-gap)\.md ",
    r"references/(?:deletion|claims)-check\.md ",
    r"customize\.toml .*:: if (?:the content is empty|you have zero findings|the instruction file is unread)",
    r"step-0\d-review\.md .*:: reply with what you changed",
)

COMMON: tuple[HaltRule, ...] = (*_ENGINE_STOPS, *_ACTIVATION_STOPS, *_INPUT_STOPS)
