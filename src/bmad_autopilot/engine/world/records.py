"""The run's own records: the journal, its checkpoints, and the settings it goes by."""

import os
import random
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from ...github.checkpoint_refs import keep_checkpoint
from ...runs.checkpoints import write_artefact
from ...runs.state import SHORT_ID, checkpoint_digest
from ..doors import CheckpointOrder, Entry
from ..lane import Lane
from ..settings_kept import differences, digest_of, read_settings, with_settings
from .ground import Ground


class RecordDoors(Ground):
    _last = 0  # the number of the last entry read

    @cached_property
    def _entries(self) -> list[Entry]:
        return []

    def random(self) -> float:
        return random.random()  # noqa: S311 (a pause, not a secret)

    def entries(self) -> Iterable[Entry]:
        """Read once: whoever asks again is given what has come since, too."""
        found = self.journal.entries(self._last)
        self._entries += [(entry.kind, entry.data, entry.at) for entry in found]
        self._last = max(self._last, *(entry.n for entry in found)) if found else self._last
        return self._entries

    def note(self, kind: str, data: Mapping[str, Any]) -> float:
        entry = self.journal.append(kind, **data)
        self.told(kind, entry.data, entry.at)
        return entry.at

    def checkpoint(self, order: CheckpointOrder) -> Mapping[str, Any]:
        run = os.path.basename(self.run)
        variables = self.journal.redacted(dict(order.variables))
        assert isinstance(variables, dict)
        page = write_artefact(self.run, order.step, str(self.journal.redacted(order.output)))
        artefact = {"step": order.step, "name": order.name, "path": page}
        ref = ""
        if order.saved and order.tree is not None and self.git.work_tree is not None:
            ref = keep_checkpoint(self.git, run, order.step, order.tree, order.head)
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
        return digest_of(self.present)

    def settle(self, *, keep: bool) -> Lane:
        if keep:
            self.project = self.project._replace(config=read_settings(self.run, self.present))
        else:
            self.lane = with_settings(self.lane, self.project)
        return self.lane

    def changed_settings(self) -> str:
        return "\n".join(differences(read_settings(self.run, self.present), self.present))
