"""Generates merge cases for boards from a seed: a base and two sides, and the expected merge, computed from the
edits and not by reading the files."""

import random
import re
from dataclasses import dataclass, replace
from typing import NamedTuple

import yaml

LIFE = ("backlog", "ready-for-dev", "in-progress", "review", "done")
STATUS_ORDER = {word: float(at) for at, word in enumerate(LIFE)} | {"blocked": 3.5, "deferred": 3.5}
SLUGS = ("sign-in", "search", "export-as-csv", "rate-limits", "e-mail", "a11y", "Ünïcode", "close-2-bugs")
_KEY = re.compile(r"""^[ ]+(["']?)([\w.-]+)\1:(?=\s|$)""", re.MULTILINE)
_NOTE = re.compile(r"note-\d+")


@dataclass(frozen=True)
class Line:
    """A row, or another line (`text`); `note` is a comment with a unique number."""

    key: str = ""
    status: str = ""
    quote: str = ""
    note: str = ""
    text: str = ""  # of a line that is no row

    def render(self) -> str:
        if not self.key:
            return self.text
        return f"  {self.key}: {self.quote}{self.status}{self.quote}" + (f"  # {self.note}" if self.note else "")


@dataclass
class Side:
    lines: list[Line]
    end: str = "\n"

    def raw(self) -> bytes:
        return (self.end.join(line.render() for line in self.lines) + self.end).encode()

    @property
    def rows(self) -> dict[str, Line]:
        return {line.key: line for line in self.lines if line.key}

    @property
    def notes(self) -> set[str]:
        return set(_NOTE.findall("\n".join(line.render() for line in self.lines)))


class Faults(NamedTuple):
    """Errors of a merge."""

    broken: bool = False  # no YAML, or no board
    lost: tuple[str, ...] = ()
    back: tuple[str, ...] = ()  # with another status than expected
    twice: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # comments that are gone

    def __bool__(self) -> bool:
        return any(self)


class Triple(NamedTuple):
    base: Side
    ours: Side
    theirs: Side

    @property
    def raws(self) -> tuple[bytes, bytes, bytes]:
        return self.base.raw(), self.ours.raw(), self.theirs.raw()

    def rows(self) -> dict[str, str]:
        """The expected rows: the status of the side that changed it; if both did, the further one."""
        base, ours, theirs = (side.rows for side in self)
        found = {}
        for key in dict.fromkeys((*base, *ours, *theirs)):
            was, here, there = (rows[key].status if key in rows else None for rows in (base, ours, theirs))
            changed = [word for word in (here, there) if word != was]
            if None in changed and was is not None and self._remarked(key):
                changed = [was, *changed]
            kept = [word for word in changed if word is not None] or (changed or [was])
            best = max(kept, key=lambda word: STATUS_ORDER[word] if word else -1.0)
            if best is not None:
                found[key] = best
        return found

    def _remarked(self, key: str) -> bool:
        """Whether a side added a comment to this row of the base."""
        before = self.base.rows[key].note
        return any(key in side.rows and side.rows[key].note not in ("", before) for side in self[1:])

    def notes(self) -> set[str]:
        """Comments that must be kept: those that a side added, and those that neither removed."""
        base, ours, theirs = (side.notes for side in self)
        return ((ours | theirs) - base) | (base & ours & theirs)

    def faults(self, merged: bytes) -> Faults:
        text = merged.decode("utf-8", "replace")
        try:
            found = yaml.load(text, yaml.CBaseLoader)["development_status"]
            now = {key: str(value) for key, value in found.items()}
        except (yaml.YAMLError, TypeError, KeyError, AttributeError):
            return Faults(broken=True)
        rows = self.rows()
        keys = [match[2] for match in _KEY.finditer(text)]
        return Faults(
            False,
            tuple(key for key in rows if key not in now),
            tuple(key for key, status in rows.items() if now.get(key, status) != status),
            tuple(sorted({key for key in keys if keys.count(key) > 1})),
            tuple(sorted(self.notes() - set(_NOTE.findall(text)))),
        )


def make_triple(seed: int) -> Triple:
    return _Maker(random.Random(seed)).make()


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._notes = 0

    def make(self) -> Triple:
        base = Side(self._board(), self._rng.choice(("\n",) * 5 + ("\r\n",)))
        sides = [Side(self._edited(base.lines, side), base.end) for side in (0, 1)]
        if self._rng.random() < 0.05:  # an editor that changes line ends
            sides[self._rng.randrange(2)].end = "\r\n"
        return Triple(base, *sides)

    def _chance(self, odds: float) -> bool:
        return self._rng.random() < odds

    def _note(self) -> str:
        self._notes += 1
        return f"note-{self._notes} {self._rng.choice(('waits', 'see PR: 12', 'was → done', 'a # b'))}"

    def _board(self) -> list[Line]:
        lines = [Line(text=f"# {self._note()}") for _ in range(self._rng.randrange(4))]
        lines += [Line(text=f"last_updated: 2026-01-{self._rng.randrange(10, 20)}"), Line(text="project: Shop")]
        lines += [Line(text=""), Line(text="development_status:")]
        for epic in range(1, self._rng.randrange(2, 7)):
            lines += self._epic(epic)
        return lines

    def _epic(self, epic: int) -> list[Line]:
        lines = [Line(text=f"  # Epic {epic}: {self._note()}")] if self._chance(0.6) else []
        stories = range(1, self._rng.randrange(2, 8))
        keys = [f"epic-{epic}", *(f"{epic}-{story}-{self._rng.choice(SLUGS)}" for story in stories)]
        lines += [self._row(key) for key in keys]
        return [*lines, Line(text="")] if self._chance(0.7) else lines

    def _row(self, key: str) -> Line:
        note = self._note() if self._chance(0.15) else ""
        return Line(key, self._rng.choice(LIFE), self._rng.choice(("",) * 8 + ('"', "'")), note)

    def _edited(self, before: list[Line], side: int) -> list[Line]:
        lines = list(before)
        rows = [at for at, line in enumerate(lines) if line.key]
        for at in self._rng.sample(rows, min(len(rows), self._rng.randrange(1, 7))):
            lines[at] = self._changed(lines[at])
        for at, line in enumerate(lines):
            if line.text.startswith("last_updated") and self._chance(0.6):
                lines[at] = Line(text=f"last_updated: 2026-02-{self._rng.randrange(10, 20)}")
            elif "# note-" in line.text and self._chance(0.05):
                lines[at] = Line(text=f"{line.text[: line.text.index('#')]}# {self._note()}")
        for edit, odds in ((self._add, 0.5), (self._remove, 0.15), (self._remark, 0.5), (self._blank, 0.2)):
            if self._chance(odds):
                edit(lines, side)
        return lines

    def _changed(self, line: Line) -> Line:
        """Usually moves forward; sometimes a person moves it back, parks it or adds a comment."""
        if self._chance(0.15):
            return replace(line, note=self._note())
        words = (*LIFE, "blocked", "deferred") if self._chance(0.2) else LIFE[LIFE.index(line.status) :]
        return replace(line, status=self._rng.choice(words))

    def _add(self, lines: list[Line], side: int) -> None:
        """Add a story below another one, possibly the same on both sides, or an epic at the end."""
        if self._chance(0.4):
            lines += self._epic(20 + side)
            return
        near = self._rng.choice([at for at, line in enumerate(lines) if line.key])
        key = f"{self._rng.randrange(1, 4)}-{self._rng.randrange(30, 33)}-new"
        if key not in {line.key for line in lines}:
            lines.insert(near + 1, self._row(key))

    def _remove(self, lines: list[Line], side: int) -> None:
        del lines[self._rng.choice([at for at, line in enumerate(lines) if line.key])]

    def _remark(self, lines: list[Line], side: int) -> None:
        at = self._rng.choice([at for at, line in enumerate(lines) if line.key])
        lines.insert(at, Line(text=f"  # {self._note()}"))

    def _blank(self, lines: list[Line], side: int) -> None:
        blank = [at for at, line in enumerate(lines) if line == Line()]
        if blank and self._chance(0.5):
            del lines[self._rng.choice(blank)]
        else:
            lines.insert(self._rng.randrange(len(lines)), Line())
