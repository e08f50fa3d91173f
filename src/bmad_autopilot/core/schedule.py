"""Which epic comes next: one that can go on, a new one, or none just now. Pure."""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from .rules import Phase


class Stage(StrEnum):
    """How a lane that is not over stands."""

    WORK = "work"  # its stories can go on
    MOVED = "moved"  # its pull request can: something has changed, or its time has come
    WAITS = "waits"  # for others, until its time comes
    ASKS = "asks"  # a person is asked
    BLOCKED = "blocked"  # given up, until somebody says so
    HELD = "held"  # somebody has parked it, until that is taken back


class LaneView(NamedTuple):
    key: str  # the epic's
    stage: Stage
    is_delivered: bool  # its stories are over, and so is each round of mending: it needs no place to work
    until: float | None = None
    is_busy: bool = False  # an agent may be at work for it: nobody else may have the checkout now


class Candidate(NamedTuple):
    """An epic that nobody works on."""

    key: str
    number: str
    title: str
    branch: str = ""  # of its pull request, where it has one already


class Choice(NamedTuple):
    phase: Phase
    key: str = ""  # the lane's or the epic's
    until: float | None = None  # of a wait


def matches(patterns: Sequence[str], candidate: Candidate) -> bool:
    """Any of them, as a regular expression in any case, somewhere in the number or the title; none: all."""
    texts = (candidate.number, candidate.key, candidate.title)
    return not patterns or any(re.search(one, text, re.IGNORECASE) for one in patterns for text in texts if text)


def is_vacant(lanes: Sequence[LaneView]) -> bool:
    """Nobody's unfinished work lies in the checkout that all of them share."""
    return all(lane.is_delivered for lane in lanes)


def choose_lane(
    lanes: Sequence[LaneView], epics: Iterable[Candidate], *, most: int, room: bool, driven: int = 0
) -> Choice:
    """Whose agent is at work comes first: others may want its place to work. Then pull requests that can go on:
    what is nearly done is worth most. Then the epic in hand, then a new one, as long as not too many wait.
    `lanes`: that nobody drives just now; `driven`: how many somebody does; `most`: that may be open at once;
    `room`: whether there is a place for another epic to be worked on."""
    phases = {Stage.MOVED: Phase.CHECK_PENDING_PR, Stage.WORK: Phase.DEVELOP_STORIES}
    busy = next((lane for lane in lanes if lane.is_busy and lane.stage in phases), None)
    if busy is not None:
        return Choice(phases[busy.stage], busy.key)
    for stage, phase in phases.items():
        found = next((lane for lane in lanes if lane.stage is stage), None)
        if found is not None:
            return Choice(phase, found.key)
    if room and len(lanes) + driven < most:
        following = next(iter(epics), None)
        if following is not None:
            return Choice(Phase.FIND_EPIC, following.key)
    waits = [lane for lane in lanes if lane.stage is Stage.WAITS]
    if waits:
        times = [lane.until for lane in waits if lane.until is not None]
        return Choice(Phase.WAIT_COPILOT, waits[0].key, min(times, default=None))
    blocked = [lane for lane in lanes if lane.stage in (Stage.BLOCKED, Stage.ASKS, Stage.HELD)]
    return Choice(Phase.BLOCKED, blocked[0].key) if blocked else Choice(Phase.DONE)
