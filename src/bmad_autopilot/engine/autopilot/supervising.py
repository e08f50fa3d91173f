"""The autopilot: which epic goes on, driven as far as it goes; what waits is watched meanwhile, by one query for
all of them. Nothing waits for an approval: the next epic is begun."""

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from ...core.errors import (
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_HUMAN,
    EXIT_INTERRUPTED,
    AutopilotError,
    ConflictError,
    UsageError,
)
from ...core.rules import Phase
from ...core.schedule import Candidate, Choice, Stage, choose_lane, is_vacant
from ...github.branches import Branches
from ...github.forge import ForgeError, Trouble
from ...github.git import Git, RaceError
from ...project.open import Project
from ...runs.layout import runs_folder
from ...runs.requests import Ask, clear_request
from ...runs.supervisor import AUTOPILOT, Supervision, hold
from ..callers import can_call
from ..delivery.effects import AGAIN
from ..delivery.observing import PATIENCE
from ..delivery.plan import LOCAL
from ..driving import RunEnd
from ..onlookers import Human, Told
from ..policy import with_policy
from ..waiting import Waiting
from ..world.delivery import ForgeMaker
from .budgets import Budgets
from .charges import Charges
from .crew import Alone, Beside, Crew, Drove, Work
from .driver import Driver, Ears
from .epics import Epics
from .finding import Start, check_patterns
from .fleet import Fleet
from .holding import Orders, first_asked
from .lanes import Held, held_lanes
from .lookout import RESCAN, Lookout
from .places import Places
from .preflight import base_of, check_forge, check_ground, check_remote
from .roster import GivenUp, Roster
from .search import Search
from .shared_forge import ForgeDoor
from .sizes import sizes_of
from .telling import Telling
from .watching import PASSING
from .wishes import Wishes

JOIN = 30.0  # seconds that lanes are waited for when all of them end


class Ending(NamedTuple):
    exit_code: int
    merged: tuple[str, ...]  # epics, in this command
    lanes: tuple[Held, ...]  # that are not over
    why: str = ""
    met: str = ""  # the bound of the command that ended it
    given_up: tuple[tuple[str, GivenUp], ...] = ()  # epics that could not be begun


def autopilot(
    project: Project,
    wishes: Wishes,
    *,
    told: Told,
    human: Human | None = None,
    forge: ForgeMaker | None = None,
    clock: Callable[[], float] = time.time,
) -> Ending:
    project.bmad.require_supported()
    check_patterns(wishes.patterns)
    project = with_policy(project, told)
    with hold(project.state_folder, AUTOPILOT) as supervision:
        pilot = _Pilot(project, wishes, told, human, forge, supervision, clock)
        return pilot.fly()


class _Pilot:
    def __init__(
        self,
        project: Project,
        wishes: Wishes,
        told: Told,
        human: Human | None,
        forge: ForgeMaker | None,
        supervision: Supervision,
        clock: Callable[[], float],
    ) -> None:
        self.project = project
        self.wishes = wishes
        self._telling = Telling(project.root.path, told)
        self._human = human
        self._charges = Charges(supervision)
        self._now = clock
        self._git = Git(project.root.checkout)
        self.config = project.config
        self._branches = Branches(self._git, self.config.github.remote)
        runs, session = runs_folder(project.root.path), wishes.session
        self._roster = Roster(lambda: held_lanes(runs, session, go_on=True))
        self._waiting = Waiting()
        self._stopped = threading.Event()
        remote, apart = self.config.github.remote, wishes.parallel > 0
        self._forge = ForgeDoor(self._git, remote, forge, self._pause, is_shared=apart)
        self._crew: Crew = Beside(self._waiting.poke) if wishes.parallel else Alone()
        self._sizes = sizes_of(project)
        self._fleet = Fleet(
            wishes.parallel,
            self._waiting.poke,
            mend_first=self.config.github.mend_first,
            seconds=self._sizes.of_step,
            can_call=lambda: can_call(project, self._sizes.workflow.steps),
        )
        self._budgets = Budgets(wishes.bounds, clock)
        self._orders = Orders(project.state_folder, self._budgets)
        self._held_since: dict[str, float] = {}  # lane → since when something is in its way in the work tree

    @property
    def lanes(self) -> list[Held]:
        return self._roster.lanes

    # the loop

    def fly(self) -> Ending:
        try:
            with self._waiting.signals(self._stopping):
                self._prepare()
                return self._loop()
        finally:
            self._leave_nobody()
            self._waiting.close()

    def _leave_nobody(self) -> None:
        """Whatever we end with: nobody goes on once another supervisor may be here."""
        if self._crew.at_work:
            self._stopped.set()
            self._crew.stop(max(1, self._waiting.stops))
            self._crew.join(JOIN)

    def _stopping(self, times: int) -> None:
        """Of one at a time told by us only between two lanes: an agent is at work then only if nobody has got to
        it yet. Of several each may have one."""
        self._stopped.set()
        self._crew.stop(times)
        is_idle = not self._crew.at_work and not any(held.is_busy for held in self.lanes)
        self._telling.stopping(times, is_idle=is_idle)

    def _prepare(self) -> None:
        project, wishes, apart = self.project, self.wishes, self.wishes.parallel > 0
        lanes = held_lanes(runs_folder(project.root.path), wishes.session, go_on=wishes.go_on)
        check_ground(self._git, lanes, apart=apart)
        for held in lanes:
            clear_request(held.folder)  # was asked of an earlier command
        if project.config.delivery != LOCAL:  # before git asks the remote: it may be somebody else's than GitHub's
            check_remote(self._branches, project.config.github.remote)
            check_forge(self._forge())
        base = base_of(self._branches, project.config)
        say = self._telling.say
        self._epics = Epics(project, wishes, self._branches, base, self._forge, say, self._sizes)
        self._search = Search(self._epics, self._roster, self._fleet, say, self._now, self._has_others)
        self._lookout = Lookout(
            project.config, self._branches, base, self._forge, self._orders, self._now, wishes.bounds.until
        )
        self._places = Places(project, self._branches, say, apart=apart)
        self._places.tidy({held.lane.key for held in lanes})
        ears = Ears(self._telling, self._fleet, self._budgets, self._waiting)
        self._driver = Driver(
            *(project, wishes, base, self._places, self._charges, ears, self._orders, self._human, self._forge),
            taken=lambda key: self._places.taken(key, self.lanes),
        )
        self._roster.lanes = lanes
        self._charges.take_over(held.folder for held in lanes)

    def _pause(self, seconds: float) -> None:
        if threading.current_thread() is threading.main_thread():
            self._waiting.until(time.time() + seconds)
        else:
            self._stopped.wait(seconds)

    def _loop(self) -> Ending:
        while True:
            ended = self._take_in()
            if ended is not None:
                return ended
            self._hear_stop()
            if self._waiting.stops:
                return self._stop()
            driven = self._crew.at_work
            if self._orders.is_held_back():
                if not driven:
                    return self._end(EXIT_FAILED if self._roster.is_blocked else EXIT_HUMAN, Ask.PAUSE.value)
                self._crew.wake()
                self._waiting.until(time.time() + RESCAN, (self._orders.path,))
                continue
            for key in self._roster.obey(driven):
                self._fleet.seats(key).turn.give_back()  # it may be long before it is merged
            views = [held.view() for held in self._roster.idle(driven)]
            room = self._fleet.has_room() if self.wishes.parallel else is_vacant(views)
            most = self.config.github.max_pending
            epics = iter(()) if self.wishes.once else self._search.look()
            choice = choose_lane(views, epics, most=most, room=room, driven=len(driven))
            if choice.phase in (Phase.DONE, Phase.BLOCKED) and driven:
                choice = Choice(Phase.WAIT_COPILOT)  # until those at work come back
            if not driven or choice.key:
                self._tell(choice)
            ended = self._act(choice)
            if ended is not None:
                return ended

    def _tell(self, choice: Choice) -> None:
        held = self._roster.of(choice.key)
        epic = held.lane.epic if held else choice.key.removeprefix("epic-")
        self._telling.chose(choice.phase, choice.key, epic or "", self.lanes)

    def _has_others(self) -> bool:
        return bool(self._crew.at_work) or any(held.stage is Stage.WAITS for held in self.lanes)

    def _act(self, choice: Choice) -> Ending | None:
        if choice.phase is Phase.DONE:
            return self._end(EXIT_FAILED if self._roster.given_up else EXIT_DONE)
        if choice.phase is Phase.BLOCKED:
            asked = first_asked(self.lanes)
            code = EXIT_HUMAN if asked in (None, Ask.PAUSE) else EXIT_INTERRUPTED
            return self._end(EXIT_FAILED if self._roster.is_blocked else code, asked.value if asked else "")
        if choice.phase is Phase.WAIT_COPILOT:
            is_over = self.wishes.once and not self._crew.at_work
            if is_over:
                return self._end(EXIT_HUMAN)
            self._watch()
            return None
        if choice.phase is Phase.FIND_EPIC:
            self._begin(self._search.found(choice.key))
            return None
        held = self._roster.of(choice.key)
        assert held is not None
        self._go_on(held)
        return None

    def _take_in(self) -> Ending | None:
        """What became of the lanes that were driven."""
        for drove in self._crew.came_back():
            self._fleet.came_back(drove.key, well=drove.end is not None)
            self._lookout.look_now()
            if drove.end is None:
                self._broke_off(drove)
                continue
            ended = self._took(drove.end)
            if ended is not None:
                return ended
        return None

    def _broke_off(self, drove: Drove) -> None:
        """The others go on. What is every lane's is not tried again, nor what a moment cannot mend: before a run
        exists, that is whatever stands where the lane's branch or worktree belongs."""
        error = drove.error
        assert error is not None
        if isinstance(error, ForgeError) and error.trouble is Trouble.LOGIN:
            raise error
        is_passing = isinstance(error, RaceError)  # another git was quicker, or holds a lock
        is_refused = isinstance(error, UsageError | ConflictError) and not is_passing
        is_in_the_way = is_refused and not self._roster.has_run(drove.key)
        again = not is_in_the_way and self._fleet.tries_again(drove.key)
        self._telling.broke_off(drove, again)
        self._roster.broke_off(drove.key, drove.why, drove.hint, again=again)

    def _stop(self) -> Ending:
        """Each lane is left as it stands; agents go on, unless somebody asks once more."""
        preparing = self._places.preparing
        for waited in preparing.under_way():
            self._telling.say(f"{waited} is waited for; Ctrl-C again, or bmad stop --now, ends it")
        self._crew.stop(self._waiting.stops)
        while not self._crew.join(0.2):
            self._hear_stop()
            self._crew.stop(self._waiting.stops)
            if self._waiting.stops > 1:
                preparing.end()
        for drove in self._crew.came_back():
            if drove.end is not None:
                self._took(drove.end)
            else:
                self._telling.broke_off(drove, again=False)
        return self._end(EXIT_INTERRUPTED, "stopped")

    def _took(self, end: RunEnd) -> Ending | None:
        self._roster.took(end)
        if end.status in ("completed", "not-done"):
            self._charges.remove(end.folder)
            if end.record.delivery.merged:
                self._telling.merged(end.lane.key, end.lane.epic or end.lane.key)
                self._places.clear(end.lane.key)
        elif end.status in ("left", "paused") and not self.wishes.parallel:
            is_stopped = end.status == "left" or self._orders.stops() > 0
            return self._end(EXIT_INTERRUPTED if is_stopped else EXIT_HUMAN, end.status)
        return None

    # driving

    def _begin(self, epic: Candidate) -> None:
        self._roster.begin(epic)
        if self._fleet.pause(epic.key):  # it broke off before: where it begins is looked at after that
            self._set_out(epic, lambda: self._epics.start(epic, self.lanes))
            return
        try:
            start = self._epics.start(epic, self.lanes)
        except AutopilotError as error:
            if not self.wishes.parallel:
                raise
            self._cannot_begin(epic.key, error)
            return
        self._set_out(epic, lambda: start)

    def _set_out(self, epic: Candidate, start: Callable[[], Start]) -> None:
        self._fleet.begin(epic)
        self._drive(epic.key, lambda waiting: self._driver.begin(epic, start(), waiting))

    def _cannot_begin(self, key: str, error: AutopilotError) -> None:
        """A forge that is away is so for all epics; anything else is this one's."""
        if isinstance(error, ForgeError) and error.trouble in PASSING:
            self._roster.drop(key)
            self._search.later(error)
        else:
            self._broke_off(Drove(key, None, error, str(error)))

    def _go_on(self, held: Held) -> None:
        key = held.lane.key
        why = self._places.stand(held, self.lanes)
        if why and self._is_overdue(key):
            self._held_since.pop(key)
            error = ConflictError(f"the work tree: {why}")
            self._telling.broke_off(Drove(key, None, error, str(error)), again=False)
            self._roster.broke_off(key, error.what, again=False)
            self._fleet.seats(key).turn.give_back()
            return
        if why:
            until = self._now() + AGAIN
            self._roster.hold_up(held, f"the work tree: {why}", until)
            self._telling.held_up(held, f"the work tree: {why}", until)
            self._fleet.seats(key).turn.give_back()
            return
        self._held_since.pop(key, None)
        self._fleet.go_on(held)
        self._drive(key, lambda waiting: self._driver.go_on(held, waiting))

    def _is_overdue(self, key: str) -> bool:
        """Whether something has been in this lane's way in the work tree for too long. Another lane's unfinished
        work ends by itself, or with an answer of a person's."""
        if self._places.taken(key, self.lanes):
            self._held_since.pop(key, None)
            return False
        return self._now() >= self._held_since.setdefault(key, self._now()) + PATIENCE

    def _drive(self, key: str, work: Work) -> None:
        """One that broke off comes back after a while: what broke it may be over by then."""
        self._crew.start(key, work, self._fleet.pause(key))

    def _hear_stop(self) -> None:
        self._waiting.stops = max(self._waiting.stops, self._orders.stops())

    def _watch(self) -> None:
        idle = self._roster.idle(self._crew.at_work)
        moved = self._lookout.wait(idle, self._waiting, self._crew, self._fleet, self._search.again)
        self._search.waited()
        self._roster.move(moved)

    def _end(self, code: int, why: str = "") -> Ending:
        met = self._budgets.met() if why in (Ask.PAUSE.value, "paused") else ""
        why = why or "; ".join(f"{key}: {one.why}" for key, one in self._roster.given_up.items())
        if met or why == Ask.PAUSE:
            self._roster.park(met.partition(":")[0] or "paused")
        self._telling.left(self.lanes)
        given_up = tuple(self._roster.given_up.items())
        return Ending(code, tuple(self._roster.merged), tuple(self.lanes), why, met, given_up)
