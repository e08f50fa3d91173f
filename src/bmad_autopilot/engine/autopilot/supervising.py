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
from ...runs.requests import Ask, read_request, request_path
from ...runs.supervisor import Supervision, hold
from ..checkpointing import first_variables
from ..delivery.plan import LOCAL
from ..driving import RunEnd, drive, go_on
from ..lane import Lane
from ..onlookers import Human, Told
from ..policy import with_policy
from ..running import new_folder
from ..setting_out import DirtyTree, new_lane, target_row
from ..waiting import Waiting
from ..world.delivery import ForgeMaker
from .crew import Alone, Beside, Crew, Drove
from .epics import Epics
from .finding import Start, check_patterns
from .fleet import Fleet
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
    with hold(project.state_folder, "autopilot") as supervision:
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
        self._looks_at = 0.0  # at all pull requests that wait
        self._looks_again = inf  # for epics, where that could not be done just now
        self._waiting = Waiting()
        self._stopped = threading.Event()
        self._forge: Forge | None = None
        self._crew: Crew = Beside(self._waiting.poke) if wishes.parallel else Alone()
        self._fleet = Fleet(wishes.parallel, self._waiting.poke, mend_first=self.config.github.mend_first)

    # the loop

    def fly(self) -> Ending:
        try:
            with self._waiting.signals(self._stopping):
                self._prepare()
                return self._loop()
        finally:
            self._waiting.close()

    def _stopping(self, times: int) -> None:
        self._stopped.set()
        self._crew.stop(times)
        """Told by us only between two lanes: an agent is at work then only if nobody has got to it yet."""
        self._telling.stopping(times, is_idle=not any(held.is_busy for held in self.lanes))

    def _prepare(self) -> None:
        ground = look_at_ground(self._git)
        problem = refusal(ground) if ground.branch is not None else unfit(ground)  # a branch is switched to
        if problem is not None:
            raise problem
        self.lanes = held_lanes(runs_folder(self.project.root.path), self.wishes.session, go_on=self.wishes.go_on)
        if ground.dirty and not self.wishes.parallel and not any(held.is_at_work for held in self.lanes):
            raise DirtyTree(ground.dirty)
        if not self.is_local:
            self._check_forge()  # before git asks the remote anything: it may be somebody else's than GitHub's
        self.base = self._base()
        say = self._telling.say
        self._epics = Epics(self.project, self.wishes, self._branches, self.base, self.forge, say)
        self._places = Places(self.project, self._branches, say, apart=self.wishes.parallel > 0)
        self._places.tidy({held.lane.key for held in self.lanes})

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
            if self._waiting.stops:
                return self._stop()
            epics: list[Candidate] = []
            driven = self._crew.at_work
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
        if self.wishes.once:
            return
        try:
            found += self._epics.found(self.lanes, self._over, self._begun)
        except ForgeError as error:
            if error.trouble not in PASSING or not any(held.stage is Stage.WAITS for held in self.lanes):
                raise
            self._looks_again = max(error.until, self._now() + AWAY)  # those that wait are watched meanwhile
        yield from found

    def _act(self, choice: Choice, epics: list[Candidate]) -> Ending | None:
        if choice.phase is Phase.DONE:
            return self._end(EXIT_DONE)
        if choice.phase is Phase.BLOCKED:
            is_blocked = any(held.stage is Stage.BLOCKED for held in self.lanes)
            return self._end(EXIT_FAILED if is_blocked else EXIT_HUMAN)
        if choice.phase is Phase.WAIT_COPILOT:
            is_over = self.wishes.once and not self._crew.at_work
            return self._end(EXIT_HUMAN) if is_over else self._watch()
        if choice.phase is Phase.FIND_EPIC:
            self._begin(next(one for one in epics if one.key == choice.key))
            return None
        self._go_on(next(one for one in self.lanes if one.lane.key == choice.key))
        return None

    def _take_in(self) -> Ending | None:
        """What became of the lanes that were driven."""
        for drove in self._crew.came_back():
            self._fleet.came_back(drove.key)
            self._looks_at = 0.0  # what it did may have moved others
            self._begun.pop(drove.key, None)
            if drove.end is None:
                self._broke_off(drove)
                continue
            ended = self._took(drove.end)
            if ended is not None:
                return ended
        return None

    def _broke_off(self, drove: Drove) -> None:
        """The others go on. What is every lane's is not tried again."""
        assert drove.error is not None
        if isinstance(drove.error, ForgeError) and drove.error.trouble is Trouble.LOGIN:
            self._crew.stop(1)
            self._crew.join(JOIN)
            raise drove.error
        held = next((one for one in self.lanes if one.lane.key == drove.key), None)
        why = " ".join(str(drove.error).split())
        again = self._fleet.tries_again(drove.key)
        self._telling.broke_off(drove.key, why, drove.trace, again)
        if held is not None:
            stage = held.moved().stage if again else Stage.BLOCKED
            self.lanes = placed(self.lanes, held._replace(stage=stage, why=why))
        elif not again:
            self._over.append(drove.key)

    def _stop(self) -> Ending:
        """Each lane is left as it stands; agents go on, unless somebody asks once more."""
        self._crew.stop(self._waiting.stops)
        while not self._crew.join(0.2):
            self._crew.stop(self._waiting.stops)
        for drove in self._crew.came_back():
            if drove.end is not None:
                self.lanes = placed(self.lanes, after(drove.end))
        return self._end(EXIT_INTERRUPTED, "stopped")

    def _took(self, end: RunEnd) -> Ending | None:
        if end.status in ("completed", "not-done"):
            self.lanes = [held for held in self.lanes if held.folder != end.folder]
            self._over.append(end.lane.key)
            if end.record.delivery.merged:
                self.merged.append(end.lane.key)
                self._telling.merged(end.lane.key, end.lane.epic or end.lane.key)
                self._places.clear(end.lane.key)
            return None
        self.lanes = placed(self.lanes, after(end))
        if end.status in ("left", "paused") and not self.wishes.parallel:
            return self._end(EXIT_INTERRUPTED if end.status == "left" else EXIT_HUMAN, end.status)
        return None

    # driving

    def _begin(self, epic: Candidate) -> None:
        start = self._epics.start(epic, self.lanes)
        self._fleet.begin(epic.key, epic.number, self._epics)
        self._begun[epic.key] = epic.number
        self._crew.start(epic.key, lambda waiting: self._drive_new(epic, start, waiting))

    def _drive_new(self, epic: Candidate, start: Start, waiting: Waiting | None) -> RunEnd:
        project = self._places.begin(epic.key, start.branch, start.commit)
        row = target_row(project, "epic", epic.key)
        lane = new_lane(project, "epic", row, self.wishes.caps, None, False)
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
            seats=self._fleet.seats(epic.key),
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
            self.wishes.caps,
            unattended=self.wishes.unattended,
            forge=lambda git, remote: self.forge(),
            seats=self._fleet.seats(held.lane.key),
            waiting=waiting,
        )

    def _looks_after(self, folder: str) -> None:
        with self._lock:
            self._supervision.takes_up(os.path.basename(folder))

    def _hears(self, lane: Lane) -> Told:
        tell = self._telling.of_lane(lane.key, lane.epic or "")

        def heard(kind: str, data: Mapping[str, Any], at: float) -> None:
            if kind == "stopping":  # also where the lane had nothing left to do, and does not say that it was left
                self._waiting.stops += 1
            self._fleet.heard(lane.key, kind, data)
            with self._lock:
                tell(kind, data, at)

        return heard

    # waiting

    def _watch(self) -> Ending | None:
        """One look at all pending pull requests, and a wait until the next. What has changed or was answered, and
        what has had its time, can go on."""
        idle = [held for held in self.lanes if held.lane.key not in self._crew.at_work]
        waits = [held for held in idle if held.stage is Stage.WAITS]
        asks = [held for held in idle if held.stage is Stage.ASKS]
        if waits:
            self._looks_after(waits[0].folder)  # whom `bmad stop` means now
        requests = [request_path(held.folder) for held in waits[:1]]
        files = (*requests, *(path for held in asks for path in question_files(held)))
        rescan, self._looks_again = min(self._now() + RESCAN, self._looks_again), inf
        while not self._waiting.stops and not self._crew.has_news and not self._fleet.has_news():
            asked = read_request(waits[0].folder) if waits else None
            if asked is not None:
                return self._end(EXIT_HUMAN if asked is Ask.PAUSE else EXIT_INTERRUPTED, asked.value)
            moved = {held.folder for held in asks if is_answered(held)}
            moved |= {held.folder for held in waits if held.lane.key in self._fleet.turned()}
            if self._now() >= self._looks_at:
                moved |= self._moved(waits)
                self._looks_at = self._now() + self._interval()
            if self._now() >= rescan:
                moved |= {held.folder for held in waits}
            if moved:
                self.lanes = [held.moved() if held.folder in moved else held for held in self.lanes]
                return None
            times = [held.until for held in waits if held.until is not None and held.until > self._now()]
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
        self._telling.left(self.lanes)
        return Ending(code, tuple(self.merged), tuple(self.lanes), why)
