"""Where one story is written about: its row, its own file, its spec, and what we keep beside them."""

import os
from typing import NamedTuple

from ..board.reconcile import locate_some
from ..board.sprint import Board, Row
from ..board.task_board import task_file
from ..project.open import Project
from ..workflows.contract import agent_state, review_file

DEFERRED = "deferred-work.md"


class Books(NamedTuple):
    """Absolute paths; None: there is no such file."""

    board: str
    story: str | None
    spec: str | None
    deferred: str
    state: str  # of agents: their questions
    review: str
    folders: tuple[str, ...] = ()  # in which such files may lie

    @property
    def files(self) -> tuple[str, ...]:
        """All that agents are told to write, whether it is there or not."""
        return tuple(filter(None, (*self.kept_apart, self.state, self.review)))

    @property
    def kept_apart(self) -> tuple[str, ...]:
        """What may change without the code having changed."""
        return tuple(path for path in (self.board, self.story, self.spec, self.deferred) if path)


def books_of(project: Project, board: Board | None, row: Row | None, key: str) -> Books:
    folder = project.folders.implementation
    story, spec = _files(project, board, row) if board is not None and row is not None else (None, None)
    return Books(
        project.require_board(),
        story,
        spec,
        f"{folder}/{DEFERRED}",
        agent_state(folder, key),
        review_file(folder, key),
        tuple(filter(None, (project.folders.output, project.folders.planning, folder, project.folders.stories))),
    )


def _files(project: Project, board: Board, row: Row) -> tuple[str | None, str | None]:
    folders = project.folders
    if project.tasks:
        return task_file(board, row, project.tasks), None
    places = [os.path.dirname(board.path), folders.implementation]
    places += [folders.stories] if folders.stories else []
    files = locate_some(board, [row], folders.base, places)
    stories, specs = files.stories.get(row.key, []), files.specs.get(row.key, [])
    return next(iter(stories), None), next(iter(specs), None)
