"""What comes along into a worktree, and what stays behind."""

from pathlib import Path

import pytest

from bmad_autopilot.project.git_excludes import agent_file_names, is_not_copied


def test_every_client_is_thought_of(tmp_path: Path) -> None:
    names = agent_file_names(str(tmp_path))
    for name in (
        ".claude",
        ".agents",
        ".codex",
        ".opencode",
        ".gemini",
        ".cursor",
        "_bmad",
        ".bmad",
        ".bmad-core",
    ):
        assert name in names
    assert ".github" not in names  # its workflows are nobody's skills


def test_a_folder_called_bmad_only_if_it_is_bmads(tmp_path: Path) -> None:
    (tmp_path / "bmad").mkdir()
    assert "bmad" not in agent_file_names(str(tmp_path))
    (tmp_path / "bmad/bmm").mkdir()
    (tmp_path / "bmad/bmm/config.yaml").touch()
    assert "bmad" in agent_file_names(str(tmp_path))
    assert agent_file_names(str(tmp_path / "nothing"))


@pytest.mark.parametrize(
    ("path", "stays"),
    [
        (".claude/skills/a/SKILL.md", False),
        (".claude/.bmad-running/x", True),
        (".claude/x/1-1.agent-state.json", True),
        (".opencode/node_modules/x/index.js", True),
        ("_bmad/scripts/__pycache__/a.pyc", True),
        ("_bmad-output/.runs/x", True),
        ("_bmad-output/stories/1-1.md", True),
        ("_bmad/_memory/notes.md", False),
    ],
)
def test_records_and_litter_stay_behind(path: str, stays: bool) -> None:
    assert is_not_copied(path, ".") is stays
    assert is_not_copied(f"apps/web/{path}", "apps/web") is stays
