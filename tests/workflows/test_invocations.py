"""What a prompt begins with."""

import pytest

from bmad_autopilot.core.errors import UsageError
from bmad_autopilot.workflows.invocations import first_line


@pytest.mark.parametrize(
    ("step", "invocation", "line"),
    [
        ("dev", "/bmad-dev-story", "/bmad-dev-story 1-2-x"),
        ("dev", "$bmad-dev-story", "$bmad-dev-story 1-2-x"),
        ("dev", "--command bmad-dev-story", "--command bmad-dev-story 1-2-x"),
        ("dev", "Use the skill bmad-dev-story:", "Use the skill bmad-dev-story: 1-2-x"),
        ("validate", "/bmad-create-story validate", "/bmad-create-story validate 1-2-x"),
        ("build-auto", "/bmad-build-auto", "/bmad-build-auto 1-2-x"),
        ("a-step-of-mine", "/bmad-mine", "/bmad-mine 1-2-x"),
    ],
)
def test_the_invocation_then_the_story(step: str, invocation: str, line: str) -> None:
    assert first_line(step, "1-2-x", invocation) == line


def test_build_auto_goes_on_with_a_spec() -> None:
    line = first_line("build-auto", "1-2-x", "/bmad-build-auto", spec="out/spec-1-2-x.md", spec_folder="specs/a")
    assert line == "/bmad-build-auto out/spec-1-2-x.md"


def test_build_auto_finds_a_story_of_a_list() -> None:
    line = first_line("build-auto", "3", "/bmad-build-auto", spec_folder="specs/spec-login")
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
    assert (
        first_line("retrospective", key, "/bmad-retrospective", version=version) == f"/bmad-retrospective {said}"
    )


def test_our_own_step_needs_no_skill_and_another_does() -> None:
    assert first_line("revision", "1-2-x", None).startswith("Revise story 1-2-x: ")
    with pytest.raises(UsageError, match="neither a skill nor a prompt"):
        first_line("dev", "1-2-x", None)
