"""The flows there are: ours whole and sound, users' own from their settings."""

import re
from pathlib import Path

import pytest

from bmad_autopilot.core.errors import FileError, UsageError
from bmad_autopilot.project.config import Config
from bmad_autopilot.project.custom import FlowFile
from bmad_autopilot.project.open import open_project
from bmad_autopilot.project.placeholders import used
from bmad_autopilot.workflows.flow_list import (
    all_flows,
    built_in_flows,
    find_flow,
    flow_named,
    places_of,
    seen_in,
)
from bmad_autopilot.workflows.flow_rules import fault_of
from bmad_autopilot.workflows.pipelines import FlowPart
from tests.support import ProjectMaker
from tests.workflows.flow_folders import flow, put

MINE = "name: mine\nflow:\n  begins: [sources]\nsteps:\n- step: A\n  prompt: b\n"


def part(name: str, number: int) -> FlowPart:
    found = flow(name).steps[number - 1].flow
    assert found is not None
    return found


def config(**files: str) -> Config:
    return Config(flows=tuple(FlowFile(f"{name}.yaml", text.encode()) for name, text in files.items()))


def test_existing_code_is_tried_before_greenfield() -> None:
    names = [flow.name for flow in built_in_flows()]
    assert names.index("existing-code") < names.index("greenfield")


@pytest.mark.parametrize("name", ["greenfield", "existing-code"])
def test_the_built_in_ones_are_whole(name: str) -> None:
    found = flow(name)
    assert (found.notes, found.path) == ((), "")
    assert found.head.description
    for condition in found.conditions:
        assert fault_of(condition) is None
    for number, step in enumerate(found.steps, 1):
        own = part(name, number)
        assert (own.number, own.tries) == (number, 3)
        assert own.substeps
        if own.tasks:
            assert step.prompt is None
            continue
        prompt = step.prompt or ""
        assert 8 <= len(prompt.splitlines()) <= 30
        assert used([prompt]) == []
        assert re.search(r"\b[Aa]sk\b", prompt)
        # What its rules look for is what it tells the agent to write.
        for condition in own.done:
            first = condition.split("|")[0].strip()
            if first not in ("recorded",) and "*" not in first:
                assert first.rstrip("/").rpartition("/")[2] in prompt, (step.name, first)


def test_the_marks_of_the_steps() -> None:
    def marked(name: str, mark: str) -> list[int]:
        return [step.flow.number for step in flow(name).steps if step.flow and getattr(step.flow, mark)]

    assert marked("greenfield", "optional") == [8, 9]
    assert marked("greenfield", "only") == [4]
    assert marked("greenfield", "gate") == [2]
    assert marked("greenfield", "boundary") == [5]
    assert marked("greenfield", "tasks") == [6]
    assert marked("greenfield", "checks") == [7, 10]
    assert marked("greenfield", "loops") == []
    assert marked("existing-code", "optional") == [10, 11]
    assert marked("existing-code", "only") == []
    assert marked("existing-code", "gate") == []
    assert marked("existing-code", "boundary") == [3, 7]
    assert marked("existing-code", "tasks") == [4, 8]
    assert marked("existing-code", "checks") == [5, 6, 9, 12]
    assert marked("existing-code", "loops") == [7]
    assert (part("existing-code", 3).boundary, part("existing-code", 7).boundary) == ("Decompose", "New Task")
    assert (part("existing-code", 4).tasks, part("existing-code", 8).tasks) == ("tests", "features")


def test_the_sub_steps_that_004_names() -> None:
    assert "4 — Architecture Review & Risk Assessment" in part("greenfield", 3).substeps
    assert "1b — Test Case Generation" in part("existing-code", 2).substeps
    counts = {"greenfield": (4, 13, 7, 9, 4, 1, 4, 5, 4, 7), "existing-code": (8, 2, 3, 1, 4, 6, 8, 1, 4, 5, 4, 7)}
    for name, expected in counts.items():
        assert tuple(len(part(name, number).substeps) for number in range(1, len(expected) + 1)) == expected


def test_the_page_describes_every_step() -> None:
    page = (Path(__file__).parents[2] / "docs" / "flows.md").read_text()
    for name in ("greenfield", "existing-code"):
        for step in flow(name).steps:
            assert step.flow is not None
            assert f"| {step.flow.number} | {step.name} |" in page
            for condition in step.flow.done:
                assert f"`{condition}`".replace("|", "\\|") in page, condition


def test_a_flow_of_ones_own_comes_first() -> None:
    flows = all_flows(config(one=MINE, two=MINE.replace("mine", "other")))
    assert [flow.name for flow in flows[:3]] == ["mine", "other", "existing-code"]
    assert flows[0].path == "one.yaml"
    assert find_flow(flows, "OTHER") is flows[1]


@pytest.mark.parametrize(
    ("files", "place", "message"),
    [
        ({"one": MINE.replace("mine", "greenfield")}, ("one.yaml", 1), "has a name that is taken"),
        ({"one": MINE, "two": MINE}, ("two.yaml", 1), "has a name that is taken"),
        ({"one": "steps:\n- step: A\n  prompt: b\n"}, ("one.yaml", 1), "is no flow's file"),
        ({"one": MINE.replace("sources", "sorces")}, ("one.yaml", 3), "a condition has an unknown word"),
        ({"one": MINE + "#" * 70_000}, ("one.yaml", None), "is too large for a flow"),
    ],
)
def test_one_that_cannot_be_used_is_refused(
    files: dict[str, str], place: tuple[str, int | None], message: str
) -> None:
    with pytest.raises(FileError) as caught:
        all_flows(config(**files))
    assert caught.value.message == message
    assert caught.value.place is not None
    assert (caught.value.place.file, caught.value.place.line) == place


def test_a_name_that_is_nearly_right() -> None:
    assert flow_named(built_in_flows(), "Existing Code").name == "existing-code"
    with pytest.raises(UsageError) as caught:
        flow_named(built_in_flows(), "grenfield")
    assert caught.value.hint == "did you mean `greenfield`?"


def test_a_look_at_a_real_project(project: ProjectMaker) -> None:
    sample = project()
    opened = open_project(str(sample.planning))
    found = seen_in(opened, built_in_flows())
    assert (found.bmad, found.board) == (True, True)
    assert places_of(opened)["output"] == "_bmad-output"
    put(Path(opened.root.checkout), "_docs/00_problem/problem.md")
    assert seen_in(opened, built_in_flows()).has("_docs/00_problem/problem.md")
