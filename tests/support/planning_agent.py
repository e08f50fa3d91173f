"""A scripted agent for the bmm flow: reads a step's prompt from standard input and writes the output of BMAD's
skill, into the configured folders and in the layout of the installed version.

`python planning_agent.py [LOG]`: appends a line per call to LOG: the step's name and the prompt's first line."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bmad_autopilot.project.folders import Folders
from bmad_autopilot.project.project import open_project

DATE = "2026-01-31"
STEPS = (
    *("Brainstorm", "Research", "Product Brief", "PRD", "UX Design", "Architecture"),
    *("Epics and Stories", "Implementation Readiness", "Sprint Planning"),
)

# Two epics of two stories each.
_STORIES = {
    1: ("Accounts", ("Sign up", "Sign in")),
    2: ("Finding things", ("Search", "Filters & sorting")),
}
_STEP = re.compile(r"\bstep \d+ of \d+, `(?P<name>[^`]+)`")
_OUTPUT = re.compile(r"^- `(?P<path>[^`]+)`: what came of this step", re.MULTILINE)


class Plan(NamedTuple):
    folders: Folders
    in_run_folders: bool  # since 6.10

    def write(self, folder: str, path: str, text: str) -> Path:
        target = Path(folder, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def document(self, title: str, old: str, new: str) -> list[Path]:
        """One document, in the planning folder (`old`) or in its own run folder (`new`)."""
        front = "status: final" if self.in_run_folders else f"stepsCompleted: {list(range(1, 15))}"
        text = (
            f"---\n{front}\n---\n\n# {title}\n\n## What\n\nFR1: Visitors can sign up.\n\n## Why\n\nThey asked.\n"
        )
        return [self.write(self.folders.planning, new if self.in_run_folders else old, text)]


def _brainstorm(plan: Plan) -> list[Path]:
    name = (
        f"brainstorm-shop-{DATE}/brainstorm-intent.md"
        if plan.in_run_folders
        else f"brainstorming-session-{DATE}.md"
    )
    return [plan.write(plan.folders.output, f"brainstorming/{name}", "# Ideas\n\n- A shop\n")]


def _research(plan: Plan) -> list[Path]:
    return plan.document(
        "Research", f"research/market-shops-research-{DATE}.md", f"research/market-shops-{DATE}/research.md"
    )


def _brief(plan: Plan) -> list[Path]:
    return plan.document("Brief", f"product-brief-shop-{DATE}.md", f"briefs/brief-shop-{DATE}/brief.md")


def _prd(plan: Plan) -> list[Path]:
    return plan.document("PRD", "prd.md", f"prds/prd-shop-{DATE}/prd.md")


def _ux(plan: Plan) -> list[Path]:
    folder = f"ux-designs/ux-shop-{DATE}"
    files = plan.document("Design", "ux-design-specification.md", f"{folder}/DESIGN.md")
    return files + (plan.document("Experience", "", f"{folder}/EXPERIENCE.md") if plan.in_run_folders else [])


def _architecture(plan: Plan) -> list[Path]:
    return plan.document(
        "Architecture", "architecture.md", f"architecture/architecture-shop-{DATE}/ARCHITECTURE-SPINE.md"
    )


def _epics(plan: Plan) -> list[Path]:
    parts = [
        "---\nstepsCompleted: [1, 2, 3, 4]\ninputDocuments: []\n---\n\n# Shop - Epic Breakdown\n\n## Epic List\n"
    ]
    parts += [f"### Epic {number}: {title}\n" for number, (title, _) in _STORIES.items()]
    for number, (title, stories) in _STORIES.items():
        parts.append(f"## Epic {number}: {title}\n\nFor visitors.\n")
        for at, story in enumerate(stories, 1):
            parts.append(
                f"### Story {number}.{at}: {story}\n\nAs a visitor,\nI want it,\nSo that it is there.\n\n"
                "**Acceptance Criteria:**\n\n**Given** a visitor\n**When** they come\n**Then** it is there\n"
            )
    return [plan.write(plan.folders.planning, "epics.md", "\n".join(parts))]


def _readiness(plan: Plan) -> list[Path]:
    text = "# Readiness\n\n### Overall Readiness Status\n\nREADY\n"
    return [plan.write(plan.folders.planning, f"implementation-readiness-report-{DATE}.md", text)]


def _sprint(plan: Plan) -> list[Path]:
    lines = [
        *("generated: 01-31-2026 09:00", "last_updated: 01-31-2026 09:00", "project: Shop", "project_key: NOKEY"),
        *("tracking_system: file-system", 'story_location: "{project-root}"', "", "development_status:"),
    ]
    for number, (_, stories) in _STORIES.items():
        lines.append(f"  epic-{number}: backlog")
        lines += [f"  {number}-{at}-{_slug(story)}: backlog" for at, story in enumerate(stories, 1)]
        lines += [f"  epic-{number}-retrospective: optional", ""]
    return [plan.write(plan.folders.implementation, "sprint-status.yaml", "\n".join(lines))]


def _slug(title: str) -> str:
    return re.sub(r"\W+", "-", title.lower()).strip("-")


_WRITERS: dict[str, Callable[[Plan], list[Path]]] = dict(
    zip(
        STEPS,
        (_brainstorm, _research, _brief, _prd, _ux, _architecture, _epics, _readiness, _sprint),
        strict=True,
    )
)


def write_step_output(project: Path, step: str) -> list[Path]:
    """Write the output of this step and return the files."""
    found = open_project(str(project), home="/nonexistent")
    numbers = [int(part) for part in (found.bmad.version or "6.12").split(".")[:2]]
    return _WRITERS[step](Plan(found.folders, numbers >= [6, 10]))


def main() -> int:
    prompt = sys.stdin.read()
    said = _STEP.search(prompt)
    if said is None or said["name"] not in STEPS:
        print("this prompt is about no step of the planning", file=sys.stderr)
        return 1
    if len(sys.argv) > 1:
        with Path(sys.argv[1]).open("a") as log:
            log.write(f"{said['name']}\t{prompt.partition(chr(10))[0]}\n")
    written = write_step_output(Path.cwd(), said["name"])
    output = _OUTPUT.search(prompt)
    if output is not None:
        Path(output["path"]).write_text("".join(f"- {path}\n" for path in written))
    print(f"wrote {', '.join(path.name for path in written)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
