"""A project's own workflows, from its settings to the steps that are run."""

import re
from pathlib import Path

import pytest

from bmad_autopilot.core.step_output import StepOutput
from bmad_autopilot.project.config import Config
from bmad_autopilot.project.config_reader import config_from_bytes
from bmad_autopilot.workflows.selection import get_workflow, select_workflow
from bmad_autopilot.workflows.workflow import (
    CODE_REVIEW,
    CREATE,
    DEV,
    FIX,
    PIPELINES,
    Step,
    steps_left,
    workflow_from_json,
    workflow_to_json,
)
from tests.conftest import REPOSITORY


def config(text: str, **files: str) -> Config:
    return config_from_bytes(text.encode(), "main:bmad-autopilot.toml", lambda path: files[path].encode())


def steps(text: str, **files: str) -> tuple[Step, ...]:
    return get_workflow(config(text, **files), "mine").steps


@pytest.mark.parametrize(
    ("chosen", "only_build", "name"),
    [("auto", False, "lean"), ("auto", True, "build"), ("full", True, "full"), ("build", False, "build")],
)
def test_the_choice_of_a_built_in_one(chosen: str, only_build: bool, name: str) -> None:
    assert select_workflow(Config(workflow=chosen), only_build=only_build) == PIPELINES[name]


def test_built_in_steps_and_own_ones_in_a_row() -> None:
    found = config(
        'workflow = "mine"\n'
        '[workflows.mine]\nsteps = ["create-story", "dev", "security", "code-review"]\n'
        '[steps.security]\nrole = "qa"\nprompt = "Look for holes in {story}."\n'
    )
    workflow = select_workflow(found, only_build=True)
    assert (workflow.name, workflow.fix) == ("mine", DEV)
    security = Step("security", "qa", prompt="Look for holes in {story}.")
    assert workflow.steps == (CREATE, DEV, security, CODE_REVIEW)


def test_what_a_step_owes_says_what_the_board_says() -> None:
    made = steps(
        '[workflows.mine]\nsteps = ["prepare", "write", "judge"]\n'
        '[steps.prepare]\nskill = "spec"\nowes = "story"\nrole = "sm"\n'
        '[steps.write]\nskill = "build"\nowes = "code"\nclean = true\n'
        '[steps.judge]\nprompt = "x"\nowes = "verdict"\nrole = "qa"\n'
    )
    assert made == (
        Step("prepare", "sm", "spec", after="ready-for-dev", owes=StepOutput.STORY),
        Step("write", "dev", "build", before="in-progress", after="review", owes=StepOutput.CODE, clean=True),
        Step("judge", "qa", prompt="x", after="done", owes=StepOutput.VERDICT, fresh=True),
    )


def test_the_settings_may_say_otherwise() -> None:
    text = '[workflows.mine]\nsteps = ["w"]\n[steps.w]\nprompt = "x"\nowes = "code"\nbefore = "ready-for-dev"\n'
    (step,) = steps(f'{text}after = "in-progress"\n')
    assert (step.before, step.after) == ("ready-for-dev", "in-progress")


def test_without_dev_the_fix_is_our_own() -> None:
    found = config('[workflows.mine]\nsteps = ["build-auto", "revision"]\n')
    assert get_workflow(found, "mine").fix == FIX


def test_a_prompt_in_a_file_is_the_step_s_prompt() -> None:
    text = '[workflows.mine]\nsteps = ["dev", "a"]\n[steps.a]\nprompt_file = "p.md"\n'
    assert steps(text, **{"p.md": "\ufeffLook at {story}.\n"})[1].prompt == "Look at {story}.\n"


def test_the_page_s_example_is_read_planned_and_frozen(tmp_path: Path) -> None:
    page = (REPOSITORY / "docs" / "workflows.md").read_text()
    toml, prompt = (re.findall(rf"```{kind}\n(.*?)```", page, flags=re.DOTALL) for kind in ("toml", "markdown"))
    found = config(toml[0], **{"prompts/security.md": prompt[0]})
    workflow = select_workflow(found, only_build=False)
    assert [step.name for step in workflow.steps] == ["create-story", "dev", "security", "e2e", "code-review"]
    assert "{story_file}" in (workflow.steps[2].prompt or "")
    assert found.answers_of("dev-story") != ()
    assert workflow_from_json(workflow_to_json(workflow)) == workflow
    assert len(steps_left(workflow, "ready-for-dev")) == 4


def test_the_page_s_table_shows_the_built_in_ones() -> None:
    page = (REPOSITORY / "docs" / "workflows.md").read_text()
    for name, workflow in PIPELINES.items():
        row = f"| `{name}` | {' → '.join(step.name for step in workflow.steps)} | {workflow.fix.name} |"
        assert row in page
