"""A pull request from the forge's door is judged as the workflow judges it."""

from bmad_autopilot.github.approval import COPILOT, GATE_WORKFLOW, judge
from bmad_autopilot.github.approving import evaluate
from bmad_autopilot.github.pulls import (
    Actor,
    CheckState,
    Pull,
    PullState,
    RemoteCheck,
    Review,
    ReviewState,
    Thread,
)
from tests.github.situations import HEAD, NOW, OLD, RULES

PULL = Pull(
    number=7,
    id="PR_7",
    url="",
    state=PullState.OPEN,
    title="Epic 1",
    head_ref="feature/epic-1",
    head=HEAD,
    base_ref="main",
    base=OLD,
    author=Actor("ann"),
    created=NOW - 9000,
    pushed=NOW - 700,
    reviews=(Review("R_1", Actor(COPILOT, is_bot=True), ReviewState.COMMENTED, HEAD, NOW - 500, number=5),),
    checks=(RemoteCheck("test", CheckState.PASSED),),
)


def test_a_ready_one_is_approved() -> None:
    assert judge(evaluate(PULL, NOW, ["src/a.py"]), RULES).word == "approve"


def test_an_open_thread_and_a_file_that_judges_are_seen() -> None:
    thread = Thread("T_1", "src/a.py", 1, "", ())
    assert judge(evaluate(PULL._replace(threads=(thread,)), NOW, []), RULES).word == "wait"
    assert (
        judge(evaluate(PULL._replace(threads=(thread._replace(is_resolved=True),)), NOW, []), RULES).word
        == "approve"
    )
    assert judge(evaluate(PULL, NOW, [".github/workflows/ci.yml"]), RULES).word == "refuse"


def test_the_gates_own_check_is_not_counted() -> None:
    own = RemoteCheck("auto-approve", CheckState.PENDING, workflow=GATE_WORKFLOW)
    assert judge(evaluate(PULL._replace(checks=(*PULL.checks, own)), NOW, []), RULES).word == "approve"


def test_the_base_taken_in_keeps_the_review_and_the_age() -> None:
    review = PULL.reviews[0]._replace(commit=OLD)
    pull = PULL._replace(reviews=(review,), pushed=NOW - 130)
    assert judge(evaluate(pull, NOW, []), RULES).word == "wait"
    assert judge(evaluate(pull, NOW, [], content=[OLD], pushed=NOW - 700), RULES).word == "approve"
