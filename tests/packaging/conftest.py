from pathlib import Path

import pytest

from tests.support.wheels import Built, Installed, build, install


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder: Path = tmp_path_factory.mktemp("clean") / "venv"
    return install(built.wheel, folder)
