"""Going on with a run that agents keep themselves: what the next one must know."""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from .journal import Journal
from .layout import is_within
from .protocol_progress import fold
from .state import Status


class Resume(NamedTuple):
    run: str
    session: str
    workflow: str
    path: str
    status: Status
    step: int  # the one to go on with
    total: int
    completed: tuple[int, ...]
    variables: Mapping[str, Any]
    artefacts: tuple[tuple[int, str], ...]  # step, and the whole path
    missing: tuple[str, ...]  # artefacts that are gone, or lie where they must not
    notes: tuple[str, ...]


def protocol_resume(folder: str) -> Resume | None:
    """None: no agent keeps this run with `bmad checkpoint`."""
    at = fold(os.path.basename(folder), Journal(folder, lambda value: value).entries())
    if at is None:
        return None
    there = [one for one in at.artefacts if is_within(folder, one.path) and os.path.isfile(f"{folder}/{one.path}")]
    return Resume(
        run=at.run,
        session=at.session,
        workflow=at.workflow,
        path=at.path,
        status=at.status,
        step=at.step,
        total=at.total,
        completed=tuple(at.completed),
        variables=at.variables,
        artefacts=tuple((one.step, os.path.join(folder, one.path)) for one in there),
        missing=tuple(one.path for one in at.artefacts if one not in there),
        notes=(*at.notes, *at.issues),
    )
