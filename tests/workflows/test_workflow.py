"""A workflow that a run keeps comes back as it was, whatever becomes of the settings."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import FileError, Location
from bmad_autopilot.core.statuses import (
    BACKLOG,
    DONE,
    IN_PROGRESS,
    PARKED,
    READY,
    REVIEW,
    STORY_LIFECYCLE,
    UNKNOWN,
)
from bmad_autopilot.core.step_output import StepOutput
from bmad_autopilot.project.config_schema import STEPS as KNOWN
from bmad_autopilot.project.config_schema import WORKFLOWS
from bmad_autopilot.workflows.workflow import (
    BUILD,
    CODE_REVIEW,
    DEV,
    FIX,
    MAX_STEPS,
    PIPELINES,
    RETROSPECTIVE,
    STEPS,
    DecisionGate,
    FlowPart,
    Step,
    Workflow,
    review_round_steps,
    steps_left,
    workflow_from_json,
    workflow_to_json,
)

texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
statuses = st.none() | st.sampled_from(STORY_LIFECYCLE)
words = st.lists(texts, max_size=3).map(tuple)
gates = st.builds(
    DecisionGate, texts, texts, texts, st.sampled_from(["proceed", "again"]), st.just("") | texts, words
)
parts = st.builds(
    FlowPart,
    st.integers(1, 100),
    words,
    words,
    words,
    st.booleans(),
    st.sampled_from(["", "ui"]),
    st.none() | gates,
    st.just("") | texts,
    st.just("") | texts,
    st.booleans(),
    st.booleans(),
    st.integers(1, 10),
)
step_strategy = st.builds(
    Step,
    texts,
    texts,
    st.none() | texts,
    st.none() | texts,
    statuses,
    statuses,
    st.sampled_from(StepOutput),
    st.booleans(),
    st.booleans(),
    words,
    st.booleans(),
    words,
    st.booleans(),
    st.none() | parts,
)
workflows = st.builds(Workflow, texts, st.lists(step_strategy, min_size=1, max_size=20).map(tuple), step_strategy)
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=10)
    | st.sampled_from(list(StepOutput)),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["name", "steps", "fix", "role", "owes", "skill", "clean", "other"]), inner, max_size=8
        )
    ),
    max_leaves=20,
)


@given(workflows)
def test_it_comes_back_as_it_was(workflow: Workflow) -> None:
    back = workflow_from_json(json.loads(json.dumps(workflow_to_json(workflow))))
    assert back == workflow
    assert all(isinstance(step.owes, StepOutput) for step in (*back.steps, back.fix))


@given(anything)
def test_anything_else_is_refused_in_words(data: object) -> None:
    expected: str | None = "a workflow"
    try:
        assert isinstance(workflow_from_json(data), Workflow)
    except FileError as error:
        expected = error.expected
    assert expected


def test_what_another_version_added_or_left_out_does_no_harm() -> None:
    data = {
        "version": 9,
        "name": "mine",
        "steps": [{"name": "a", "role": "dev", "colour": "red", "prompt": None}],
        "fix": {"name": "fix", "role": "dev", "owes": "code"},
    }
    assert workflow_from_json(data) == Workflow(
        "mine", (Step("a", "dev"),), Step("fix", "dev", owes=StepOutput.CODE)
    )


GOOD = workflow_to_json(PIPELINES["lean"])


@pytest.mark.parametrize(
    ("data", "message", "found"),
    [
        (None, "the workflow cannot be read", "nothing"),
        ({**GOOD, "name": ""}, "the workflow's name", "''"),
        ({**GOOD, "steps": []}, "the workflow's steps", "[]"),
        ({**GOOD, "steps": [DEV._asdict()] * (MAX_STEPS + 1)}, "the workflow's steps", "[{'name'"),
        ({**GOOD, "steps": [DEV._asdict(), 3]}, "step 2 cannot", "3"),
        ({**GOOD, "steps": [{**DEV._asdict(), "owes": "money"}]}, "what step 1 owes", "'money'"),
        ({**GOOD, "steps": [{**DEV._asdict(), "owes": []}]}, "what step 1 owes", "[]"),
        ({**GOOD, "steps": [{**DEV._asdict(), "skill": 3}]}, "step 1's skill", "3"),
        ({**GOOD, "steps": [{**DEV._asdict(), "clean": "yes"}]}, "step 1's clean", "'yes'"),
        ({**GOOD, "steps": [{**DEV._asdict(), "flow": 3}]}, "step 1's place in the flow", "3"),
        ({**GOOD, "steps": [{**DEV._asdict(), "flow": {}}]}, "step 1's place in the flow: number", "nothing"),
        ({**GOOD, "steps": [{**DEV._asdict(), "flow": {"number": "1"}}]}, "step 1's place in the flow: n", "'1'"),
        (
            {**GOOD, "steps": [{**DEV._asdict(), "flow": {"number": 1, "done": [2]}}]},
            "step 1's place in the flow: done",
            "[2]",
        ),
        (
            {**GOOD, "steps": [{**DEV._asdict(), "flow": {"number": 1, "gate": {"ask": "x"}}}]},
            "step 1's place in the flow: gate's again",
            "nothing",
        ),
        ({"name": "x", "steps": GOOD["steps"]}, "the fix cannot", "nothing"),
    ],
)
def test_a_broken_one_is_refused_with_its_place(data: object, message: str, found: str) -> None:
    with pytest.raises(FileError) as caught:
        workflow_from_json(data, Location("run/state.json"))
    assert caught.value.message.startswith(message)
    assert (caught.value.found or "").startswith(found)
    assert caught.value.location == Location("run/state.json")


# The built-in workflows: what is left of them at each status, and what a review round repeats.

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
    assert names(review_round_steps(workflow)) == again


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
    assert (FIX.skill, FIX.owes, FIX.clean) == (None, StepOutput.CODE, False)
    assert (RETROSPECTIVE.skill, RETROSPECTIVE.owes) == ("retrospective", StepOutput.NOTHING)


def test_the_settings_know_the_same_steps_and_workflows() -> None:
    assert {name: (step.skill, step.owes) for name, step in STEPS.items()} == KNOWN
    assert ("auto", *PIPELINES) == WORKFLOWS


steps = st.lists(st.sampled_from([*STEPS.values(), SECURITY]), max_size=7, unique=True).map(tuple)


@given(steps, st.sampled_from([DEV, FIX]), st.sampled_from([*STORY_LIFECYCLE, PARKED, UNKNOWN]))
def test_any_workflow_has_an_answer(steps: tuple[Step, ...], fix: Step, meaning: str) -> None:
    workflow = Workflow("any", steps, fix)
    again = review_round_steps(workflow)
    assert again[0] == fix
    assert again.count(fix) == 1
    assert set(steps_left(workflow, meaning)) <= set(steps)
