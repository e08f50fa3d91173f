"""The changes between two git trees: collected by git/, checked by gates/."""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple, TypeAlias


class ChangeKind(StrEnum):
    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"
    TYPE_CHANGED = "retyped"  # a file became a link or a submodule, or the reverse


class FileChange(NamedTuple):
    """One changed path, relative to the top of the work tree, with slashes."""

    path: str
    kind: ChangeKind
    renamed_from: str = ""  # the old path of a renamed file
    mode: str = ""  # new mode: 100644, 100755, 120000 link, 160000 submodule; empty if deleted
    added: int | None = None  # lines; None: binary
    removed: int | None = None

    @property
    def old_path(self) -> str:
        return self.renamed_from or self.path


# (path, after) → the content after (or before) the change; None: the file is missing or too large
ContentReader: TypeAlias = Callable[[str, bool], "bytes | None"]
