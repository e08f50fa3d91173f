"""Write docs/loop.md from the transition table: `python -m scripts.loop_diagram`."""

from collections.abc import Iterator
from pathlib import Path

from bmad_autopilot.core.facts import FACT_VALUES
from bmad_autopilot.core.transitions import TABLE, Rule, RuleAction

PAGE = Path(__file__).resolve().parent.parent / "docs" / "loop.md"

HEAD = """\
# The loop

<!-- Made from src/bmad_autopilot/core/transitions.py by
`python -m scripts.loop_diagram`; change it there. -->

Each turn looks at how things are, takes the first row below that fits, does that one thing, and records it. After
a crash the next turn simply looks again. The rows are in `core/transitions.py`, the facts in `core/facts.py`. The
facts are collected in `engine/observe.py`, the actions are in `engine/perform.py`. Of a delivery: `observe.py`,
`pull_facts.py`, `pull_actions.py` and `branch_actions.py` in `engine/delivery/`; of a flow: `engine/flows/`.

"""

# In the order of the table; each group starts with the row named here.
GROUPS = (
    ("Told to leave, an agent at work, or no board to read", "told-to-leave"),
    ("A question is open", "answer-there"),
    ("A call has ended", "call-over"),
    ("From a finished epic to a merged pull request: the forge, the merge, the branch", "delivery-paused"),
    ("On its way: what is pushed has passed here", "unproven-elsewhere"),
    ("On its way: what reviewers and checks found", "reply-due"),
    ("On its way: what others have to do", "review-due"),
    ("On its way: green, answered, approved", "base-restless"),
    ("A flow: what is kept, and what people decide", "flow-commit"),
    ("No story is left", "one-step-done"),
    ("The story, its row or its ground is not as it was", "story-gone"),
    ("A call was taken in", "claim-undone"),
    ("The story is through all steps", "finished-row"),
    ("Before the next call", "paused"),
    ("None of these", "stuck"),
)

WORDS: dict[RuleAction, str] = {
    RuleAction.DETACH: "leave; agents go on",
    RuleAction.FINISH: "the run is completed",
    RuleAction.FAIL: "the run fails with what is wrong with the board",
    RuleAction.WAIT_FOR_ANSWER: "wait for an answer",
    RuleAction.WAIT_FOR_AGENT: "wait for the agent",
    RuleAction.WAIT_FOR_LIMIT: "wait until the limit resets",
    RuleAction.WAIT_FOR_PAUSE: "wait a while",
    RuleAction.WAIT_FOR_SLOT: "wait for a slot",
    RuleAction.ASK: "ask a person",
    RuleAction.ANSWER: "answer as the settings say",
    RuleAction.APPLY_ANSWER: "take the answer",
    RuleAction.RESTORE_BOARD: "put the board back as it was before the call, keep the other aside",
    RuleAction.COLLECT_CALL: "gather what the call left, and judge it",
    RuleAction.START_STORY: "record the story's baseline",
    RuleAction.DROP_STORY: "save the work, let the story go",
    RuleAction.RECORD_EDIT: "take note of it: a person's word stands",
    RuleAction.SET_ROW: "set the story's row",
    RuleAction.START_EPIC: "set the epic to in-progress",
    RuleAction.CLOSE_EPIC: "set the epic to done",
    RuleAction.CHECK: "run the project's checks",
    RuleAction.CALL_AGENT: "call the agent for the step",
    RuleAction.FIX: "call for a mend",
    RuleAction.RUN_RETROSPECTIVE: "call for the retrospective",
    RuleAction.ACCEPT: "the step is done",
    RuleAction.NEW_ROUND: "begin another review round",
    RuleAction.COMMIT: "commit",
    RuleAction.WRITE_STATE: "bring the flow's state file up to date",
    RuleAction.IMPLEMENT: "run the flow's tasks, on a board of their own",
    RuleAction.DELIVER: "the epic's branch begins its way to the base branch",
    RuleAction.WAIT_FOR_FORGE: "see to other epics until the forge is tried again",
    RuleAction.WAIT_FOR_PULL: "see to other epics until something about it changes",
    RuleAction.CHECK_OUT: "go to our branch in the work tree",
    RuleAction.PUSH: "push, if the remote still has what we saw",
    RuleAction.OPEN_PULL: "open the pull request",
    RuleAction.LABEL: "label it",
    RuleAction.RETARGET: "aim it at the branch that it should go to",
    RuleAction.REQUEST_REVIEW: "ask Copilot for a review",
    RuleAction.REPLY: "reply to a thread",
    RuleAction.RESOLVE: "close a thread",
    RuleAction.START_FIX_ROUND: "begin a round of mending",
    RuleAction.RERUN: "run what failed once more",
    RuleAction.RECORD_GREEN: "write down since when they have passed",
    RuleAction.START_AUTO_APPROVE: "start the workflow that approves",
    RuleAction.MERGE_BASE: "take the base branch in",
    RuleAction.MERGE: "merge, if its head is still what was tested",
    RuleAction.VERIFY_MERGE: "compare what was merged with what was tested",
    RuleAction.REOPEN: "open it again",
    RuleAction.MERGE_FOREIGN: "take in what somebody else has pushed",
    RuleAction.DELETE_BRANCH: "delete the branch; epics that stand on it go to the base",
}


def page() -> str:
    return "\n".join([HEAD + _diagram(), _rows(), _waits(), _facts()])


def groups() -> list[tuple[str, list[Rule]]]:
    """The rows of the table by group."""
    firsts = {first: title for title, first in GROUPS}
    found: list[tuple[str, list[Rule]]] = []
    for rule in TABLE:
        if rule.name in firsts:
            found.append((firsts[rule.name], []))
        found[-1][1].append(rule)
    return found


def _diagram() -> str:
    lines = ["```mermaid", "flowchart TD", "  look([look]) --> g0"]
    listed = groups()
    for number, (title, rules) in enumerate(listed):
        lines.append(f'  g{number}{{"{title}"}}')
        if number + 1 < len(listed):
            lines.append(f"  g{number} -- else --> g{number + 1}")
        for action in dict.fromkeys(rule.action for rule in rules):
            names = [rule.name for rule in rules if rule.action is action]
            label = "<br>".join(names[:4] + (["…"] if len(names) > 4 else []))
            lines.append(f'  g{number} -- "{label}" --> {_node(action)}["{WORDS[action]}"]')
    ends = " & ".join(_node(action) for action in (RuleAction.DETACH, RuleAction.FINISH, RuleAction.FAIL))
    lines += [f"  {ends} --> over([the run ends])", "```", "", "Every other box leads back to *look*.", ""]
    return "\n".join(lines)


def _node(action: RuleAction) -> str:
    return action.value.replace("-", "_")


def _rows() -> str:
    lines = ["## Every row, first come first served", "", "| row | when | then |", "|---|---|---|"]
    for title, rules in groups():
        lines.append(f"| **{title}** | | |")
        for rule in rules:
            then = WORDS[rule.action] + (f": `{rule.question}`" if rule.question else "")
            lines.append(f"| {rule.name} | {_when(rule)} | {then} |")
    return "\n".join([*lines, ""])


def _when(rule: Rule) -> str:
    if not rule.when:
        return "nothing above fits"
    return "; ".join(f"{name}: {' or '.join(_each(values))}" for name, values in rule.when.items())


def _waits() -> str:
    lines = ["## Every wait ends", "", "| row | ends at the latest with | ends early with |", "|---|---|---|"]
    for rule in TABLE:
        if rule.wait is not None:
            lines.append(f"| {rule.name} | {rule.wait.bound} | {', '.join(rule.wait.wakes)} |")
    return "\n".join([*lines, ""])


def _facts() -> str:
    lines = ["## The facts it is decided from", "", "| fact | values |", "|---|---|"]
    lines += [f"| {name} | {', '.join(_each(values))} |" for name, values in FACT_VALUES.items()]
    return "\n".join([*lines, ""])


def _each(values: tuple[object, ...]) -> Iterator[str]:
    return ("yes" if value is True else "no" if value is False else str(value) for value in values)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
