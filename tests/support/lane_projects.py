"""Real runs of a lane: a sample repository, the scripted agent as a process, and scripted answers."""

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bmad_autopilot.board.sprint_status import read_board
from bmad_autopilot.core.lane_scope import LaneScope
from bmad_autopilot.engine.runner import RunEnd, start_run
from bmad_autopilot.project.project import open_project
from bmad_autopilot.sim.sample import make_sample, scripted_agent_command


class Person:
    """Answers questions in this order, then no more."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[Mapping[str, Any]] = []

    def ask(self, question: Mapping[str, Any]) -> str | None:
        self.asked.append(question)
        return self.answers.pop(0) if self.answers else None


class RecordedRun(NamedTuple):
    end: RunEnd
    log: list[tuple[str, Mapping[str, Any]]]

    def entries(self, kind: str) -> list[Mapping[str, Any]]:
        return [data for one, data in self.log if one == kind]

    @property
    def questions(self) -> list[str]:
        return [str(asked["code"]) for asked in self.entries("asked")]


class LaneProject:
    def __init__(
        self,
        root: Path,
        habit: str = "honest",
        *,
        stories: int = 1,
        era: str = "classic",
        seconds: float = 0.0,
        agent_command: Sequence[str] | None = None,
    ) -> None:
        self.root = root
        command = agent_command or scripted_agent_command(habit, seconds)
        make_sample(str(root), 1, stories, agent_command=command, era=era)
        self.board = Path(open_project(str(root)).require_board())  # an agent may break the settings later

    def run(
        self, scope: str = "story", key: str = "1-1", *, person: Person | None = None, **options: Any
    ) -> RecordedRun:
        log: list[tuple[str, Mapping[str, Any]]] = []

        def record_event(kind: str, data: Mapping[str, Any], at: float) -> None:
            log.append((kind, dict(data)))

        end = start_run(
            open_project(str(self.root)), LaneScope(scope), key, on_event=record_event, human=person, **options
        )
        return RecordedRun(end, log)

    def git(self, *arguments: str) -> str:
        ran = subprocess.run(["git", *arguments], cwd=self.root, check=True, capture_output=True, text=True)
        return ran.stdout.strip()

    def write(self, path: str, text: str) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def rows(self) -> dict[str, str]:
        return {key: row.status.raw for key, row in read_board(str(self.board)).rows.items()}

    def row(self, number: str) -> str:
        return next(status for key, status in self.rows().items() if key.startswith(f"{number}-"))

    def story_commits(self) -> list[str]:
        """Subjects of our commits, oldest first."""
        return self.git("log", "--reverse", "--committer=autopilot@", "--format=%s").splitlines()


def paths_changed_by(sample: LaneProject, commits: Iterable[str]) -> set[str]:
    names = [sample.git("show", "--name-only", "--format=", commit).splitlines() for commit in commits]
    return {name for group in names for name in group}
