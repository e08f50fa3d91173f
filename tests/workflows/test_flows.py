"""The flows there are: ours whole and sound, users' own from their settings."""

import re
from pathlib import Path

import pytest

from bmad_autopilot.core.errors import FileError, UsageError
from bmad_autopilot.core.flow_state import FlowState
from bmad_autopilot.io.files import TextFile
from bmad_autopilot.io.patterns import placeholder_names
from bmad_autopilot.project.config import Config, FlowFile
from bmad_autopilot.project.project import open_project
from bmad_autopilot.workflows.flow_file import STATE_FILE, find_condition_fault
from bmad_autopilot.workflows.flows import (
    Flow,
    FlowChoice,
    built_in_flows,
    choose_flow,
    find_flow,
    folder_placeholders,
    get_flow,
    load_flows,
    scan_for_flows,
)
from bmad_autopilot.workflows.step_file import parse_step_file
from bmad_autopilot.workflows.workflow import FlowPart
from tests.support.bmad_project import ProjectMaker
from tests.workflows.flow_folders import STEPS, flow, lay, look, put

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
        assert find_condition_fault(condition) is None
    for number, step in enumerate(found.steps, 1):
        own = part(name, number)
        assert (own.number, own.tries) == (number, 3)
        assert own.substeps
        if own.tasks:
            assert step.prompt is None
            continue
        prompt = step.prompt or ""
        assert 8 <= len(prompt.splitlines()) <= 30
        assert placeholder_names([prompt]) == []
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
    flows = load_flows(config(one=MINE, two=MINE.replace("mine", "other")))
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
        load_flows(config(**files))
    assert caught.value.message == message
    assert caught.value.location is not None
    assert (caught.value.location.file, caught.value.location.line) == place


def test_a_name_that_is_nearly_right() -> None:
    assert get_flow(built_in_flows(), "Existing Code").name == "existing-code"
    with pytest.raises(UsageError) as caught:
        get_flow(built_in_flows(), "grenfield")
    assert caught.value.hint == "did you mean `greenfield`?"


def test_a_look_at_a_real_project(project: ProjectMaker) -> None:
    sample = project()
    opened = open_project(str(sample.planning))
    found = scan_for_flows(opened, built_in_flows())
    assert (found.bmad, found.board) == (True, True)
    assert folder_placeholders(opened)["output"] == "_bmad-output"
    put(Path(opened.root.checkout), "_docs/00_problem/problem.md")
    assert scan_for_flows(opened, built_in_flows()).has("_docs/00_problem/problem.md")


# Which flow a project is in: by its state file, by its folder, or by nobody's word.

OURS = [flow for flow in built_in_flows() if flow.name in ("existing-code", "greenfield")]
PLANNED = """\
name: planned
flow:
  state: "{output}/_autopilot_state.md"
  begins: [bmad, "!_docs/"]
steps:
- step: A
  prompt: b
"""


def own(text: str) -> Flow:
    found = parse_step_file(TextFile("x.yaml", text.encode()))
    assert found.flow is not None
    return Flow(found.workflow, found.flow, "x.yaml")


def choose(top: Path, *, bmad: bool = False, flows: list[Flow] = OURS, **states: FlowState) -> FlowChoice:
    named = {STATE_FILE: states["docs"]} if "docs" in states else {}
    if "output" in states:
        named["{output}/_autopilot_state.md"] = states["output"]
    return choose_flow(flows, look(top, *flows, bmad=bmad), named)


def name(choice: FlowChoice) -> str | None:
    return choice.flow.name if choice.flow else None


def test_an_empty_repository_begins_with_the_problem(tmp_path: Path) -> None:
    put(tmp_path, "README.md")
    found = choose(tmp_path)
    assert (name(found), found.why) == ("greenfield", "by what the folder holds, greenfield begins")


def test_code_without_documents_is_documented(tmp_path: Path) -> None:
    put(tmp_path, "app.py")
    found = choose(tmp_path)
    assert (name(found), found.others) == ("existing-code", ())
    put(tmp_path, STATE_FILE)  # nothing but our own: the folder counts as missing
    assert name(choose(tmp_path, docs=FlowState())) == "existing-code"


@pytest.mark.parametrize("one", STEPS, ids=lambda one: f"{one.flow}-{one.number}")
def test_a_flow_under_way_is_recognised_without_its_state_file(tmp_path: Path, one: object) -> None:
    flow, number = one.flow, one.number  # type: ignore[attr-defined]
    lay(tmp_path, flow, number)
    found = choose(tmp_path)
    assert (name(found), found.others) == (flow, ())


def test_both_fit_and_it_is_said(tmp_path: Path) -> None:
    put(tmp_path, "app.py", "_docs/00_problem/problem.md", "_docs/02_document/FINAL_report.md")
    found = choose(tmp_path)
    assert (name(found), [flow.name for flow in found.others]) == ("existing-code", ["greenfield"])
    assert found.why == "by what the folder holds, existing-code is under way; greenfield would fit too"


def test_neither_fits_and_there_is_a_choice(tmp_path: Path) -> None:
    put(tmp_path, "app.py", "_docs/notes.md")
    found = choose(tmp_path)
    assert (name(found), [flow.name for flow in found.others]) == (None, ["existing-code", "greenfield"])
    assert found.why == "no state file names a flow, and the folder fits none"


@pytest.mark.parametrize("said", ["greenfield", " Greenfield ", "GREENFIELD"])
def test_the_state_file_has_the_first_word(tmp_path: Path, said: str) -> None:
    put(tmp_path, "app.py")
    found = choose(tmp_path, docs=FlowState(flow=said))
    assert (name(found), found.why) == ("greenfield", f"{STATE_FILE} says so")
    assert name(choose(tmp_path, docs=FlowState(flow="existing_code"))) == "existing-code"


@pytest.mark.parametrize("said", ["greenfeld", "[greenfield | existing-code]", "mine", "\x1b[2J"])
def test_a_flow_that_is_not_known_is_presented(tmp_path: Path, said: str) -> None:
    put(tmp_path, "app.py")
    found = choose(tmp_path, docs=FlowState(flow=said))
    assert (name(found), len(found.others)) == (None, 2)
    assert "which is not known here" in found.why
    assert ("did you mean `greenfield`?" in found.why) is (said == "greenfeld")


def test_where_bmad_is_installed(tmp_path: Path) -> None:
    """Its own planning, with or without code, unless `_docs` shows that one of the others is under way."""
    flows = [*OURS, own(PLANNED)]
    assert name(choose(tmp_path, bmad=True, flows=flows)) == "planned"
    put(tmp_path, "app.py")
    assert name(choose(tmp_path, bmad=True, flows=flows)) == "planned"
    there = FlowState(flow="planned")
    assert name(choose(tmp_path, bmad=True, flows=flows, output=there)) == "planned"
    both = choose(tmp_path, bmad=True, flows=flows, output=there, docs=FlowState(flow="greenfield"))
    assert name(both) == "greenfield"
    put(tmp_path, "_docs/02_document/FINAL_report.md")
    assert name(choose(tmp_path, bmad=True, flows=flows)) == "existing-code"


def test_a_state_file_in_the_wrong_place_is_presented(tmp_path: Path) -> None:
    found = choose(tmp_path, flows=[*OURS, own(PLANNED)], docs=FlowState(flow="planned"))
    assert name(found) is None
    assert "keeps its state in {output}/_autopilot_state.md" in found.why


def test_a_flow_without_conditions_is_begun_by_its_name_alone(tmp_path: Path) -> None:
    flows = [own("name: mine\nflow:\nsteps:\n- step: A\n  prompt: b\n"), *OURS]
    assert name(choose(tmp_path, flows=flows)) == "greenfield"
    assert name(choose(tmp_path, flows=flows, docs=FlowState(flow="mine"))) == "mine"
