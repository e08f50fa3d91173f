"""The board's door: read fresh, written by compare-and-set, put back where an agent has spoilt it."""

from collections.abc import Mapping

from ...board.sprint import Row
from ...board.store import put_row, set_status
from ...core.errors import ConflictError, FileError
from .. import snapshots
from ..doors import CallId
from .ground import Ground


class BoardDoors(Ground):
    def rows(self) -> Mapping[str, Row]:
        return self.board().rows

    def set_row(self, key: str, status: str, expect: str) -> bool:
        path, state = self.project.require_board(), self.project.state_folder
        try:
            if not expect and key not in self.rows():
                put_row(path, key, status, state=state)
                return True
            # Back, too: what an agent claimed and the evidence does not bear out.
            set_status(path, key, status, state=state, expect=expect, regress=True)
        except ConflictError:
            return False
        return True

    def restore_board(self, call: CallId) -> str:
        folder = self.folder(call)
        if snapshots.board_before(folder) is None:  # nothing of ours to put there: the reader says what is wrong
            self.board()
            raise FileError("the board cannot be read, and no copy of it was kept", hint="git checkout the board")
        return snapshots.restore_board(folder, self.project.require_board())
