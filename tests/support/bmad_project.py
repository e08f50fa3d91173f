"""Builds BMAD projects of any era on disk, with git, and runs `bmad` in them."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

BOARD = """\
# generated: 01-15-2026 09:00
# STATUS DEFINITIONS: epics go backlog, in-progress, done

generated: 01-15-2026 09:00
last_updated: 01-15-2026 09:00
project: Sample
project_key: NOKEY
tracking_system: file-system
story_location: "{project-root}/_bmad-output/implementation-artifacts"

development_status:
  epic-1: in-progress
  1-1-sign-up: done
  1-2-sign-in: review  # waits for a reader
  1-3-sign-out: ready-for-dev
  epic-1-retrospective: optional

  epic-2: backlog
  2-1-search: backlog
  2-2-filters: backlog
  epic-2-retrospective: optional
"""

EPICS = """\
---
stepsCompleted: []
inputDocuments: []
---

# Sample - Epic Breakdown

## Epic List

### Epic 1: Accounts

### Epic 2: Finding things

## Epic 1: Accounts

### Story 1.1: Sign up

As a visitor, I want an account, so that I am known.

**Acceptance Criteria:**

**Given** a visitor
**When** they sign up
**Then** an account exists

### Story 1.2: Sign in

### Story 1.3: Sign out

## Epic 2: Finding things

### Story 2.1: Search

### Story 2.2: Filters
"""

STORIES = {"1-1-sign-up": "done", "1-2-sign-in": "review", "1-3-sign-out": "ready-for-dev"}


class Era(NamedTuple):
    """The layout of one generation of BMAD on disk."""

    version: str
    folder: str
    manifest: str | None
    implementation: str
    planning: str
    skill: str  # path of a workflow's skill, by name
    skills: tuple[str, ...]


_CLASSIC = ("create-story", "dev-story", "code-review", "sprint-planning", "retrospective")
_BUILD = ("build", "build-auto", "code-review", "sprint-planning", "retrospective")
_OUTPUT = ("_bmad-output/implementation-artifacts", "_bmad-output/planning-artifacts")
_SKILL = ".claude/skills/bmad-{}/SKILL.md"
_MANIFEST = "_bmad/_config/manifest.yaml"

ERAS = {
    "v4": Era(
        "4.44.0", ".bmad-core", None, "docs/stories", "docs", ".claude/commands/BMad/agents/{}.md", ("dev",)
    ),
    "alpha": Era(
        "6.0.0-alpha.12",
        ".bmad",
        ".bmad/_cfg/manifest.yaml",
        "docs/sprint-artifacts",
        "docs",
        ".claude/commands/bmad/bmm/workflows/{}.md",
        _CLASSIC,
    ),
    "commands": Era("6.0.4", "_bmad", _MANIFEST, *_OUTPUT, ".claude/commands/bmad-bmm-{}.md", _CLASSIC),
    "classic": Era("6.10.0", "_bmad", _MANIFEST, *_OUTPUT, _SKILL, _CLASSIC),
    "build": Era("6.12.0", "_bmad", _MANIFEST, *_OUTPUT, _SKILL, _BUILD),
    "shims": Era("6.12.0", "_bmad", _MANIFEST, *_OUTPUT, _SKILL, (*_BUILD, "create-story", "dev-story")),
}


@dataclass(frozen=True)
class SampleProject:
    root: Path
    era: Era

    @property
    def implementation(self) -> Path:
        return self.root / self.era.implementation

    @property
    def planning(self) -> Path:
        return self.root / self.era.planning

    @property
    def board(self) -> Path:
        return self.implementation / "sprint-status.yaml"

    @property
    def epics(self) -> Path:
        return self.planning / "epics.md"

    def story(self, key: str) -> Path:
        return self.implementation / f"{key}.md"

    def write(self, path: str, text: str | bytes) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode() if isinstance(text, str) else text)
        return target

    def git(self, *arguments: str) -> str:
        return git(self.root, *arguments)

    def commit(self, message: str = "Change the sample") -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD").strip()


class ProjectMaker(Protocol):
    def __call__(self, name: str = "project", **parts: object) -> SampleProject: ...


def make_project(
    root: Path,
    *,
    board: str | bytes | None = BOARD,
    epics: str | bytes | None = EPICS,
    stories: Mapping[str, str] | None = None,
    era: str = "classic",
    with_git: bool = True,
) -> SampleProject:
    """A committed BMAD project as its installer and workflows write it. None omits a file.

    `stories` maps a key to a whole text, or to a status for a standard story file."""
    project = SampleProject(root, ERAS[era])
    root.mkdir(parents=True, exist_ok=True)
    _install_bmad(project)
    if board is not None:
        project.write(f"{project.era.implementation}/sprint-status.yaml", board)
    if epics is not None:
        project.write(f"{project.era.planning}/epics.md", epics)
    for key, text in (STORIES if stories is None else stories).items():
        whole = text if "\n" in text else story_text(key, text)
        project.write(f"{project.era.implementation}/{key}.md", whole)
    if with_git:
        project.git("init", "--quiet")
        project.commit("Begin the sample")
    return project


def story_text(key: str, status: str) -> str:
    epic, story, *words = key.split("-")
    box = "x" if status in ("review", "done") else " "
    return (
        f"# Story {epic}.{story}: {' '.join(words).capitalize()}\n\nStatus: {status}\n\n"
        "## Story\n\nAs a person, I want it, so that it is there.\n\n"
        "## Acceptance Criteria\n\n1. It is there.\n\n"
        f"## Tasks / Subtasks\n\n- [{box}] Make it (AC: 1)\n  - [{box}] Test it\n\n"
        "## Dev Agent Record\n\n### File List\n\n- src/it.py\n"
    )


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


class CommandResult(NamedTuple):
    code: int
    out: str
    err: str


def run_bmad(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None) -> CommandResult:
    """Run the command line in its own process, as a user does."""
    source = Path(__file__).resolve().parents[2] / "src"
    done = subprocess.run(
        [sys.executable, "-m", "bmad_autopilot", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(source), **(env or {})},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return CommandResult(done.returncode, done.stdout, done.stderr)


def _install_bmad(project: SampleProject) -> None:
    era = project.era
    if era.folder == ".bmad-core":
        project.write(".bmad-core/core-config.yaml", f"devStoryLocation: {era.implementation}\n")
    else:
        project.write(f"{era.folder}/bmm/config.yaml", _module_config(era))
        project.write(f"{era.folder}/core/config.yaml", "user_name: Tester\noutput_folder: _bmad-output\n")
    if era.manifest is not None:
        project.write(
            era.manifest,
            f"installation:\n  version: {era.version}\n  installDate: 2026-01-15T09:00:00.000Z\n"
            "modules:\n  - name: core\n  - name: bmm\nides:\n  - claude-code\n",
        )
    for name in era.skills:
        project.write(era.skill.format(name), f"---\nname: bmad-{name}\ndescription: Sample.\n---\n\nDo it.\n")


def _module_config(era: Era) -> str:
    if era.folder == ".bmad":
        folders = (
            f"output_folder: '{{project-root}}/{era.planning}'\n"
            f"sprint_artifacts: '{{project-root}}/{era.implementation}'\n"
        )
    else:
        folders = (
            f'planning_artifacts: "{{project-root}}/{era.planning}"\n'
            f'implementation_artifacts: "{{project-root}}/{era.implementation}"\n'
            'project_knowledge: "{project-root}/docs"\n'
        )
    return f"project_name: sample\nuser_skill_level: intermediate\n{folders}user_name: Tester\n"
