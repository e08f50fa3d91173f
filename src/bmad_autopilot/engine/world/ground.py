"""What all doors of one lane stand on."""

import os
import time
from collections.abc import Callable

from ...board.sprint import Board, read_board
from ...core.errors import FileError
from ...files import not_regular, resolve_inside
from ...github.git import Git
from ...project.open import Project
from ...runs.journal import Journal
from ...runs.layout import attempt_folder, calls_of
from ..books import Books, books_of
from ..doors import CallId
from ..lane import Lane
from ..onlookers import Human, Told
from ..seats import Seat
from ..snapshots import Layout, kept_layout, replaced
from ..waiting import Waiting


class Ground:
    def __init__(
        self,
        project: Project,
        lane: Lane,
        run: str,
        journal: Journal,
        waiting: Waiting,
        told: Told,
        human: Human | None = None,
    ) -> None:
        self.project = project
        self.present = project.config  # the settings as they are now, also where the run keeps those it began with
        self.lane = lane
        self.run = run
        self.journal = journal
        self.waiting = waiting
        self.told = told
        self.human = human
        self.slot = Seat()  # for its agent
        self.turn = Seat()  # for its merge
        self.held_back: Callable[[], bool] = lambda: False  # all lanes are, together
        self.checkout_taken: Callable[[], str] = lambda: ""  # by another lane
        self.git = Git(project.root.checkout)
        self._layout: Layout | None = None
        self.dirty = frozenset(lane.dirty)  # paths that somebody had changed before we began

    def now(self) -> float:
        return time.time()

    def folder(self, call: CallId) -> str:
        return attempt_folder(self.run, call.number, call.step, call.attempt)

    def check_logs(self, code: str) -> str:
        return self.shown(self.check_folder(code))

    def is_apart(self) -> bool:
        return self.lane.delivery is not None and self.project.root.is_linked

    def shown(self, path: str) -> str:
        """From where people start: the project's folder, and of a lane the main checkout's, wherever it works."""
        root = self.project.root
        return os.path.relpath(path, root.checkout if self.lane.delivery is None else root.path)

    def check_folder(self, code: str) -> str:
        return os.path.join(self.run, "checks", code[:16] or "none")

    def board(self) -> Board:
        """A FileError also where it was replaced since the last call, or leads out of the project by a link."""
        path = self.project.require_board()
        found = replaced(self.layout(), path)
        if found is not None:
            raise not_regular(found.path, "was replaced since the last agent call", found.found)
        resolve_inside(path, self.project.inside)
        return read_board(path)

    def layout(self) -> Layout:
        """Before the run's last call. Kept in memory, because agents can write to the call's folder."""
        if self._layout is None:
            kept = map(kept_layout, reversed(calls_of(self.run)))
            self._layout = next((one for one in kept if one is not None), {})
        return self._layout

    def books(self, key: str) -> Books:
        try:
            board = self.board()
        except FileError:
            return books_of(self.project, None, None, key)
        return books_of(self.project, board, board.rows.get(key), key)
