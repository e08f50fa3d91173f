"""Runs of every kind, written as the loop writes them, and the command line inside this process."""

import time
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from bmad_autopilot.cli import bmad
from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.runs.journal import Journal
from bmad_autopilot.runs.layout import make_run, runs_folder
from bmad_autopilot.runs.state_file import RunState, RunStatus, checkpoint_digest, write_state
from tests.support.bmad_project import SampleProject
from tests.support.journal_entries import STARTED_AT, STORY

DAY = 86_400.0


def typed(root: Path, *words: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(bmad, ["-C", str(root), *words], input=stdin)


def printed(root: Path, *words: str) -> str:
    done = typed(root, *words)
    assert done.exception is None, done.exception
    return done.output


def refused(root: Path, *words: str) -> str:
    """What it says instead of doing it."""
    error = typed(root, *words).exception
    assert isinstance(error, AutopilotError), error
    return str(error)


def checkpoint(run: str, step: int, name: str, **more: Any) -> dict[str, Any]:
    variables = more.pop("variables", {"story": "1-2-login"})
    digest = checkpoint_digest(run, step, variables)
    made = {"id": digest[:6], "digest": digest, "step": step, "name": name, "story": "1-2-login"}
    known = {"variables": variables, "artefacts": [], "rows": {"1-2-login": "review"}}
    return {**made, **known, "head": None, "branch": "main", "tree": None, "ref": "", **more}


def story_run(
    sample: SampleProject, status: RunStatus = RunStatus.COMPLETED, *, began: float = STARTED_AT
) -> Path:
    """A story with a question and a review round, each entry with the decision it came of."""
    folder = Path(make_run(runs_folder(str(sample.root)), "main", "epic-1", began))
    now = [began]
    journal = Journal(str(folder), lambda value: value, lambda: now[0])
    for kind, data, at in STORY:
        now[0] = began + at - STARTED_AT
        said: dict[str, Any] = dict(data)
        if kind == "accepted":
            page = {"step": 1, "name": "dev", "path": "artefacts/step-01-output.md"}
            said["checkpoint"] = checkpoint(folder.name, 1, "dev", artefacts=[page])
        if kind == "round":
            rows = {"1-2-login": "in-progress"}
            said["checkpoint"] = checkpoint(folder.name, 2, "code-review", variables={"story": "x"}, rows=rows)
        if kind == "step":
            said["decided"] = {"rule": "call", "facts": {"step": "work"}}
        if kind == "accepted":
            said["decided"] = {"rule": "good", "facts": {"call": "good", "attended": False}}
        if kind == "asked":
            said["decided"] = {"rule": "of-another-version", "facts": {"call": "asked"}}
        journal.append(kind, **said)
    journal.close()
    state_of(folder, status, now[0])
    return folder


def state_of(folder: Path, status: RunStatus, at: float, **more: Any) -> None:
    known = RunState(folder.name, "lean", folder.parent.name, at - 3600, at, status, (1, 2), 4, 6)
    write_state(str(folder), known._replace(checkpoint_id="a3f9b2", checkpoint_digest="a3f9b2" + "0" * 58, **more))


def small_run(
    sample: SampleProject, status: str, *, days: float = 0.0, session: str = "main", name: str = "lean"
) -> Path:
    at = time.time() - days * DAY
    folder = Path(make_run(runs_folder(str(sample.root)), session, name, at))
    journal = Journal(str(folder), lambda value: value)
    journal.append("run", target="epic-2", workflow={})
    journal.close()
    state_of(folder, RunStatus(status), at)
    return folder
