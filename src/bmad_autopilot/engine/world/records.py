"""The run's own records: the journal, its checkpoints, and its settings. And the lane's clock."""

import os
import random
import time
from collections.abc import Iterable, Mapping
from typing import Any

from ...git.refs import save_checkpoint
from ...runs.checkpoints import write_artefact
from ...runs.journal import Journal
from ...runs.state_file import SHORT_ID, checkpoint_digest
from ...runs.supervisor_lock import request_path
from ..lane import Lane
from ..policy import apply_settings, describe_differences, read_settings, settings_digest
from ..ports import CheckpointOrder, EventSink, RunEvent
from ..waiting import Waiter
from .site import LaneSite


class RunFiles:
    def __init__(self, site: LaneSite, journal: Journal, on_event: EventSink) -> None:
        self._site = site
        self._journal = journal
        self._on_event = on_event
        self._current_config = site.project.config  # even if the run keeps the settings it began with
        self._entries: list[RunEvent] = []
        self._last = 0  # the number of the last entry read

    def entries(self) -> Iterable[RunEvent]:
        """All entries. Each is read from disk once."""
        found = self._journal.entries(self._last)
        self._entries += [(entry.kind, entry.data, entry.at) for entry in found]
        self._last = max(self._last, *(entry.n for entry in found)) if found else self._last
        return self._entries

    def note(self, kind: str, data: Mapping[str, Any]) -> float:
        entry = self._journal.append(kind, **data)
        self._on_event(kind, entry.data, entry.at)
        return entry.at

    def checkpoint(self, order: CheckpointOrder) -> Mapping[str, Any]:
        site = self._site
        run = os.path.basename(site.run)
        variables = self._journal.redact(dict(order.variables))
        assert isinstance(variables, dict)
        page = write_artefact(site.run, order.step, str(self._journal.redact(order.output)))
        artefact = {"step": order.step, "name": order.name, "path": page}
        ref = ""
        if order.saved and order.tree is not None and site.git.work_tree is not None:
            ref = save_checkpoint(site.git, run, order.step, order.tree, order.head)
        digest = checkpoint_digest(run, order.step, variables)
        return {
            "id": digest[:SHORT_ID],
            "digest": digest,
            "step": order.step,
            "name": order.name,
            "story": order.story,
            "variables": variables,
            "artefacts": [artefact],
            "rows": dict(order.rows),
            "head": order.head,
            "branch": order.branch or "",
            "tree": order.tree,
            "ref": ref,
            **({} if order.saved else {"saved": False}),
        }

    def settings(self) -> str:
        return settings_digest(self._current_config)

    def apply_settings(self, *, keep: bool) -> Lane:
        site = self._site
        if keep:
            site.use_config(read_settings(site.run, self._current_config))
        else:
            site.lane = apply_settings(site.lane, site.project)
        return site.lane

    def describe_settings_changes(self) -> str:
        began = read_settings(self._site.run, self._current_config)
        return "\n".join(describe_differences(began, self._current_config))


class LaneClock:
    def __init__(self, run: str, waiter: Waiter) -> None:
        self._run = run
        self._waiter = waiter

    def now(self) -> float:
        return time.time()

    def random(self) -> float:
        return random.random()  # noqa: S311 (a pause, not a secret)

    def wait(self, until: float | None) -> None:
        self._waiter.wait_until(until or 0.0, (request_path(self._run),))
