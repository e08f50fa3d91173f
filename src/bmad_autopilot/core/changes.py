"""What changed between two trees: data that git's door gathers and gates judge."""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple, TypeAlias


class Kind(StrEnum):
    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"
    RETYPED = "retyped"  # a file became a link or a submodule, or the other way round


class Change(NamedTuple):
    """One path, as git names it: from the top of the work tree, with slashes."""

    path: str
    kind: Kind
    before: str = ""  # its path before, where it was renamed
    mode: str = ""  # after: 100644, 100755, 120000 a link, 160000 a submodule; empty where deleted
    added: int | None = None  # lines; None: binary
    removed: int | None = None

    @property
    def old_path(self) -> str:
        return self.before or self.path


# (path, after) → what the file holds after the change or before it; None: it is not there, or too large to look at
Contents: TypeAlias = Callable[[str, bool], "bytes | None"]
