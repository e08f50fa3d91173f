"""Put a recorded case of an earlier release back: a real repository with its worktrees, run directories and notes.

`scripts/upgrade_fixture.py` describes what is stored, and records it."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.bmad_project import CommandResult, run_bmad

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent / "src"
RELEASES = sorted(path.name for path in HERE.iterdir() if (path / "settings").is_dir())
RUNS = "_bmad-output/.runs"

# The programs that the recorded settings name. An agent's first word is the name of its call.
_PROGRAMS = {
    "scripted-agent": '#!/bin/sh\nshift\nPYTHONPATH={source} exec {python} -m bmad_autopilot.sim.agent "$@"\n',
    "sample-python": '#!/bin/sh\nexec {python} "$@"\n',
}


class Entry(NamedTuple):
    """A line of a run's journal."""

    run: str
    kind: str
    data: Mapping[str, Any]


class Restored:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.work = root / "work"
        self.path = f"{root / 'bin'}:{os.environ['PATH']}"

    def bmad(self, *words: str, code: int = 0) -> CommandResult:
        ran = run_bmad(*words, cwd=self.work, env={"PATH": self.path})
        assert ran.code == code, f"bmad {' '.join(words)}: {ran.code}\n{ran.out}\n{ran.err}"
        return ran

    def git(self, *words: str, at: Path | None = None, given: str | None = None) -> str:
        done = subprocess.run(
            ["git", *words], cwd=at or self.work, check=True, capture_output=True, text=True, input=given
        )
        return done.stdout.strip()

    def entries(self, kind: str) -> list[Entry]:
        """Of all runs, each run's in its order."""
        found = []
        for path in sorted(self.work.glob(f"{RUNS}/*/*/journal.jsonl")):
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            found += [
                Entry(path.parent.name, line["kind"], line["data"]) for line in lines if line["kind"] == kind
            ]
        return found

    def journal(self) -> Path:
        (found,) = self.work.glob(f"{RUNS}/*/*/journal.jsonl")
        return found

    def commits(self) -> list[str]:
        """Subjects of the commits that bmad made on this branch, the oldest first."""
        return self.git("log", "--reverse", "--committer=autopilot@", "--format=%s").splitlines()


def restore(release: str, case: str, root: Path) -> Restored:
    """The case as it was when the release was stopped, in `root`."""
    stored, made = HERE / release / case, Restored(root.resolve())
    described = json.loads((stored / "case.json").read_text())
    for name, text in _PROGRAMS.items():
        program = _written(made.root / "bin" / name, text.format(source=SOURCE, python=sys.executable).encode())
        program.chmod(0o755)
    for path in ("work", "tmp"):
        (made.root / path).mkdir()
    made.git("init", "--quiet", "--initial-branch", "main")
    refs = made.git("bundle", "unbundle", str(stored / "repository.bundle")).splitlines()
    named = [ref.split(" ", 1) for ref in refs if " refs/" in ref and " refs/unreachable/" not in ref]
    made.git("update-ref", "--stdin", given="".join(f"create {name} {sha}\n" for sha, name in named))
    main, *others = described["checkouts"]
    made.git("symbolic-ref", "HEAD", f"refs/heads/{main['branch']}")
    made.git("reset", "--quiet", "--hard")
    for other in others:
        made.git("worktree", "add", "--quiet", str(made.root / other["path"]), other["branch"])
    for checkout in described["checkouts"]:
        for name in checkout["removed"]:
            (made.root / checkout["path"] / name).unlink()
        _copy(stored / checkout["path"], made.root / checkout["path"], made.root)
    _copy(stored / "git", made.work / ".git", made.root)
    for name, size in described["blank"].items():
        _written(made.root / name, bytes(size))
    return made


def _copy(stored: Path, target: Path, root: Path) -> None:
    for path in sorted(stored.rglob("*")):
        if path.is_file():
            name = str(path.relative_to(stored)).removesuffix(".txt" if path.name.endswith(".py.txt") else "")
            text = path.read_bytes().replace(b"{ROOT}", os.fsencode(root)).replace(b"{HOST}", b"another-host")
            _written(target / name, text)


def _written(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
