"""Which of the lanes that wait can go on: by one query for all of them."""

from collections.abc import Callable, Sequence

from ...github.forge import Forge, ForgeError, Trouble
from .lanes import Held

AWAY = 60.0  # seconds after which a forge that is away is asked again
PASSING = (Trouble.AWAY, Trouble.LIMIT, Trouble.ODD)  # of a question about all of them: each has its own, too


def moved_here(waits: Sequence[Held], now: float, base: str) -> set[str]:
    """Without a forge: their folders. `base`: what the base branch holds now; a person may have merged."""
    return _timely(waits, now) | {held.folder for held in waits if held.fingerprint not in ("", base)}


def _timely(waits: Sequence[Held], now: float) -> set[str]:
    return {held.folder for held in waits if held.until is not None and held.until <= now}


def moved_lanes(
    waits: Sequence[Held], now: float, forge: Forge, wait_until: Callable[[float], object]
) -> set[str]:
    """Their folders. A forge that is away is left alone for a while."""
    moved = _timely(waits, now)
    # Without a mark it waits for the forge itself, or for its place to work: time alone ends that.
    numbers = {held.pull: held for held in waits if held.pull and held.fingerprint}
    if not numbers:
        return moved or {held.folder for held in waits if not held.pull and held.until is None}
    try:
        marks = forge.watch(list(numbers))
    except ForgeError as error:
        if error.trouble not in PASSING:
            raise
        wait_until(max(error.until, now + AWAY))
        return moved
    same = {mark.number for mark in marks if mark.fingerprint == numbers[mark.number].fingerprint}
    return moved | {held.folder for number, held in numbers.items() if number not in same}
