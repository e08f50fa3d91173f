"""What a run is at just now, in the two or three lines that are drawn anew."""

from collections.abc import Iterator, Mapping
from typing import Any

from .figures import counted, money, took, until
from .live import MARGIN
from .terminal import Terminal, clean, display_width

Data = Mapping[str, Any]

_OVER = frozenset("ended check asked answered finished left waiting".split())


class RunNow:
    """`stories`: how many the run has before it; 0 where that says nothing."""

    def __init__(self, stories: int = 0) -> None:
        self._stories = stories
        self._begun: list[str] = []
        self._what: tuple[str, ...] = ()
        self._spent: tuple[str, ...] = ()
        self._last = ""
        self._dollars = 0.0

    def take(self, kind: str, data: Data, at: float) -> None:
        if kind == "story" and data.get("story") not in self._begun:
            self._begun.append(str(data.get("story")))
        elif kind == "call":
            self._at(str(data.get("story", "")), str(data.get("step", "")))
        elif kind == "progress":
            self._progress(data)
        elif kind == "checking":
            self._at(str(data.get("story", "")), "checks")
        elif kind == "resting":
            end = data.get("until")
            self._at(self._begun[-1] if self._begun else "", f"waits until {until(end, at)}" if end else "waits")
        elif kind in _OVER:
            self._dollars += float(data.get("dollars") or 0.0)
            self._at()

    def _at(self, *what: str) -> None:
        self._what, self._spent, self._last = tuple(filter(None, what)), (), ""

    def _progress(self, data: Data) -> None:
        """Also of a call that an earlier session has started: then nothing has said yet what it is."""
        if not self._what:
            story = str(data.get("story") or (self._begun[-1] if self._begun else ""))
            self._at(story, str(data.get("step", "")))
        words = [took(float(data.get("seconds") or 0.0))]
        if data.get("tokens"):
            words.append(counted(int(data["tokens"]), "token"))
        if data.get("dollars") is not None:
            words.append(money(float(data["dollars"])))
        self._spent = tuple(words)
        self._last = str(data.get("last") or "")

    def lines(self, out: Terminal) -> list[str]:
        if not self._what:
            return []
        mark = "●" if out.unicode else "*"
        parts = [f"{mark} {clean(' · '.join(self._what))}", *self._spent, *self._of_run()]
        last = [f"  {clean(self._last)}"] if self._last else []
        return [*_packed(parts, out.width - MARGIN), *last]

    def _of_run(self) -> Iterator[str]:
        if self._stories > 1 and self._begun:
            yield f"story {len(self._begun)} of {max(self._stories, len(self._begun))}"
        if self._dollars:
            yield f"{money(self._dollars)} so far"


def _packed(parts: list[str], width: int) -> list[str]:
    """As few lines as they fit into: narrow windows get more lines, and lose no figure."""
    lines = [parts[0]]
    for part in parts[1:]:
        longer = f"{lines[-1]} · {part}"
        if display_width(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(f"  {part}")
    return lines
