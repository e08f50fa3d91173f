"""Everything a step is judged by, gathered beforehand: the rules themselves read nothing."""

from collections.abc import Mapping
from typing import NamedTuple

from ..core.changes import Change, Contents
from ..core.owes import Owes


class Document(NamedTuple):
    """A file agents write: perhaps no text at all."""

    path: str  # from the top of the work tree
    raw: bytes


class WorkLook(NamedTuple):
    owes: Owes
    key: str
    number: str
    changes: tuple[Change, ...]  # from the story's baseline to now, whoever made them
    contents: Contents  # before: at the baseline; after: now. A link's content is where it leads
    code_differs: bool  # without board, story file and state files: from the story's baseline
    code_moved: bool  # the same, from before this attempt
    story: Document | None = None
    spec: Document | None = None  # a build's, where that is what the step owes
    builds: bool = True  # the step is the build itself, which says in its spec how it ended
    # What the story asks for, as it stood before the first agent that is judged by it: the story file that
    # create-story left, the epic's section. An agent cannot excuse itself by writing into it.
    asked: str = ""
    story_before: Document | None = None  # the story file at the same moment
    rows_before: Mapping[str, str] = {}  # the board's, before this attempt: key and status as written
    rows_after: Mapping[str, str] | None = None  # None: it cannot be read, which others see to
    descends: bool = True  # HEAD from the baseline
    same_branch: bool = True
    outside: tuple[str, ...] = ()  # paths changed in other work trees during this attempt
    replaced: tuple[
        tuple[str, str], ...
    ] = ()  # files the attempt replaced: path, what stood there; put back since
    settings: tuple[str, ...] = ()  # of the repository, changed by the story's calls: `.git/hooks/pre-push`
    commands: tuple[str, ...] = ()  # the project's checks, from the policy
    bookkeeping: frozenset[str] = frozenset()  # ours alone to write. Not the board: a row of an agent is a claim
    allowed: tuple[str, ...] = ()  # globs of the policy: protected paths that agents may change
    users_files: tuple[str, ...] = ()  # changed or untracked before this attempt, and held by its commits
    part: str = "."  # the project's folder below the top of the work tree

    @property
    def document(self) -> Document | None:
        return self.spec or self.story

    def in_project(self, path: str) -> str:
        """A path from the top, seen from the project's folder; itself where it lies elsewhere."""
        return path if self.part == "." else path.removeprefix(f"{self.part}/")
