"""Takes one lane as far as it goes: in its place, with its seats, telling everybody what it does."""

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...core.schedule import Candidate
from ...github.forge import Forge
from ...project.open import Project
from ..checkpointing import first_variables
from ..driving import RunEnd, drive, go_on
from ..lane import Lane
from ..onlookers import Human, Told
from ..running import new_folder
from ..seats import Seats
from ..setting_out import NO_CAPS, new_lane, target_row
from ..waiting import Waiting
from .budgets import Budgets
from .charges import Charges
from .finding import Start
from .fleet import Fleet
from .holding import Orders
from .lanes import Held
from .places import Places
from .planning import plan_for
from .telling import Telling
from .wishes import Wishes


class Ears(NamedTuple):
    """Who hears of every lane's entries."""

    telling: Telling
    fleet: Fleet
    budgets: Budgets
    waiting: Waiting  # the supervisor's own

    def of_lane(self, lane: Lane) -> Told:
        tell = self.telling.of_lane(lane.key, lane.epic or "")

        def heard(kind: str, data: Mapping[str, Any], at: float) -> None:
            if kind == "stopping":  # also where the lane had nothing left to do, and does not say that it was left
                self.waiting.stops += 1
            self.fleet.heard(lane.key, kind, data)
            note = self.budgets.heard(kind, data)
            tell(kind, data, at)
            if note:
                self.telling.say(note)
            if kind == "ended" and self.budgets.met():
                self.waiting.poke()

        return heard


class Driver:
    """`base`: the branch that all work goes to. `taken`: why a lane cannot have the checkout that all share."""

    def __init__(
        self,
        project: Project,
        wishes: Wishes,
        base: str,
        places: Places,
        charges: Charges,
        ears: Ears,
        orders: Orders,
        human: Human | None,
        forge: Callable[[], Forge],
        taken: Callable[[str], str],
    ) -> None:
        self._project = project
        self._wishes = wishes
        self._base = base
        self._places = places
        self._charges = charges
        self._ears = ears
        self._orders = orders
        self._human = human
        self._forge = forge
        self._taken = taken

    def begin(self, epic: Candidate, start: Start, waiting: Waiting | None) -> RunEnd:
        project = self._places.begin(epic.key, start.branch, start.commit)
        lane = self._lane(project, epic, start)
        folder = new_folder(project, lane)
        self._charges.add(folder)
        return drive(
            project,
            lane,
            folder,
            self._ears.of_lane(lane),
            self._human,
            resumed=False,
            variables=first_variables(lane, os.path.basename(project.root.path)),
            forge=lambda git, remote: self._forge(),
            seats=self._seats(epic.key),
            waiting=waiting,
        )

    def _lane(self, project: Project, epic: Candidate, start: Start) -> Lane:
        lane = new_lane(project, "epic", target_row(project, "epic", epic.key), NO_CAPS, None, False)
        return lane._replace(
            branch=start.branch,
            session=self._wishes.session,
            unattended=dict(self._wishes.unattended),
            delivery=plan_for(self._project.config, epic, start, self._base, draft=self._wishes.draft),
        )

    def go_on(self, held: Held, waiting: Waiting | None) -> RunEnd:
        self._charges.add(held.folder)
        return go_on(
            self._places.go_on(held),
            held.folder,
            self._ears.of_lane(held.lane),
            self._human,
            NO_CAPS,
            unattended=self._wishes.unattended,
            forge=lambda git, remote: self._forge(),
            seats=self._seats(held.lane.key),
            waiting=waiting,
        )

    def _seats(self, key: str) -> Seats:
        seats = self._ears.fleet.seats(key)
        return seats._replace(held_back=self._orders.is_held_back, taken=lambda: self._taken(key))
