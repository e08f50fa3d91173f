"""Real runs of a lane: a sample repository, the scripted agent as a real process, and people who answer."""

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bmad_autopilot.board.sprint import read_board
from bmad_autopilot.engine.driving import RunEnd
from bmad_autopilot.engine.running import start_run
from bmad_autopilot.project.open import open_project
from bmad_autopilot.sim.sample import make_sample, scripted


class Person:
    """Answers questions in this order; then not at all."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[Mapping[str, Any]] = []

    def ask(self, question: Mapping[str, Any]) -> str | None:
        self.asked.append(question)
        return self.answers.pop(0) if self.answers else None


class Ran(NamedTuple):
    end: RunEnd
    log: list[tuple[str, Mapping[str, Any]]]

    def entries(self, kind: str) -> list[Mapping[str, Any]]:
        return [data for one, data in self.log if one == kind]

    @property
    def questions(self) -> list[str]:
        return [str(asked["code"]) for asked in self.entries("asked")]


class Sample:
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
        command = agent_command or scripted(habit, seconds)
        make_sample(str(root), 1, stories, agent_command=command, era=era)
        self.board = Path(open_project(str(root)).require_board())  # an agent may spoil the settings later

    def run(self, scope: str = "story", key: str = "1-1", *, person: Person | None = None, **options: Any) -> Ran:
        log: list[tuple[str, Mapping[str, Any]]] = []

        def told(kind: str, data: Mapping[str, Any], at: float) -> None:
            log.append((kind, dict(data)))

        end = start_run(open_project(str(self.root)), scope, key, told=told, human=person, **options)
        return Ran(end, log)

    def git(self, *arguments: str) -> str:
        ran = subprocess.run(["git", *arguments], cwd=self.root, check=True, capture_output=True, text=True)
        return ran.stdout.strip()

    def write(self, path: str, text: str) -> Path:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return place

    def rows(self) -> dict[str, str]:
        return {key: row.status.raw for key, row in read_board(str(self.board)).rows.items()}

    def row(self, number: str) -> str:
        return next(status for key, status in self.rows().items() if key.startswith(f"{number}-"))

    def story_commits(self) -> list[str]:
        """Subjects of our commits, the oldest first."""
        return self.git("log", "--reverse", "--committer=autopilot@", "--format=%s").splitlines()


def changed_by(sample: Sample, commits: Iterable[str]) -> set[str]:
    names = [sample.git("show", "--name-only", "--format=", commit).splitlines() for commit in commits]
    return {name for group in names for name in group}
