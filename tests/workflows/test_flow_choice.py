"""Which flow a project is in: by its state file, by its folder, or by nobody's word."""

from pathlib import Path

import pytest

from bmad_autopilot.core.flow_state import FlowState
from bmad_autopilot.files import Text
from bmad_autopilot.workflows.flow_choice import Choice, choose_flow
from bmad_autopilot.workflows.flow_entry import STATE_FILE
from bmad_autopilot.workflows.flow_list import Flow, built_in_flows
from bmad_autopilot.workflows.step_file import step_file_from
from tests.workflows.flow_folders import STEPS, lay, look, put

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
    found = step_file_from(Text("x.yaml", text.encode()))
    assert found.flow is not None
    return Flow(found.workflow, found.flow, "x.yaml")


def choose(top: Path, *, bmad: bool = False, flows: list[Flow] = OURS, **states: FlowState) -> Choice:
    named = {STATE_FILE: states["docs"]} if "docs" in states else {}
    if "output" in states:
        named["{output}/_autopilot_state.md"] = states["output"]
    return choose_flow(flows, look(top, *flows, bmad=bmad), named)


def name(choice: Choice) -> str | None:
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
