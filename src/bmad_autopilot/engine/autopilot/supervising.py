"""The autopilot: which epic goes on, driven as far as it goes; what waits is watched meanwhile, by one query for
all of them. Nothing waits for an approval: the next epic is begun."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ...core.errors import EXIT_DONE, EXIT_FAILED, EXIT_HUMAN, EXIT_INTERRUPTED, AutopilotError, UsageError
from ...core.rules import Phase
from ...core.schedule import Candidate, Choice, Stage, choose_lane
from ...github.branches import Branches
from ...github.forge import Forge, ForgeError, Trouble
from ...github.git import Git
from ...github.ground import look_at_ground, refusal
from ...project.open import Project
from ...runs.adoption import left_behind
from ...runs.autopilot_state import PendingPull, completed_epics, log_line, write_autopilot_state
from ...runs.layout import SESSION, runs_folder
from ...runs.requests import Ask, read_request, request_path
from ...runs.supervisor import Supervision, hold
from ..checkpointing import first_variables
from ..delivery.plan import LOCAL
from ..driving import NOTHING, RunEnd, drive, go_on
from ..onlookers import Human, Told
from ..policy import with_policy
from ..running import new_folder
from ..setting_out import NO_CAPS, Caps, DirtyTree, new_lane, target_row
from ..waiting import Waiting
from ..world.delivery import ForgeMaker
from .finding import PREFIX, Start, board_at, branch_for, candidates, check_patterns, epic_titles, number_of
from .lanes import Held, after, held_lanes, is_answered, question_files
from .planning import plan_for

# Seconds after which a pending pull request is looked at whole, whatever its mark says: a net, and no more often,
# because a hundred of them cost hundreds of points each time.
RESCAN = 7200.0
AWAY = 60.0


class Wishes(NamedTuple):
    """What the command line says."""

    patterns: tuple[str, ...] = ()
    go_on: bool = False  # also with what was given up, and with what others have begun
    draft: bool = False
    caps: Caps = NO_CAPS
    unattended: Mapping[str, str] = NOTHING
    session: str = SESSION
    once: bool = False  # what is due now, without a new epic and without waiting


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
        self._told = told
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
        self.done = list(completed_epics(project.root.path))
        self._seen: dict[str, str] = {}  # lanes that were told of: what each was last said to wait for
        self._left_alone: set[str] = set()  # epics whose pull request is somebody else's
        self._waiting = Waiting()
        self._forge: Forge | None = None

    # the loop

    def fly(self) -> Ending:
        try:
            with self._waiting.signals(lambda stops: self._told("stopping", {"times": stops}, self._now())):
                self._prepare()
                return self._loop()
        finally:
            self._waiting.close()

    def _prepare(self) -> None:
        ground = look_at_ground(self._git)
        problem = refusal(ground)
        if problem is not None and ground.branch is not None:
            raise problem
        self.lanes = held_lanes(runs_folder(self.project.root.path), self.wishes.session, go_on=self.wishes.go_on)
        if ground.dirty and not any(not held.is_delivered for held in self.lanes):
            raise DirtyTree(ground.dirty)
        self.base = self._base()
        if not self.is_local:
            self._check_forge()

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
        return self._forge

    def _pause(self, seconds: float) -> None:
        self._waiting.until(time.time() + seconds)

    def _loop(self) -> Ending:
        while True:
            if self._waiting.stops:
                return self._end(EXIT_INTERRUPTED, "stopped")
            epics: list[Candidate] = []
            views = [held.view() for held in self.lanes]
            choice = choose_lane(views, self._looked_for(epics), most=self.config.github.max_pending)
            self._keep(choice)
            ended = self._act(choice, epics)
            if ended is not None:
                return ended

    def _act(self, choice: Choice, epics: list[Candidate]) -> Ending | None:
        if choice.phase is Phase.DONE:
            return self._end(EXIT_DONE)
        if choice.phase is Phase.BLOCKED:
            is_blocked = any(held.stage is Stage.BLOCKED for held in self.lanes)
            return self._end(EXIT_FAILED if is_blocked else EXIT_HUMAN)
        if choice.phase is Phase.WAIT_COPILOT:
            return self._end(EXIT_HUMAN) if self.wishes.once else self._watch()
        if choice.phase is Phase.FIND_EPIC:
            return self._took(self._begin(next(one for one in epics if one.key == choice.key)))
        held = next(one for one in self.lanes if one.lane.key == choice.key)
        return self._took(self._go_on(held))

    def _took(self, end: RunEnd) -> Ending | None:
        self.lanes = [held for held in self.lanes if held.folder != end.folder]
        if end.status in ("completed", "not-done"):
            if end.record.delivery.merged:
                self.merged.append(end.lane.key)
                self.done.append(end.lane.epic or end.lane.key)
                log_line(self.project.root.path, f"{end.lane.key} is merged")
            return None
        self.lanes.append(after(end))
        if end.status in ("left", "paused"):
            return self._end(EXIT_INTERRUPTED if end.status == "left" else EXIT_HUMAN, end.status)
        return None

    # epics

    def _looked_for(self, found: list[Candidate]) -> Iterator[Candidate]:
        """Only where one could be begun: each look costs points of the hour's."""
        if not self.wishes.once:
            found += self._epics()
            yield from found

    def _epics(self) -> list[Candidate]:
        """Pull requests of earlier runs first, then what is left to begin."""
        taken = [held.lane.key for held in self.lanes] + self.merged
        taken += self._left_alone
        adopted = self._pending_elsewhere(taken) if not self.is_local else []
        tip = self._tip()
        board = board_at(self.project, self._git, tip)
        known = {one.key for one in adopted}
        return [
            *adopted,
            *(one for one in candidates(self.project, board, self.wishes.patterns, taken) if one.key not in known),
        ]

    def _tip(self) -> str:
        """What the next epic would begin from."""
        before = self._before()
        if before is not None:
            return self._branches.head_of(before.lane.branch)
        if self.is_local:
            return self._branches.head_of(self.base)
        found = self._branches.fetch(self.base)[self.base]
        if not found:
            hint = f"git push {self.config.github.remote} {self.base}"
            raise AutopilotError(f"the remote has no branch {self.base}", hint=hint)
        return found

    def _before(self) -> Held | None:
        """The epic that the next one stands on: the last whose stories are over and that is not merged."""
        if self.config.dependencies != "order":
            return None
        return next((held for held in reversed(self.lanes) if held.is_pending), None)

    def _pending_elsewhere(self, taken: list[str]) -> list[Candidate]:
        """Open pull requests with a branch of that name and no run of ours. Made by us or by the bash autopilot,
        they are gone on with; those of others are left alone until somebody says so."""
        try:
            marks = self.forge().pulls_of(PREFIX)
        except ForgeError as error:
            if error.trouble in (Trouble.AWAY, Trouble.LIMIT):
                return []
            raise
        ours = [held.pull for held in self.lanes]
        titles = epic_titles(self.project)
        found = []
        for mark in marks:
            number = number_of(mark.head_ref)
            key = f"epic-{number}"
            if not number or mark.is_foreign or mark.number in ours or key in taken or key in self._left_alone:
                continue
            if self._may_adopt(number, mark.number, mark.head_ref):
                found.append(Candidate(key, number, titles.get(number, mark.title)))
            else:
                self._left_alone.add(key)
        return found

    def _may_adopt(self, number: str, pull: int, branch: str) -> bool:
        left = left_behind(self.project.root.path, self.project.folders.implementation)
        listed = {one.epic for one in left.pending} | {left.epic} if left is not None else set()
        if self.wishes.go_on or number in listed:
            return True
        heads = self._branches.fetch(branch, self.base)
        foreign = self._branches.foreign_commits(heads[self.base], heads[branch])
        if not foreign:
            return True
        text = f"pull request #{pull} ({branch}) is not of this tool's making, and is left alone"
        self._say(f"{text}: bmad autopilot --continue takes it over")
        return False

    # driving

    def _begin(self, epic: Candidate) -> RunEnd:
        start = self._start(epic)
        self._branches.switch(start.branch, start.commit)
        row = target_row(self.project, "epic", epic.key)
        lane = new_lane(self.project, "epic", row, self.wishes.caps, None, False)
        plan = plan_for(self.config, epic, start, self.base, draft=self.wishes.draft)
        lane = lane._replace(
            branch=start.branch,
            session=self.wishes.session,
            unattended=dict(self.wishes.unattended),
            delivery=plan,
        )
        folder = new_folder(self.project, lane)
        self._supervision.takes_up(os.path.basename(folder))
        known = first_variables(lane, os.path.basename(self.project.root.path))
        return drive(
            self.project,
            lane,
            folder,
            self._telling(lane.key),
            self._human,
            resumed=False,
            variables=known,
            forge=lambda git, remote: self.forge(),
        )

    def _start(self, epic: Candidate) -> Start:
        branch, before = branch_for(epic.number), self._before()
        tip, onto = self._tip(), before.lane.branch if before is not None else ""
        local = self._branches.head_of(branch)
        remote = "" if self.is_local else self._branches.fetch(branch)[branch]
        head = local or remote
        if not head:
            return Start(branch, tip, onto)
        foreign = self._branches.foreign_commits(tip, head)
        if foreign and not self.wishes.go_on and not self._is_pending(branch):
            shown = ", ".join(f"{one.sha[:10]} {one.subject[:40]}" for one in foreign[:3])
            hint = "bmad autopilot --continue goes on from it; or rename it: git branch -m"
            raise UsageError(f"{branch} is there already, with commits that are not ours", found=shown, hint=hint)
        return Start(branch, head, onto if onto and self._branches.contains(head, tip) else "")

    def _is_pending(self, branch: str) -> bool:
        """An open pull request that may be gone on with: looked at before."""
        return not self.is_local and any(mark.head_ref == branch for mark in self.forge().pulls_of(branch))

    def _go_on(self, held: Held) -> RunEnd:
        self._supervision.takes_up(os.path.basename(held.folder))
        if not held.is_delivered:
            self._branches.switch(held.lane.branch)
        return go_on(
            self.project,
            held.folder,
            self._telling(held.lane.key),
            self._human,
            self.wishes.caps,
            unattended=self.wishes.unattended,
            forge=lambda git, remote: self.forge(),
        )

    # waiting

    def _watch(self) -> Ending | None:
        """One look at all pending pull requests, and a wait until the next. What has changed or was answered, and
        what has had its time, can go on."""
        waits = [held for held in self.lanes if held.stage is Stage.WAITS]
        asks = [held for held in self.lanes if held.stage is Stage.ASKS]
        self._supervision.takes_up(os.path.basename(waits[0].folder))  # whom `bmad stop` means now
        files = (request_path(waits[0].folder), *(path for held in asks for path in question_files(held)))
        rescan = self._now() + RESCAN
        while not self._waiting.stops:
            asked = read_request(waits[0].folder)
            if asked is not None:
                return self._end(EXIT_HUMAN if asked is Ask.PAUSE else EXIT_INTERRUPTED, asked.value)
            moved = self._moved(waits) | {held.folder for held in asks if is_answered(held)}
            if self._now() >= rescan:
                moved |= {held.folder for held in waits}
            if moved:
                self.lanes = [held.moved() if held.folder in moved else held for held in self.lanes]
                return None
            times = [held.until for held in waits if held.until is not None and held.until > self._now()]
            step = min([self._now() + self._interval(), rescan, *times])
            self._waiting.until(step, files)
        return None

    def _interval(self) -> float:
        pace = getattr(self._forge, "pace", None)
        return float(pace(self.config.github.check_interval)) if pace else float(self.config.github.check_interval)

    def _moved(self, waits: list[Held]) -> set[str]:
        now = self._now()
        moved = {held.folder for held in waits if held.until is not None and held.until <= now}
        numbers = {held.pull: held for held in waits if held.pull}
        if self.is_local or not numbers:
            return moved or {held.folder for held in waits if not held.pull and held.until is None}
        try:
            marks = self.forge().watch(list(numbers))
        except ForgeError as error:
            if error.trouble not in (Trouble.AWAY, Trouble.LIMIT):
                raise
            self._waiting.until(max(error.until, now + AWAY))
            return moved
        for mark in marks:
            held = numbers[mark.number]
            if mark.fingerprint != held.fingerprint:
                moved.add(held.folder)
        return moved

    # telling

    def _telling(self, lane: str) -> Told:
        """What is told of a run, with whose it is."""

        def tell(kind: str, data: Mapping[str, Any], at: float) -> None:
            if not self._is_known(lane, kind, data):
                self._told(kind, {"lane": lane, **data}, at)

        return tell

    def _is_known(self, lane: str, kind: str, data: Mapping[str, Any]) -> bool:
        """A lane is looked at again and again: that, and that it still waits for the same, is no news."""
        if kind in ("run", "resumed"):
            is_known = lane in self._seen
            self._seen.setdefault(lane, "")
            return is_known
        if kind in ("pending", "did", "pull-round"):
            why = str(data.get("why", "")) if kind == "pending" else ""
            before, self._seen[lane] = self._seen.get(lane, ""), why
            return bool(why) and before == why
        return False

    def _keep(self, choice: Choice) -> None:
        held = next((one for one in self.lanes if one.lane.key == choice.key), None)
        epic = held.lane.epic if held else choice.key.removeprefix("epic-")
        pending = [
            PendingPull(one.lane.epic or one.lane.key, one.pull, one.stage.value, self._now())
            for one in self.lanes
            if one.pull
        ]
        with suppress(AutopilotError, OSError):
            write_autopilot_state(self.project.root.path, choice.phase.value, epic or "", self.done, pending)
            if choice.phase is not Phase.WAIT_COPILOT:
                log_line(self.project.root.path, f"{choice.phase} {choice.key}".strip())
        self._told("phase", {"phase": choice.phase.value, "key": choice.key}, self._now())

    def _say(self, text: str) -> None:
        self._told("notice", {"text": text}, self._now())
        log_line(self.project.root.path, text)

    def _end(self, code: int, why: str = "") -> Ending:
        for held in self.lanes:
            log_line(self.project.root.path, f"{held.lane.key}: {held.stage} {held.why}")
        return Ending(code, tuple(self.merged), tuple(self.lanes), why)
