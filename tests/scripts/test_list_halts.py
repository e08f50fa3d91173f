"""The script that lists where the installed skills stop."""

import json
import subprocess
import sys
from pathlib import Path

from bmad_autopilot.project.skills import find_skills
from scripts.list_halts import list_halts, skill_texts
from tests.support.bmad_project import ProjectMaker
from tests.support.wheels import REPOSITORY

DEV = ".claude/skills/bmad-dev-story"
KNOWN = '<action if="new dependencies required beyond story specifications">HALT</action>'


def run(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scripts.list_halts", str(project), *options]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=60)


def test_an_answered_halt_is_listed_with_its_answer(project: ProjectMaker) -> None:
    sample = project()
    sample.write(f"{DEV}/steps/one.md", f"Words.\n\n{KNOWN}\n")
    done = run(sample.root, "--skill", "dev-story")
    assert (done.returncode, done.stderr) == (0, "1 places, 0 without an answer\n")
    assert f"{DEV}/steps/one.md:3" in done.stdout
    assert "→ dependencies" in done.stdout


def test_one_that_nobody_has_seen_fails(project: ProjectMaker) -> None:
    sample = project()
    sample.write(f"{DEV}/SKILL.md", f"# Dev\n\nHALT for the moon.\n\n{KNOWN}\n")
    done = run(sample.root, "--json")
    assert done.returncode == 1
    unseen, known = json.loads(done.stdout)
    assert (unseen["line"], unseen["sentence"], unseen["mapped"], unseen["answer"]) == (
        3,
        "HALT for the moon.",
        False,
        None,
    )
    assert (known["mapped"], known["answer"], known["where"]) == (True, "dependencies", "Dev")


def test_a_command_is_followed_to_its_engine_and_workflow(project: ProjectMaker) -> None:
    sample = project(era="commands")
    folder = "_bmad/bmm/workflows/4-implementation/dev-story"
    sample.write(
        ".claude/commands/bmad-bmm-dev-story.md",
        f"LOAD {{project-root}}/_bmad/core/tasks/workflow.xml\nREAD {{project-root}}/{folder}/workflow.yaml\n",
    )
    sample.write("_bmad/core/tasks/workflow.xml", "<ask>Continue</ask>\nsee {project-root}/_bmad/core/other.xml\n")
    sample.write("_bmad/core/other.xml", "<ask>Not reached</ask>\n")
    sample.write(f"{folder}/workflow.yaml", "name: dev-story\n")
    sample.write(f"{folder}/instructions.xml", f"{KNOWN}\n")
    listed = list_halts(str(sample.root), "dev-story")
    assert [(item.halt.file.rpartition("/")[2], item.stop and item.stop.answer) for item in listed] == [
        ("workflow.xml", "engine"),
        ("instructions.xml", "dependencies"),
    ]


def test_reviewers_that_are_skills_of_their_own_are_read_too(project: ProjectMaker) -> None:
    sample = project()
    sample.write(".claude/skills/bmad-code-review/steps/two.md", "Invoke `bmad-review-edge-case-hunter`.\n")
    sample.write(".claude/skills/bmad-review-edge-case-hunter/SKILL.md", "Find edges.\n")
    sample.write(".claude/skills/bmad-review-other/SKILL.md", "Not named.\n")
    texts = skill_texts(str(sample.root), find_skills(str(sample.root), "claude", None), "code-review")
    assert ".claude/skills/bmad-review-edge-case-hunter/SKILL.md" in texts
    assert not any("review-other" in file for file in texts)


def test_no_project_is_an_error_without_a_traceback(tmp_path: Path) -> None:
    done = run(tmp_path / "nowhere")
    assert done.returncode in (2, 4)
    assert done.stderr.startswith("list_halts: ")
    assert "Traceback" not in done.stderr
