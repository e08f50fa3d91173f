from pathlib import Path

import pytest

from tests.github.repositories import Repository, make_repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return make_repository(tmp_path / "work")
