"""001's three calls, for agents inside workflows that nobody drives: save before a step, update after it, close at
the end. The journal is the truth; `state.json` and `workflow-status.md` are made from it after every call."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..core.commands import command
from ..core.errors import ConflictError, UsageError
from ..files import locked
from .checkpoints import write_artefact
from .finding import OPENED, Run, all_runs, find_run, with_target
from .journal import Journal
from .journal_lines import Redact
from .layout import SESSION, folder_name, make_run
from .protocol_progress import Progress, fold, page_of_progress, state_of_progress
from .state import SHORT_ID, Status, checkpoint_digest, write_state
from .status_page import write_status_page

MAX_STEP = 9999
MAX_VARIABLES = 60_000  # letters of all of them as JSON: a journal's line must hold them whole
MAX_TEXT = 4000
LOCK = "protocol.lock"


class Surroundings(NamedTuple):
    """How things stood around the run: git and the board."""

    head: str | None = None
    branch: str = ""
    tree: str | None = None
    ref: str = ""
    rows: Mapping[str, str] = {}


NOWHERE = Surroundings()


class Kept(NamedTuple):
    """What a call came to."""

    folder: str
    run: str
    session: str
    step: int  # the one to go on with
    total: int
    status: Status
    checkpoint_id: str
    digest: str
    is_new: bool  # False: the same was recorded before


class Saving(NamedTuple):
    workflow: str
    step: int
    session: str = SESSION
    path: str = ""
    name: str = ""
    total: int = 0
    variables: Mapping[str, Any] = {}
    status: Status = Status.RUNNING


class Update(NamedTuple):
    step: int
    next: int = 0  # 0: the first after it that is not completed
    name: str = ""
    variables: Mapping[str, Any] = {}
    artefact: str | None = None  # the text
    artefact_name: str = ""
    note: str = ""


class Keeper:
    """The runs that agents keep in one project. `redact`: takes the secrets out of whatever is written."""

    def __init__(self, runs: str, redact: Redact, now: float) -> None:
        self._runs = runs
        self._redact = redact
        self._now = now

    def find(self, wanted: str | None, session: str, workflow: str = "") -> Run | None:
        """The run that is named, else the newest running one of the session."""
        if wanted is not None:
            run = find_run(self._runs, wanted)
            if not run.is_protocol or run.is_archived:
                why = "is in the archive" if run.is_archived else "is looked after by bmad itself"
                raise ConflictError(f"{run.id} {why}", expected="a run that bmad checkpoint save has begun")
            return run
        of_session = (run for run in all_runs(self._runs) if run.session == folder_name(session))
        running = (with_target(run) for run in of_session if run.state.status is Status.RUNNING)
        return next((run for run in running if run.is_protocol and workflow in ("", run.target)), None)

    def open(self, wanted: str | None, saving: Saving) -> Run:
        """The run to save in; a new one where there is none."""
        os.makedirs(self._runs, exist_ok=True)
        with locked(os.path.join(self._runs, LOCK)):  # two agents that begin at once begin one run
            found = self.find(wanted, saving.session, saving.workflow)
            if found is not None:
                return found
            folder = make_run(self._runs, saving.session, saving.workflow, self._now)
            with self._journal(folder) as journal:
                journal.append(
                    OPENED,
                    target=saving.workflow,
                    workflow=saving.workflow,
                    path=saving.path,
                    session=saving.session,
                )
            self._write(folder)
        return find_run(self._runs, f"{folder_name(saving.session)}/{os.path.basename(folder)}")

    def save(self, run: Run, saving: Saving, around: Surroundings = NOWHERE) -> Kept:
        """Before a step: where the run is and what it knows."""
        _check_steps(saving.step, saving.total)
        fields = {
            "step": saving.step,
            "name": saving.name[:MAX_TEXT],
            "total": saving.total,
            "status": saving.status.value,
        }
        with self._held(run) as (journal, at):
            variables = self._merged(at, saving.variables)
            made = _checkpoint(at, saving.step, saving.name, variables, around)
            mark = _mark("saved", fields, made["digest"])
            is_new = mark not in at.marks
            if is_new:
                journal.append("saved", **fields, mark=mark, checkpoint=made)
        return self._written(run, made["digest"], is_new)

    def update(self, run: Run, update: Update, around: Surroundings = NOWHERE) -> Kept:
        """A step is completed: its checkpoint."""
        _check_steps(update.step, update.next)
        fields = {"step": update.step, "name": update.name[:MAX_TEXT], "note": update.note[:MAX_TEXT]}
        with self._held(run) as (journal, at):
            _check_open(at)
            variables = self._merged(at, update.variables)
            made = _checkpoint(at, update.step, update.name, variables, around)
            text = str(self._redact(update.artefact)) if update.artefact is not None else None
            mark = _mark("checkpoint", {**fields, "next": update.next}, made["digest"], text)
            is_new = mark not in at.marks
            if is_new:
                own = _artefact(run.folder, update, text)
                made["artefacts"] = [one for one in made["artefacts"] if own is None or one["path"] != own["path"]]
                made["artefacts"] += [own] if own else []
                following = update.next or _following(at, update.step)
                journal.append("checkpoint", **fields, next=following, artefact=own, mark=mark, checkpoint=made)
        return self._written(run, made["digest"], is_new)

    def close(self, run: Run, status: Status, summary: str) -> Kept:
        fields = {"status": status.value, "summary": summary[:MAX_TEXT]}
        with self._held(run) as (journal, at):
            mark = _mark("finished", fields, at.digest)
            is_new = mark not in at.marks
            if is_new:
                _check_open(at)
                journal.append("finished", **fields, mark=mark)
        return self._written(run, at.digest, is_new)

    def taken_over(self, folder: str) -> None:
        """A run that began at a checkpoint of another, with its journal: what is made from that."""
        self._write(folder)

    @contextmanager
    def _held(self, run: Run) -> Iterator[tuple[Journal, Progress]]:
        with locked(os.path.join(run.folder, LOCK)), self._journal(run.folder) as journal:
            yield journal, _progress(run.folder, journal)

    @contextmanager
    def _journal(self, folder: str) -> Iterator[Journal]:
        journal = Journal(folder, self._redact)
        try:
            yield journal
        finally:
            journal.close()

    def _written(self, run: Run, digest: str, is_new: bool) -> Kept:
        """Also where nothing is new: whoever recorded it may have been killed before it was written down here."""
        with locked(os.path.join(run.folder, LOCK)):
            at = self._write(run.folder)
        known = (at.run, at.session, at.step, at.total, at.status)
        return Kept(run.folder, *known, digest[:SHORT_ID], digest, is_new)

    def _write(self, folder: str) -> Progress:
        """Made from the journal: what another agent has recorded meanwhile is in it too."""
        at = _progress(folder, Journal(folder, self._redact))
        write_state(folder, state_of_progress(at))
        write_status_page(folder, page_of_progress(at, command("resume", "--run", at.run)))
        return at

    def _merged(self, at: Progress, variables: Mapping[str, Any]) -> dict[str, Any]:
        """As they will be read back: an id must be what anybody works out from `state.json`."""
        merged = self._redact({**at.variables, **variables})
        assert isinstance(merged, dict)
        size = len(json.dumps(merged))
        if size > MAX_VARIABLES:
            raise UsageError(
                "these variables are too long",
                found=f"{size:,} letters",
                expected=f"at most {MAX_VARIABLES:,}",
                hint="keep what is long in a file, and its path in a variable",
            )
        return merged


def _progress(folder: str, journal: Journal) -> Progress:
    at = fold(os.path.basename(folder), journal.entries())
    if at is None:
        raise ConflictError(
            f"{os.path.basename(folder)} is looked after by bmad itself",
            expected="a run that bmad checkpoint save has begun",
        )
    return at


def _checkpoint(
    at: Progress, step: int, name: str, variables: dict[str, Any], around: Surroundings
) -> dict[str, Any]:
    digest = checkpoint_digest(at.run, step, variables)
    return {
        "id": digest[:SHORT_ID],
        "digest": digest,
        "step": step,
        "name": name[:MAX_TEXT] or at.of(step).name,
        "story": "",
        "variables": variables,
        "artefacts": [one._asdict() for one in at.artefacts],
        **around._asdict(),
        "rows": dict(around.rows),
    }


def _artefact(folder: str, update: Update, text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    path = write_artefact(folder, update.step, text)
    return {"step": update.step, "name": update.artefact_name or os.path.basename(path), "path": path}


def _mark(kind: str, fields: Mapping[str, object], digest: str, text: str | None = None) -> str:
    """By which the same call is known again."""
    said = json.dumps([kind, dict(fields), digest, text], sort_keys=True)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _following(at: Progress, step: int) -> int:
    done = {*at.completed, step}
    return next(number for number in range(step + 1, step + len(done) + 2) if number not in done)


def _check_steps(step: int, other: int) -> None:
    """`other`: 0 where nobody has named it."""
    for number, least in ((step, 1), (other, 0)):
        if not least <= number <= MAX_STEP:
            raise UsageError(f"there is no step {number}", expected=f"1 to {MAX_STEP}")


def _check_open(at: Progress) -> None:
    if at.status is Status.COMPLETED:
        raise ConflictError(
            f"{at.run} is completed", hint="bmad checkpoint save --run RUN opens it again, without --run a new one"
        )
