"""Builds the package and installs it as a user gets it, without a network. For tests and benchmarks."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[2]
DEPENDENCIES = ("click", "msgspec", "PyYAML", "watchfiles", "anyio", "idna", "typing_extensions")


class Built(NamedTuple):
    sdist: Path
    wheel: Path


class Installed(NamedTuple):
    python: Path
    bmad: Path
    bmad_autopilot: Path


def build(folder: Path) -> Built:
    """Build the sdist, and the wheel from the unpacked sdist, so that files missing there are missing here too."""
    _run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(REPOSITORY)])
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    return Built(sdist, wheel)


def install(wheel: Path, folder: Path) -> Installed:
    """A virtual environment with only the wheel and its dependencies.

    The dependencies are copied from the current environment as complete distributions: no network, one second
    instead of ten, and `pip check` still works. An undeclared import fails, because nothing else is installed."""
    _run([sys.executable, "-m", "venv", "--without-pip", "--clear", str(folder)])
    python = folder / "bin" / "python"
    site = Path(_run([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip())
    for name in DEPENDENCIES:
        _copy_distribution(name, site)
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    _run([*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)])
    _run([*pip, "check"])
    _run([str(python), "-m", "compileall", "-q", str(site)])
    return Installed(python, folder / "bin" / "bmad", folder / "bin" / "bmad-autopilot")


def _copy_distribution(name: str, site: Path) -> None:
    for file in distribution(name).files or ():
        if ".." in file.parts or "__pycache__" in file.parts:
            continue
        target = site / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(str(file.locate()), target)


def _run(command: list[str]) -> str:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, env=kept, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout
