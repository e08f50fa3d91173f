"""A world in memory: one work tree, its agents and its people, and a clock that jumps to what happens next."""

import heapq
import json
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any

from ..engine.doors import CallId, Entry
from ..engine.doors import Question as Asked
from .faults import CrashPlan, Phase
from .log import Actor, Log
from .memory_board import is_readable, rows_of
from .memory_books import MemoryBooks
from .memory_calls import MemoryCall
from .memory_git import Files, MemoryGit
from .sample import BOARD, IMPLEMENTATION

if TYPE_CHECKING:
    from .memory_hub import Hub

MOMENT = 0.05  # seconds that each thing we do takes, so that others can get in between


class MemoryQuestion:
    def __init__(self, name: str, asked: Asked, at: float) -> None:
        self.name = name
        self.asked = asked
        self.at = at
        self.answer: str | None = None
        self.by = "human"
        self.answer_at: float | None = None  # when somebody will answer; None: nobody will


class World:
    def __init__(self, files: Files, rng: Random, crashes: CrashPlan) -> None:
        self.now = 0.0
        self.rng = rng
        self.crashes = crashes
        self.log = Log()
        self.git = MemoryGit(files)
        self.hub: Hub | None = None  # what lies beyond the machine, where epics are delivered
        self.books = MemoryBooks(self.git, IMPLEMENTATION, BOARD)
        self.journals: dict[str, list[Entry]] = {}
        self.calls: dict[tuple[str, CallId], MemoryCall] = {}
        self.questions: dict[tuple[str, str], MemoryQuestion] = {}
        self.parked_until = 0.0
        self.stop = False
        self.pause = False
        self.saved: dict[str, Files] = {}
        self.readable_board = self.board  # as it was before a person spoilt it
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0
        self._at_work: MemoryCall | None = None  # and not yet halfway

    # time

    def schedule(self, at: float, event: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._events, (max(at, self.now), self._number, event))

    def advance(self, to: float) -> None:
        while self._events and self._events[0][0] <= to:
            at, _, event = heapq.heappop(self._events)
            self._half(at)
            self.now = max(self.now, at)
            event()
        self._half(to)
        self.now = max(self.now, to)

    def _half(self, at: float) -> None:
        """No event: nobody wakes up because an agent is halfway."""
        call = self._at_work
        if call is not None and call.halfway_at <= at:
            call.do_half(self.git)
            self._at_work = None

    def next_event(self) -> float | None:
        return self._events[0][0] if self._events else None

    def point(self, kind: str, phase: Phase) -> None:
        """One moment of ours: others may get in, and we may die."""
        to = self.now + MOMENT
        if self._at_work is not None or (self._events and self._events[0][0] <= to):
            self.advance(to)
        else:
            self.now = to
        self.crashes.pass_by(kind, phase)

    # what happens

    def did(self, actor: Actor, kind: str, run: str = "", /, **data: Any) -> None:
        self.log.add(self.now, actor, kind, run, **data)

    @property
    def board(self) -> bytes:
        return self.git.files.get(self.books.board, b"")

    @board.setter
    def board(self, raw: bytes) -> None:
        self.git.write(self.books.board, raw)

    def readable(self) -> bytes:
        return self.board if is_readable(self.board) else self.readable_board

    def row(self, key: str) -> str:
        """What a row means; empty where it is gone."""
        row = rows_of(self.board).get(key)
        return row.meaning if row else ""

    def running(self) -> list[MemoryCall]:
        return [call for call in self.calls.values() if call.state == "running"]

    def start(self, run: str, call: MemoryCall) -> None:
        self.calls[run, call.order.id] = call
        call.begin(self.git, self.now)
        self.did(Actor.US, "start", run, call=call.order.id, story=call.order.story, habit=call.habit.name)
        self._at_work = call
        self.schedule(call.ends_at, lambda: self._end(run, call))

    def _end(self, run: str, call: MemoryCall) -> None:
        if call.state != "running":
            return
        call.end(self.git, self.now)
        if call.ending.outcome == "limit":
            self.parked_until = self.now + (call.ending.resets_after or 900.0)
        self.did(Actor.AGENT, "end", run, call=call.order.id, story=call.order.story, outcome=call.ending.outcome)

    def cancel(self, run: str, call: CallId) -> None:
        known = self.calls[run, call]
        known.cancel(self.git, self.now)
        self.did(Actor.US, "end", run, call=call, story=known.order.story, outcome=known.ending.outcome)

    def lose_calls(self) -> None:
        """The machine goes down: agents are gone, with their work half done."""
        for call in self.running():
            call.state = "lost"
            self.did(Actor.FATE, "lost", call=call.order.id, story=call.order.story)

    def clear_state(self, story: str) -> None:
        self.git.remove(self.books.state(story))

    def deliver(self, question: MemoryQuestion) -> None:
        """As the real one: into the file, where that holds the question."""
        path = self.books.state(question.asked.story)
        try:
            state = json.loads(self.git.files.get(path, b""))
            own = next(one for one in state["questions"] if one["id"] == question.asked.agents_own)
        except (ValueError, LookupError, TypeError, StopIteration):
            return
        own["answer"] = question.answer
        self.git.write(path, json.dumps(state).encode())

    def take_aside(self, story: str) -> None:
        """What is there after a call is the call's."""
        self.git.remove(self.books.review(story))
        self.git.remove(self.books.threads(story))
