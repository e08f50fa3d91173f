"""The checkpoint protocol of spec 001, for agents in workflows that the autopilot does not drive: save before a
step, update after it, close at the end. The journal is authoritative; every call regenerates `state.json` and
`workflow-status.md` from it."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, NamedTuple

from ..core.errors import ConflictError, UsageError, command
from ..core.json_types import Count, Digest, ShortId
from ..io.files import hold_lock
from .checkpoint_progress import ProtocolProgress, fold_progress, page_of_progress, state_of_progress
from .checkpoints import write_artefact
from .index import OPENED, Run, all_runs, find_run, with_target
from .journal import Journal, Redact
from .layout import SESSION, folder_name, is_within, make_run
from .state_file import SHORT_ID, RunStatus, checkpoint_digest, write_state
from .status_page import write_status_page

MAX_STEP = 9999
MAX_VARIABLES = 60_000  # characters of all variables as JSON: they must fit into one journal line
MAX_TEXT = 4000
LOCK = "protocol.lock"


class CheckpointContext(NamedTuple):
    """State of git and the board at a checkpoint."""

    head: str | None = None
    branch: str = ""
    tree: str | None = None
    ref: str = ""
    rows: Mapping[str, str] = {}


NO_CONTEXT = CheckpointContext()


class ProtocolResult(NamedTuple):
    """Result of a save, update or close call."""

    folder: str
    run: str
    session: str
    step: Count  # the step to resume at
    total: Count
    status: RunStatus
    checkpoint_id: ShortId
    digest: Digest
    is_new: Annotated[bool, "false: the same was recorded before"]


class SaveRequest(NamedTuple):
    workflow: str
    step: int
    session: str = SESSION
    path: str = ""
    name: str = ""
    total: int = 0
    variables: Mapping[str, Any] = {}
    status: RunStatus = RunStatus.RUNNING


class UpdateRequest(NamedTuple):
    step: int
    next: int = 0  # 0: the first later step that is not completed
    name: str = ""
    variables: Mapping[str, Any] = {}
    artefact: str | None = None  # its text
    artefact_name: str = ""
    note: str = ""


class CheckpointProtocol:
    """Records the checkpoint-protocol runs of one project. `redact`: removes secrets from all written data."""

    def __init__(self, runs: str, redact: Redact, now: float) -> None:
        self._runs = runs
        self._redact = redact
        self._now = now

    def find(self, wanted: str | None, session: str, workflow: str = "") -> Run | None:
        """The named run, else the newest running one of the session."""
        if wanted is not None:
            run = find_run(self._runs, wanted)
            if not run.is_protocol or run.is_archived:
                why = "is in the archive" if run.is_archived else "is looked after by bmad itself"
                raise ConflictError(f"{run.id} {why}", expected="a run that bmad checkpoint save has begun")
            return run
        of_session = (run for run in all_runs(self._runs) if run.session == folder_name(session))
        running = (with_target(run) for run in of_session if run.state.status is RunStatus.RUNNING)
        return next((run for run in running if run.is_protocol and workflow in ("", run.target)), None)

    def open(self, wanted: str | None, request: SaveRequest) -> Run:
        """Finds the run to save in, or creates one."""
        os.makedirs(self._runs, exist_ok=True)
        with hold_lock(os.path.join(self._runs, LOCK)):  # two agents that start at the same time share one run
            found = self.find(wanted, request.session, request.workflow)
            if found is not None:
                return found
            folder = make_run(self._runs, request.session, request.workflow, self._now)
            with self._journal(folder) as journal:
                journal.append(
                    OPENED,
                    target=request.workflow,
                    workflow=request.workflow,
                    path=request.path,
                    session=request.session,
                )
            self._write_files(folder)
        return find_run(self._runs, f"{folder_name(request.session)}/{os.path.basename(folder)}")

    def save(self, run: Run, request: SaveRequest, context: CheckpointContext = NO_CONTEXT) -> ProtocolResult:
        """Records position and variables before a step."""
        _check_steps(request.step, request.total)
        fields = {
            "step": request.step,
            "name": request.name[:MAX_TEXT],
            "total": request.total,
            "status": request.status.value,
        }
        with self._locked_journal(run) as (journal, progress):
            variables = self._merge_variables(progress, request.variables)
            made = _checkpoint_data(progress, request.step, request.name, variables, context)
            mark = _call_digest("saved", fields, made["digest"])
            is_new = mark not in progress.marks
            if is_new:
                journal.append("saved", **fields, mark=mark, checkpoint=made)
        return self._result(run, made["digest"], is_new)

    def update(self, run: Run, request: UpdateRequest, context: CheckpointContext = NO_CONTEXT) -> ProtocolResult:
        """Records a completed step as a checkpoint."""
        _check_steps(request.step, request.next)
        fields = {"step": request.step, "name": request.name[:MAX_TEXT], "note": request.note[:MAX_TEXT]}
        with self._locked_journal(run) as (journal, progress):
            _check_open(progress)
            variables = self._merge_variables(progress, request.variables)
            made = _checkpoint_data(progress, request.step, request.name, variables, context)
            text = str(self._redact(request.artefact)) if request.artefact is not None else None
            mark = _call_digest("checkpoint", {**fields, "next": request.next}, made["digest"], text)
            is_new = mark not in progress.marks
            if is_new:
                own = _save_artefact(run.folder, request, text)
                made["artefacts"] = [one for one in made["artefacts"] if own is None or one["path"] != own["path"]]
                made["artefacts"] += [own] if own else []
                following = request.next or _next_step(progress, request.step)
                journal.append("checkpoint", **fields, next=following, artefact=own, mark=mark, checkpoint=made)
        return self._result(run, made["digest"], is_new)

    def close(self, run: Run, status: RunStatus, summary: str) -> ProtocolResult:
        fields = {"status": status.value, "summary": summary[:MAX_TEXT]}
        with self._locked_journal(run) as (journal, progress):
            mark = _call_digest("finished", fields, progress.digest)
            is_new = mark not in progress.marks
            if is_new:
                _check_open(progress)
                journal.append("finished", **fields, mark=mark)
        return self._result(run, progress.digest, is_new)

    def refresh_files(self, folder: str) -> None:
        """Regenerates the files of a forked run from its copied journal."""
        self._write_files(folder)

    @contextmanager
    def _locked_journal(self, run: Run) -> Iterator[tuple[Journal, ProtocolProgress]]:
        with hold_lock(os.path.join(run.folder, LOCK)), self._journal(run.folder) as journal:
            yield journal, _load_progress(run.folder, journal)

    @contextmanager
    def _journal(self, folder: str) -> Iterator[Journal]:
        journal = Journal(folder, self._redact)
        try:
            yield journal
        finally:
            journal.close()

    def _result(self, run: Run, digest: str, is_new: bool) -> ProtocolResult:
        """Also writes if nothing is new: the first caller may have been killed before it wrote these files."""
        with hold_lock(os.path.join(run.folder, LOCK)):
            progress = self._write_files(run.folder)
        known = (progress.run, progress.session, progress.step, progress.total, progress.status)
        return ProtocolResult(run.folder, *known, digest[:SHORT_ID], digest, is_new)

    def _write_files(self, folder: str) -> ProtocolProgress:
        """Builds the files from the journal, so entries another agent added meanwhile are included."""
        progress = _load_progress(folder, Journal(folder, self._redact))
        write_state(folder, state_of_progress(progress))
        write_status_page(folder, page_of_progress(progress, command("resume", "--run", progress.run)))
        return progress

    def _merge_variables(self, progress: ProtocolProgress, variables: Mapping[str, Any]) -> dict[str, Any]:
        """Redacted as they will be read back: every reader of `state.json` must compute the same id."""
        merged = self._redact({**progress.variables, **variables})
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


def _load_progress(folder: str, journal: Journal) -> ProtocolProgress:
    progress = fold_progress(os.path.basename(folder), journal.entries())
    if progress is None:
        raise ConflictError(
            f"{os.path.basename(folder)} is looked after by bmad itself",
            expected="a run that bmad checkpoint save has begun",
        )
    return progress


def _checkpoint_data(
    progress: ProtocolProgress, step: int, name: str, variables: dict[str, Any], context: CheckpointContext
) -> dict[str, Any]:
    digest = checkpoint_digest(progress.run, step, variables)
    return {
        "id": digest[:SHORT_ID],
        "digest": digest,
        "step": step,
        "name": name[:MAX_TEXT] or progress.get_step(step).name,
        "story": "",
        "variables": variables,
        "artefacts": [one._asdict() for one in progress.artefacts],
        **context._asdict(),
        "rows": dict(context.rows),
    }


def _save_artefact(folder: str, request: UpdateRequest, text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    path = write_artefact(folder, request.step, text)
    return {"step": request.step, "name": request.artefact_name or os.path.basename(path), "path": path}


def _call_digest(kind: str, fields: Mapping[str, object], digest: str, text: str | None = None) -> str:
    """Identifies a repeated call."""
    payload = json.dumps([kind, dict(fields), digest, text], sort_keys=True)
    return hashlib.sha256(payload.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _next_step(progress: ProtocolProgress, step: int) -> int:
    done = {*progress.completed, step}
    return next(number for number in range(step + 1, step + len(done) + 2) if number not in done)


def _check_steps(step: int, other: int) -> None:
    """`other`: 0 if not given."""
    for number, least in ((step, 1), (other, 0)):
        if not least <= number <= MAX_STEP:
            raise UsageError(f"there is no step {number}", expected=f"1 to {MAX_STEP}")


def _check_open(progress: ProtocolProgress) -> None:
    if progress.status is RunStatus.COMPLETED:
        raise ConflictError(
            f"{progress.run} is completed",
            hint="bmad checkpoint save --run RUN opens it again, without --run a new one",
        )


# Resuming a checkpoint-protocol run: the data the next agent needs.


class FoundArtefact(NamedTuple):
    step: Count
    path: str


class ProtocolResume(NamedTuple):
    run: str
    session: str
    workflow: str
    path: str
    status: RunStatus
    step: Annotated[Count, "the one to go on with"]
    total: Count
    completed: tuple[Count, ...]
    variables: Mapping[str, Any]
    artefacts: tuple[FoundArtefact, ...]
    missing: Annotated[tuple[str, ...], "artefacts that are gone, or lie where they must not"]
    notes: tuple[str, ...]


def load_protocol_resume(folder: str) -> ProtocolResume | None:
    """None if this is not a checkpoint-protocol run."""
    progress = fold_progress(os.path.basename(folder), Journal(folder, lambda value: value).entries())
    if progress is None:
        return None
    there = [
        one for one in progress.artefacts if is_within(folder, one.path) and os.path.isfile(f"{folder}/{one.path}")
    ]
    return ProtocolResume(
        run=progress.run,
        session=progress.session,
        workflow=progress.workflow,
        path=progress.path,
        status=progress.status,
        step=progress.step,
        total=progress.total,
        completed=tuple(progress.completed),
        variables=progress.variables,
        artefacts=tuple(FoundArtefact(one.step, os.path.join(folder, one.path)) for one in there),
        missing=tuple(one.path for one in progress.artefacts if one not in there),
        notes=(*progress.notes, *progress.issues),
    )
