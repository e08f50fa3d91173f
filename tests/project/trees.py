"""Lay out project trees for the tests of this room."""

from pathlib import Path

from bmad_autopilot.project.project import Project, open_project

BOARD = "development_status:\n  epic-1: backlog\n"
IMPLEMENTATION = "_bmad-output/implementation-artifacts"


def lay(root: Path, *paths: str, **texts: str) -> Path:
    """Make files: boards where the name says so, empty ones else. A trailing slash makes a folder."""
    for path in paths:
        write(root, path, BOARD if path.endswith("sprint-status.yaml") else "")
    for path, text in texts.items():
        write(root, path, text)
    return root


def write(root: Path, path: str, text: str) -> Path:
    target = root / path
    if path.endswith("/"):
        target.mkdir(parents=True, exist_ok=True)
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    return target


def settings(**values: str) -> str:
    return "user_name: Tester\n" + "".join(f'{key}: "{value}"\n' for key, value in values.items())


def opened(start: Path) -> Project:
    return open_project(str(start), home="/nonexistent")


def inside(project: Project, path: str | None) -> str | None:
    """A path of the project, as seen from its base."""
    return path if path is None else str(Path(path).relative_to(project.folders.base))


def codes(project: Project) -> list[str]:
    return [note.code for note in project.diagnostics]
