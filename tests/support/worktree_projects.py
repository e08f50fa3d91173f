"""A real project with ignored files, for tests of lane worktrees."""

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path

from bmad_autopilot.git.git import Git
from bmad_autopilot.git.worktrees.create import CreatedWorktree
from bmad_autopilot.git.worktrees.lane_worktrees import Worktrees
from bmad_autopilot.git.worktrees.site import CommandResult
from bmad_autopilot.project.config import WorktreeSettings
from bmad_autopilot.project.root import find_root
from tests.support.repositories import Repository, make_repository

EPIC, BRANCH = "epic-1", "feature/epic-1"
IGNORED = ".claude/\n_bmad/\n_bmad-output/\n.env*\nconfig/local.*\nbuild/\n"


class WorktreeProject:
    """A project whose skills and secrets are ignored by git."""

    def __init__(self, folder: Path, part: str = ".") -> None:
        self.repository = Repository(folder / "work")
        shutil.copytree(_template(part), folder / "work", symlinks=True)
        self.top = self.repository.path
        self.project = self.top / part
        self.busy: set[str] = set()
        self.ran: list[tuple[Sequence[str], str]] = []

    @cached_property
    def start(self) -> str:
        """The first commit, if read before there is another."""
        return self.repository.head

    @property
    def folder(self) -> Path:
        return self.top.with_name("work.worktrees")

    def worktrees(
        self,
        *,
        folder: str | None = None,
        copy: tuple[str, ...] = (),
        post_create: tuple[str, ...] = (),
        keep: bool = False,
    ) -> Worktrees:
        settings = WorktreeSettings(folder, copy, post_create, keep)
        return Worktrees(find_root(str(self.project)), settings, run=self.run, is_busy=self.busy.__contains__)

    def run(self, words: Sequence[str], folder: str, logs: str) -> CommandResult:
        self.ran.append((words, folder))
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
        Path(logs).mkdir(parents=True, exist_ok=True)
        log = Path(logs) / "01.log"
        log.write_text(done.stdout + done.stderr)
        return CommandResult(done.returncode, log.read_text(), str(log))

    def make(self, epic: str = EPIC, branch: str = BRANCH, commit: str = "main") -> CreatedWorktree:
        return self.worktrees().create(epic, branch, commit)

    def registered_worktrees(self) -> dict[str, str]:
        """Git's worktrees other than the main checkout: folder → branch."""
        found: dict[str, str] = {}
        for line in self.repository.run("worktree", "list", "--porcelain").splitlines():
            if line.startswith("worktree "):
                folder = line.removeprefix("worktree ")
                found[folder] = ""
            elif line.startswith("branch "):
                found[folder] = line.removeprefix("branch refs/heads/")
        del found[str(self.top)]
        return found

    def is_untouched(self) -> bool:
        """Whether the main checkout is unchanged."""
        return self.repository.run("branch", "--show-current") == "main" and self.repository.status() == []


@cache
def _template(part: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="project-"))
    atexit.register(shutil.rmtree, folder)
    repository = make_repository(folder / "work")
    before = "" if part == "." else f"{part}/"
    repository.write(f"{before}.gitignore", IGNORED)
    repository.write(f"{before}src/app.py", "print()\n")
    repository.commit("A project")
    repository.run("repack", "-a", "-d", "--quiet")
    repository.write(f"{before}.claude/skills/bmad-dev-story/SKILL.md", "develop\n")
    repository.write(f"{before}_bmad/bmm/config.yaml", "output_folder: _bmad-output\n")
    repository.write(f"{before}.env", "KEY=secret\n").chmod(0o600)
    repository.write(f"{before}config/local.toml", "a = 1\n")
    repository.write(f"{before}_bmad-output/.runs/main/run/state.json", "{}\n")
    return folder / "work"


def worktree_repository(made: CreatedWorktree) -> Repository:
    """The worktree as a Repository."""
    return Repository(Path(made.folder))


def git_dir(made: CreatedWorktree) -> Path:
    return Path(Git(made.folder).git_dir)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".git"
    }
