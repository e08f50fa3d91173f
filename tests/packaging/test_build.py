import json
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from bmad_autopilot import __version__
from tests.support.bmad_project import ProjectMaker
from tests.support.wheels import REPOSITORY, Built, Installed

pytestmark = pytest.mark.real


def run(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)


def source_files() -> set[str]:
    source = REPOSITORY / "src"
    files = (path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(source).as_posix() for path in files}


def test_wheel_holds_the_whole_package_and_nothing_else(built: Built) -> None:
    names = set(zipfile.ZipFile(built.wheel).namelist())
    info = f"bmad_autopilot-{__version__}.dist-info"
    assert {name for name in names if not name.startswith(info)} == source_files()
    assert {"bmad_autopilot/py.typed", "bmad_autopilot/schemas/status.schema.json"} <= names
    assert f"{info}/licenses/LICENSE" in names


def test_wheel_declares_its_face(built: Built) -> None:
    archive = zipfile.ZipFile(built.wheel)
    info = f"bmad_autopilot-{__version__}.dist-info"
    metadata = archive.read(f"{info}/METADATA").decode()
    assert "\nName: bmad-autopilot\n" in metadata
    assert "\nRequires-Python: >=3.11\n" in metadata
    assert "\nLicense-Expression: MIT\n" in metadata
    scripts = archive.read(f"{info}/entry_points.txt").decode()
    assert "bmad = bmad_autopilot.__main__:main" in scripts
    assert "bmad-autopilot = bmad_autopilot.__main__:main" in scripts


def test_sdist_can_be_built_and_tested_from(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "Makefile", "tests/conftest.py"} <= names
    assert {f"src/{name}" for name in source_files()} <= names
    assert not any(name.startswith((".venv", ".git/", ".real", "mutants")) for name in names)


@pytest.mark.parametrize("name", ["bmad", "bmad_autopilot"])
def test_both_commands_say_their_version(installed: Installed, name: str, tmp_path: Path) -> None:
    done = run(getattr(installed, name), "--version", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"bmad-autopilot {__version__}\n", "")


def test_status_runs_from_a_clean_install(installed: Installed, project: ProjectMaker) -> None:
    sample = project()
    done = run(installed.bmad, "status", cwd=sample.planning)
    assert done.returncode == 0, done.stderr
    assert "1-2" in done.stdout
    done = run(installed.bmad, "status", "--json", cwd=sample.planning)
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)


def test_installed_package_comes_from_the_wheel(installed: Installed, tmp_path: Path) -> None:
    done = run(installed.python, "-c", "import bmad_autopilot; print(bmad_autopilot.__file__)", cwd=tmp_path)
    assert done.stdout.startswith(str(installed.python.parent.parent))
