"""Write docs/loop.md from the transition table: `python -m scripts.loop_diagram`."""

from collections.abc import Iterator
from pathlib import Path

from bmad_autopilot.core.facts import VALUES
from bmad_autopilot.core.rules import Action, Rule
from bmad_autopilot.core.table import TABLE

PAGE = Path(__file__).resolve().parent.parent / "docs" / "loop.md"

HEAD = """\
# The loop

<!-- Made from src/bmad_autopilot/core/table.py, to_merged.py and through_flow.py by
`python -m scripts.loop_diagram`; change it there. -->

Each turn looks at how things are, takes the first row below that fits, does that one thing, and records it. After
a crash the next turn simply looks again. The rows are `core/table.py` and, from a finished epic to a merged pull
request, `core/to_merged.py`, of flows `core/through_flow.py`; the facts are `core/facts.py`. How things are found
out is `engine/observing.py`, what each action does `engine/performing.py`; for a delivery and for flows, the files
of the same names in `engine/delivery/` and `engine/flows/`.

"""

# In the order in which the table goes through them; each begins with the row named here.
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

WORDS: dict[Action, str] = {
    Action.LEAVE: "leave; agents go on",
    Action.FINISH: "the run is completed",
    Action.FAIL: "the run fails with what is wrong with the board",
    Action.WAIT_FOR_ANSWER: "wait for an answer",
    Action.WAIT_FOR_AGENT: "wait for the agent",
    Action.WAIT_FOR_LIMIT: "wait until the limit resets",
    Action.WAIT_FOR_PAUSE: "wait a while",
    Action.WAIT_FOR_SLOT: "wait for a slot",
    Action.ASK: "ask a person",
    Action.ANSWER: "answer as the settings say",
    Action.TAKE_ANSWER: "take the answer",
    Action.RESTORE_BOARD: "put the board back as it was before the call, keep the other aside",
    Action.TAKE_IN: "gather what the call left, and judge it",
    Action.BEGIN: "record the story's baseline",
    Action.LET_GO: "save the work, let the story go",
    Action.NOTE_EDIT: "take note of it: a person's word stands",
    Action.SET_ROW: "set the story's row",
    Action.LIFT_EPIC: "set the epic to in-progress",
    Action.CLOSE_EPIC: "set the epic to done",
    Action.CHECK: "run the project's checks",
    Action.CALL: "call the agent for the step",
    Action.FIX: "call for a mend",
    Action.RETROSPECT: "call for the retrospective",
    Action.ACCEPT: "the step is done",
    Action.NEW_ROUND: "begin another review round",
    Action.COMMIT: "commit",
    Action.KEEP_STATE: "bring the flow's state file up to date",
    Action.IMPLEMENT: "run the flow's tasks, on a board of their own",
    Action.DELIVER: "the epic's branch begins its way to the base branch",
    Action.WAIT_FOR_FORGE: "see to other epics until the forge is tried again",
    Action.WAIT_FOR_PULL: "see to other epics until something about it changes",
    Action.STAND: "go to our branch in the work tree",
    Action.PUSH: "push, if the remote still has what we saw",
    Action.OPEN_PULL: "open the pull request",
    Action.LABEL: "label it",
    Action.RETARGET: "aim it at the branch that it should go to",
    Action.REQUEST_REVIEW: "ask Copilot for a review",
    Action.REPLY: "reply to a thread",
    Action.RESOLVE: "close a thread",
    Action.OPEN_ROUND: "begin a round of mending",
    Action.RERUN: "run what failed once more",
    Action.NOTE_GREEN: "write down since when they have passed",
    Action.START_ROBOT: "start the workflow that approves",
    Action.TAKE_BASE: "take the base branch in",
    Action.MERGE: "merge, if its head is still what was tested",
    Action.PROVE: "compare what was merged with what was tested",
    Action.REOPEN: "open it again",
    Action.TAKE_FOREIGN: "take in what somebody else has pushed",
    Action.CLEAR_BRANCH: "delete the branch; epics that stand on it go to the base",
}


def page() -> str:
    return "\n".join([HEAD + _diagram(), _rows(), _waits(), _facts()])


def groups() -> list[tuple[str, list[Rule]]]:
    """Every row of the table in the group it stands in."""
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
    ends = " & ".join(_node(action) for action in (Action.LEAVE, Action.FINISH, Action.FAIL))
    lines += [f"  {ends} --> over([the run ends])", "```", "", "Every other box leads back to *look*.", ""]
    return "\n".join(lines)


def _node(action: Action) -> str:
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
    lines += [f"| {name} | {', '.join(_each(values))} |" for name, values in VALUES.items()]
    return "\n".join([*lines, ""])


def _each(values: tuple[object, ...]) -> Iterator[str]:
    return ("yes" if value is True else "no" if value is False else str(value) for value in values)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
