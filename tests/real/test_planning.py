"""Planning on real installs: every step of the bmm flow finds its skill, and nothing is taken for a plan."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from bmad_autopilot.board.planning_documents import inspect_planning
from bmad_autopilot.board.planning_names import ARTEFACTS, document_of_workflow, read_help
from bmad_autopilot.project.project import open_project
from bmad_autopilot.project.skills import find_skills
from bmad_autopilot.workflows.standing_answers.lookup import answers_for
from scripts.halts import normalise
from scripts.list_halts import skill_texts
from tests.real.conftest import BmadMethod
from tests.support.bmad_project import run_bmad
from tests.support.planning_agent import STEPS, write_step_output
from tests.workflows.test_bmm_flow import steps

pytestmark = pytest.mark.real

# What each step calls, in the order of the steps.
CALLED = {
    "6.0.4": [
        *("/bmad-brainstorming", "/bmad-bmm-market-research", "/bmad-bmm-create-product-brief"),
        *("/bmad-bmm-create-prd", "/bmad-bmm-create-ux-design", "/bmad-bmm-create-architecture"),
        *("/bmad-bmm-create-epics-and-stories", "/bmad-bmm-check-implementation-readiness"),
        "/bmad-bmm-sprint-planning",
    ],
    "6.12.0": [
        *("/bmad-brainstorming", "/bmad-deep-recon", "/bmad-product-brief", "/bmad-prd", "/bmad-ux"),
        *(
            "/bmad-architecture",
            "/bmad-create-epics-and-stories",
            "/bmad-sprint-planning",
            "/bmad-sprint-planning",
        ),
    ],
}
CALLED["6.12.0 --shims"] = CALLED["6.12.0"]

Install = Callable[[str], Path]


@pytest.fixture(scope="session")
def install(bmad_method: BmadMethod) -> Install:
    @cache
    def installed(name: str) -> Path:
        version, *options = name.split()
        return bmad_method(version, "--tools", "claude-code", "--output-folder", "_bmad-output", *options)

    return installed


def called(project: Path) -> list[str]:
    """For each step the first of its skills that is installed and does the work itself."""
    found = find_skills(str(project), "claude", None)
    return [
        next(
            (found[name].invocation for name in step["skills"] if name in found and found[name].is_usable), "none"
        )
        for step in steps()
    ]


@pytest.mark.parametrize("name", CALLED)
def test_every_step_finds_its_skill(name: str, install: Install) -> None:
    assert called(install(name)) == CALLED[name]


@pytest.mark.parametrize("name", CALLED)
def test_nothing_is_planned_in_a_fresh_install(name: str, install: Install) -> None:
    found = open_project(str(install(name)), home="/nonexistent")
    seen = inspect_planning(found.folders, found.bmad)
    assert (seen.finished, seen.skipped, seen.diagnostics) == (frozenset(), frozenset(), ())


@pytest.mark.parametrize("name", CALLED)
def test_the_help_tells_where_documents_are_left(name: str, install: Install) -> None:
    rows = read_help(str(install(name) / "_bmad"))
    told = {document_of_workflow(row.workflow) for row in rows} - {None}
    assert told >= set(ARTEFACTS) - {"readiness"}


@pytest.mark.parametrize("name", ["6.0.4", "6.12.0"])
def test_a_plan_of_the_scripted_agent_ends_in_a_board(name: str, bmad_method: BmadMethod) -> None:
    options = ("--tools", "claude-code", "--output-folder", "_bmad-output")
    project = bmad_method(name, *options)
    for step, artefact in zip(STEPS, ARTEFACTS, strict=True):
        write_step_output(project, step)
        found = open_project(str(project), home="/nonexistent")
        assert artefact in inspect_planning(found.folders, found.bmad).finished
    ran = run_bmad("status", cwd=project)
    assert ran.code == 0, ran.err
    assert "2-2-filters-sorting" in run_bmad("status", "--json", cwd=project).out


@pytest.mark.parametrize("name", CALLED)
def test_every_menu_offers_the_way_that_the_answer_takes(name: str, install: Install) -> None:
    """`[A] … [P] … [C] Continue`: such a menu without its C would leave the agent without an answer."""
    project = str(install(name))
    found = find_skills(project, "claude", None)
    menus = 0
    for skill in {skill for step in steps() for skill in step["skills"] if skill in found}:
        for file, text in skill_texts(project, found, skill).items():
            for line in re.findall(r"^.*\[A\] Advanced.*\[P\].*$", text, re.MULTILINE):
                menus += 1
                assert "[C]" in line, f"{file}: {line}"
    assert menus > 10 or name != "6.0.4"


@pytest.mark.parametrize("name", ["6.0.4", "6.12.0"])
def test_answers_and_instructions_are_in_our_own_words(name: str, install: Install) -> None:
    project = str(install(name))
    found = find_skills(project, "claude", None)
    for step in steps():
        for skill in filter(found.__contains__, step["skills"]):
            theirs = " ".join(map(normalise, skill_texts(project, found, skill).values()))
            ours = [answer.text for answer in answers_for(skill, name)]
            ours += re.findall(r"(?:^(?! {4}).+\n)+", step["instructions"], re.MULTILINE)
            for text in ours:
                words = normalise(text).split()
                runs = (" ".join(words[at : at + 7]) for at in range(len(words) - 6))
                assert not [run for run in runs if f" {run} " in theirs], f"{step['step']}: {skill}"
