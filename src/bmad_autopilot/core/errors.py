"""Errors and diagnostics shown to the user. The CLI turns an AutopilotError into a message and an exit code."""

import re
from enum import Enum
from typing import NamedTuple

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_HUMAN = 3
EXIT_UNREADABLE = 4
EXIT_INTERRUPTED = 130


class Location(NamedTuple):
    """A position in a file; lines and columns count from 1."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        parts = [self.file, *(str(n) for n in (self.line, self.column) if n is not None)]
        return ":".join(parts)


class AutopilotError(Exception):
    """An error for the user: message, location, what was found, what was expected, and a command that helps."""

    exit_code = EXIT_FAILED

    def __init__(
        self,
        message: str,
        *,
        location: Location | None = None,
        found: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        self.found = found
        self.expected = expected
        self.hint = hint

    def __str__(self) -> str:
        return "\n".join((self.description, *_labelled(help=self.hint)))

    @property
    def description(self) -> str:
        """The whole message except the hint."""
        head = f"{self.location}: {self.message}" if self.location else self.message
        return "\n".join((head, *_labelled(found=self.found, expected=self.expected)))


def _labelled(**texts: str | None) -> list[str]:
    return [f"  {label + ':':<10}{text}" for label, text in texts.items() if text]


class UsageError(AutopilotError):
    """The command line names something that does not exist or is ambiguous."""

    exit_code = EXIT_USAGE


class FileError(AutopilotError):
    """A file cannot be read, or its content is invalid."""

    exit_code = EXIT_UNREADABLE


class ConflictError(AutopilotError):
    """A file changed while it was being written, or another process has locked it."""


# Diagnostics: problems a reader found in a file, with location and hint.


class Severity(Enum):
    ERROR = "error"  # the value cannot be used
    WARNING = "warning"  # the value is used, but is probably not intended
    NOTE = "note"  # worth knowing


class Diagnostic(NamedTuple):
    severity: Severity
    code: str  # stable, kebab-case: `unknown-status`, `duplicate-key`
    message: str
    location: Location
    hint: str | None = None

    def __str__(self) -> str:
        tail = f"\n    help: {self.hint}" if self.hint else ""
        return f"{self.location}: {self.severity.value}: {self.message} [{self.code}]{tail}"


# Commands shown in hints. Words are quoted where needed: a story key may contain any character.

_SAFE = re.compile(r"[\w.-]+", re.ASCII)


def command(*words: str) -> str:
    return " ".join(["bmad", *(word if _SAFE.fullmatch(word) else _quoted(word) for word in words)])


def _quoted(word: str) -> str:
    from shlex import quote

    return quote(word)
