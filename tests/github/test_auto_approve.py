"""What `bmad init --github` writes: the script judges as we do, and the workflow hands nothing to a shell."""

import ast
import re
from typing import Any

import yaml
from hypothesis import given

from bmad_autopilot.github import approval
from bmad_autopilot.github.approval import COPILOT, GATE_WORKFLOW, Rules, Situation, judge
from bmad_autopilot.github.auto_approve import auto_approve_files, build_situation, is_generated, script_text
from bmad_autopilot.github.forge import (
    CheckState,
    ForgeActor,
    Pull,
    PullReview,
    PullState,
    RemoteCheck,
    ReviewState,
    ReviewThread,
)
from bmad_autopilot.github.gate_runner import Pace
from tests.github.situations import HEAD, NOW, OLD, READY, RULES, rules, situations

WORKFLOW, SCRIPT = (file.text for file in auto_approve_files())


def executed(text: str) -> dict[str, Any]:
    """The script as Python would import it: it does not start."""
    space: dict[str, Any] = {"__name__": "gate"}
    exec(compile(text, "auto-approve-gate.py", "exec"), space)
    return space


def job() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(WORKFLOW)["jobs"]["auto-approve"]
    return found


_SPACE = executed(SCRIPT)


@given(situations, rules)
def test_the_script_judges_as_we_do(situation: Situation, rules: Rules) -> None:
    theirs = _SPACE["judge"](_SPACE["Situation"](*situation), _SPACE["Rules"](*rules))
    assert tuple(theirs) == tuple(approval.judge(situation, rules))


def test_the_script_holds_a_copy_and_not_us() -> None:
    assert _SPACE["judge"] is not approval.judge
    assert _SPACE["judge"](READY, RULES).word == "approve"


def test_the_script_needs_the_standard_library_alone() -> None:
    imports = [node for node in ast.walk(ast.parse(SCRIPT)) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in imports}
    assert all(node.level == 0 for node in imports if isinstance(node, ast.ImportFrom))
    assert names == {
        *("calendar", "collections.abc", "json", "os", "subprocess", "sys", "time", "typing", "urllib.parse"),
    }


def test_the_script_runs_on_python_3_9() -> None:
    tree = ast.parse(SCRIPT, feature_version=(3, 9))
    hints = [node for node in ast.walk(tree) if isinstance(node, ast.arg | ast.AnnAssign | ast.FunctionDef)]
    written = [node.returns if isinstance(node, ast.FunctionDef) else node.annotation for node in hints]
    unions = [hint for top in written if top for hint in ast.walk(top) if isinstance(hint, ast.BinOp)]
    assert not unions  # `X | None` in a signature is an error there


def test_the_rules_it_starts_with_are_those_it_was_made_for() -> None:
    text = script_text(Rules(min_age=5.0, reviewer="ann"), Pace(poll=0.5))
    assert text.endswith(
        "sys.exit(main(Rules(min_age=5.0, grace=120.0, reviewer='ann', require_checks=True, "
        "robot='github-actions', prefix='feature/epic-'), Pace(poll=0.5, most_looks=60, most_runs=6)))\n"
    )


def test_no_expression_stands_in_a_command() -> None:
    assert not any("${{" in step["run"] for step in job()["steps"])
    assert not any("uses" in step for step in job()["steps"])


def test_it_has_the_least_rights_and_an_end() -> None:
    assert yaml.safe_load(WORKFLOW)["permissions"] == {}
    assert job()["permissions"] == {
        "contents": "read",
        "checks": "read",
        "statuses": "read",
        "pull-requests": "write",
        "actions": "write",
    }
    pace = Pace()
    assert job()["timeout-minutes"] * 60 > pace.poll * pace.most_looks


def test_the_script_comes_from_the_default_branch() -> None:
    fetch = job()["steps"][0]
    assert fetch["env"]["DEFAULT_BRANCH"] == "${{ github.event.repository.default_branch }}"
    assert '--raw-field ref="$DEFAULT_BRANCH"' in fetch["run"]


def test_it_runs_for_reviews_and_by_hand_one_at_a_time_for_a_pull_request() -> None:
    text = yaml.safe_load(WORKFLOW)
    assert set(text[True]) == {"pull_request_review", "workflow_dispatch"}  # YAML takes `on` for true
    assert text["concurrency"]["cancel-in-progress"] is False
    assert "pull_request.number" in text["concurrency"]["group"]


def test_both_carry_our_mark() -> None:
    assert is_generated(WORKFLOW.encode())
    assert is_generated(SCRIPT.encode())


def test_the_gate_knows_its_own_workflow_by_name() -> None:
    assert yaml.safe_load(WORKFLOW)["name"] == approval.GATE_WORKFLOW


def test_no_mention_leaves_us() -> None:
    assert not re.search(r"@[A-Za-z]", WORKFLOW)


# A pull request from the forge's door is judged as the workflow judges it.

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
    author=ForgeActor("ann"),
    created=NOW - 9000,
    pushed=NOW - 700,
    reviews=(
        PullReview("R_1", ForgeActor(COPILOT, is_bot=True), ReviewState.COMMENTED, HEAD, NOW - 500, number=5),
    ),
    checks=(RemoteCheck("test", CheckState.PASSED),),
)


def test_a_ready_one_is_approved() -> None:
    assert judge(build_situation(PULL, NOW, ["src/a.py"]), RULES).word == "approve"


def test_an_open_thread_and_a_file_that_judges_are_seen() -> None:
    thread = ReviewThread("T_1", "src/a.py", 1, "", ())
    assert judge(build_situation(PULL._replace(threads=(thread,)), NOW, []), RULES).word == "wait"
    assert (
        judge(build_situation(PULL._replace(threads=(thread._replace(is_resolved=True),)), NOW, []), RULES).word
        == "approve"
    )
    assert judge(build_situation(PULL, NOW, [".github/workflows/ci.yml"]), RULES).word == "refuse"


def test_the_gates_own_check_is_not_counted() -> None:
    own = RemoteCheck("auto-approve", CheckState.PENDING, workflow=GATE_WORKFLOW)
    assert judge(build_situation(PULL._replace(checks=(*PULL.checks, own)), NOW, []), RULES).word == "approve"


def test_the_base_taken_in_keeps_the_review_and_the_age() -> None:
    review = PULL.reviews[0]._replace(commit=OLD)
    pull = PULL._replace(reviews=(review,), pushed=NOW - 130)
    assert judge(build_situation(pull, NOW, []), RULES).word == "wait"
    assert judge(build_situation(pull, NOW, [], content=[OLD], pushed=NOW - 700), RULES).word == "approve"
