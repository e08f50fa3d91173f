"""A workflow that a run keeps comes back as it was, whatever becomes of the settings."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import FileError, Place
from bmad_autopilot.core.owes import Owes
from bmad_autopilot.core.statuses import STORY_LIFE
from bmad_autopilot.workflows.pipelines import DEV, PIPELINES, FlowPart, Gate, Step, Workflow
from bmad_autopilot.workflows.workflow_json import MAX_STEPS, workflow_from_json, workflow_to_json

texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
statuses = st.none() | st.sampled_from(STORY_LIFE)
words = st.lists(texts, max_size=3).map(tuple)
gates = st.builds(Gate, texts, texts, texts, st.sampled_from(["proceed", "again"]), st.just("") | texts, words)
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
steps = st.builds(
    Step,
    texts,
    texts,
    st.none() | texts,
    st.none() | texts,
    statuses,
    statuses,
    st.sampled_from(Owes),
    st.booleans(),
    st.booleans(),
    words,
    st.booleans(),
    words,
    st.booleans(),
    st.none() | parts,
)
workflows = st.builds(Workflow, texts, st.lists(steps, min_size=1, max_size=20).map(tuple), steps)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10) | st.sampled_from(list(Owes)),
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
    assert all(isinstance(step.owes, Owes) for step in (*back.steps, back.fix))


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
    assert workflow_from_json(data) == Workflow("mine", (Step("a", "dev"),), Step("fix", "dev", owes=Owes.CODE))


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
        workflow_from_json(data, Place("run/state.json"))
    assert caught.value.message.startswith(message)
    assert (caught.value.found or "").startswith(found)
    assert caught.value.place == Place("run/state.json")
