"""The public interface is kept stable."""

import inspect
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import bmad_autopilot
from bmad_autopilot import Action, EpicResult, ExecutionResult, SprintStatus, StoryResult
from bmad_autopilot.core.errors import AutopilotError, FileError, UsageError
from tests.support.bmad_project import ProjectMaker


def test_records() -> None:
    names = {cls.__name__: [f.name for f in fields(cls)] for cls in (Action, ExecutionResult, SprintStatus)}
    assert names == {
        "Action": ["type", "story_id", "skill", "context"],
        "ExecutionResult": ["status", "story_id", "exit_code", "outcome", "message"],
        "SprintStatus": ["epics", "stories", "counts", "retrospectives"],
    }
    assert Action("dev-story", "1-1-a", "x").context == {}
    assert ExecutionResult("success", "1-1-a").exit_code is None
    assert StoryResult("1-1-a", "done").results == ()
    assert EpicResult("epic-1", "done").stories == ()


ACTIONS, RESULTS = "bmad_autopilot.core.next_action", "bmad_autopilot.core.results"


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("load_sprint_status", f"(project_path: str = '.') -> {ACTIONS}.SprintStatus"),
        ("load_story_status", "(story_id: str, project_path: str = '.') -> str"),
        (
            "dispatch_to_instance",
            f"(action: {ACTIONS}.Action, instance_name: str, wait_for_completion: bool = True, "
            "timeout_minutes: float | None = None, *, project: str = '.') "
            f"-> {RESULTS}.ExecutionResult",
        ),
        (
            "dispatch_code_review",
            f"(story_id: str, *, project: str = '.') -> {RESULTS}.ExecutionResult",
        ),
        (
            "run_story_to_completion",
            f"(story_id: str, *, project: str = '.') -> {RESULTS}.StoryResult",
        ),
        (
            "run_epic_to_completion",
            f"(epic_id: str, *, project: str = '.') -> {RESULTS}.EpicResult",
        ),
        (
            "get_next_action",
            f"(status: {ACTIONS}.SprintStatus) -> {ACTIONS}.Action | None",
        ),
    ],
)
def test_signatures(name: str, signature: str) -> None:
    assert str(inspect.signature(getattr(bmad_autopilot, name))) == signature


def test_the_workflow_mapping_names_the_three_workflows() -> None:
    assert {"create-story", "dev-story", "code-review"} <= bmad_autopilot.WORKFLOW_MAPPING.keys()


def test_every_public_name_exists_and_no_other() -> None:
    for name in bmad_autopilot.__all__:
        assert getattr(bmad_autopilot, name) is not None
    with pytest.raises(AttributeError):
        _ = bmad_autopilot.nonsense


def test_a_project_is_read_from_any_folder_inside_it(project: ProjectMaker) -> None:
    sample = project()
    status = bmad_autopilot.load_sprint_status(str(sample.planning))
    assert status.epics == {"epic-1": "in-progress", "epic-2": "backlog"}
    assert status.counts == {"backlog": 2, "ready-for-dev": 1, "in-progress": 0, "review": 1, "done": 1}
    action = bmad_autopilot.get_next_action(status)
    assert action is not None
    assert (action.type, action.story_id) == ("code-review", "1-2-sign-in")


def test_one_storys_status(project: ProjectMaker) -> None:
    root = str(project(board="development_status:\n  1-1-a: Blocked\n  1-2-b: drafted\n").root)
    assert bmad_autopilot.load_story_status("1-1", root) == "Blocked"
    assert bmad_autopilot.load_story_status("1.2", root) == "ready-for-dev"
    with pytest.raises(UsageError):
        bmad_autopilot.load_story_status("9-9", root)


def test_no_agent_is_started_where_bmad_7_is_installed(project: ProjectMaker) -> None:
    sample = project()
    sample.write(".claude/skills/bmad-ticket/SKILL.md", "")
    sample.commit("Install BMAD 7")
    root = str(sample.root)
    action = Action("dev-story", "1-2", "bmad-dev-story", {"story_id": "1-2"})
    for start in (
        lambda: bmad_autopilot.dispatch_to_instance(action, "a", project=root),
        lambda: bmad_autopilot.dispatch_code_review("1-2", project=root),
        lambda: bmad_autopilot.run_story_to_completion("1-2", project=root),
        lambda: bmad_autopilot.run_epic_to_completion("1", project=root),
    ):
        with pytest.raises(AutopilotError, match="BMAD 7's skills cannot read it"):
            start()
    assert bmad_autopilot.load_sprint_status(root).stories
    sample.write("_bmad-output/initiative-x/tickets.toml", "")
    with pytest.raises(FileError, match="planned with BMAD 7"):
        bmad_autopilot.load_sprint_status(root)


def test_importing_the_package_imports_nothing_heavy() -> None:
    heavy = "{'click', 'yaml', 'dataclasses'}"
    code = f"import sys, bmad_autopilot; print(*sorted({heavy} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, cwd=_source())
    assert (done.stdout.strip(), done.stderr) == ("", "")


def _source() -> Path:
    return Path(bmad_autopilot.__file__).parent.parent


def test_the_fixture_for_others(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        pytest_plugins = ["bmad_autopilot.testing"]
        from bmad_autopilot import load_sprint_status

        def test_it(sample_sprint_status, tmp_path):
            assert sample_sprint_status.name == "sprint-status.yaml"
            assert load_sprint_status(str(tmp_path)).counts["done"] == 1
        """
    )
    assert pytester.runpytest_subprocess("-p", "no:cacheprovider").ret == 0
