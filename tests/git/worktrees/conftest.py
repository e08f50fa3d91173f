from pathlib import Path

import pytest

from tests.support.worktree_projects import WorktreeProject


@pytest.fixture
def sample(tmp_path: Path) -> WorktreeProject:
    return WorktreeProject(tmp_path)
