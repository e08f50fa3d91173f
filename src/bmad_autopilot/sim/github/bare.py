"""A real bare repository on disk behind the simulated GitHub, so that real git can push to it."""

import os
import subprocess
from pathlib import Path

from .refs import WEB_FLOW, CommitFact, RefMoved, Squash

SECONDS = 60
_NONE = "0" * 40


class BareRefs:
    def __init__(self, folder: Path, default_branch: str = "main") -> None:
        self.folder = folder
        self._past: dict[tuple[str, str], bool] = {}
        if not (folder / "HEAD").exists():
            folder.mkdir(parents=True, exist_ok=True)
            self._git("init", "--quiet", "--bare", f"--initial-branch={default_branch}", ".")

    def branches(self) -> dict[str, str]:
        lines = self._git("for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/heads").splitlines()
        return {name: sha for sha, _, name in (line.partition(" ") for line in lines)}

    def head_of(self, branch: str) -> str:
        return self._try("rev-parse", "--quiet", "--verify", f"refs/heads/{branch}")

    def set(self, branch: str, sha: str, expect: str | None = None) -> None:
        self._update("update-ref", f"refs/heads/{branch}", sha, *([] if expect is None else [expect or _NONE]))

    def delete(self, branch: str, expect: str | None = None) -> None:
        self._update("update-ref", "-d", f"refs/heads/{branch}", *([] if expect is None else [expect]))

    def _update(self, *arguments: str) -> None:
        if self._run(*arguments).returncode:
            raise RefMoved(arguments[-1])

    # history: what contains what never changes

    def contains(self, newer: str, older: str) -> bool:
        if (newer, older) not in self._past:
            found = self._run("merge-base", "--is-ancestor", older, newer)
            self._past[newer, older] = not found.returncode
        return self._past[newer, older]

    def parents(self, sha: str) -> tuple[str, ...]:
        return tuple(self._git("rev-list", "--parents", "--max-count=1", sha).split()[1:])

    def merge_base(self, one: str, other: str) -> str:
        return self._try("merge-base", one, other)

    def ahead(self, base: str, head: str) -> list[CommitFact]:
        form = "%H%x00%P%x00%cn%x00%B%x01"
        told = self._git("log", "--reverse", "--topo-order", f"--format={form}", f"{base}..{head}")
        rows = [row.strip("\n").split("\0") for row in told.split("\x01") if row.strip()]
        return [CommitFact(sha, tuple(parents.split()), message, by) for sha, parents, by, message in rows]

    # what commits hold

    def tree_of(self, sha: str) -> str:
        return self._git("rev-parse", f"{sha}^{{tree}}")

    def changed(self, base: str, head: str) -> list[str]:
        return [path for path in self._git("diff", "--name-only", "-z", f"{base}...{head}").split("\0") if path]

    def read(self, sha: str, path: str) -> bytes | None:
        found = self._run("cat-file", "blob", f"{sha}:{path}")
        return None if found.returncode else found.stdout

    def squash(self, base: str, head: str, message: str) -> Squash:
        merged = self._run("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", base, head)
        tree, *conflicts = [part for part in merged.stdout.decode().split("\0") if part] or [""]
        if merged.returncode:
            return Squash("", tuple(conflicts) or ("?",))
        return Squash(self._commit_tree(tree, base, message, WEB_FLOW))

    def commit(self, parent: str, edits: dict[str, bytes | None], message: str, committer: str) -> str:
        index = {"GIT_INDEX_FILE": str(self.folder / f"index.sim.{os.getpid()}")}
        self._git("read-tree", parent or "--empty", extra=index)
        rows = [f"{self._entry(data)}\t{path}\0" for path, data in edits.items()]
        self._git("update-index", "-z", "--index-info", feed="".join(rows).encode(), extra=index)
        tree = self._git("write-tree", extra=index)
        os.unlink(index["GIT_INDEX_FILE"])
        return self._commit_tree(tree, parent, message, committer)

    def _entry(self, data: bytes | None) -> str:
        return f"0 {_NONE}" if data is None else f"100644 {self._git('hash-object', '-w', '--stdin', feed=data)}"

    def _commit_tree(self, tree: str, parent: str, message: str, who: str) -> str:
        names = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in _identity(who)}
        above = ["-p", parent] if parent else []
        return self._git("commit-tree", tree, *above, feed=message.encode(), extra=names)

    # git

    def _git(self, *arguments: str, feed: bytes = b"", extra: dict[str, str] | None = None) -> str:
        done = self._run(*arguments, feed=feed, extra=extra)
        if done.returncode:
            raise RuntimeError(f"git {' '.join(arguments)}: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode(errors="surrogateescape").strip("\n")

    def _try(self, *arguments: str) -> str:
        done = self._run(*arguments)
        return "" if done.returncode else done.stdout.decode().strip()

    def _run(
        self, *arguments: str, feed: bytes = b"", extra: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        command = ["git", "-c", "core.hooksPath=/dev/null", "-C", str(self.folder), *arguments]
        environment = {**kept, "GIT_CONFIG_NOSYSTEM": "1", **(extra or {})}
        return subprocess.run(
            command, input=feed, capture_output=True, env=environment, timeout=SECONDS, check=False
        )


def _identity(who: str) -> list[tuple[str, str]]:
    name = who or "Somebody"
    return [("NAME", name), ("EMAIL", f"{name.lower().replace(' ', '-')}@users.noreply.example")]
