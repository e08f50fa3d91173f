"""Simulated users: they answer questions early, late, oddly or never, and edit the board and files at any time."""

from enum import StrEnum
from random import Random
from typing import TYPE_CHECKING, Protocol

from ..core.statuses import STORY_LIFECYCLE, RowKind
from ..workflows.workflow import RETROSPECTIVE
from .effect_log import EffectActor
from .memory.git import board_rows, is_readable, raw_statuses, with_row_status
from .sample import BROKEN_FILE, NO_DATABASE_FILE

if TYPE_CHECKING:
    from .memory.world import MemoryQuestion, MemoryWorld


class Manner(StrEnum):
    PATIENT = "patient"  # gives helpful answers and fixes what they are asked to fix
    FICKLE = "fickle"  # gives random answers, and sometimes none
    ABSENT = "absent"


class AgentReplacer(Protocol):
    """Replaces a story's agent by an honest one."""

    def make_honest(self, story: str) -> None: ...


_HELPFUL_ANSWERS = {
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
_FINAL_ANSWERS = {
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
_MAX_HELPFUL_ANSWERS = 2  # per story and question; after that the final answer


class Humans:
    def __init__(
        self, manner: Manner, rng: Random, agents: AgentReplacer, *, attended: bool, branch: str = "main"
    ) -> None:
        self.manner = manner
        self.attended = attended  # a user is at the terminal; otherwise the run ends and is resumed later
        self._rng = rng
        self._agents = agents
        self._branch = branch
        self._times_asked: dict[tuple[str, str], int] = {}

    def receive_question(self, world: "MemoryWorld", pending: "MemoryQuestion") -> None:
        """Schedule the answer, if there will be one."""
        if self.manner is Manner.ABSENT or (self.manner is Manner.FICKLE and self._rng.random() < 0.1):
            return
        pending.answer_at = world.now + self._rng.uniform(1.0, 3600.0)
        world.schedule(pending.answer_at, lambda: self._answer(world, pending))

    def _answer(self, world: "MemoryWorld", pending: "MemoryQuestion") -> None:
        if pending.answer is not None:  # the settings were quicker
            return
        question = pending.payload
        times = self._times_asked.get((question.story, question.code), 0) + 1
        self._times_asked[question.story, question.code] = times
        answer = self._choose_answer(question.code, question.options, times)
        if question.code == "agent" and times > _MAX_HELPFUL_ANSWERS:
            self._park(world, question.story)
        if answer in ("retry", "fix"):
            self._fix_cause(pending, thoroughly=answer == "fix" or times > 1)
        pending.answer = answer
        world.record(EffectActor.PERSON, "answer", code=question.code, story=question.story, answer=answer)

    def _park(self, world: "MemoryWorld", story: str) -> None:
        """Park the story of an agent that keeps asking."""
        before = raw_statuses(world.board).get(story) if is_readable(world.board) else None
        if before not in (None, "blocked"):
            world.board = with_row_status(world.board, story, "blocked")
            self._record_edit(world, story, before or "", "blocked")

    def _choose_answer(self, code: str, options: tuple[str, ...], times: int) -> str:
        if self.manner is Manner.FICKLE:
            return self._rng.choice(options) if options else "As you like it."
        if not options or code == "agent":
            return options[0] if options else "The first way."
        if times <= _MAX_HELPFUL_ANSWERS:
            return _HELPFUL_ANSWERS.get(code, options[0])
        return _FINAL_ANSWERS.get(code, "skip")

    def _fix_cause(self, pending: "MemoryQuestion", *, thoroughly: bool) -> None:
        """Remove what blocks the story; `thoroughly`: fickle users replace the agent as well."""
        git, code = pending.site.git, pending.payload.code
        if code == "ground":
            git.branch = self._branch
            git.commit_files(git.snapshot(), "What lay about")
        if code == "environment" or thoroughly:
            for path in (NO_DATABASE_FILE, BROKEN_FILE):
                git.remove(path)
        if thoroughly and self.manner is Manner.FICKLE:
            self._agents.make_honest(pending.payload.story)

    def repair_board(self, world: "MemoryWorld") -> None:
        """Restore a board that cannot be read."""
        world.board = world.board_before_corruption
        world.record(EffectActor.PERSON, "mend-board")

    # edits

    def schedule_edits(self, world: "MemoryWorld", times: list[float]) -> None:
        for at in times:
            world.schedule(at, lambda: self._edit(world))

    def _edit(self, world: "MemoryWorld") -> None:
        if not is_readable(world.board):
            return
        edit = self._rng.choices(
            (self._move, self._remove, self._remark, self._write_file, self._corrupt_board), (12, 2, 2, 2, 1)
        )[0]
        edit(world)

    def _story(self, world: "MemoryWorld") -> str | None:
        """A random story, in 60 % of cases the current one."""
        rows = board_rows(world.board)
        stories = [key for key, row in rows.items() if row.kind is RowKind.STORY]
        current = _current_story(world)
        if current in stories and self._rng.random() < 0.6:
            return current
        return self._rng.choice(stories) if stories else None

    def _move(self, world: "MemoryWorld") -> None:
        key = self._story(world)
        if key is None:
            return
        before = raw_statuses(world.board)[key]
        after = self._rng.choice([word for word in (*STORY_LIFECYCLE, "blocked", "deferred") if word != before])
        world.board = with_row_status(world.board, key, after)
        self._record_edit(world, key, before, after)

    def _remove(self, world: "MemoryWorld") -> None:
        key = self._story(world)
        if key is None:
            return
        before = raw_statuses(world.board)[key]
        lines = world.board.split(b"\n")
        row = f"{key}:".encode()
        world.board = b"\n".join(line for line in lines if not line.strip().startswith(row))
        self._record_edit(world, key, before, "")
        if self._rng.random() < 0.5:
            line = f"  {key}: {before}".encode()
            world.schedule(world.now + self._rng.uniform(1.0, 4000.0), lambda: self._restore_row(world, key, line))

    def _restore_row(self, world: "MemoryWorld", key: str, line: bytes) -> None:
        if not is_readable(world.board) or key in board_rows(world.board):
            return
        head = f"  epic-{key.partition('-')[0]}:".encode()
        lines = world.board.split(b"\n")
        at = next((number for number, one in enumerate(lines) if one.startswith(head)), None)
        if at is not None:
            world.board = b"\n".join([*lines[: at + 1], line, *lines[at + 1 :]])
            self._record_edit(world, key, "", raw_statuses(world.board)[key])

    def _record_edit(self, world: "MemoryWorld", key: str, before: str, after: str) -> None:
        # After a machine failure the person's edit cannot be told from the lost agent's.
        open_calls = (call for call in world.calls.values() if not call.is_collected and call.state != "finished")
        working = any(call.order.story == key or call.order.step == RETROSPECTIVE for call in open_calls)
        world.record(EffectActor.PERSON, "edit-row", key=key, before=before, after=after, during_call=working)

    def _remark(self, world: "MemoryWorld") -> None:
        world.board = world.board + b"# a remark\n"
        world.record(EffectActor.PERSON, "remark")

    def _write_file(self, world: "MemoryWorld") -> None:
        world.git.write("NOTES.md", f"Written at {world.now:.0f}.\n".encode())
        # The changes of a lost call are unknown: everything changed since its start counts as its own.
        current = (call for call in world.calls.values() if call.order.story == _current_story(world))
        working = any(call.state in ("running", "lost") for call in current)
        world.record(
            EffectActor.PERSON, "write-file", path="NOTES.md", during_call=working, story=_current_story(world)
        )

    def _corrupt_board(self, world: "MemoryWorld") -> None:
        world.board_before_corruption = world.board
        world.board = world.board.replace(b"development_status:", b"development_status: {", 1)
        world.record(EffectActor.PERSON, "spoil-board")


def _current_story(world: "MemoryWorld") -> str | None:
    return next((call.order.story for call in reversed(world.calls.values())), None)
