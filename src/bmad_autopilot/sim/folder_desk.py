"""A desk on real files under real git, for scripted agents that run as programs."""

import os
from collections.abc import Iterator

from ..core.errors import AutopilotError, UsageError

MAX_FILE = 16 * 1024 * 1024
_APART = (".git", "_bmad-output/.runs")


class FolderDesk:
    def __init__(self, folder: str) -> None:
        self._folder = os.path.realpath(folder)
        self.said = ""

    def read(self, path: str) -> bytes | None:
        try:
            with open(self._inside(path), "rb") as file:
                return file.read(MAX_FILE)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None

    def write(self, path: str, data: bytes) -> None:
        place = self._inside(path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as file:
            file.write(data)

    def remove(self, path: str) -> None:
        os.unlink(self._spot(path))

    def paths(self) -> Iterator[str]:
        for folder, folders, names in os.walk(self._folder):
            inner = os.path.relpath(folder, self._folder)
            here = "" if inner == "." else f"{inner}/"
            folders[:] = sorted(name for name in folders if here + name not in _APART)
            yield from (here + name for name in sorted(names) if here + name not in _APART)

    def head(self) -> str:
        return self._git("rev-parse", "HEAD").strip()

    def link(self, path: str, target: str) -> None:
        place = self._spot(path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if os.path.lexists(place):
            os.unlink(place)
        os.symlink(target, place)

    def commit(self, message: str) -> None:
        self._git("add", "--all")
        if self._git("status", "--porcelain", "--untracked-files=no"):
            self._git("-c", "commit.gpgSign=false", "commit", "--quiet", "--no-verify", "--message", message)

    def switch(self, branch: str) -> None:
        self._git("switch", "--quiet", "--force-create", branch)

    def rewind(self) -> None:
        """The first commit of all has none before it: it is made anew, under another hash."""
        if self._git("rev-list", "--max-count=2", "HEAD").count("\n") > 1:
            self._git("reset", "--quiet", "--soft", "HEAD~1")
        else:
            self._git("commit", "--quiet", "--no-verify", "--amend", "--only", "--message", "Begin anew")

    def write_outside(self, name: str, data: bytes) -> None:
        FolderDesk(self._elsewhere()).write(name, data)

    def say(self, text: str) -> None:
        self.said = text

    def _elsewhere(self) -> str:
        """Another work tree of this repository; where there is none, a new one beside it."""
        listed = self._git("worktree", "list", "--porcelain").splitlines()
        trees = [line.removeprefix("worktree ") for line in listed if line.startswith("worktree ")]
        others = [tree for tree in trees if os.path.realpath(tree) != self._folder and os.path.isdir(tree)]
        if not others:
            others = [f"{self._folder}.elsewhere"]
            self._git("worktree", "add", "--quiet", "--force", "--detach", others[0])
        return others[0]

    def _inside(self, path: str) -> str:
        """Where a path leads, links followed."""
        place = os.path.realpath(self._spot(path))
        if not place.startswith(self._folder + os.sep):
            raise UsageError("a path that leads out of the work tree", found=path)
        return place

    def _spot(self, path: str) -> str:
        """The entry itself, which may be a link to anywhere."""
        parts = path.split("/")
        if not path or "\0" in path or parts[0] in ("", ".git") or ".." in parts:
            raise UsageError("no path of the work tree", found=path or "(empty)")
        folder = os.path.realpath(os.path.join(self._folder, *parts[:-1]))
        if not (folder + os.sep).startswith(self._folder + os.sep):
            raise UsageError("a path that leads out of the work tree", found=path)
        return os.path.join(folder, parts[-1])

    def _git(self, *words: str) -> str:
        import subprocess  # most calls need no git, and its import is a good part of their start

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
