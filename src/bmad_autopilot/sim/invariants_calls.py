"""Promises about agent calls: each is paid for once, one at a time, and only where the journal says why."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..engine.doors import CallId
from .log import Actor
from .played import Played


def no_call_is_started_twice(played: Played) -> Iterator[str]:
    started = Counter((effect.run, effect.data["call"]) for effect in played.world.log.of("start"))
    yield from (f"{run} {call} {times} times" for (run, call), times in started.items() if times > 1)


def one_call_at_a_time(played: Played) -> Iterator[str]:
    running: set[CallId] = set()
    for effect in played.world.log.of("start", "end", "lost"):
        call = effect.data["call"]
        if effect.kind != "start":
            running.discard(call)
            continue
        if running:
            yield f"{call} while {running} ran"
        running.add(call)


def every_call_was_meant(played: Played) -> Iterator[str]:
    """The intent stands in the journal before the start."""
    meant: set[tuple[str, int, int]] = set()
    for effect in played.world.log.effects:
        if effect.kind == "note" and effect.data["entry"] == "call":
            meant.add((effect.run, effect.data["number"], effect.data["attempt"]))
        elif effect.kind == "start":
            call = effect.data["call"]
            if (effect.run, call.number, call.attempt) not in meant:
                yield f"{call}"


def every_call_is_taken_in_once(played: Played) -> Iterator[str]:
    for run, journal in played.world.journals.items():
        taken = Counter((data["number"], data["attempt"]) for kind, data, _ in journal if kind == "ended")
        yield from (f"{run} {call} {times} times" for call, times in taken.items() if times > 1)


def every_call_is_justified(played: Played) -> Iterator[str]:
    """By a journal read by plain rules, and not by the fold that the loop itself uses: a first call of a step by
    the step, a further one by what became of the one before it, or by a person's answer."""
    for run, journal in played.world.journals.items():
        yield from (f"{run}: {problem}" for problem in _unjustified([(kind, data) for kind, data, _ in journal]))


def _unjustified(entries: list[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
    steps: dict[tuple[str, str, int, str], int] = {}  # (story, step, round, cause) → how many are open to be begun
    endings: dict[tuple[int, int], str] = {}
    again: set[int] = set()
    asked: Mapping[str, Any] = {}
    for kind, data in entries:
        if kind == "step":
            key = (data["story"], data["step"], data["round"], data["cause"])
            if not data["cause"] and steps.get(key):
                yield f"{key} was begun twice"
            steps[key] = 1
        elif kind in ("edited", "story") or (kind == "answered" and data.get("means") == "hand-over"):
            story = data.get("story") or asked.get("story")
            steps = {key: count for key, count in steps.items() if key[0] != story}
        elif kind == "ended":
            endings[data["number"], data["attempt"]] = str(data["finding"])
        elif kind == "asked":
            asked = data
        elif kind == "answered" and data.get("means") in ("again", "extend", "otherwise"):
            again.add(asked.get("number") or 0)
        elif kind == "call" and data["attempt"] > 1:
            before = endings.get((data["number"], data["attempt"] - 1))
            if before not in ("failed", "lacking", "refused") and data["number"] not in again:
                yield f"call {data['number']}/{data['attempt']} after one that was {before}"


def money_is_counted_once(played: Played) -> Iterator[str]:
    for session in played.sessions:
        own = (call for (run, _), call in played.world.calls.items() if run == session.run)
        spent = sum(call.ending.dollars for call in own if call.state == "finished")
        journal = played.journal(session.run)
        counted = sum(data.get("dollars") or 0.0 for kind, data, _ in journal if kind == "ended")
        if counted > spent + 1e-6 or (session.ending == "completed" and abs(counted - spent) > 1e-6):
            yield f"{session.run} counted {counted:.2f}, and agents took {spent:.2f}"


_STOPS = ("", "done", "blocked", "deferred")


def no_call_for_what_a_person_stopped(played: Played) -> Iterator[str]:
    """No call begins for a story that a person has parked, closed or taken off the board, unless that was seen,
    or happened that very moment."""
    moved: dict[str, float] = {}
    for effect in played.world.log.effects:
        if effect.kind == "edit-row" and not effect.data["during_call"]:
            moved.pop(effect.data["key"], None)
            if effect.data["after"] in _STOPS:
                moved[effect.data["key"]] = effect.at
        elif effect.kind == "note" and effect.data["entry"] in ("edited", "story", "gone"):
            moved.pop(effect.data.get("story", ""), None)
        elif effect.kind == "restore-board":
            moved.clear()  # theirs is kept aside, and said
        elif effect.kind == "set-row" and effect.actor is Actor.US:
            moved.pop(effect.data["key"], None)
        elif effect.kind == "start":
            since = moved.get(effect.data["story"])
            if since is not None and effect.at - since > 1.0:
                yield f"{effect.data['story']} at {effect.at:.0f}, moved at {since:.0f}"


CALL_PROMISES: tuple[Callable[[Played], Iterator[str]], ...] = (
    no_call_is_started_twice,
    one_call_at_a_time,
    every_call_was_meant,
    every_call_is_taken_in_once,
    every_call_is_justified,
    money_is_counted_once,
    no_call_for_what_a_person_stopped,
)
