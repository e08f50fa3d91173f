"""bmad agent as a whole: what is loaded for it, and what a shell offers."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.agent_runs import NAME, RUN, call, project_with_stub
from tests.cli.test_completion import complete, scripts
from tests.support.bmad_project import ProjectMaker, run_bmad

__all__ = ["scripts"]  # a fixture

LOADED = (
    "import sys\nsys.argv = ['bmad', *sys.argv[1:]]\n"
    "import os\nos._exit = lambda code: None\n"
    "from bmad_autopilot.cli import main\nmain()\n"
    "print('\\n'.join(sorted(sys.modules)))\n"
)


@pytest.mark.parametrize("arguments", [["--help"], ["status"], ["next", "--dry-run"]])
def test_the_quick_verbs_load_nothing_of_it(project: ProjectMaker, arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments], cwd=project().root, capture_output=True, text=True, check=True
    )
    loaded = done.stdout.splitlines()
    assert "bmad_autopilot.cli" in loaded
    ours = [name for name in loaded if name.startswith(("bmad_autopilot.cli.agent", "bmad_autopilot.engine"))]
    assert ours == []
    assert "bmad_autopilot.agents.attempt" not in loaded
    assert "watchfiles" not in loaded


def test_the_help_says_that_a_test_is_a_real_call(project: ProjectMaker) -> None:
    sample = project()
    assert "See that an agent works here" in run_bmad("--help", cwd=sample.root).out
    words = " ".join(run_bmad("agent", "test", "--help", cwd=sample.root).out.split())
    assert "It costs what a few hundred words cost" in words
    assert "Your own repository is not touched" in words


def test_a_shell_completes_calls_and_agents(project: ProjectMaker, scripts: Path) -> None:
    sample = project_with_stub(project)
    call(sample, "print(1)")
    assert complete(sample, scripts, "bmad", "agent", "lo") == ["logs"]
    assert complete(sample, scripts, "bmad", "agent", "cancel", RUN[:5]) == [NAME]
    assert complete(sample, scripts, "bmad", "agent", "test", "c") == ["claude", "codex", "copilot", "cursor"]
    assert complete(sample, scripts, "bmad", "agent", "test", "st") == ["stub"]
    sample.write("bmad-autopilot.toml", "agent = [")
    assert complete(sample, scripts, "bmad", "agent", "test", "st") == []
