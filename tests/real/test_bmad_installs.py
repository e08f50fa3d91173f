"""What the real installer leaves is recognised: version, era, folders, and what to type."""

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from bmad_autopilot.project.bmad_install import Era
from bmad_autopilot.project.bmad_settings import merge_layers
from bmad_autopilot.project.folders import BoardOrigin
from bmad_autopilot.project.project import open_project
from bmad_autopilot.project.skills import Skill, find_skills
from tests.project.test_bmad_settings import tables
from tests.real.conftest import BmadMethod

pytestmark = pytest.mark.real

IMPLEMENTATION = "_bmad-output/implementation-artifacts"
BOARD = "development_status:\n  epic-1: backlog\n"
EVERYWHERE = ("code-review", "sprint-planning", "retrospective", "correct-course")


@pytest.fixture(scope="session")
def build(bmad_method: BmadMethod) -> Path:
    return bmad_method("6.12.0", "--tools", "claude-code")


@pytest.fixture(scope="session")
def shims(bmad_method: BmadMethod) -> Path:
    return bmad_method("6.12.0", "--tools", "claude-code,codex", "--shims")


@pytest.fixture(scope="session")
def commands(bmad_method: BmadMethod) -> Path:
    return bmad_method("6.0.4", "--tools", "claude-code,cursor,codex", "--output-folder", "_bmad-output")


@pytest.fixture(scope="session")
def unresolved(bmad_method: BmadMethod) -> Path:
    return bmad_method("6.0.4", "--tools", "claude-code")


def skills(project: Path, agent: str) -> dict[str, Skill]:
    return find_skills(str(project), agent, None)


def said(project: Path, agent: str) -> dict[str, str]:
    return {name: skill.invocation for name, skill in skills(project, agent).items()}


def check_folders(project: Path) -> None:
    found = open_project(str(project), home="/nonexistent")
    assert found.folders.implementation == str(project / IMPLEMENTATION)
    assert found.folders.planning == str(project / "_bmad-output/planning-artifacts")
    assert found.folders.output == str(project / "_bmad-output")
    assert (found.folders.board, found.folders.board_origin) == (None, BoardOrigin.NONE)
    assert found.diagnostics == ()
    board = project / IMPLEMENTATION / "sprint-status.yaml"
    board.parent.mkdir(parents=True, exist_ok=True)
    board.write_text(BOARD)
    try:
        found = open_project(str(board.parent), home="/nonexistent")
        assert (found.folders.board, found.folders.board_origin) == (str(board), BoardOrigin.CONFIGURED)
    finally:
        board.unlink()


def test_6_12_is_the_build_era(build: Path) -> None:
    bmad = open_project(str(build), home="/nonexistent").bmad
    assert (bmad.version, bmad.era, bmad.has_build) == ("6.12.0", Era.BUILD, True)
    assert (bmad.folder, bmad.modules) == (str(build / "_bmad"), ("core", "bmm"))
    check_folders(build)
    invocations = said(build, "claude")
    assert len(invocations) == 29
    for name in (*EVERYWHERE, "build", "build-auto"):
        assert invocations[name] == f"/bmad-{name}"
    assert not invocations.keys() & {"create-story", "dev-story", "sprint-status", "validate", "quick-dev"}
    assert not any(skill.is_shim for skill in skills(build, "claude").values())
    assert said(build, "codex") == {}


def test_6_12_with_shims_has_both_ways(shims: Path) -> None:
    bmad = open_project(str(shims), home="/nonexistent").bmad
    assert (bmad.version, bmad.era, bmad.has_build) == ("6.12.0", Era.CLASSIC, True)
    check_folders(shims)
    found = skills(shims, "claude")
    assert len(found) == 51  # 50 and validate
    for name in (*EVERYWHERE, "build", "build-auto", "create-story", "dev-story", "sprint-status"):
        assert found[name].invocation == f"/bmad-{name}"
        assert found[name].is_usable
        assert found[name].is_shim == (name in ("create-story", "dev-story", "sprint-status"))
    assert found["validate"].invocation == "/bmad-create-story validate"
    for name in ("dev-auto", "quick-dev"):
        assert (found[name].is_shim, found[name].is_usable) == (True, False)
    assert said(shims, "codex") == {name: f"${how[1:]}" for name, how in said(shims, "claude").items()}
    assert said(shims, "opencode")["dev-story"] == "--command bmad-dev-story"


def test_6_0_has_commands(commands: Path) -> None:
    bmad = open_project(str(commands), home="/nonexistent").bmad
    assert (bmad.version, bmad.era, bmad.has_build) == ("6.0.4", Era.CLASSIC, False)
    assert bmad.modules == ("core", "bmm")
    check_folders(commands)
    for agent, sign in (("claude", "/"), ("cursor", "/"), ("codex", "$")):
        invocations = said(commands, agent)
        for name in (*EVERYWHERE, "create-story", "dev-story", "sprint-status", "quick-dev"):
            assert invocations[name] == f"{sign}bmad-bmm-{name}", agent
        assert invocations["validate"] == f"{sign}bmad-bmm-create-story validate"
        assert invocations["help"] == f"{sign}bmad-help"
        assert invocations["agent-dev"] == f"{sign}bmad-agent-bmm-dev"


def test_the_literal_output_folder_of_6_0_is_understood(unresolved: Path) -> None:
    assert "{output_folder}" in (unresolved / "_bmad/bmm/config.yaml").read_text()
    assert (unresolved / "{output_folder}").is_dir()
    check_folders(unresolved)


def test_merging_agrees_with_bmads_own_script(build: Path) -> None:
    theirs = load_their_merge(build)

    @settings(max_examples=300)
    @given(tables, tables, tables)
    def agree(first: dict[str, Any], second: dict[str, Any], third: dict[str, Any]) -> None:
        assert merge_layers([first, second, third]) == theirs([first, second, third])

    agree()


def load_their_merge(project: Path) -> Any:
    folder = str(project / "_bmad" / "scripts")
    sys.path.insert(0, folder)
    try:
        import config_utils  # type: ignore[import-not-found]
    finally:
        sys.path.remove(folder)
    return config_utils.merge_layers
