"""Changing single lines of a flow's state file: what is to stand in their place and below them."""

from collections.abc import Callable, Sequence

from .flow_state_page import Entry, Field, Page, cut_end

Row = tuple[str, ...]


class Edits:
    def __init__(self, page: Page) -> None:
        self.page = page
        self._instead: dict[int, str | None] = {}  # None: the line goes
        self._below: dict[int, list[str]] = {}

    def add(self, line: int, new: Sequence[str]) -> None:
        self._below.setdefault(line, []).extend(new)

    def set_value(self, field: Field, value: str) -> None:
        """Behind its key; a remark behind it stays."""
        line = cut_end(self.page.lines[field.line])[0]
        head, rest = line[: field.start], line[field.end :]
        if not value:
            self._instead[field.line] = head + rest if rest.strip() else head.rstrip()
            return
        before = "" if head[-1:].isspace() else " "
        behind = " " if rest and not rest[0].isspace() else ""
        self._instead[field.line] = head + before + value + behind + rest

    def set_entries(
        self, old: Sequence[Entry], new: Sequence[Row], line: Callable[[Row, Entry | None], str], last: int
    ) -> None:
        """What both begin and end with stays as it is. `last`: below it stands what comes behind all others."""
        both = min(len(old), len(new))
        begin = next((at for at in range(both) if old[at].value != tuple(new[at])), both)
        both -= begin
        rest = next((at for at in range(both) if old[-1 - at].value != tuple(new[-1 - at])), both)
        gone, come = old[begin : len(old) - rest], new[begin : len(new) - rest]
        for index, entry in enumerate(gone):
            self._instead |= dict.fromkeys(range(entry.first, entry.end))
            if index < len(come):
                self._instead[entry.first] = line(come[index], entry)
        below = old[len(old) - rest].first - 1 if rest else last
        self.add(below, [line(one, None) for one in come[len(gone) :]])

    def joined(self) -> str:
        """The whole text. A new line ends as its neighbour does."""
        usual = next(filter(None, (cut_end(line)[1] for line in self.page.lines)), "\n")
        out: list[str] = []
        for number, line in enumerate(self.page.lines):
            end = cut_end(line)[1]
            new = self._instead.get(number)
            if number not in self._instead:
                out.append(line)
            elif new is not None:
                out.append(new + end)
            for added in self._below.get(number, ()):
                if out and not cut_end(out[-1])[1]:
                    out[-1] += usual
                out.append(added + end)
        return "".join(out)
