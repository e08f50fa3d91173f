"""What a reader noticed, with its place and what would mend it."""

from enum import Enum
from typing import NamedTuple

from .errors import Place


class Severity(Enum):
    ERROR = "error"  # the value cannot be used
    WARNING = "warning"  # used, but likely not what was meant
    NOTE = "note"  # worth knowing


class Diagnostic(NamedTuple):
    severity: Severity
    code: str  # stable, kebab-case: `unknown-status`, `duplicate-key`
    message: str
    place: Place
    hint: str | None = None

    def __str__(self) -> str:
        tail = f"\n    help: {self.hint}" if self.hint else ""
        return f"{self.place}: {self.severity.value}: {self.message} [{self.code}]{tail}"
