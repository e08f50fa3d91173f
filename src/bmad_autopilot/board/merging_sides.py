"""One of three boards that are merged: its lines, with the statuses that were decided already put in."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

from .cells import Cells
from .merging_lines import Line
from .merging_rows import Decision
from .sprint import Board, Row

_FIELD = re.compile(r"""(\#[ ]*)?(["']?)([A-Za-z_][\w.-]*)\2:(?=\s|\Z)""")
_DATED = frozenset(("generated", "last_updated"))  # BMAD writes them as comments too


class Side:
    def __init__(self, board: Board) -> None:
        self.board = board
        self._cells = board.cells
        self._index = {cell[0]: at for at, cell in enumerate(self._cells.cells)}
        self._numbers = _line_numbers(self._cells)

    def token(self, row: Row) -> str:
        """Its status as written, with its quotes."""
        start, end = self._cells.cell_span(self._index[row.key])
        return self._cells.text.text[start:end]

    def lines(self, rows: Iterable[tuple[Row, Decision, str | None]]) -> list[Line]:
        """With the token that was decided for each row; None: without its line. What is left then differs in other
        things than statuses."""
        splices: list[tuple[int, int, str]] = []
        names: dict[int, str] = {}
        left_out: set[int] = set()
        for row, decision, token in rows:
            at = self._index[row.key]
            names[self._numbers[at]] = decision.key
            if token is None:
                left_out.add(self._numbers[at])
            elif decision.row is not None and row.status.raw != decision.row.status.raw:
                start, end = self._cells.cell_span(at)
                splices.append((start, end, token if start < end else f" {token}"))  # `key:` had no value
        lines = _spliced(self._cells.text.text, splices).split("\n")
        return [
            Line(text, f"row {names[at]}", True) if at in names else Line(text, _field_name(text))
            for at, text in enumerate(lines)
            if at not in left_out
        ]


def _spliced(text: str, splices: list[tuple[int, int, str]]) -> str:
    parts: list[str] = []
    position = 0
    for start, end, token in sorted(splices):
        parts += (text[position:start], token)
        position = end
    return "".join([*parts, text[position:]])


def _line_numbers(cells: Cells) -> list[int]:
    """Of each cell, counted from 0 by line feeds alone: YAML knows other line ends too."""
    if cells.spans is None:
        return [cell[2] - 1 for cell in cells.cells]
    starts = list(accumulate((len(line) + 1 for line in cells.text.text.split("\n")), initial=0))
    return [bisect_right(starts, span[0]) - 1 for span in cells.spans]


def _field_name(line: str) -> str:
    found = _FIELD.match(line)
    if found is None or (found[1] and found[3] not in _DATED):
        return ""
    return f"{'remark' if found[1] else 'field'} {found[3]}"
