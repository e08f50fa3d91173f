"""Agent calls in memory: a habit that runs in virtual time. Half of its changes are applied halfway, so that an
observation in between, or after a machine failure, finds unfinished work."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ...agents.adapter import AttemptVerdict, Outcome, Spend, Tokens, UsageLimit
from ...engine.call_outcome import STOPPED
from ...engine.ports import AgentCall, WorktreeSnapshot
from ...workflows.workflow import CODE_REVIEW, CREATE, DEV, FIX, FIX_ISSUES, RETROSPECTIVE, REVISION, STEPS
from ..habits.habit import Habit
from ..habits.honest import INSISTED_PHRASE
from ..workspace import AgentJob, ScriptedEnding
from .git import LINK_PREFIX, MemoryGit, MemoryStoryPaths, changed_paths, replay_board_edit

# A workspace in memory. Changes are recorded first and applied when their time has come.


class DeferredChange(NamedTuple):
    """One change by an agent; `apply` makes it on the files as they are at that time."""

    path: str
    apply: Callable[[MemoryGit], None]


class MemoryWorkspace:
    """Reads the current files and its own writes, and changes nothing: MemoryCall applies `changes` later."""

    def __init__(self, git: MemoryGit, board: str) -> None:
        self._git = git
        self._board = board
        self._written: dict[str, bytes | None] = {}
        self.changes: list[DeferredChange] = []
        self.messages: list[str] = []

    def read(self, path: str) -> bytes | None:
        return self._written[path] if path in self._written else self._git.files.get(path)

    def write(self, path: str, data: bytes) -> None:
        before = self.read(path)
        self._written[path] = data
        if path == self._board and before is not None:
            self._defer(
                path, lambda git: git.write(path, replay_board_edit(before, data, git.files.get(path, before)))
            )
        else:
            self._defer(path, lambda git: git.write(path, data))

    def remove(self, path: str) -> None:
        self._written[path] = None
        self._defer(path, lambda git: git.remove(path))

    def paths(self) -> Iterable[str]:
        known = [*self._git.files, *(path for path in self._written if path not in self._git.files)]
        return [path for path in known if self.read(path) is not None]

    def head(self) -> str:
        return self._git.head or ""

    def link(self, path: str, target: str) -> None:
        self.write(path, LINK_PREFIX + target.encode())

    def commit(self, message: str) -> None:
        self._defer("", lambda git: _commit(git, message))

    def switch(self, branch: str) -> None:
        self._defer("", lambda git: setattr(git, "branch", branch))

    def rewind(self) -> None:
        self._defer("", _rewind)

    def write_outside(self, name: str, data: bytes) -> None:
        self._defer("", lambda git: git.outside.__setitem__(name, data))

    def set_final_message(self, text: str) -> None:
        self.messages.append(text)

    def _defer(self, path: str, apply: Callable[[MemoryGit], None]) -> None:
        self.changes.append(DeferredChange(path, apply))


def _commit(git: MemoryGit, message: str) -> None:
    git.commit_files(git.snapshot(), message)


def _rewind(git: MemoryGit) -> None:
    parent = git.commits[git.head].parent if git.head else None
    if parent is not None:
        git.head = parent


# A project's own step behaves like our step with the same required output.
_KNOWN_STEPS = frozenset((*STEPS, FIX.name, FIX_ISSUES.name, RETROSPECTIVE.name))
_STEP_BY_OUTPUT = {step.owes: step.name for step in (CREATE, DEV, REVISION, CODE_REVIEW)}
TIME_CAP = 7200.0  # time limit of an unattended call


class MemoryCall:
    def __init__(self, order: AgentCall, habit: Habit, story_paths: MemoryStoryPaths) -> None:
        self.order = order
        self.habit = habit
        self.state = "new"
        self.started_at = self.halfway_at = self.ends_at = 0.0
        self.ending = ScriptedEnding()
        self.closing = ""
        self.tree_before = self.code_before = ""
        self.head_before: str | None = None
        self.is_collected = False
        self.tree_after: str | None = None  # None: not ended, or lost
        self.board_before = b""
        self.tree_left: WorktreeSnapshot | None = None  # tree_after with head, branch and code hash
        self.board_after: bytes | None = None
        self.story_before: bytes | None = None
        self.spec_before: bytes | None = None
        self._outside_before: set[str] = set()
        self.outside: tuple[str, ...] = ()
        self._story_paths = story_paths
        self._changes: list[DeferredChange] = []
        self._stopped = False

    def begin(self, git: MemoryGit, now: float) -> None:
        self.state = "running"
        self.tree_before = git.tree_hash()
        self.head_before = git.head
        self.code_before = git.code_hash(self._story_paths.non_code_paths(self.order.story))
        self.board_before = git.files.get(self._story_paths.board, b"")
        self.story_before = git.files.get(self._story_paths.story(self.order.story) or "")
        self.spec_before = git.files.get(self._story_paths.spec(self.order.story) or "")
        self._outside_before = set(git.outside)
        workspace = MemoryWorkspace(git, self._story_paths.board)
        self.ending = self.habit.act(workspace, self._job())
        self.closing = workspace.messages[-1] if workspace.messages else ""
        self._changes = workspace.changes
        if self.ending.seconds > TIME_CAP:
            self.ending = self.ending._replace(seconds=TIME_CAP, outcome=Outcome.TIMED_OUT)
            self._changes = self._changes[: len(self._changes) // 2]
        self.started_at = now
        self.halfway_at = now + self.ending.seconds / 2
        self.ends_at = now + self.ending.seconds

    def _job(self) -> AgentJob:
        order = self.order
        return AgentJob(
            order.step.name
            if order.step.name in _KNOWN_STEPS
            else _STEP_BY_OUTPUT.get(order.step.owes, order.step.name),
            order.story,
            self._story_paths.board,
            self._story_paths.folder,
            order.id.attempt,
            tuple(answer.answer for answer in order.halfway.answers) if order.halfway else (),
            order.review,
            "\n\n".join(filter(None, (order.checks, order.failure, *(log.text for log in order.logs)))),
            tuple(
                (one.name, f"{INSISTED_PHRASE}\n{one.text}" if one.is_decided else one.text)
                for one in order.points
            ),
        )

    def apply_half(self, git: MemoryGit) -> None:
        if self.state == "running":
            half = len(self._changes) // 2
            for change in self._changes[:half]:
                change.apply(git)
            del self._changes[:half]

    def end(self, git: MemoryGit, now: float) -> None:
        for change in self._changes:
            change.apply(git)
        self.state = "finished"
        self.ends_at = now
        self.tree_after = git.tree_hash()
        self.tree_left = WorktreeSnapshot(
            git.head,
            git.branch,
            self.tree_after,
            git.code_hash(self._story_paths.non_code_paths(self.order.story)),
        )
        self.board_after = git.files.get(self._story_paths.board)
        self.outside = tuple(sorted(set(git.outside) - self._outside_before))

    def cancel(self, git: MemoryGit, now: float) -> None:
        """End the call; its remaining changes are dropped."""
        self._changes, self._stopped = [], True
        self.ending = self.ending._replace(outcome=Outcome.CANCELLED, seconds=now - self.started_at)
        self.end(git, now)

    def touched(self, git: MemoryGit) -> set[str]:
        """The paths it changed; for a lost call, everything changed since its start."""
        after = git.files_at(self.tree_after) if self.tree_after is not None else git.snapshot()
        return set(changed_paths(git.files_at(self.tree_before), after))

    def verdict(self) -> AttemptVerdict:
        if self.state == "lost":
            return AttemptVerdict(Outcome.LOST, "its supervisor is gone", spend=Spend(None))
        outcome = Outcome(self.ending.outcome)
        limit = (
            UsageLimit("five_hour", self.ends_at + self.ending.resets_after) if outcome is Outcome.LIMIT else None
        )
        message = STOPPED if self._stopped else "" if outcome is Outcome.COMPLETED else f"it ended with {outcome}"
        spend = Spend(self.ending.dollars, Tokens(output=self.ending.tokens))
        return AttemptVerdict(outcome, message, limit=limit, spend=spend, closing=self.closing)
