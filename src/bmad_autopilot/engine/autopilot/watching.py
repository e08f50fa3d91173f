"""Which of the lanes that wait can go on: by one query for all of them."""

from collections.abc import Callable, Sequence

from ...github.forge import Forge, ForgeError, Trouble
from .lanes import Held

AWAY = 60.0  # seconds after which a forge that is away is asked again
PASSING = (Trouble.AWAY, Trouble.LIMIT, Trouble.ODD)  # of a question about all of them: each has its own, too


def moved_lanes(
    waits: Sequence[Held], now: float, forge: Forge | None, wait_until: Callable[[float], object]
) -> set[str]:
    """Their folders. `forge` None: there is none. One that is away is left alone for a while."""
    moved = {held.folder for held in waits if held.until is not None and held.until <= now}
    # Without a mark it waits for the forge itself, or for its place to work: time alone ends that.
    numbers = {held.pull: held for held in waits if held.pull and held.fingerprint}
    if forge is None or not numbers:
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
