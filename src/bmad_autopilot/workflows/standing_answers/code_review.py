"""Standing answers for code-review.

Until 6.1 it is one workflow with one question; from 6.2 it consists of steps with four to six halts per run."""

from ...core.stop_causes import BlockReason
from . import SkillAnswer, SkillAnswers, halt_rules, not_a_halt
from .common import COMMON, ENGINE, INPUTS, REVIEWER_STOPS, SUBAGENTS

_STEPS = (6, 2)

_ANSWERS = (
    SkillAnswer(
        "target",
        "Review the story named above and nothing else: what changed since the baseline commit, committed, staged,"
        " unstaged and untracked. Offer no other target and no other range.",
    ),
    SkillAnswer(
        "spec",
        "The story file named above is the spec: a full review, with nothing to ask about it.",
        since=_STEPS,
    ),
    SkillAnswer("size", "Review the whole diff in this run, however long it is; no chunks.", since=_STEPS),
    SkillAnswer("checkpoint", "A checkpoint or summary is confirmed in advance: go straight on.", since=_STEPS),
    SUBAGENTS._replace(since=_STEPS),
    SkillAnswer(
        "decisions",
        "A finding that needs a decision: decide it yourself where the acceptance criteria, the architecture or"
        " the code around it leave one sensible choice. Else write it into the story, ask, and give no verdict"
        " yet.",
        BlockReason.CRITICAL_DECISION,
        since=_STEPS,
    ),
    SkillAnswer(
        "findings",
        "Change no code. Leave every finding that calls for a change as an open action item in the story file,"
        " with its place, and go on: the developer mends it. Where a reason for deferring is asked for, give one"
        " line.",
    ),
    SkillAnswer(
        "nothing",
        "Nothing changed since the baseline: the verdict is changes-requested, and the summary says so.",
        since=_STEPS,
    ),
    SkillAnswer(
        "baseline",
        "A baseline that git cannot resolve: ask, with what git says.",
        BlockReason.NO_RESOURCE,
        since=_STEPS,
    ),
    SkillAnswer("layers", "No review layer that can run: ask.", BlockReason.NO_RESOURCE, since=(6, 11)),
    SkillAnswer("end", "There are no next steps to choose: give the verdict and end.", since=_STEPS),
    INPUTS._replace(since=(6, 1), before=_STEPS),
    ENGINE,
)

_CHOICE = r"(?:halt i am waiting|reply with only the number|do not proceed until)"
_TARGET = r"step-01-gather-context\.md instructions ::"
_UNTIL_61 = r"code-review/(?:instructions\.xml|workflow\.md)"

_STOPS = (
    *halt_rules(
        "target",
        rf"{_UNTIL_61} load story and discover changes :: action use provided .* or ask user which",
        rf"{_TARGET} (?:would you like to review its|\[?y\]? ?yes / |if confirmed|if declined)",
        rf"{_TARGET} - (?:multiple review stories present|exactly one review story)",
        rf"{_TARGET} (?:wait for user selection|halt and give the user a choice|- choose another target)",
        rf"{_TARGET} if (?:the user chooses review this|they choose choose another|manual choice is selected)",
        rf"{_TARGET} if the branch is not main .*confirm",
        rf"{_TARGET} (?:tier 5|halt$|(?:\d )?ask the user what do you want to review|present these options)",
        rf"{_TARGET} - (?:branch diff vs a base|specific commit range|provided diff or file list)",
        rf"{_TARGET} if resolution fails ask for a sha",
    ),
    *halt_rules(
        "baseline",
        rf"{_TARGET} if it (?:does not exist|does not|does not resolve|is not parseable) halt and ask the user",
    ),
    *halt_rules("nothing", rf"{_TARGET} if (?:empty halt and tell|the diff is empty .*ask the user)"),
    *halt_rules(
        "spec",
        rf"{_TARGET} (?:- otherwise )?ask the user is there a spec",
        rf"{_TARGET} - else neither a spec path",
        rf"{_TARGET} (?:\d\.? )?provide a spec or story file path",
        rf"{_TARGET} - if the user explicitly chooses to continue",
    ),
    *halt_rules("size", rf"{_TARGET} sanity check if .* exceeds approximately 3000 lines"),
    *halt_rules(
        "checkpoint",
        r"step-01-gather-context\.md checkpoint ::",
        r":: wait for input halt at checkpoints",
        r":: - always halt at checkpoints",
    ),
    *halt_rules(
        "subagents",
        r":: if you need an explicit user instruction to run them",
        r"step-02-review\.md .*:: if (?:subagents are not available|a layer's instruction requires subagents)",
        r"step-02-review\.md .*:: (?:halt|then halt)$",
        r"step-02-review\.md .*:: (?:tell the user to run each prompt|ask the user to run each)",
    ),
    *halt_rules("layers", r"step-02-review\.md .*:: if no layer is active halt"),
    *halt_rules("findings", r"resolve decision-needed findings :: if the user chooses to defer ask"),
    *halt_rules(
        "decisions",
        rf"resolve decision-needed findings :: (?:the user must decide|walk through each|{_CHOICE})",
        r"step-03-triage\.md .*:: - decision_needed -- there is an ambiguous choice",
        r"step-04-present\.md .*:: (?:consider clarifying intent|- if intent_gap or bad_spec findings exist)",
    ),
    *halt_rules(
        "findings",
        rf"{_UNTIL_61} .*low issues :: (?:ask what should i do|choose |check if user chooses)",
        rf"handle patch findings :: (?:{_CHOICE}|if patch findings exist|ask the user|if {{?spec_file}}? is)",
        r"handle patch findings :: how would you like to handle",
        r"handle patch findings :: (?:- )?(?:apply every patch|option 0)",
        r"step-04-present\.md .*:: present findings and let the user decide",
    ),
    *halt_rules(
        "end",
        rf"7\. next steps :: (?:{_CHOICE}|present the user with|what would you like to do next)",
        r"step-04-present\.md .*:: offer the user next steps",
    ),
    *not_a_halt(
        "what a finding may be called", r":: - patch -- code issue that is (?:trivially )?fixable without human"
    ),
    *not_a_halt("an outcome's name in a checklist", r"checklist\.md .*:: - outcome decided approve"),
    *not_a_halt(
        "a question the reviewer puts to the code",
        r":: (?:critical |- )*challenge everything are tasks",
        r":: are acs really implemented",
        r":: test quality are tests real assertions",
        r"step-03-triage\.md .*:: at the cited file and line does the bad outcome",
    ),
    *not_a_halt(
        "how the target is found; it is named above",
        rf"{_TARGET} (?:\d )?(?:find the review target .*)?check in this order",
        rf"{_TARGET} (?:did the user pass|do the last few messages|never ask extra|do not ask for a spec)",
    ),
    *not_a_halt(
        "subagents are waited for in the same turn", r"step-02-review\.md rules :: - run subagents synchronously"
    ),
    *not_a_halt(
        "something is said, and the review goes on",
        r"step-02-review\.md .*:: - when condition present and not satisfied",
        r"step-04-present\.md .*:: - when {?spec_file}? is set always write findings",
        r"step-04-present\.md .*:: present to the user in this order",
    ),
    *REVIEWER_STOPS,
    *COMMON,
)

CODE_REVIEW = SkillAnswers(_ANSWERS, _STOPS)
