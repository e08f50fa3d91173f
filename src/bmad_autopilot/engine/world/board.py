"""The board's door: read fresh, written by compare-and-set, put back where an agent has spoilt it."""

import os
from collections.abc import Mapping
from contextlib import suppress

from ...agents.attempts import read_spec
from ...board.sprint import Row
from ...board.store import put_row, set_status
from ...core.errors import ConflictError, FileError
from .. import snapshots
from ..books import books_of
from ..doors import CallId
from .ground import Ground


class BoardDoors(Ground):
    def rows(self) -> Mapping[str, Row]:
        return self.board().rows

    def set_row(self, key: str, status: str, expect: str) -> bool:
        path, state = self.project.require_board(), self.project.state_folder
        try:
            if not expect and key not in self.rows():
                put_row(path, key, status, state=state, inside=self.git.top)
                return True
            # Back, too: what an agent claimed and the evidence does not bear out.
            set_status(path, key, status, state=state, inside=self.git.top, expect=expect, regress=True)
        except ConflictError:
            return False
        return True

    def restore_board(self, call: CallId) -> str:
        folder = self.folder(call)
        if snapshots.board_before(folder) is None:  # nothing of ours to put there: the reader says what is wrong
            self.board()
            raise FileError("the board cannot be read, and no copy of it was kept", hint="git checkout the board")
        path, story = self.project.require_board(), read_spec(folder).story
        books = books_of(self.project, None, None, story)
        put_back = snapshots.put_back_replaced(folder, books, self.git, read_spec(folder).tree, self.layout())
        with suppress(FileError):
            self.board()
            return os.path.join(folder, f"{snapshots.REPLACED}-{len(put_back)}")
        return snapshots.restore_board(folder, path, self.project.inside)
