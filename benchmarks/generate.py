"""Generates projects of any size from a seed: a board with comments, its epics file and every story file."""

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

STORIES_PER_EPIC = 10
UNDER_WAY = 3
OUTPUT = "_bmad-output"
IMPLEMENTATION = f"{OUTPUT}/implementation-artifacts"
PLANNING = f"{OUTPUT}/planning-artifacts"
BOARD = f"{IMPLEMENTATION}/sprint-status.yaml"

# Statuses of an epic in the middle of a sprint.
_MIDDLE = ("done", "done", "done", "review", "in-progress", "ready-for-dev", "ready-for-dev", *["backlog"] * 3)
_NOUNS = "account search invoice report basket profile export filter session upload calendar alert".split()
_VERBS = "create show edit remove share import verify sort archive restore send print".split()

_HEADER = """\
# generated: 01-15-2026 09:00
# project: Generated
#
# STATUS DEFINITIONS
# epic: backlog, in-progress, done
# story: backlog, ready-for-dev, in-progress, review, done
# retrospective: optional, done

generated: 01-15-2026 09:00
last_updated: 01-15-2026 09:00
project: Generated
project_key: NOKEY
tracking_system: file-system
story_location: "{project-root}/_bmad-output/implementation-artifacts"

development_status:
"""


class Story(NamedTuple):
    key: str
    number: str
    title: str
    status: str


class Epic(NamedTuple):
    number: int
    status: str
    stories: tuple[Story, ...]


def generate(path: Path, stories: int, seed: int) -> None:
    """Write a whole project of `stories` stories to a new folder."""
    epics = list(_epics(stories, random.Random(seed)))
    for folder in (IMPLEMENTATION, PLANNING, "_bmad/bmm", "_bmad/core", "_bmad/_config"):
        (path / folder).mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", str(path)], check=True)
    _write_install(path)
    (path / BOARD).write_text(_HEADER + "".join(_board_part(epic) for epic in epics))
    (path / PLANNING / "epics.md").write_text("# Generated - Epic Breakdown\n\n" + "".join(map(_epic_part, epics)))
    for epic in epics:
        for story in epic.stories:
            (path / IMPLEMENTATION / f"{story.key}.md").write_text(_story_text(story))


def _epics(stories: int, rng: random.Random) -> Iterator[Epic]:
    count = -(-stories // STORIES_PER_EPIC)
    for epic in range(1, count + 1):
        if epic <= count // 2:
            status, life = "done", ("done",) * STORIES_PER_EPIC
        elif epic <= count // 2 + UNDER_WAY:
            status, life = "in-progress", _MIDDLE
        else:
            status, life = "backlog", ("backlog",) * STORIES_PER_EPIC
        size = min(STORIES_PER_EPIC, stories - (epic - 1) * STORIES_PER_EPIC)
        yield Epic(epic, status, tuple(_story(epic, n, life[n - 1], rng) for n in range(1, size + 1)))


def _story(epic: int, number: int, status: str, rng: random.Random) -> Story:
    words = [rng.choice(_VERBS), rng.choice(_NOUNS), rng.choice(_NOUNS)]
    return Story(f"{epic}-{number}-{'-'.join(words)}", f"{epic}.{number}", " ".join(words).capitalize(), status)


def _board_part(epic: Epic) -> str:
    rows = [f"  # Epic {epic.number}: {epic.stories[0].title}", f"  epic-{epic.number}: {epic.status}"]
    for story in epic.stories:
        note = "  # waits for a reader" if story.status == "review" else ""
        rows.append(f"  {story.key}: {story.status}{note}")
    rows.append(f"  epic-{epic.number}-retrospective: {'done' if epic.status == 'done' else 'optional'}")
    return "\n".join(rows) + "\n\n"


def _epic_part(epic: Epic) -> str:
    head = f"## Epic {epic.number}: {epic.stories[0].title}\n\n"
    return head + "".join(f"### Story {story.number}: {story.title}\n\n" for story in epic.stories)


def _story_text(story: Story) -> str:
    box = "x" if story.status in ("review", "done") else " "
    return (
        f"# Story {story.number}: {story.title}\n\nStatus: {story.status}\n\n"
        "## Story\n\nAs a person, I want this, so that it is there.\n\n"
        "## Acceptance Criteria\n\n1. It is there.\n2. It stays there.\n\n"
        f"## Tasks / Subtasks\n\n- [{box}] Make it (AC: 1)\n- [{box}] Keep it (AC: 2)\n\n"
        f"## Dev Agent Record\n\n### File List\n\n- src/part_{story.number.replace('.', '_')}.py\n"
    )


def _write_install(path: Path) -> None:
    (path / "_bmad/bmm/config.yaml").write_text(
        "project_name: generated\nuser_skill_level: intermediate\n"
        f'planning_artifacts: "{{project-root}}/{PLANNING}"\n'
        f'implementation_artifacts: "{{project-root}}/{IMPLEMENTATION}"\n'
        'project_knowledge: "{project-root}/docs"\nuser_name: Tester\noutput_folder: _bmad-output\n'
    )
    (path / "_bmad/core/config.yaml").write_text("user_name: Tester\noutput_folder: _bmad-output\n")
    (path / "_bmad/_config/manifest.yaml").write_text(
        "installation:\n  version: 6.10.0\n  installDate: 2026-01-15T09:00:00.000Z\n"
        "modules:\n  - name: core\n  - name: bmm\nides:\n  - claude-code\n"
    )
    for name in ("create-story", "dev-story", "code-review", "retrospective"):
        skill = path / f".claude/skills/bmad-{name}/SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text(f"---\nname: bmad-{name}\ndescription: Generated.\n---\n\nDo it.\n")
