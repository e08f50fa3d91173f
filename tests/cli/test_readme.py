"""What the README shows is what one gets."""

import re
from pathlib import Path

from click.testing import CliRunner

from bmad_autopilot.cli import bmad
from tests.support.bmad_project import ProjectMaker
from tests.support.terminals import run_piped

README = Path(__file__).parent.parent.parent / "README.md"

BOARD = """\
project: widgets

development_status:
  epic-1: done
  1-1-set-up: done
  1-2-sign-in: done
  epic-1-retrospective: done
  epic-2: in-progress
  2-1-documents: done
  2-2-search: review
  2-3-sharing: in-progress
  2-4-export: blocked  # waits for the certificate
  2-5-archive: ready-for-dev
  2-6-import: backlog
  epic-3: backlog
  3-1-billing: backlog
"""


def block(command: str) -> str:
    """The console block of the README that begins with this command, without the command."""
    found = re.search(rf"```console\n\$ {re.escape(command)}\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    assert found is not None
    return found[1]


def test_the_status_it_shows(project: ProjectMaker) -> None:
    stories = {"2-2-search": "review", "2-3-sharing": "review", "2-5-archive": "ready-for-dev"}
    sample = project(board=BOARD, era="build", stories=stories)
    shown = run_piped("status", cwd=sample.root, COLUMNS="100")
    assert shown.stdout == block("bmad status")


def test_every_command_it_names_exists() -> None:
    commands = re.findall(r"^\$ bmad ([^#\n]+)", README.read_text(encoding="utf-8"), re.M)
    assert len(commands) >= 8
    for command in commands:
        ours = command.partition(" -- ")[0]  # behind it stands a command of others
        done = CliRunner().invoke(bmad, [*ours.split(), "--help"])
        assert done.exit_code == 0, command


def test_it_stays_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) < 200
