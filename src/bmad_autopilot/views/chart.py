"""Who works when, as bars of characters."""

from collections.abc import Sequence
from typing import NamedTuple

from .terminal import Terminal, clean, display_width, pad

LEAST_BAR = 10  # columns
MOST_LABEL = 16


class Bar(NamedTuple):
    label: str
    spells: tuple[tuple[float, float], ...]  # when it works
    is_strong: bool = False


def chart(bars: Sequence[Bar], length: float, scale: tuple[str, str], out: Terminal) -> list[str]:
    """A line for each, below a line that says what its two ends are."""
    labels = min(MOST_LABEL, max((display_width(clean(bar.label)) for bar in bars), default=0))
    width = max(LEAST_BAR, min(out.width, 120) - labels - 4)
    first, last = scale
    gap = max(1, width - display_width(first) - display_width(last))
    lines = [" " * (labels + 4) + out.style(first + " " * gap + last, "dim")]
    for bar in bars:
        cells = _cells(bar.spells, length, width, out)
        shown = out.style(cells, "yellow" if bar.is_strong else "cyan")
        lines.append(f"  {pad(clean(bar.label), labels)}  {shown}".rstrip())
    return lines


def _cells(spells: Sequence[tuple[float, float]], length: float, width: int, out: Terminal) -> str:
    """Full where it works, thin where it has begun and waits for an agent. However short its work, it is seen."""
    full, thin = ("█", "─") if out.unicode else ("#", "-")
    cells = [" "] * width
    if not spells or length <= 0:
        return ""
    each = length / width
    first, last = round(spells[0][0] / each), round(spells[-1][1] / each)
    for at in range(min(first, width - 1), min(last, width)):
        cells[at] = thin
    for begins, ends in spells:
        start = min(round(begins / each), width - 1)
        for at in range(start, min(width, max(start + 1, round(ends / each)))):
            cells[at] = full
    return "".join(cells).rstrip()
