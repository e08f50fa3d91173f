"""Fixtures for tests of code that works with boards: `pytest_plugins = ["bmad_autopilot.testing"]`."""

from pathlib import Path

import pytest

SAMPLE_SPRINT_STATUS = """\
development_status:
  epic-1: in-progress
  1-1-project-setup: done
  1-2-user-registration: review
  1-3-protected-routes: ready-for-dev
  epic-2: backlog
  2-1-document-model: backlog
"""


@pytest.fixture
def sample_sprint_status(tmp_path: Path) -> Path:
    """A small board, where a project has it: `tmp_path` is the project."""
    folder = tmp_path / "_bmad-output" / "implementation-artifacts"
    folder.mkdir(parents=True)
    board = folder / "sprint-status.yaml"
    board.write_text(SAMPLE_SPRINT_STATUS, encoding="utf-8")
    return board
