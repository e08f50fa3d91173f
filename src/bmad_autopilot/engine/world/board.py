"""The board's door: read fresh, written by compare-and-set, put back where an agent has spoilt it."""

from collections.abc import Mapping

from ...board.sprint import Row
from ...board.store import set_status
from ...core.errors import ConflictError, FileError
from .. import snapshots
from ..doors import CallId
from .ground import Ground


class BoardDoors(Ground):
    def rows(self) -> Mapping[str, Row]:
        return self.board().rows

    def set_row(self, key: str, status: str, expect: str) -> bool:
        try:
            # Back, too: what an agent claimed and the evidence does not bear out.
            set_status(
                self.project.require_board(),
                key,
                status,
                state=self.project.state_folder,
                expect=expect,
                regress=True,
            )
        except ConflictError:
            return False
        return True

    def restore_board(self, call: CallId) -> str:
        folder = self.folder(call)
        if snapshots.board_before(folder) is None:  # nothing of ours to put there: the reader says what is wrong
            self.board()
            raise FileError("the board cannot be read, and no copy of it was kept", hint="git checkout the board")
        return snapshots.restore_board(folder, self.project.require_board())
