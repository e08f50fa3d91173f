"""The autopilot: which epic goes on, driven as far as it goes; what waits is watched meanwhile, by one query for
all of them. Nothing waits for an approval: the next epic is begun."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from math import inf
from typing import Any, NamedTuple

from ...core.errors import EXIT_DONE, EXIT_FAILED, EXIT_HUMAN, EXIT_INTERRUPTED, AutopilotError
from ...core.rules import Phase
from ...core.schedule import Candidate, Choice, Stage, choose_lane, is_vacant
from ...github.branches import Branches
from ...github.forge import Forge, ForgeError, Trouble
from ...github.git import Git
from ...github.ground import look_at_ground, refusal, unfit
from ...project.open import Project
from ...runs.layout import runs_folder
from ...runs.requests import Ask, clear_request
from ...runs.supervisor import AUTOPILOT, Supervision, hold
from ..checkpointing import first_variables
from ..delivery.plan import LOCAL
from ..driving import RunEnd, drive, go_on
from ..lane import Lane
from ..onlookers import Human, Told
from ..policy import with_policy
from ..running import new_folder
from ..seats import Seats
from ..setting_out import NO_CAPS, DirtyTree, new_lane, target_row
from ..waiting import Waiting
from ..world.delivery import ForgeMaker
from .budgets import Budgets
from .crew import Alone, Beside, Crew, Drove
from .epics import Epics
from .finding import Start, check_patterns
from .fleet import Fleet
from .holding import Orders, as_asked, first_asked, parked, request_files
from .lanes import Held, after, held_lanes, is_answered, placed, question_files
from .places import Places
from .planning import plan_for
from .shared_forge import shared
from .telling import Telling
from .watching import AWAY, PASSING, moved_here, moved_lanes
from .wishes import Wishes

# Seconds after which a pending pull request is looked at whole, whatever its mark says: a net, and no more often,
# because a hundred of them cost hundreds of points each time.
RESCAN = 7200.0
JOIN = 30.0  # seconds that lanes are waited for when all of them end


class Ending(NamedTuple):
    exit_code: int
    merged: tuple[str, ...]  # epics, in this command
    lanes: tuple[Held, ...]  # that are not over
    why: str = ""
    met: str = ""  # the bound of the command that ended it


def autopilot(
    project: Project,
    wishes: Wishes,
    *,
    told: Told,
    human: Human | None = None,
    forge: ForgeMaker | None = None,
    clock: Callable[[], float] = time.time,
) -> Ending:
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
        self._lock = threading.RLock()  # of what all lanes tell
        self._telling = Telling(project.root.path, told)
        self._human = human
        self._maker = forge
        self._supervision = supervision
        self._now = clock
        self._git = Git(project.root.checkout)
        self._branches = Branches(self._git, project.config.github.remote)
        self.config = project.config
        self.is_local = project.config.delivery == LOCAL
        self.lanes: list[Held] = []
        self.merged: list[str] = []
        self._over: list[str] = []  # in this command; one that was left as it is on its branch is not begun again
        self._begun: dict[str, str] = {}  # epics that are just being begun, with their numbers
        self._parked: dict[str, str] = {}  # of those the ones that could not be, and why
        self._looks_at = 0.0  # at all pull requests that wait
        self._looks_again = inf  # for epics, where that could not be done just now
        self._waiting = Waiting()
        self._stopped = threading.Event()
        self._forge: Forge | None = None
        self._crew: Crew = Beside(self._waiting.poke) if wishes.parallel else Alone()
        self._fleet = Fleet(wishes.parallel, self._waiting.poke, mend_first=self.config.github.mend_first)
        self._budgets = Budgets(wishes.bounds, clock)
        self._orders = Orders(project.state_folder, self._budgets)
        self._runs: dict[str, None] = {}  # that are looked after

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
        """Told by us only between two lanes: an agent is at work then only if nobody has got to it yet."""
        self._stopped.set()
        self._crew.stop(times)
        self._telling.stopping(times, is_idle=not any(held.is_busy for held in self.lanes))

    def _prepare(self) -> None:
        ground = look_at_ground(self._git)
        problem = refusal(ground) if ground.branch is not None else unfit(ground)  # a branch is switched to
        if problem is not None:
            raise problem
        self.lanes = held_lanes(runs_folder(self.project.root.path), self.wishes.session, go_on=self.wishes.go_on)
        for held in self.lanes:
            clear_request(held.folder)  # was asked of an earlier command
            self._runs[os.path.basename(held.folder)] = None
        if ground.dirty and not self.wishes.parallel and not any(held.is_at_work for held in self.lanes):
            raise DirtyTree(ground.dirty)
        if not self.is_local:
            self._check_forge()  # before git asks the remote anything: it may be somebody else's than GitHub's
        self.base = self._base()
        say = self._telling.say
        self._epics = Epics(self.project, self.wishes, self._branches, self.base, self.forge, say)
        self._places = Places(self.project, self._branches, say, apart=self.wishes.parallel > 0)
        self._places.tidy({held.lane.key for held in self.lanes})
        self._supervision.looks_after(tuple(self._runs), next(reversed(self._runs), ""))
        self._supervision.is_ready()

    def _base(self) -> str:
        base = self._branches.base_branch(self.config.base_branch)
        if base is None:
            hint = 'base_branch = "…" in bmad-autopilot.toml'
            raise AutopilotError("it cannot be told which branch work goes to", hint=hint)
        return base

    def _check_forge(self) -> None:
        """What cannot work is said before an agent costs anything."""
        if not self._branches.remote_url():
            remote = self.config.github.remote
            hint = f'git remote add {remote} …; or delivery = "local" in bmad-autopilot.toml: merged here'
            raise AutopilotError(f"there is no remote called {remote}", expected="a GitHub repository", hint=hint)
        repository = self.forge().repository()
        name = repository.full_name
        if repository.is_archived:
            raise AutopilotError(f"{name} is archived", expected="a repository that takes pull requests")
        if not repository.can_push:
            hint = "gh auth status shows whose login is used; a fork's owner sets its remote as origin"
            raise AutopilotError(f"{repository.viewer or 'this login'} may not push to {name}", hint=hint)

    def forge(self) -> Forge:
        if self._forge is None:
            if self._maker is not None:
                self._forge = self._maker(self._git, self.config.github.remote)
            else:
                from ...github.gh_forge import find_forge

                self._forge = find_forge(self._git, self.config.github.remote, wait=self._pause)
            if self.wishes.parallel:
                self._forge = shared(self._forge)
        return self._forge

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
                    return self._end(EXIT_FAILED if self._is_blocked() else EXIT_HUMAN, Ask.PAUSE.value)
                self._crew.wake()
                self._waiting.until(time.time() + RESCAN, (self._orders.path,))
                continue
            self.lanes = as_asked(self.lanes, driven)
            epics: list[Candidate] = []
            views = [held.view() for held in self.lanes if held.lane.key not in driven]
            room = self._fleet.has_room() if self.wishes.parallel else is_vacant(views)
            most = self.config.github.max_pending
            choice = choose_lane(views, self._looked_for(epics), most=most, room=room, driven=len(driven))
            if choice.phase in (Phase.DONE, Phase.BLOCKED) and driven:
                choice = Choice(Phase.WAIT_COPILOT)  # until those at work come back
            if not driven or choice.key:
                self._tell(choice)
            ended = self._act(choice, epics)
            if ended is not None:
                return ended

    def _tell(self, choice: Choice) -> None:
        held = next((one for one in self.lanes if one.lane.key == choice.key), None)
        epic = held.lane.epic if held else choice.key.removeprefix("epic-")
        self._telling.chose(choice.phase, choice.key, epic or "", self.lanes)

    def _looked_for(self, found: list[Candidate]) -> Iterator[Candidate]:
        """Only where one could be begun: each look costs points of the hour's."""
        if self.wishes.once or (self._now() < self._looks_again < inf and self._has_others()):
            return
        self._looks_again = inf
        try:
            found += self._epics.found(self.lanes, self._over, self._begun)
        except ForgeError as error:
            self._look_later(error)
        yield from found

    def _look_later(self, error: ForgeError) -> None:
        """Those that wait are watched meanwhile, and those at work go on."""
        if error.trouble not in PASSING or not self._has_others():
            raise error
        self._looks_again = max(error.until, self._now() + AWAY)

    def _has_others(self) -> bool:
        return bool(self._crew.at_work) or any(held.stage is Stage.WAITS for held in self.lanes)

    def _act(self, choice: Choice, epics: list[Candidate]) -> Ending | None:
        if choice.phase is Phase.DONE:
            return self._end(EXIT_FAILED if self._parked else EXIT_DONE)
        if choice.phase is Phase.BLOCKED:
            asked = first_asked(self.lanes)
            code = EXIT_HUMAN if asked in (None, Ask.PAUSE) else EXIT_INTERRUPTED
            return self._end(EXIT_FAILED if self._is_blocked() else code, asked.value if asked else "")
        if choice.phase is Phase.WAIT_COPILOT:
            is_over = self.wishes.once and not self._crew.at_work
            return self._end(EXIT_HUMAN) if is_over else self._watch()
        if choice.phase is Phase.FIND_EPIC:
            self._begin(next(one for one in epics if one.key == choice.key))
            return None
        self._go_on(next(one for one in self.lanes if one.lane.key == choice.key))
        return None

    def _is_blocked(self) -> bool:
        return bool(self._parked) or any(held.stage is Stage.BLOCKED for held in self.lanes)

    def _take_in(self) -> Ending | None:
        """What became of the lanes that were driven."""
        for drove in self._crew.came_back():
            self._fleet.came_back(drove.key)
            self._looks_at = 0.0  # what it did may have moved others
            if drove.end is None:
                self._broke_off(drove)
                continue
            self._begun.pop(drove.key, None)
            ended = self._took(drove.end)
            if ended is not None:
                return ended
        return None

    def _broke_off(self, drove: Drove) -> None:
        """The others go on. What is every lane's is not tried again."""
        assert drove.error is not None
        if isinstance(drove.error, ForgeError) and drove.error.trouble is Trouble.LOGIN:
            raise drove.error
        held = self._known(drove.key)
        why = " ".join(str(drove.error).split())
        again = self._fleet.tries_again(drove.key)
        self._telling.broke_off(drove.key, why, drove.trace, again)
        if held is not None or again:
            self._begun.pop(drove.key, None)
        if held is not None:
            stage = held.moved().stage if again else Stage.BLOCKED
            self.lanes = placed(self.lanes, held._replace(stage=stage, why=why))
        elif not again:  # it stays begun: what waits for it does not begin without it
            self._parked[drove.key] = why

    def _known(self, key: str) -> Held | None:
        """As its records have it now: before it broke off it may have got far, and may have an agent at work."""
        found = held_lanes(runs_folder(self.project.root.path), self.wishes.session, go_on=True)
        return next((held for held in found if held.lane.key == key), None)

    def _stop(self) -> Ending:
        """Each lane is left as it stands; agents go on, unless somebody asks once more."""
        self._crew.stop(self._waiting.stops)
        while not self._crew.join(0.2):
            self._hear_stop()
            self._crew.stop(self._waiting.stops)
        for drove in self._crew.came_back():
            if drove.end is not None:
                self._took(drove.end)
            else:
                self._telling.broke_off(drove.key, " ".join(str(drove.error).split()), drove.trace, again=False)
        return self._end(EXIT_INTERRUPTED, "stopped")

    def _took(self, end: RunEnd) -> Ending | None:
        if end.status in ("completed", "not-done"):
            self.lanes = [held for held in self.lanes if held.folder != end.folder]
            self._lets_go(end.folder)
            self._over.append(end.lane.key)
            if end.record.delivery.merged:
                self.merged.append(end.lane.key)
                self._telling.merged(end.lane.key, end.lane.epic or end.lane.key)
                self._places.clear(end.lane.key)
            return None
        self.lanes = placed(self.lanes, after(end))
        if end.status in ("left", "paused") and not self.wishes.parallel:
            is_stopped = end.status == "left" or self._orders.stops() > 0
            return self._end(EXIT_INTERRUPTED if is_stopped else EXIT_HUMAN, end.status)
        return None

    # driving

    def _begin(self, epic: Candidate) -> None:
        self._begun[epic.key] = epic.number
        try:
            start = self._epics.start(epic, self.lanes)
        except AutopilotError as error:
            if not self.wishes.parallel:
                raise
            self._cannot_begin(epic.key, error)
            return
        self._fleet.begin(epic.key, epic.number, self._epics)
        self._crew.start(epic.key, lambda waiting: self._drive_new(epic, start, waiting))

    def _cannot_begin(self, key: str, error: AutopilotError) -> None:
        if isinstance(error, ForgeError) and error.trouble in PASSING:
            self._begun.pop(key)
            self._look_later(error)
        else:
            self._broke_off(Drove(key, None, error, str(error)))

    def _drive_new(self, epic: Candidate, start: Start, waiting: Waiting | None) -> RunEnd:
        project = self._places.begin(epic.key, start.branch, start.commit)
        row = target_row(project, "epic", epic.key)
        lane = new_lane(project, "epic", row, NO_CAPS, None, False)
        plan = plan_for(self.config, epic, start, self.base, draft=self.wishes.draft)
        lane = lane._replace(
            branch=start.branch,
            session=self.wishes.session,
            unattended=dict(self.wishes.unattended),
            delivery=plan,
        )
        folder = new_folder(project, lane)
        self._looks_after(folder)
        known = first_variables(lane, os.path.basename(project.root.path))
        return drive(
            project,
            lane,
            folder,
            self._hears(lane),
            self._human,
            resumed=False,
            variables=known,
            forge=lambda git, remote: self.forge(),
            seats=self._seats(epic.key),
            waiting=waiting,
        )

    def _go_on(self, held: Held) -> None:
        self._fleet.go_on(held)
        self._crew.start(held.lane.key, lambda waiting: self._drive_on(held, waiting))

    def _drive_on(self, held: Held, waiting: Waiting | None) -> RunEnd:
        self._looks_after(held.folder)
        return go_on(
            self._places.go_on(held),
            held.folder,
            self._hears(held.lane),
            self._human,
            NO_CAPS,
            unattended=self.wishes.unattended,
            forge=lambda git, remote: self.forge(),
            seats=self._seats(held.lane.key),
            waiting=waiting,
        )

    def _looks_after(self, folder: str) -> None:
        with self._lock:
            self._runs[os.path.basename(folder)] = None
            self._supervision.looks_after(tuple(self._runs), os.path.basename(folder))

    def _lets_go(self, folder: str) -> None:
        with self._lock:
            self._runs.pop(os.path.basename(folder), None)
            self._supervision.looks_after(tuple(self._runs), next(reversed(self._runs), ""))

    def _seats(self, key: str) -> Seats:
        return self._fleet.seats(key)._replace(held_back=self._orders.is_held_back)

    def _hear_stop(self) -> None:
        self._waiting.stops = max(self._waiting.stops, self._orders.stops())

    def _hears(self, lane: Lane) -> Told:
        tell = self._telling.of_lane(lane.key, lane.epic or "")

        def heard(kind: str, data: Mapping[str, Any], at: float) -> None:
            if kind == "stopping":  # also where the lane had nothing left to do, and does not say that it was left
                self._waiting.stops += 1
            self._fleet.heard(lane.key, kind, data)
            note = self._budgets.heard(kind, data)
            with self._lock:
                tell(kind, data, at)
                if note:
                    self._telling.say(note)
            if kind == "ended" and self._budgets.met():
                self._waiting.poke()

        return heard

    # waiting

    def _watch(self) -> Ending | None:
        """One look at all pending pull requests, and a wait until the next. What has changed or was answered, and
        what has had its time, can go on."""
        idle = [held for held in self.lanes if held.lane.key not in self._crew.at_work]
        waits = [held for held in idle if held.stage is Stage.WAITS]
        asks = [held for held in idle if held.stage is Stage.ASKS]
        requests = [self._orders.path, *request_files(idle)]
        files = (*requests, *(path for held in asks for path in question_files(held)))
        rescan = min(self._now() + RESCAN, self._looks_again)
        while not self._waiting.stops and not self._crew.has_news and not self._fleet.has_news():
            if self._orders.stops() or self._orders.is_held_back() or as_asked(idle, ()) != idle:
                return None
            moved = {held.folder for held in asks if is_answered(held)}
            moved |= {held.folder for held in waits if held.lane.key in self._fleet.turned()}
            if self._now() >= self._looks_at:
                moved |= self._moved(waits)
                self._looks_at = self._now() + self._interval()
            is_over = self._now() >= rescan
            if is_over:
                self._looks_again = inf
                moved |= {held.folder for held in waits}
            if moved or is_over:
                self.lanes = [held.moved() if held.folder in moved else held for held in self.lanes]
                return None
            times = [held.until for held in waits if held.until is not None and held.until > self._now()]
            times += [until for until in (self.wishes.bounds.until,) if until is not None]
            self._waiting.until(min([self._looks_at, rescan, *times]), files)
        return None

    def _moved(self, waits: list[Held]) -> set[str]:
        if self.is_local:
            return moved_here(waits, self._now(), self._branches.head_of(self.base))
        return moved_lanes(waits, self._now(), self.forge(), self._waiting.until)

    def _interval(self) -> float:
        seconds = float(self.config.github.check_interval)
        return seconds if self.is_local else self.forge().pace(seconds)

    def _end(self, code: int, why: str = "") -> Ending:
        met = self._budgets.met() if why in (Ask.PAUSE.value, "paused") else ""
        why = why or "; ".join(f"{key}: {said}" for key, said in self._parked.items())
        if met or why == Ask.PAUSE:
            self.lanes = [parked(held, met.partition(":")[0] or "paused") for held in self.lanes]
        self._telling.left(self.lanes)
        return Ending(code, tuple(self.merged), tuple(self.lanes), why, met)
