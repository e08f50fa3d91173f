"""What every bench for a real client has: a project of its own, its program, a folder for each attempt."""

import subprocess
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path


@dataclass(frozen=True)
class ClientBench:
    program: Path
    folder: Path
    numbers: "count[int]" = field(default_factory=lambda: count(1))

    @property
    def worktree(self) -> Path:
        return self.folder / "project"

    def next_folder(self) -> Path:
        return self.folder / f"attempt-{next(self.numbers)}"

    def git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.worktree), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout.strip()

    def write(self, name: str, text: str) -> str:
        path = self.worktree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)
