"""The errors a user can meet. One base class; the CLI turns it into a message and an exit code."""

from typing import NamedTuple

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_HUMAN = 3
EXIT_UNREADABLE = 4
EXIT_INTERRUPTED = 130


class Place(NamedTuple):
    """A spot in a file; lines and columns count from 1."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        parts = [self.file, *(str(n) for n in (self.line, self.column) if n is not None)]
        return ":".join(parts)


class AutopilotError(Exception):
    """Something the user must know: what was found where, what was expected, what to type next."""

    exit_code = EXIT_FAILED

    def __init__(
        self,
        message: str,
        *,
        place: Place | None = None,
        found: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.found = found
        self.expected = expected
        self.hint = hint

    def __str__(self) -> str:
        return "\n".join((self.what, *_labelled(help=self.hint)))

    @property
    def what(self) -> str:
        """All but what to type next."""
        head = f"{self.place}: {self.message}" if self.place else self.message
        return "\n".join((head, *_labelled(found=self.found, expected=self.expected)))


def _labelled(**texts: str | None) -> list[str]:
    return [f"  {label + ':':<10}{text}" for label, text in texts.items() if text]


class UsageError(AutopilotError):
    """The command line asked for something that does not exist or is ambiguous."""

    exit_code = EXIT_USAGE


class FileError(AutopilotError):
    """A file cannot be read, or does not hold what it must."""

    exit_code = EXIT_UNREADABLE


class ConflictError(AutopilotError):
    """A file changed under us, or another process holds it."""
