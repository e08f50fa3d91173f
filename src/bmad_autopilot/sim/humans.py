"""People in a simulated world: they answer soon, late, oddly or never, and edit what they like when they like."""

from enum import StrEnum
from random import Random
from typing import TYPE_CHECKING, Protocol

from ..core.statuses import STORY_LIFE, Kind
from ..workflows.pipelines import RETROSPECTIVE
from .log import Actor
from .memory_board import is_readable, raw_statuses, rows_of, with_status
from .sample import BROKEN, ENVIRONMENT

if TYPE_CHECKING:
    from .memory import MemoryQuestion, World


class Manner(StrEnum):
    PATIENT = "patient"  # answers what helps, and mends what they are asked to mend
    FICKLE = "fickle"  # any of the answers, and sometimes none
    ABSENT = "absent"


class Mender(Protocol):
    """Whoever can put an honest agent in another's place."""

    def mend(self, story: str) -> None: ...


_USEFUL = {
    "failed": "retry",
    "hopeless": "retry",
    "environment": "retry",
    "checks": "retry",
    "ground": "retry",
    "stuck": "retry",
    "rounds": "more",
    "rows": "undo",
    "row": "mine",
    "budget": "more",
    "left-out": "close",
    "retrospective": "retry",
    "human-checkpoint": "continue",
    "forge": "retry",
    "foreign": "take",
    "closed": "reopen",
    "retargeted": "retry",
    "disputed": "insist",
    "pull-rounds": "more",
    "ci": "retry",
    "ci-late": "retry",
    "no-checks": "retry",
    "silence": "wait",
    "merge-refused": "retry",
    "base-conflict": "retry",
    "base-restless": "retry",
    "otherwise": "accept",
    "approval-late": "wait",
    "unfit": "retry",
    "unfit-here": "retry",
}
_LAST_WORD = {
    "ground": "retry",
    "budget": "more",
    "rows": "undo",
    "row": "mine",
    "left-out": "close",
    "stuck": "abort",
    "retrospective": "leave",
    "human-checkpoint": "continue",
    "forge": "abort",
    "foreign": "take",
    "closed": "abort",
    "retargeted": "abort",
    "disputed": "resolve",
    "pull-rounds": "abort",
    "ci": "abort",
    "ci-late": "abort",
    "no-checks": "without",
    "silence": "without",
    "merge-refused": "abort",
    "base-conflict": "abort",
    "base-restless": "retry",
    "otherwise": "accept",
    "approval-late": "abort",
    "unfit": "abort",
    "unfit-here": "abort",
}
_PATIENCE = 2  # the same question about the same story is answered usefully that often


class Humans:
    def __init__(
        self, manner: Manner, rng: Random, mender: Mender, *, attended: bool, branch: str = "main"
    ) -> None:
        self.manner = manner
        self.attended = attended  # somebody sits at the terminal; else the run ends, and they come back to it
        self._rng = rng
        self._mender = mender
        self._branch = branch
        self._heard: dict[tuple[str, str], int] = {}

    def hear(self, world: "World", asked: "MemoryQuestion") -> None:
        """A question: somebody will answer it at a time of theirs, or nobody will."""
        if self.manner is Manner.ABSENT or (self.manner is Manner.FICKLE and self._rng.random() < 0.1):
            return
        asked.answer_at = world.now + self._rng.uniform(1.0, 3600.0)
        world.schedule(asked.answer_at, lambda: self._answer(world, asked))

    def _answer(self, world: "World", asked: "MemoryQuestion") -> None:
        if asked.answer is not None:  # the settings were quicker
            return
        question = asked.asked
        heard = self._heard.get((question.story, question.code), 0) + 1
        self._heard[question.story, question.code] = heard
        answer = self._chosen(question.code, question.options, heard)
        if question.code == "agent" and heard > _PATIENCE:
            self._park(world, question.story)
        if answer in ("retry", "fix"):
            self._mend(world, question.code, question.story, thoroughly=answer == "fix" or heard > 1)
        asked.answer = answer
        world.did(Actor.PERSON, "answer", code=question.code, story=question.story, answer=answer)

    def _park(self, world: "World", story: str) -> None:
        """An agent that asks again and again is told the same by the board."""
        before = raw_statuses(world.board).get(story) if is_readable(world.board) else None
        if before not in (None, "blocked"):
            world.board = with_status(world.board, story, "blocked")
            self._moved(world, story, before or "", "blocked")

    def _chosen(self, code: str, options: tuple[str, ...], heard: int) -> str:
        if self.manner is Manner.FICKLE:
            return self._rng.choice(options) if options else "As you like it."
        if not options or code == "agent":
            return options[0] if options else "The first way."
        if heard <= _PATIENCE:
            return _USEFUL.get(code, options[0])
        return _LAST_WORD.get(code, "skip")

    def _mend(self, world: "World", code: str, story: str, *, thoroughly: bool) -> None:
        """Whatever stood in the way; the agent itself only where they have had enough of it."""
        if code == "ground":
            world.git.branch = self._branch
            world.git.commit_files(world.git.snapshot(), "What lay about")
        if code == "environment" or thoroughly:
            for path in (ENVIRONMENT, BROKEN):
                world.git.remove(path)
        if thoroughly and self.manner is Manner.FICKLE:
            self._mender.mend(story)

    def mends_board(self, world: "World") -> None:
        """A board that nobody can read: they put it right, and start us again."""
        world.board = world.readable_board
        world.did(Actor.PERSON, "mend-board")

    # edits

    def edits(self, world: "World", times: list[float]) -> None:
        for at in times:
            world.schedule(at, lambda: self._edit(world))

    def _edit(self, world: "World") -> None:
        if not is_readable(world.board):
            return
        edit = self._rng.choices(
            (self._move, self._remove, self._remark, self._write_file, self._spoil), (12, 2, 2, 2, 1)
        )[0]
        edit(world)

    def _story(self, world: "World") -> str | None:
        """Often the very story that is in hand."""
        rows = rows_of(world.board)
        stories = [key for key, row in rows.items() if row.kind is Kind.STORY]
        in_hand = _in_hand(world)
        if in_hand in stories and self._rng.random() < 0.6:
            return in_hand
        return self._rng.choice(stories) if stories else None

    def _move(self, world: "World") -> None:
        key = self._story(world)
        if key is None:
            return
        before = raw_statuses(world.board)[key]
        after = self._rng.choice([word for word in (*STORY_LIFE, "blocked", "deferred") if word != before])
        world.board = with_status(world.board, key, after)
        self._moved(world, key, before, after)

    def _remove(self, world: "World") -> None:
        key = self._story(world)
        if key is None:
            return
        before = raw_statuses(world.board)[key]
        lines = world.board.split(b"\n")
        row = f"{key}:".encode()
        world.board = b"\n".join(line for line in lines if not line.strip().startswith(row))
        self._moved(world, key, before, "")
        if self._rng.random() < 0.5:
            line = f"  {key}: {before}".encode()
            world.schedule(world.now + self._rng.uniform(1.0, 4000.0), lambda: self._put_back(world, key, line))

    def _put_back(self, world: "World", key: str, line: bytes) -> None:
        if not is_readable(world.board) or key in rows_of(world.board):
            return
        head = f"  epic-{key.partition('-')[0]}:".encode()
        lines = world.board.split(b"\n")
        at = next((number for number, one in enumerate(lines) if one.startswith(head)), None)
        if at is not None:
            world.board = b"\n".join([*lines[: at + 1], line, *lines[at + 1 :]])
            self._moved(world, key, "", raw_statuses(world.board)[key])

    def _moved(self, world: "World", key: str, before: str, after: str) -> None:
        # Where a machine went down with its agent, nobody knows any more which of the two it was.
        open_calls = (call for call in world.calls.values() if not call.taken_in and call.state != "finished")
        working = any(call.order.story == key or call.order.step == RETROSPECTIVE for call in open_calls)
        world.did(Actor.PERSON, "edit-row", key=key, before=before, after=after, during_call=working)

    def _remark(self, world: "World") -> None:
        world.board = world.board + b"# a remark\n"
        world.did(Actor.PERSON, "remark")

    def _write_file(self, world: "World") -> None:
        world.git.write("NOTES.md", f"Written at {world.now:.0f}.\n".encode())
        # Of a call that was lost nobody knows what it changed: all that came since counts as its own.
        in_hand = (call for call in world.calls.values() if call.order.story == _in_hand(world))
        working = any(call.state in ("running", "lost") for call in in_hand)
        world.did(Actor.PERSON, "write-file", path="NOTES.md", during_call=working, story=_in_hand(world))

    def _spoil(self, world: "World") -> None:
        world.readable_board = world.board
        world.board = world.board.replace(b"development_status:", b"development_status: {", 1)
        world.did(Actor.PERSON, "spoil-board")


def _in_hand(world: "World") -> str | None:
    return next((call.order.story for call in reversed(world.calls.values())), None)
