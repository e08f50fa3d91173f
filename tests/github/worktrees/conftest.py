from pathlib import Path

import pytest

from tests.github.worktrees.sites import Sample


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return Sample(tmp_path)
