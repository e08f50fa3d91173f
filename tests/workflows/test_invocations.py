"""What a prompt begins with."""

import pytest

from bmad_autopilot.core.errors import UsageError
from bmad_autopilot.workflows.invocations import first_line
from bmad_autopilot.workflows.pipelines import BUILD, DEV, FIX, RETROSPECTIVE, REVISION, VALIDATE, Step


@pytest.mark.parametrize(
    ("step", "invocation", "line"),
    [
        (DEV, "/bmad-dev-story", "/bmad-dev-story 1-2-x"),
        (DEV, "$bmad-dev-story", "$bmad-dev-story 1-2-x"),
        (DEV, "--command bmad-dev-story", "--command bmad-dev-story 1-2-x"),
        (DEV, "Use the skill bmad-dev-story:", "Use the skill bmad-dev-story: 1-2-x"),
        (VALIDATE, "/bmad-create-story validate", "/bmad-create-story validate 1-2-x"),
        (BUILD, "/bmad-build-auto", "/bmad-build-auto 1-2-x"),
        (Step("a-step-of-mine", "qa", "mine"), "/bmad-mine", "/bmad-mine 1-2-x"),
    ],
)
def test_the_invocation_then_the_story(step: Step, invocation: str, line: str) -> None:
    assert first_line(step, "1-2-x", invocation) == line


@pytest.mark.parametrize("step", [BUILD, Step("mine", "dev", "build-auto")])
def test_build_auto_goes_on_with_a_spec(step: Step) -> None:
    line = first_line(step, "1-2-x", "/bmad-build-auto", spec="out/spec-1-2-x.md", spec_folder="specs/a")
    assert line == "/bmad-build-auto out/spec-1-2-x.md"


def test_build_auto_finds_a_story_of_a_list() -> None:
    line = first_line(BUILD, "3", "/bmad-build-auto", spec_folder="specs/spec-login")
    assert line == "/bmad-build-auto Spec folder: specs/spec-login. Story id: 3."


@pytest.mark.parametrize(
    ("key", "version", "said"),
    [
        ("epic-3", "6.10.0", "3"),
        ("epic-3", "6.11.0", "-H 3"),
        ("epic-3-retrospective", "6.12.0", "-H 3"),
        ("epic-2.5", "", "-H 2.5"),
    ],
)
def test_a_retrospective_names_its_epic(key: str, version: str, said: str) -> None:
    line = first_line(RETROSPECTIVE, key, "/bmad-retrospective", version=version)
    assert line == f"/bmad-retrospective {said}"


def test_a_step_without_a_skill_begins_with_its_own_words() -> None:
    assert first_line(REVISION, "1-2-x", None).startswith("Revise story 1-2-x: ")
    assert first_line(FIX, "1-2-x", None).startswith("Fix story 1-2-x: ")
    assert first_line(Step("mine", "qa", prompt="\n Look at {story}.\nWell."), "1-2-x", None) == "Look at 1-2-x."


def test_a_skill_must_be_there() -> None:
    with pytest.raises(UsageError, match="not installed"):
        first_line(DEV, "1-2-x", None)
