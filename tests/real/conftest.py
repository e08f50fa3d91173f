"""Real parts, installed once under the folder that BMAD_REAL names."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.real.clients import installing

INSTALL_SECONDS = 300

BmadMethod = Callable[..., Path]


@pytest.fixture(scope="session")
def real() -> Path:
    named = os.environ.get("BMAD_REAL")
    if not named:
        pytest.skip("BMAD_REAL names no folder for real installs; run `make test-real`")
    folder = Path(named).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def bmad_method(real: Path, tmp_path_factory: pytest.TempPathFactory) -> BmadMethod:
    """Install BMAD as its users do: `bmad_method("6.12.0", "--tools", "claude-code")` gives the project."""
    if not (shutil.which("npm") and shutil.which("node")):
        pytest.skip("npm and node are needed for a real install of bmad-method")

    def install(version: str, *options: str) -> Path:
        project = tmp_path_factory.mktemp(f"bmad-{version}-")
        command = ["node", str(_package(real, version)), "install", "--directory", str(project)]
        _run([*command, "--modules", "bmm", "--user-name", "Tester", "--yes", *options], project, real)
        return project

    return install


def _package(real: Path, version: str) -> Path:
    """The installer of one version, fetched on first use."""
    folder = real / f"bmad-method-{version}"
    entry = folder / "node_modules" / ".bin" / "bmad"
    if entry.exists():
        return entry
    with installing(real):
        if entry.exists():
            return entry
        partial = real / f"bmad-method-{version}.{os.getpid()}.partial"
        partial.mkdir()
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(partial)]
        _run(["npm", "install", *options, f"bmad-method@{version}"], partial, real)
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)  # whole or not at all, should somebody stop us
    return entry


def _run(command: list[str], folder: Path, real: Path) -> None:
    environment = {
        **os.environ,
        "npm_config_cache": str(real / "npm-cache"),
        "npm_config_update_notifier": "false",
    }
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
