"""Worktrees with the real parts: the checks' way to run a command, the agents' lock."""

import json
import os
import shutil
import subprocess
import venv
from pathlib import Path
from typing import cast

import pytest

from bmad_autopilot.agents import start
from bmad_autopilot.agents.registry import find_agent
from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.engine.autopilot.checkouts import LaneCheckouts, make_worktrees
from bmad_autopilot.engine.autopilot.lanes import LaneState
from bmad_autopilot.engine.start_agent import _environment, command_environment
from bmad_autopilot.git.branches import Branches
from bmad_autopilot.git.git import Git
from bmad_autopilot.git.worktrees.lane_worktrees import Worktrees
from bmad_autopilot.project.config import Commands, Config, WorktreeSettings
from bmad_autopilot.project.lane_venv import installs_python_packages, lane_environment
from bmad_autopilot.project.project import open_project
from bmad_autopilot.project.root import find_root
from bmad_autopilot.sim.sample import make_sample
from tests.support.autopilot_runs import run_git
from tests.support.bmad_project import git
from tests.support.worktree_projects import BRANCH, EPIC, WorktreeProject, git_dir, worktree_repository

PLAIN = {"PATH": os.environ["PATH"], "OURS": "kept out of nothing"}


def of(folder: Path, **parts: object) -> Worktrees:
    return make_worktrees(find_root(str(folder)), Config(**parts), PLAIN)  # type: ignore[arg-type]


def test_commands_run_without_a_shell_and_with_the_checks_environment(tmp_path: Path) -> None:
    sample = WorktreeProject(tmp_path)
    settings = WorktreeSettings(post_create=("sh -c 'echo $OURS > build-env'", "touch $OURS"))
    made = of(sample.top, worktrees=settings).create(EPIC, BRANCH, "main")
    assert Path(made.folder, "build-env").read_text() == "kept out of nothing\n"
    assert Path(made.folder, "$OURS").exists()


@pytest.mark.real
def test_the_install_command_where_nothing_else_is_said(tmp_path: Path) -> None:
    sample = WorktreeProject(tmp_path)
    commands = Commands(install="echo a > build-1 && echo b > build-2")
    made = of(sample.top, commands=commands).create(EPIC, BRANCH, "main")
    assert Path(made.folder, "build-2").read_text() == "b\n"
    none = of(sample.top, commands=commands, worktrees=WorktreeSettings(post_create=()))
    assert not Path(none.create("epic-2", "feature/2", "main").folder, "build-1").exists()


@pytest.mark.real
def test_a_failure_is_told_with_its_last_lines(tmp_path: Path) -> None:
    sample = WorktreeProject(tmp_path)
    settings = WorktreeSettings(post_create=("sh -c 'echo no such package; exit 3'",))
    with pytest.raises(AutopilotError, match="exit code 3") as caught:
        of(sample.top, worktrees=settings).create(EPIC, BRANCH, "main")
    assert "no such package" in caught.value.message
    assert caught.value.location is not None
    assert "no such package" in Path(caught.value.location.file).read_text()


def test_a_folder_that_an_agents_lock_is_held_in_stays(tmp_path: Path) -> None:
    sample = WorktreeProject(tmp_path)
    worktrees = of(sample.top)
    made = worktrees.create(EPIC, BRANCH, "main")
    fd = start.acquire_worktree_lock(made.folder, str(tmp_path / "attempt-1"))
    try:
        assert "agent" in worktrees.remove(EPIC).reason
    finally:
        os.close(fd)
    assert worktrees.remove(EPIC).is_gone


# A virtual environment of its own

# In the place of pip: it notes the environment that it would install into.
PIP = """
import os, sys
with open(os.path.join(sys.prefix, "installed"), "a") as file:
    file.write(f"{os.getcwd()} {os.environ['VIRTUAL_ENV']}\\n")
"""
# In the place of the user's python3: a virtual environment with pip takes seconds.
PYTHON3 = """#!/bin/sh
test "$2" = venv || exec {python} "$@"
{before}
exec {python} -m venv --without-pip "$3"
"""
INSTALL = "python -m pip install -e ."


class Python:
    """A Python project, and a user whose own virtual environment is active."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sample = WorktreeProject(folder)
        self.sample.repository.write("setup.py", "")
        self.sample.repository.write("pip.py", PIP)
        self.sample.repository.commit("Python")
        self.active = folder / "active"
        venv.create(self.active, symlinks=True)
        self.python3()
        path = os.pathsep.join((str(self.active / "bin"), os.environ["PATH"]))
        monkeypatch.setenv("PATH", path)
        self.environment = {
            "PATH": path,
            "VIRTUAL_ENV": str(self.active),
            "HOME": str(folder),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def python3(self, before: str = "") -> None:
        """`before`: what it does when it is to make a virtual environment."""
        program = self.active / "bin" / "python3"
        program.unlink()
        program.write_text(PYTHON3.format(python=self.active / "bin" / "python", before=before))
        program.chmod(0o755)

    def worktrees(self, *post_create: str) -> Worktrees:
        config = Config(worktrees=WorktreeSettings(post_create=post_create))
        return make_worktrees(find_root(str(self.sample.top)), config, self.environment)

    def installed(self) -> list[str]:
        """What was installed into the user's."""
        note = self.active / "installed"
        return note.read_text().splitlines() if note.exists() else []


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Python:
    return Python(tmp_path, monkeypatch)


def test_each_python_lane_installs_into_an_environment_of_its_own(python: Python) -> None:
    worktrees = python.worktrees(INSTALL)
    for epic in ("epic-1", "epic-2"):
        made = worktrees.create(epic, f"feature/{epic}", "main")
        own = Path(made.folder, ".venv")
        assert (own / "installed").read_text() == f"{made.folder} {own}\n"
        lane = worktree_repository(made)
        lane.run("add", "--all")
        assert lane.status() == []
        assert worktrees.remove(epic).is_gone
        assert not own.exists()
    assert python.installed() == []


def test_checks_and_agents_of_a_lane_use_its_environment(python: Python, monkeypatch: pytest.MonkeyPatch) -> None:
    made = python.worktrees(INSTALL).create(EPIC, BRANCH, "main")
    outer = {
        **python.environment,
        "PYTHONHOME": "/usr",
        "CONDA_PREFIX": "/opt/conda",
        "PYTHONPATH": f"{python.sample.top}/src:/opt/shared",
    }
    own = lane_environment(outer, made.root)
    assert own["VIRTUAL_ENV"] == f"{made.folder}/.venv"
    assert own["PATH"].startswith(f"{made.folder}/.venv/bin:")
    assert str(python.active) not in own["PATH"]
    assert own["PYTHONPATH"] == f"{made.folder}/src:/opt/shared"
    assert not own.keys() & {"PYTHONHOME", "CONDA_PREFIX"}
    monkeypatch.setenv("VIRTUAL_ENV", str(python.active))
    checks = command_environment(Config(), str(python.sample.folder / "run"), made.root)
    said = subprocess.run(["python", "-c", "import sys; print(sys.prefix)"], env=checks, capture_output=True)
    assert said.stdout.decode().strip() == f"{made.folder}/.venv"


def test_in_the_checkout_the_users_environment_stays(python: Python) -> None:
    python.worktrees(INSTALL).create(EPIC, BRANCH, "main")
    assert lane_environment(python.environment, find_root(str(python.sample.top))) == python.environment


def test_without_the_venv_module_nothing_is_installed(python: Python) -> None:
    python.python3('mkdir "$3"; echo "ensurepip is not available"; exit 1')
    with pytest.raises(AutopilotError, match="ensurepip is not available") as caught:
        python.worktrees(INSTALL).create(EPIC, BRANCH, "main")
    assert "apt install python3-venv" in (caught.value.hint or "")
    assert python.installed() == []
    python.python3()
    made = python.worktrees(INSTALL).create(EPIC, BRANCH, "main")
    assert Path(made.folder, ".venv/installed").exists()


def test_half_an_environment_is_made_anew(python: Python) -> None:
    """As after a kill in the middle of it."""
    python.python3('mkdir -p "$3/lib"; touch "$3/half"; exit 1')
    worktrees = python.worktrees(INSTALL)
    with pytest.raises(AutopilotError):
        worktrees.create(EPIC, BRANCH, "main")
    python.python3()
    made = worktrees.create(EPIC, BRANCH, "main")
    assert not Path(made.folder, ".venv/half").exists()
    assert Path(made.folder, ".venv/installed").exists()
    assert python.installed() == []


def test_an_environment_that_an_agent_removed_is_made_and_filled_again(python: Python) -> None:
    worktrees = python.worktrees(INSTALL)
    made = worktrees.create(EPIC, BRANCH, "main")
    shutil.rmtree(Path(made.folder, ".venv"))
    assert lane_environment(python.environment, made.root)["PIP_REQUIRE_VIRTUALENV"] == "1"
    worktrees.create(EPIC, BRANCH, "main")
    assert Path(made.folder, ".venv/installed").exists()
    assert python.installed() == []


def test_a_worktree_of_an_earlier_version_gets_one_before_it_is_worked_in_again(python: Python) -> None:
    made = python.worktrees("true").create(EPIC, BRANCH, "main")
    python.worktrees("true").refresh(EPIC)
    assert not Path(made.folder, ".venv").exists()
    python.worktrees(INSTALL).refresh(EPIC)
    python.worktrees(INSTALL).refresh(EPIC)
    assert Path(made.folder, ".venv/installed").read_text().count("\n") == 1


def test_an_agent_is_started_with_it(python: Python, monkeypatch: pytest.MonkeyPatch) -> None:
    made = python.worktrees(INSTALL).create(EPIC, BRANCH, "main")
    monkeypatch.setenv("VIRTUAL_ENV", str(python.active))
    environment = _environment(open_project(made.folder), find_agent("claude", {}), "1", None)
    assert environment["VIRTUAL_ENV"] == f"{made.folder}/.venv"
    assert environment["PATH"].startswith(f"{made.folder}/.venv/bin:")


def test_a_folder_of_that_name_that_is_not_ours_is_left_alone(python: Python) -> None:
    python.sample.repository.write(".gitignore", ".venv/\n")
    python.sample.repository.commit("Ignore it")
    worktrees = python.worktrees("mkdir -p .venv/theirs", INSTALL)
    made = python.worktrees("mkdir -p .venv/theirs").create(EPIC, BRANCH, "main")
    worktrees.create(EPIC, BRANCH, "main")
    assert os.listdir(Path(made.folder, ".venv")) == ["theirs"]
    assert (git_dir(made) / "bmad-autopilot-venv" / "installed").exists()
    assert python.installed() == []


def test_a_record_that_an_agent_wrote_removes_nothing_of_the_users(python: Python, tmp_path: Path) -> None:
    worktrees = python.worktrees(INSTALL)
    made = worktrees.create(EPIC, BRANCH, "main")
    mine = tmp_path / "mine"
    mine.mkdir()
    record = git_dir(made) / "bmad-autopilot-venv.json"
    record.write_text(json.dumps({"folder": str(mine), "apart": str(mine), "whole": False}))
    worktrees.create(EPIC, BRANCH, "main")
    assert mine.is_dir()


@pytest.mark.parametrize(
    ("setup", "others", "files"),
    [
        ("pip install -e .", "", {}),
        ("pip3.11 install -r requirements.txt", "", {}),
        ("sh -c 'npm ci && python3 -m pip install -e .'", "", {}),
        ("poetry install --with dev", "", {}),
        ("pipenv sync --dev", "", {}),
        ("pdm install", "", {}),
        ("pip-sync", "", {}),
        ("uv pip install -e .", "", {}),
        ("python setup.py develop", "", {}),
        ("make dev", "", {"Makefile": "dev:\n\tpip install -e .\n"}),
        ("scripts/setup", "", {"scripts/setup": "#!/bin/sh\nset -e\npip install -e .\n"}),
        ("", "pip install -e . && pytest", {}),
    ],
)
def test_commands_that_need_an_environment(tmp_path: Path, setup: str, others: str, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert installs_python_packages([setup], [others], str(tmp_path))


@pytest.mark.parametrize(
    "setup",
    ["uv sync", "npm ci", "cargo fetch", "tox --notest", "nox", "make dev", "python gen.py", "go mod download"],
)
def test_commands_that_need_none(tmp_path: Path, setup: str) -> None:
    (tmp_path / "Makefile").write_text("dev:\n\tnpm install\n")
    assert not installs_python_packages([setup], ["pytest", "make test"], str(tmp_path))


BACKEND = """
import os, zipfile
def _wheel(folder, path):
    name = "thing-1-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        wheel.writestr("thing.pth", path)
        wheel.writestr("thing-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: thing\\nVersion: 1\\n")
        wheel.writestr("thing-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\n")
        wheel.writestr("thing-1.dist-info/RECORD", "")
    return name
def build_editable(folder, config_settings=None, metadata_directory=None):
    return _wheel(folder, os.path.join(os.getcwd(), "src"))
def build_wheel(folder, config_settings=None, metadata_directory=None):
    return _wheel(folder, "")
"""
PYPROJECT = """[project]
name = "thing"
version = "1"
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""


@pytest.mark.real
def test_a_real_editable_install_leads_to_the_lane(tmp_path: Path) -> None:
    sample = WorktreeProject(tmp_path)
    for name, text in (("pyproject.toml", PYPROJECT), ("backend.py", BACKEND), ("src/thing.py", "x = 1\n")):
        sample.repository.write(name, text)
    sample.repository.commit("A package")
    commands = Commands(install="pip install --no-build-isolation -e .")
    worktrees = of(sample.top, commands=commands)
    for epic in ("epic-1", "epic-2"):
        made = worktrees.create(epic, f"feature/{epic}", "main")
        found = ["python", "-c", "import thing; print(thing.__file__)"]
        own = lane_environment(PLAIN, made.root)
        said = subprocess.run(found, env=own, cwd=tmp_path, capture_output=True, text=True)
        assert said.stdout.strip() == f"{made.folder}/src/thing.py", said.stderr
        assert not any(".venv" in line for line in worktree_repository(made).status())


# Where a lane is worked on: in the checkout, or in a worktree of its own.


class StandingLane:
    key, branch, dirty = "epic-1", "feature/epic-1", ("before.txt",)


class StandingDelivery:
    head = ""


class StandingRecord:
    delivery = StandingDelivery()


class StandingHeld:
    lane, record, is_at_work = StandingLane(), StandingRecord(), True


class OtherLane:
    key, branch, dirty = "epic-2", "feature/epic-2", ()


class OtherHeld:
    lane, record, is_at_work = OtherLane(), StandingRecord(), True


HELD, OTHER = cast(LaneState, StandingHeld()), cast(LaneState, OtherHeld())


@pytest.fixture
def work(tmp_path: Path) -> Path:
    make_sample(str(tmp_path / "work"), 1, 1)
    return tmp_path / "work"


def places(work: Path, said: list[str], *, apart: bool) -> LaneCheckouts:
    project = open_project(str(work))
    return LaneCheckouts(project, Branches(Git(str(work)), "origin"), said.append, use_worktrees=apart)


def branch_in(folder: str | Path) -> str:
    return run_git(Path(folder), "branch", "--show-current")


def test_one_at_a_time_the_checkout_goes_to_its_branch(work: Path) -> None:
    found = places(work, [], apart=False).create("epic-1", "feature/epic-1", "main")
    assert found.project.root.checkout == str(work)
    assert branch_in(work) == "feature/epic-1"


def test_apart_the_checkout_stays_and_the_lane_is_gone_on_with_where_it_is(work: Path) -> None:
    here = places(work, [], apart=True)
    found = here.create("epic-1", "feature/epic-1", run_git(work, "rev-parse", "main"))
    lane = work.parent / "work.worktrees" / "epic-1"
    assert found.project.root.checkout == str(lane)
    assert (branch_in(work), branch_in(lane)) == ("main", "feature/epic-1")
    assert found.project.root.path == str(work), "records stay with their owner"
    for apart in (True, False):
        assert places(work, [], apart=apart).reopen(HELD).project.root.checkout == str(lane)


def test_a_finished_one_is_cleared_away_and_what_would_be_lost_stays(work: Path) -> None:
    said: list[str] = []
    here = places(work, said, apart=True)
    lane = Path(here.create("epic-1", "feature/epic-1", run_git(work, "rev-parse", "main")).project.root.checkout)
    (lane / "mine.txt").write_text("mine\n")
    here.remove("epic-1")
    assert lane.is_dir()
    assert ["the worktree of epic-1 stays" in text for text in said] == [True]
    (lane / "mine.txt").unlink()
    here.remove("epic-1")
    assert not lane.exists()
    here.remove("epic-1")


def test_what_earlier_commands_left_goes_unless_a_lane_needs_it(work: Path) -> None:
    here = places(work, [], apart=True)
    lane = Path(here.create("epic-1", "feature/epic-1", run_git(work, "rev-parse", "main")).project.root.checkout)
    here.tidy({"epic-1"})
    assert lane.is_dir()
    here.tidy(set())
    assert not lane.exists()


def test_in_the_checkout_that_has_its_branch_it_goes_on_there(work: Path) -> None:
    git(work, "switch", "--quiet", "--create", "feature/epic-1")
    assert places(work, [], apart=True).reopen(HELD).project.root.checkout == str(work)


def test_the_checkout_is_its_whose_unfinished_work_lies_there(work: Path) -> None:
    here = places(work, [], apart=False)
    here.create("epic-2", "feature/epic-2", "main")
    here.create("epic-1", "feature/epic-1", "main")
    (work / "before.txt").write_text("somebody's, from before\n")
    assert here.check_out(OTHER, [HELD, OTHER]) == ""
    assert branch_in(work) == "feature/epic-2"
    assert here.check_out(HELD, [HELD, OTHER]) == "what epic-2 has not finished lies there: before.txt"
    (work / "before.txt").unlink()
    assert (here.check_out(HELD, [HELD, OTHER]), branch_in(work)) == ("", "feature/epic-1")
    (work / "half.txt").write_text("half\n")
    assert "what epic-1 has not finished lies there: half.txt" in here.check_out(OTHER, [HELD, OTHER])
    assert here.occupied_reason("epic-1", [HELD, OTHER]) == "", "nobody else's"
    assert branch_in(work) == "feature/epic-1"


def test_what_a_person_has_changed_there_is_waited_for(work: Path) -> None:
    here = places(work, [], apart=False)
    here.create("epic-2", "feature/epic-2", "main")
    (work / "README.md").write_text("mine\n")
    assert "tracked files have changes that are not committed" in here.check_out(HELD, [HELD])
    assert branch_in(work) == "feature/epic-2"


def test_who_has_a_worktree_needs_no_checkout(work: Path) -> None:
    here = places(work, [], apart=True)
    here.create("epic-1", "feature/epic-1", run_git(work, "rev-parse", "main"))
    run_git(work, "switch", "--quiet", "--create", "feature/epic-2")
    (work / "half.txt").write_text("half\n")
    assert (here.check_out(HELD, [HELD, OTHER]), here.occupied_reason("epic-1", [HELD, OTHER])) == ("", "")
    assert "half.txt" in here.occupied_reason("epic-3", [HELD, OTHER])
