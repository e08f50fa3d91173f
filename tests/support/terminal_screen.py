"""A terminal emulator for tests: renders the control sequences that the run view uses."""

import re

from bmad_autopilot.views.terminal import display_width

_PART = re.compile(r"\x1b\[(\d*)([A-Za-z])|([\r\n])|([^\x1b\r\n])")


class Screen:
    """Unlimited rows; lines wrap at `width` as in a real terminal."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.rows: list[str] = [""]
        self.row = 0
        self.column = 0

    def write(self, text: str) -> None:
        for number, letter, move, char in _PART.findall(re.sub(r"\x1b\[[0-9;]*m", "", text)):
            if letter:
                self._control(letter, int(number or 1))
            elif move == "\r":
                self.column = 0
            elif move:
                self.column = 0
                self._down()
            else:
                self._put(char)

    def _control(self, letter: str, count: int) -> None:
        assert letter in "AKJ", letter
        if letter == "A":
            self.row = max(0, self.row - count)
            return
        self.rows[self.row] = self.rows[self.row][: self.column]
        if letter == "J":
            del self.rows[self.row + 1 :]

    def _put(self, char: str) -> None:
        if self.column + display_width(char) > self.width:
            self.column = 0
            self._down()
        line = self.rows[self.row].ljust(self.column)
        self.rows[self.row] = line[: self.column] + char + line[self.column + 1 :]
        self.column += 1

    def _down(self) -> None:
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append("")

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.rows)
