"""Times, money and counts as a person reads them."""

import time


def clock(at: float) -> str:
    """In the clock of whoever reads it."""
    return time.strftime("%H:%M:%S", time.localtime(at))


def until(at: float, now: float) -> str:
    """`15:30`; with its day, where that is another one."""
    there, here = time.localtime(at), time.localtime(now)
    form = "%H:%M" if there[:3] == here[:3] else "%Y-%m-%d %H:%M"
    return time.strftime(form, there)


def took(seconds: float) -> str:
    """`0.4 s`, `12 s`, `4 min 9 s`, `1 h 5 min`."""
    if seconds < 10:
        return f"{max(0.0, seconds):.1f} s"
    if seconds < 60:
        return f"{int(seconds)} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes} min {int(seconds % 60)} s"
    return f"{minutes // 60} h {minutes % 60} min"


def money(dollars: float) -> str:
    return f"${dollars:,.2f}" if dollars >= 0.01 or dollars == 0 else f"${dollars:.4f}"


def counted(number: int, noun: str) -> str:
    """`1 story`, `2 stories`, `0 commits`."""
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else many}"
