"""The workspace of a scripted agent: files under git, in memory or on disk, so that each habit is written once."""

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from ..core.errors import AutopilotError, UsageError


class AgentJob(NamedTuple):
    """One agent call, as read from its prompt."""

    step: str  # create-story, validate, dev, revision, code-review, build-auto, fix, fix-issues …
    story: str  # the story's key, or the epic's
    board: str  # paths are relative to the work tree
    folder: str  # of story files, specs, verdicts and agent-state files
    attempt: int = 1
    answers: tuple[str, ...] = ()  # a human's answers to its questions
    review: str = ""  # changes requested by the last review
    failure: str = ""  # output of what failed before
    points: tuple[tuple[str, str], ...] = ()  # of a pull request's reviewers: name and text


class Workspace(Protocol):
    def read(self, path: str) -> bytes | None: ...
    def write(self, path: str, data: bytes) -> None: ...
    def remove(self, path: str) -> None: ...
    def paths(self) -> Iterable[str]:
        """Every file of the work tree, without git's and our own."""

    def head(self) -> str:
        """The commit that is checked out."""

    def link(self, path: str, target: str) -> None: ...
    def commit(self, message: str) -> None:
        """Commit all changes, as an agent that commits by itself."""

    def switch(self, branch: str) -> None:
        """Create this branch and switch to it."""

    def rewind(self) -> None:
        """Move HEAD one commit back and keep the work tree: rewritten history."""

    def write_outside(self, name: str, data: bytes) -> None:
        """Write into another work tree of the same repository."""

    def set_final_message(self, text: str) -> None:
        """The agent's closing message."""


class ScriptedEnding(NamedTuple):
    """How a scripted call ends."""

    outcome: str = "completed"  # a value of agents.adapter.Outcome
    seconds: float = 60.0
    dollars: float = 0.10
    tokens: int = 1000
    resets_after: float = 0.0  # seconds until a rate limit resets


# A workspace of real files under real git, for scripted agents that run as processes.

MAX_FILE = 16 * 1024 * 1024
_EXCLUDED = (".git", "_bmad-output/.runs")


class FolderWorkspace:
    def __init__(self, folder: str) -> None:
        self._folder = os.path.realpath(folder)
        self.final_message = ""

    def read(self, path: str) -> bytes | None:
        try:
            with open(self._resolve_inside(path), "rb") as file:
                return file.read(MAX_FILE)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None

    def write(self, path: str, data: bytes) -> None:
        full_path = self._resolve_inside(path)
        os.makedirs(os.path.dirname(full_path), exist_ok=True)
        with open(full_path, "wb") as file:
            file.write(data)

    def remove(self, path: str) -> None:
        os.unlink(self._entry_path(path))

    def paths(self) -> Iterator[str]:
        for folder, folders, names in os.walk(self._folder):
            inner = os.path.relpath(folder, self._folder)
            here = "" if inner == "." else f"{inner}/"
            folders[:] = sorted(name for name in folders if here + name not in _EXCLUDED)
            yield from (here + name for name in sorted(names) if here + name not in _EXCLUDED)

    def head(self) -> str:
        return self._git("rev-parse", "HEAD").strip()

    def link(self, path: str, target: str) -> None:
        full_path = self._entry_path(path)
        os.makedirs(os.path.dirname(full_path), exist_ok=True)
        if os.path.lexists(full_path):
            os.unlink(full_path)
        os.symlink(target, full_path)

    def commit(self, message: str) -> None:
        self._git("add", "--all")
        if self._git("status", "--porcelain", "--untracked-files=no"):
            self._git("-c", "commit.gpgSign=false", "commit", "--quiet", "--no-verify", "--message", message)

    def switch(self, branch: str) -> None:
        self._git("switch", "--quiet", "--force-create", branch)

    def rewind(self) -> None:
        """A first commit has no parent: it is amended, which changes its hash."""
        if self._git("rev-list", "--max-count=2", "HEAD").count("\n") > 1:
            self._git("reset", "--quiet", "--soft", "HEAD~1")
        else:
            self._git("commit", "--quiet", "--no-verify", "--amend", "--only", "--message", "Begin anew")

    def write_outside(self, name: str, data: bytes) -> None:
        FolderWorkspace(self._other_worktree()).write(name, data)

    def set_final_message(self, text: str) -> None:
        self.final_message = text

    def _other_worktree(self) -> str:
        """Another work tree of this repository, created if there is none."""
        listed = self._git("worktree", "list", "--porcelain").splitlines()
        trees = [line.removeprefix("worktree ") for line in listed if line.startswith("worktree ")]
        others = [tree for tree in trees if os.path.realpath(tree) != self._folder and os.path.isdir(tree)]
        if not others:
            others = [f"{self._folder}.elsewhere"]
            self._git("worktree", "add", "--quiet", "--force", "--detach", others[0])
        return others[0]

    def _resolve_inside(self, path: str) -> str:
        """The target of a path, links followed. UsageError outside the work tree."""
        full_path = os.path.realpath(self._entry_path(path))
        if not full_path.startswith(self._folder + os.sep):
            raise UsageError("a path that leads out of the work tree", found=path)
        return full_path

    def _entry_path(self, path: str) -> str:
        """The directory entry itself, which may be a link to anywhere."""
        parts = path.split("/")
        if not path or "\0" in path or parts[0] in ("", ".git") or ".." in parts:
            raise UsageError("no path of the work tree", found=path or "(empty)")
        folder = os.path.realpath(os.path.join(self._folder, *parts[:-1]))
        if not (folder + os.sep).startswith(self._folder + os.sep):
            raise UsageError("a path that leads out of the work tree", found=path)
        return os.path.join(folder, parts[-1])

    def _git(self, *words: str) -> str:
        import subprocess  # most calls need no git, and this import is a large part of their start-up time

        done = subprocess.run(
            ["git", *words],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise AutopilotError(f"git {words[0]} failed: {done.stderr.strip()[:500]}")
        return done.stdout
