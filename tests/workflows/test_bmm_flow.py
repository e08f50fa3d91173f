"""The bmm flow as data: it says nothing that our own readers would not understand."""

import re
import textwrap
from typing import Any

import pytest

from bmad_autopilot.board.consistency import check_board
from bmad_autopilot.board.epics_file import read_epics
from bmad_autopilot.board.planning_names import ARTEFACTS, BOARD, document_of_workflow
from bmad_autopilot.board.sprint_status import board_from_text
from bmad_autopilot.io.files import TextFile, read_text
from bmad_autopilot.io.patterns import fill_placeholders, placeholder_names
from bmad_autopilot.io.yaml_reader import load_yaml
from bmad_autopilot.project.config import ROLES
from bmad_autopilot.workflows.standing_answers.planning import PLANNING
from tests.support.wheels import REPOSITORY

FILE = REPOSITORY / "src" / "bmad_autopilot" / "workflows" / "flows" / "bmm.yaml"
PLACES = {"output", "planning", "implementation", "knowledge"}


def flow() -> Any:
    return load_yaml(read_text(str(FILE)))


def steps() -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = flow()["steps"]
    return listed


def sample(step: str) -> str:
    """The form that the instructions of this step show, as a file."""
    text = next(one["instructions"] for one in steps() if one["step"] == step)
    block = max(re.findall(r"(?:^(?: {4}.*)?\n)+", text, re.MULTILINE), key=len)
    return fill_placeholders(textwrap.dedent(block).strip() + "\n", lambda name: f"the/{name}")


def test_one_step_for_each_document_in_their_order() -> None:
    wanted = [f"artefact {name}" for name in ARTEFACTS if name != BOARD] + [BOARD]
    assert [one["done_when"] for one in steps()] == [[condition] for condition in wanted]
    assert [one["step"] for one in steps() if one.get("optional")] == [
        *("Brainstorm", "Research", "Product Brief", "UX Design"),
    ]
    assert [one["step"] for one in steps() if "only" in one] == ["UX Design"]


def test_how_it_is_recognised() -> None:
    head = flow()["flow"]
    assert (head["state"], head["begins"]) == ("{output}/_autopilot_state.md", ["bmad", "!board"])
    assert set(re.findall(r"artefact (\w+)", head["continues"][-1])) == set(ARTEFACTS) - {BOARD}


def test_each_step_has_instructions_that_can_be_filled_in() -> None:
    for one in steps():
        assert one["role"] in ROLES
        assert set(placeholder_names([one["instructions"]])) <= PLACES
        assert len(one["instructions"]) < 4000
        assert "{" not in fill_placeholders(one["instructions"], lambda name: name)
        assert max(map(len, one["instructions"].splitlines())) <= 115


def test_each_step_names_the_skill_through_the_eras() -> None:
    for one, name in zip(steps(), ARTEFACTS, strict=True):
        for skill in one["skills"]:
            assert document_of_workflow(skill) == name or (one["step"], skill) == (
                "Implementation Readiness",
                "sprint-planning",
            )
    named = {skill for one in steps() for skill in one["skills"]}
    assert named == set(PLANNING)


def test_the_form_of_the_board_is_one() -> None:
    board = board_from_text(TextFile("sprint-status.yaml", sample("Sprint Planning").encode()))
    assert list(board.rows) == [
        *("epic-1", "1-1-first-story", "1-2-second-story", "epic-1-retrospective"),
        *("epic-2", "2-1-next-story", "epic-2-retrospective"),
    ]
    assert list(check_board(board, [])) == []


def test_the_form_of_the_epics_is_one() -> None:
    found = read_epics(TextFile("epics.md", sample("Epics and Stories").encode()))
    assert [(epic.number, [story.number for story in epic.stories]) for epic in found.epics] == [("1", ["1.1"])]
    assert found.diagnostics == ()


@pytest.mark.parametrize("step", ["Epics and Stories", "Sprint Planning"])
def test_a_form_holds_no_placeholder_of_ours_unfilled(step: str) -> None:
    assert placeholder_names([sample(step)]) == []
