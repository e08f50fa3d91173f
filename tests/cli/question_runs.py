"""Projects with runs that have asked something."""

import time
from pathlib import Path

from bmad_autopilot.project.project import open_project
from bmad_autopilot.runs.journal import Journal
from bmad_autopilot.runs.layout import make_run, runs_folder
from bmad_autopilot.runs.question_file import QuestionSource, RunQuestion
from bmad_autopilot.runs.questions import ask_question
from bmad_autopilot.runs.state_file import RunState, write_state
from tests.support.bmad_project import SampleProject

WHICH = RunQuestion(
    "1-2-sign-in",
    "dev",
    1,
    "Which endpoint should the health check use? The architecture names two, and the code uses neither.",
    "/health is what the proxy expects.\n/ready is what the chart has.",
    ("/health", "/ready"),
    "/ready",
    "critical_decision",
    source=QuestionSource.AGENT,
)
NAME = RunQuestion("1-3-sign-out", "code-review", 2, "What is the name of the table?")


def run_of(sample: SampleProject) -> Path:
    """A run that is not over."""
    folder = Path(make_run(runs_folder(str(sample.root)), "main", "lean", 1_800_000_000.0))
    Journal(str(folder), lambda value: value).append("run", target="epic-1")
    write_state(str(folder), RunState(folder.name, last_checkpoint=time.time()))
    return folder


def asked(run: Path, question: RunQuestion, minutes: float = 5.0) -> RunQuestion:
    return ask_question(str(run), question, time.time() - minutes * 60)


def state_folder(sample: SampleProject) -> str:
    return open_project(str(sample.root)).state_folder
