"""The doors of a delivery: the forge, the branches, and what a pull request says."""

import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from ...board.epics import read_all_epics
from ...board.epics_files import find_epics_files
from ...board.sprint import board_from_text
from ...board.stories import criteria_of
from ...core.errors import AutopilotError
from ...core.records import RunRecord
from ...core.statuses import DONE, Kind
from ...files import Text
from ...github.trees import read_file
from ..delivery.rounds import round_key
from .repository import RepositoryDoors

if TYPE_CHECKING:  # most runs deliver nothing
    from ...github.forge import Forge
    from ...github.git import Git
    from ..delivery.lines import Lines

ForgeMaker = Callable[["Git", str], "Forge"]


class DeliveryDoors(RepositoryDoors):
    forge_maker: "ForgeMaker | None" = None  # None: GitHub, by gh

    def forge(self) -> "Forge":
        return self._forge

    @cached_property
    def _forge(self) -> "Forge":
        remote = self.project.config.github.remote
        if self.forge_maker is not None:
            return self.forge_maker(self.git, remote)
        from ...github.gh_forge import find_forge

        return find_forge(self.git, remote, wait=self._pause)

    def has_turn(self) -> bool:
        return self.turn.is_free()

    def take_turn(self) -> bool:
        return self.turn.take()

    def await_turn(self) -> None:
        self.turn.want(self.waiting.poke)

    def step_aside(self) -> None:
        self.turn.give_back()

    def taken(self) -> str:
        return self.checkout_taken()

    def _pause(self, seconds: float) -> None:
        self.waiting.until(time.time() + seconds)

    def lines(self) -> "Lines":
        return self._lines

    @cached_property
    def _lines(self) -> "Lines":
        from ..delivery.real_lines import RealLines

        board = self._from_top(self.project.require_board())
        key = round_key(self.lane.key, 1)
        remote = self.project.config.github.remote
        return RealLines(self.git, remote, board, lambda tree: self._code(tree, key), self.dirty)

    def pull_text(self, run: RunRecord) -> tuple[str, str]:
        """As our branch has it: what is checked out may be another epic's by now."""
        from ..delivery.pull_text import Told, pull_body, pull_title

        head = run.delivery.head
        said = self._said(head, self.project.require_board())
        board = board_from_text(said) if said is not None else self.board()
        rows = [row for row in board.rows.values() if row.kind is Kind.STORY and row.epic == self.lane.epic]
        titles = self._titles()
        stories = [
            Told(row.key, titles.get(row.number, ""), self._criteria(head, row.key), row.meaning == DONE)
            for row in sorted(rows, key=lambda row: row.order)
        ]
        return pull_title(self.lane), pull_body(self.lane, run, stories)

    def _titles(self) -> dict[str, str]:
        try:
            found = read_all_epics(find_epics_files(self.project.folders.planning)).stories()
        except AutopilotError:
            return {}
        return {story.number: story.title for story in found}

    def _criteria(self, head: str, key: str) -> tuple[str, ...]:
        folders = self.project.folders
        usual = [f"{folder}/{key}.md" for folder in (folders.stories, folders.implementation) if folder]
        try:
            known = self.books(key).story  # under another name, where it is checked out
            texts = (self._said(head, path) for path in (*([known] if known else []), *usual))
            return next((criteria_of(text) for text in texts if text is not None), ())
        except AutopilotError:
            return ()

    def _said(self, head: str, path: str) -> Text | None:
        """What a file holds there; None: there is none."""
        raw = read_file(self.git, head, self._from_top(path))
        return Text(path, raw) if raw is not None else None
