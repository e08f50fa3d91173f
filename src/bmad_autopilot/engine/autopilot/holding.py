"""Lanes that somebody at another terminal has paused or stopped: parked until the request is taken back."""

import os
from collections.abc import Collection

from ...core.commands import command
from ...core.schedule import Stage
from ...runs.requests import Ask, read_request, request_path
from .budgets import Budgets
from .lanes import Held

_STOPS = {Ask.STOP: 1, Ask.STOP_NOW: 2}  # as often as Ctrl-C says it
_SAID = {Ask.PAUSE: "paused", Ask.STOP: "stopped", Ask.STOP_NOW: "stopped"}


class Orders:
    """What holds for all lanes: asked for at another terminal, or by a bound of the command."""

    def __init__(self, state_folder: str, budgets: Budgets) -> None:
        self._folder = state_folder
        self._budgets = budgets
        self.path = request_path(state_folder)

    def is_held_back(self) -> bool:
        """No new call is started in any of them, whatever is asked: one begun just then hears of it so."""
        return bool(self._budgets.met()) or read_request(self._folder) is not None

    def stops(self) -> int:
        asked = read_request(self._folder)
        return _STOPS.get(asked, 0) if asked is not None else 0


def as_asked(lanes: list[Held], driven: Collection[str]) -> list[Held]:
    """Those at work see to it themselves. One that was given up stays so."""
    return [held if held.lane.key in driven else _as_asked(held) for held in lanes]


def _as_asked(held: Held) -> Held:
    if held.stage is Stage.BLOCKED:
        return held
    asked = read_request(held.folder)
    if asked is None:
        return held.moved()._replace(why="") if held.stage is Stage.HELD else held
    if held.stage is Stage.HELD:
        return held
    goes_on = command("resume", "--run", os.path.basename(held.folder))
    return held._replace(stage=Stage.HELD, why=f"{_SAID[asked]}: {goes_on}")


def first_asked(lanes: list[Held]) -> Ask | None:
    """Of lanes that are all that is left to do: the one that leaves soonest."""
    found = {read_request(held.folder) for held in lanes if held.stage is Stage.HELD}
    return next((ask for ask in (Ask.STOP_NOW, Ask.STOP, Ask.PAUSE) if ask in found), None)


def parked(held: Held, why: str) -> Held:
    """With all others. What waits, asks, was given up or parked alone keeps its own reason."""
    is_idle = held.stage in (Stage.WORK, Stage.MOVED)
    return held._replace(stage=Stage.HELD, why=why) if is_idle else held


def request_files(lanes: list[Held]) -> list[str]:
    return [request_path(held.folder) for held in lanes]
