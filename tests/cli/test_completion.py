"""Completion, as the shells run it: the printed script, and what it offers."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bmad_autopilot.cli.completion import NAMES, SHELLS
from tests.support.bmad_project import BOARD, ProjectMaker, SampleProject, run_bmad

pytestmark = pytest.mark.real


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """Both our names, as an installer makes them."""
    folder = tmp_path / "scripts"
    folder.mkdir()
    source = Path(__file__).resolve().parents[2] / "src"
    for name in NAMES:
        path = folder / name
        path.write_text(
            f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(source)!r})\n"
            "from bmad_autopilot.cli import main\nmain()\n"
        )
        path.chmod(0o755)
    return folder


def complete(sample: SampleProject, scripts: Path, *words: str) -> list[str]:
    """Press TAB after `words` in a real bash that has loaded the real script."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    script = (
        'eval "$(bmad completion bash)"\n'
        'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()\n'
        'spec=$(complete -p "$1"); spec=${spec#*-F }; "${spec%% *}" "$1"\n'
        '[ ${#COMPREPLY[@]} -eq 0 ] || printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        [bash, "--norc", "-c", script, "bash", *words],
        cwd=sample.root,
        env={**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_serves_both_names(project: ProjectMaker, shell: str) -> None:
    ran = run_bmad("completion", shell, cwd=project(with_git=False).root)
    assert (ran.code, ran.err) == (0, "")
    for variable in ("_BMAD_COMPLETE=", "_BMAD_AUTOPILOT_COMPLETE="):
        assert f"{variable}{shell}_complete" in ran.out
    program = shutil.which(shell)
    if program is not None:
        subprocess.run([program, "-n"], input=ran.out, text=True, check=True)


def test_an_unknown_shell_is_a_usage_error(project: ProjectMaker) -> None:
    ran = run_bmad("completion", "tcsh", cwd=project(with_git=False).root)
    assert ran.code == 2
    assert "bash" in ran.err


@pytest.mark.parametrize("name", NAMES)
def test_clicks_own_way_works_for_both_names(project: ProjectMaker, scripts: Path, name: str) -> None:
    variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
    done = subprocess.run(
        [str(scripts / name)],
        cwd=project(with_git=False).root,
        env={**os.environ, variable: "bash_source"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert f" {name}\n" in done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_verbs_and_story_keys(project: ProjectMaker, scripts: Path, name: str) -> None:
    sample = project()
    assert complete(sample, scripts, name, "do") == ["doctor"]
    assert complete(sample, scripts, name, "run-story", "1-") == ["1-1-sign-up", "1-2-sign-in", "1-3-sign-out"]
    assert complete(sample, scripts, name, "run-epic", "") == ["epic-1", "epic-2"]
    assert "install" not in complete(sample, scripts, name, "")


def test_the_chosen_project_counts(project: ProjectMaker, scripts: Path) -> None:
    here = project("here")
    other = project("other", board=BOARD.replace("2-1-search", "2-1-browse"))
    found = complete(here, scripts, "bmad", "-C", str(other.root), "run-story", "2-1")
    assert found == ["2-1-browse"]


def test_flows_and_their_steps(project: ProjectMaker, scripts: Path) -> None:
    sample = project(board=None, stories={})
    assert complete(sample, scripts, "bmad", "flow", "re") == ["reset", "retry"]
    assert complete(sample, scripts, "bmad", "flow", "run", "g") == ["greenfield"]
    assert complete(sample, scripts, "bmad", "flow", "skip", "")[:3] == ["1", "2", "3"]
    sample.write("_docs/_autopilot_state.md", b"\xff\xfe\0")
    assert complete(sample, scripts, "bmad", "flow", "skip", "") == []


@pytest.mark.parametrize("board", [None, "development_status: [\n", b"\xff\xfe\0", "a: &a [*a]\n"])
def test_a_broken_board_completes_nothing_and_says_nothing(
    project: ProjectMaker, scripts: Path, board: str | bytes | None
) -> None:
    assert complete(project(board=board), scripts, "bmad", "run-story", "") == []


def test_a_verb_that_is_not_there_says_nothing(project: ProjectMaker, scripts: Path) -> None:
    complete(project(), scripts, "bmad", "no-such-verb", "")
