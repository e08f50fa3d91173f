"""The built-in workflows: what is left of them at each status, and what a review round repeats."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.owes import Owes
from bmad_autopilot.core.statuses import BACKLOG, DONE, IN_PROGRESS, PARKED, READY, REVIEW, STORY_LIFE, UNKNOWN
from bmad_autopilot.project.schema import STEPS as KNOWN
from bmad_autopilot.project.schema import WORKFLOWS
from bmad_autopilot.workflows.pipelines import (
    BUILD,
    CODE_REVIEW,
    DEV,
    FIX,
    PIPELINES,
    RETROSPECTIVE,
    STEPS,
    Step,
    Workflow,
    round_steps,
    steps_left,
)

SECURITY = Step("security", "qa", prompt="Look at {story}.")


def names(steps: tuple[Step, ...]) -> list[str]:
    return [step.name for step in steps]


@pytest.mark.parametrize(
    ("name", "meaning", "left"),
    [
        ("lean", BACKLOG, ["create-story", "dev", "code-review"]),
        ("lean", READY, ["dev", "code-review"]),
        ("lean", IN_PROGRESS, ["dev", "code-review"]),
        ("lean", REVIEW, ["code-review"]),
        ("full", BACKLOG, ["create-story", "validate", "dev", "revision", "code-review"]),
        ("full", READY, ["dev", "revision", "code-review"]),
        ("full", REVIEW, ["code-review"]),
        ("build", BACKLOG, ["build-auto", "code-review"]),
        ("build", READY, ["build-auto", "code-review"]),
        ("build", IN_PROGRESS, ["build-auto", "code-review"]),
        ("build", REVIEW, ["code-review"]),
        *((name, meaning, []) for name in PIPELINES for meaning in (DONE, PARKED, UNKNOWN)),
    ],
)
def test_a_story_enters_where_its_status_says(name: str, meaning: str, left: list[str]) -> None:
    assert names(steps_left(PIPELINES[name], meaning)) == left


@pytest.mark.parametrize(
    ("workflow", "again"),
    [
        (PIPELINES["lean"], ["dev", "code-review"]),
        (PIPELINES["full"], ["dev", "revision", "code-review"]),
        (PIPELINES["build"], ["fix", "code-review"]),
        (Workflow("own", (DEV, SECURITY, CODE_REVIEW), DEV), ["dev", "security", "code-review"]),
        (Workflow("two", (BUILD, DEV, CODE_REVIEW), DEV), ["dev", "code-review"]),
        (Workflow("unreviewed", (BUILD, SECURITY), FIX), ["fix", "security"]),
        (Workflow("odd", (SECURITY,), FIX), ["fix"]),
    ],
)
def test_a_round_begins_with_the_fix_and_repeats_what_follows(workflow: Workflow, again: list[str]) -> None:
    assert names(round_steps(workflow)) == again


def test_a_step_before_create_story_is_part_of_the_backlogs_way() -> None:
    workflow = Workflow("own", (SECURITY, *PIPELINES["lean"].steps), DEV)
    assert steps_left(workflow, BACKLOG) == workflow.steps
    assert names(steps_left(workflow, READY)) == ["dev", "code-review"]


def test_without_a_review_nothing_is_left_at_review() -> None:
    workflow = Workflow("own", (DEV, SECURITY), DEV)
    assert (steps_left(workflow, REVIEW), workflow.review) == ((), None)
    assert PIPELINES["lean"].review == CODE_REVIEW


def test_what_is_special_about_a_step() -> None:
    assert [step.name for step in STEPS.values() if step.clean] == ["build-auto"]
    assert [step.name for step in STEPS.values() if step.fresh] == ["code-review"]
    assert (FIX.skill, FIX.owes, FIX.clean) == (None, Owes.CODE, False)
    assert (RETROSPECTIVE.skill, RETROSPECTIVE.owes) == ("retrospective", Owes.NOTHING)


def test_the_settings_know_the_same_steps_and_workflows() -> None:
    assert {name: (step.skill, step.owes) for name, step in STEPS.items()} == KNOWN
    assert ("auto", *PIPELINES) == WORKFLOWS


steps = st.lists(st.sampled_from([*STEPS.values(), SECURITY]), max_size=7, unique=True).map(tuple)


@given(steps, st.sampled_from([DEV, FIX]), st.sampled_from([*STORY_LIFE, PARKED, UNKNOWN]))
def test_any_workflow_has_an_answer(steps: tuple[Step, ...], fix: Step, meaning: str) -> None:
    workflow = Workflow("any", steps, fix)
    again = round_steps(workflow)
    assert again[0] == fix
    assert again.count(fix) == 1
    assert set(steps_left(workflow, meaning)) <= set(steps)
