"""Finds, copies and compares checkpoints: the state of a run after a completed step, stored in that step's journal
entry."""

import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ..core.errors import ConflictError, FileError, Location, UsageError
from ..io.files import TEMPORARY_SUFFIX, copy_file, entry_kind, read_bytes, write_atomic
from ..io.json_files import as_count, as_list, as_text, read_json_object, write_json_object
from ..project.root import find_work_tree
from .journal import JOURNAL_FILE as JOURNAL
from .journal import Journal, JournalEntry, make_entry
from .layout import find_runs, folder_name, is_within
from .questions import FOLDER as QUESTIONS
from .state_file import SHORT_ID, StepArtefact, parse_artefact

ARTEFACTS = "artefacts"
MAX_ARTEFACT = 4 * 1024 * 1024  # bytes of a step's output
MAX_SHOWN = 8  # matches shown for an ambiguous prefix

_DIGEST = re.compile(r"[0-9a-f]{64}")
_PREFIX = re.compile(r"[0-9a-f]{1,64}")
_CUT = "\n\n… [cut: {} of {} bytes are kept]\n"


class Checkpoint(NamedTuple):
    id: str  # the first six digits of the digest, unless several checkpoints share them
    digest: str
    step: int  # its number in the run
    name: str
    story: str
    variables: Mapping[str, Any]
    artefacts: tuple[StepArtefact, ...]
    rows: Mapping[str, str]  # board statuses
    head: str | None
    branch: str
    tree: str | None  # the work tree, uncommitted changes included
    ref: str  # keeps that tree from being garbage collected
    run: str
    folder: str
    session: str
    at: float
    entry: int  # the number of its entry in the journal


def list_checkpoints(folder: str, session: str = "", *, include_inherited: bool = False) -> list[Checkpoint]:
    """Checkpoints of one run, oldest first. If a step was completed twice in the same state, only the last one
    counts. An unreadable journal gives an empty list. `include_inherited`: also those copied from the run this one
    was forked from."""
    try:
        entries = Journal(folder, lambda value: value).entries()
    except FileError:
        return []
    found: dict[str, Checkpoint] = {}
    for entry in entries if include_inherited else entries[_inherited_count(entries) :]:
        one = _parse_checkpoint(entry, folder, session or os.path.basename(os.path.dirname(folder)))
        if one is not None:
            found.pop(one.digest, None)
            found[one.digest] = one
    return list(found.values())


def _inherited_count(entries: list[JournalEntry]) -> int:
    """Number of journal entries that a forked run copied from its original."""
    forked = entries[0].data.get("forked_from") if entries else None
    last = as_count(forked.get("entry")) if isinstance(forked, dict) else 0
    return sum(entry.n <= last for entry in entries)


def all_checkpoints(runs: str) -> list[Checkpoint]:
    """Checkpoints of every run outside the archive, newest first."""
    found = [
        one
        for session, name in find_runs(runs)
        for one in list_checkpoints(os.path.join(runs, session, name), session)
    ]
    found.sort(key=lambda one: (one.at, one.run, one.entry), reverse=True)
    return found


def find_checkpoint(runs: str, prefix: str) -> Checkpoint:
    """The checkpoint whose id or digest starts with `prefix`."""
    wanted = prefix.strip().lower()
    known = all_checkpoints(runs)
    found = [one for one in known if one.digest.startswith(wanted)] if _PREFIX.fullmatch(wanted) else []
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"{len(found)} checkpoints begin with {wanted}",
            found=_describe(found, _distinct_prefix_length(found)),
            hint="give more of its digits",
        )
    raise UsageError(
        f"there is no checkpoint {prefix[:80]!r}",
        expected=_describe(known, SHORT_ID) if known else "none is recorded in this project yet",
        hint="bmad resume --list shows them all",
    )


def entries_until(checkpoint: Checkpoint) -> list[JournalEntry]:
    """Journal entries up to the checkpoint."""
    return [
        entry for entry in Journal(checkpoint.folder, lambda value: value).entries() if entry.n <= checkpoint.entry
    ]


def artefacts_until(checkpoint: Checkpoint) -> tuple[StepArtefact, ...]:
    """Artefacts produced up to the checkpoint, the latest per path."""
    before = (
        one
        for one in list_checkpoints(checkpoint.folder, checkpoint.session, include_inherited=True)
        if one.entry <= checkpoint.entry
    )
    return tuple({made.path: made for one in (*before, checkpoint) for made in one.artefacts}.values())


def write_artefact(run: str, step: int, text: str) -> str:
    """Writes a step's output, truncated with a note if too long. Returns its path relative to the run folder."""
    path = os.path.join(ARTEFACTS, f"step-{step:02}-output.md")
    folder, target = os.path.join(run, ARTEFACTS), os.path.join(run, path)
    for place in (folder, target):
        if os.path.islink(place):  # an agent may have created it
            raise FileError(
                "is a link", location=Location(place), expected="a place of our own", hint=f"rm {place}"
            )
    os.makedirs(folder, exist_ok=True)
    write_atomic(target, _truncate(text.encode("utf-8", "replace")))
    return path


def remove_temporary_artefacts(run: str) -> None:
    """Removes temporary files of interrupted writes. Call only while no other writer is active."""
    folder = os.path.join(run, ARTEFACTS)
    with suppress(OSError):
        for name in os.listdir(folder):
            if name.endswith(TEMPORARY_SUFFIX):
                os.unlink(os.path.join(folder, name))


def _truncate(raw: bytes) -> bytes:
    if len(raw) <= MAX_ARTEFACT:
        return raw
    kept = raw[:MAX_ARTEFACT].decode("utf-8", "ignore").encode()
    return kept + _CUT.format(f"{len(kept):,}", f"{len(raw):,}").encode()


def _parse_checkpoint(entry: JournalEntry, folder: str, session: str) -> Checkpoint | None:
    """None if the entry has no valid checkpoint."""
    data = entry.data.get("checkpoint")
    if not isinstance(data, dict) or data.get("saved") is False:  # the step is done, but it cannot be restored
        return None
    digest = as_text(data.get("digest"))
    if not _DIGEST.fullmatch(digest):
        return None
    return Checkpoint(
        id=digest[:SHORT_ID],
        digest=digest,
        step=as_count(data.get("step")),
        name=as_text(data.get("name")),
        story=as_text(data.get("story")),
        variables=_mapping(data.get("variables")),
        artefacts=tuple(parse_artefact(one) for one in as_list(data.get("artefacts")) if isinstance(one, dict)),
        rows={name: as_text(value) for name, value in _mapping(data.get("rows")).items()},
        head=as_text(data.get("head")) or None,
        branch=as_text(data.get("branch")),
        tree=as_text(data.get("tree")) or None,
        ref=as_text(data.get("ref")),
        run=os.path.basename(folder),
        folder=folder,
        session=session,
        at=entry.at,
        entry=entry.n,
    )


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _distinct_prefix_length(found: list[Checkpoint]) -> int:
    """Number of digits needed to tell these checkpoints apart."""
    digests = {one.digest for one in found}
    lengths = range(SHORT_ID, len(found[0].digest) + 1)
    return next((n for n in lengths if len({digest[:n] for digest in digests}) == len(digests)), SHORT_ID)


def _describe(found: list[Checkpoint], length: int) -> str:
    listed = [f"{one.digest[:length]} ({one.run} step {one.step} {one.name})" for one in found[:MAX_SHOWN]]
    more = f", … {len(found) - MAX_SHOWN} more" if len(found) > MAX_SHOWN else ""
    return ", ".join(listed) + more


# Forking: copy a run folder up to a checkpoint as the start of a new run.

MAX_COPIED = 1024 * 1024 * 1024  # bytes per file: the log of a long call is the largest
_COPIED_FILES = ("left-out", "settings.toml")  # files written when a run starts


def copy_run(checkpoint: Checkpoint, folder: str, head: Mapping[str, Any], forked: JournalEntry) -> None:
    """Copies everything up to the checkpoint into the new run's folder. `head`: overrides for the first entry;
    `forked`: the entry appended after the last copied one. The journal is written last: a folder without one is
    not a run."""
    entries = entries_until(checkpoint)
    if not entries:
        raise FileError(
            "has no entry up to this checkpoint", location=Location(os.path.join(checkpoint.folder, JOURNAL))
        )
    for name in _COPIED_FILES:
        _copy(os.path.join(checkpoint.folder, name), os.path.join(folder, name))
    _copy_steps(checkpoint.folder, folder, {_step_number(entry) for entry in entries if entry.kind == "step"})
    _copy_questions(
        checkpoint.folder, folder, {str(entry.data.get("question")) for entry in entries if _is_question(entry)}
    )
    _copy_artefacts(checkpoint.folder, folder, entries)
    first = entries[0]._replace(data={**entries[0].data, **head})
    written = [first, *entries[1:], forked._replace(n=entries[-1].n + 1)]
    lines = [make_entry(entry.n, entry.at, entry.kind, entry.data, lambda value: value)[1] for entry in written]
    write_atomic(os.path.join(folder, JOURNAL), b"".join(lines))


def _step_number(entry: JournalEntry) -> int:
    number = entry.data.get("number")
    return number if isinstance(number, int) else 0


def _is_question(entry: JournalEntry) -> bool:
    return entry.kind == "asked"


def _copy_steps(old: str, new: str, numbers: set[int]) -> None:
    """Hard-links files where possible: finished calls no longer change."""
    with suppress(FileNotFoundError):
        for name in os.listdir(f"{old}/steps"):
            if name.split("-")[0].isdigit() and int(name.split("-")[0]) in numbers:
                shutil.copytree(
                    f"{old}/steps/{name}",
                    f"{new}/steps/{name}",
                    copy_function=_link_or_copy,
                    ignore=_special_files,
                )


def _copy_questions(old: str, new: str, ids: set[str]) -> None:
    for id in sorted(ids):
        name = f"{int(id[1:]):03}.json" if id[1:].isdigit() else ""
        if name:
            os.makedirs(f"{new}/{QUESTIONS}", exist_ok=True)
            _copy(f"{old}/{QUESTIONS}/{name}", f"{new}/{QUESTIONS}/{name}")


def _copy_artefacts(old: str, new: str, entries: list[JournalEntry]) -> None:
    made = (entry.data.get("checkpoint") for entry in entries)
    pages = (one for checkpoint in made if isinstance(checkpoint, dict) for one in checkpoint.get("artefacts", ()))
    for page in pages:
        path = os.path.normpath(str(page.get("path", "")) if isinstance(page, dict) else "")
        if path.startswith("artefacts/"):
            os.makedirs(os.path.dirname(f"{new}/{path}"), exist_ok=True)
            _copy(f"{old}/{path}", f"{new}/{path}")


def _copy(source: str, target: str) -> None:
    """A missing file is no error; a link or device in its place is, because agents can write there."""
    if os.path.lexists(source):
        copy_file(source, target, limit=MAX_COPIED)


def _special_files(folder: str, names: list[str]) -> list[str]:
    """Links, pipes and devices left by an agent: not copied."""
    kept = ("a regular file", "a directory")
    return [name for name in names if entry_kind(os.path.join(folder, name)) not in kept]


def _link_or_copy(source: str, target: str) -> str:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        copy_file(source, target, limit=MAX_COPIED)
    return target


# Interrupted forks: a marker in the work tree's git folder, present from before its files are changed until the
# new run has its journal.

FORK_MARKER = "bmad-autopilot-fork"


class InterruptedFork(NamedTuple):
    checkpoint: str  # digest
    session: str
    run: str  # the new run
    branch: str
    saved: str  # ref of the previous work tree state

    def folder(self, runs: str) -> str:
        return os.path.join(runs, self.session, self.run)


def find_interrupted_fork(git_dir: str, runs: str) -> InterruptedFork | None:
    """None also if the fork is complete and only the marker remains. An agent could have written the marker, so
    names that point outside the runs folder are rejected."""
    try:
        data = read_json_object(os.path.join(git_dir, FORK_MARKER)) or {}
    except FileError:
        return None
    fork = InterruptedFork(*(as_text(data.get(name)) for name in InterruptedFork._fields))
    is_ours = all(fork) and all(folder_name(name) == name for name in (fork.session, fork.run))
    return fork if is_ours and not os.path.exists(os.path.join(fork.folder(runs), JOURNAL)) else None


def write_fork_marker(git_dir: str, fork: InterruptedFork) -> None:
    write_json_object(os.path.join(git_dir, FORK_MARKER), fork._asdict())


def forget_half(git_dir: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(git_dir, FORK_MARKER))


def refuse_interrupted_fork(checkout: str, runs: str) -> None:
    """Refuses to work in a tree that is only partly restored."""
    tree = find_work_tree(checkout)
    fork = find_interrupted_fork(tree.git_dir, runs) if tree is not None else None
    if fork is not None:
        raise ConflictError(
            f"going back to checkpoint {fork.checkpoint[:6]} was cut short in this work tree",
            found=f"its files may be partly as they were then; what lay there before: {fork.saved}",
            hint=f"bmad resume --checkpoint {fork.checkpoint[:12]} finishes it; then any other run can go on",
        )


# Comparison of two checkpoints, apart from their work trees: variables, board rows, artefacts.

_MISSING = object()


class CheckpointDifference(NamedTuple):
    name: str
    before: Any  # None: absent
    after: Any
    was_there: bool = True
    is_there: bool = True


class CheckpointDifferences(NamedTuple):
    variables: tuple[CheckpointDifference, ...]
    rows: tuple[CheckpointDifference, ...]
    artefacts: tuple[CheckpointDifference, ...]  # by path; before and after are their names
    head: CheckpointDifference | None


def compare_checkpoints(one: Checkpoint, other: Checkpoint) -> CheckpointDifferences:
    head = CheckpointDifference("head", one.head, other.head) if one.head != other.head else None
    return CheckpointDifferences(
        _compare_mappings(one.variables, other.variables),
        _compare_mappings(one.rows, other.rows),
        _compare_artefacts(one, other),
        head,
    )


def _compare_mappings(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[CheckpointDifference, ...]:
    found = []
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name, _MISSING), after.get(name, _MISSING)
        if was is _MISSING or now is _MISSING or was != now:
            there = (was is not _MISSING, now is not _MISSING)
            found.append(CheckpointDifference(name, was if there[0] else None, now if there[1] else None, *there))
    return tuple(found)


def _compare_artefacts(one: Checkpoint, other: Checkpoint) -> tuple[CheckpointDifference, ...]:
    """Artefacts of two runs with the same path are compared by content."""
    before = {artefact.path: artefact.name for artefact in one.artefacts}
    after = {artefact.path: artefact.name for artefact in other.artefacts}
    changed = _compare_mappings(before, after)
    if one.folder == other.folder:
        return changed
    named = {difference.name for difference in changed}
    both = [path for path in before if path in after and path not in named]
    differing = [path for path in both if _read_artefact(one.folder, path) != _read_artefact(other.folder, path)]
    return (*changed, *(CheckpointDifference(path, before[path], after[path]) for path in differing))


def _read_artefact(folder: str, path: str) -> bytes | None:
    """Reads a file inside the run folder only, whatever path the journal names."""
    if not is_within(folder, path):
        return None
    with suppress(FileError):
        return read_bytes(os.path.join(folder, path), limit=2 * MAX_ARTEFACT)
    return None
