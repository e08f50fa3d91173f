"""The run's own records: the journal, and what other tools read of it."""

import random
from collections.abc import Iterable, Mapping
from typing import Any

from ..doors import Entry
from .ground import Ground


class RecordDoors(Ground):
    def random(self) -> float:
        return random.random()  # noqa: S311 (a pause, not a secret)

    def entries(self) -> Iterable[Entry]:
        return [(entry.kind, entry.data, entry.at) for entry in self.journal.entries()]

    def note(self, kind: str, data: Mapping[str, Any]) -> float:
        entry = self.journal.append(kind, **data)
        self.told(kind, entry.data, entry.at)
        return entry.at
