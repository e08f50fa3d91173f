"""An agent call in memory: a habit that runs in virtual time. Half of what it does is done halfway, so that
whoever looks in between, or after a machine went down, finds work half done."""

from ..agents.outcomes import Limit, Outcome, Spend, Tokens, Verdict
from ..engine.doors import CallOrder, Tree
from ..engine.judging import STOPPED
from ..workflows.pipelines import CODE_REVIEW, CREATE, DEV, FIX, FIX_ISSUES, RETROSPECTIVE, REVISION, STEPS
from .desk import Ending, Job
from .habits.habit import Habit
from .habits.honest import INSISTED
from .memory_books import MemoryBooks
from .memory_desk import Deed, MemoryDesk
from .memory_git import MemoryGit, changed_paths

# A project's own step is done as the one of ours that owes the same.
_KNOWN = frozenset((*STEPS, FIX.name, FIX_ISSUES.name, RETROSPECTIVE.name))
_LIKE = {step.owes: step.name for step in (CREATE, DEV, REVISION, CODE_REVIEW)}
TIME_CAP = 7200.0  # an unattended call is ended then


class MemoryCall:
    def __init__(self, order: CallOrder, habit: Habit, books: MemoryBooks) -> None:
        self.order = order
        self.habit = habit
        self.state = "new"
        self.began_at = self.halfway_at = self.ends_at = 0.0
        self.ending = Ending()
        self.closing = ""
        self.tree_before = self.code_before = ""
        self.head_before: str | None = None
        self.taken_in = False
        self.tree_after: str | None = None  # None: nobody could look
        self.board_before = b""
        self.left: Tree | None = None  # the same with what belongs to it
        self.board_after: bytes | None = None
        self.story_before: bytes | None = None
        self.spec_before: bytes | None = None
        self._outside_before: set[str] = set()
        self.outside: tuple[str, ...] = ()
        self._books = books
        self._deeds: list[Deed] = []
        self._stopped = False

    def begin(self, git: MemoryGit, now: float) -> None:
        self.state = "running"
        self.tree_before = git.tree()
        self.head_before = git.head
        self.code_before = git.code(self._books.apart(self.order.story))
        self.board_before = git.files.get(self._books.board, b"")
        self.story_before = git.files.get(self._books.story(self.order.story) or "")
        self.spec_before = git.files.get(self._books.spec(self.order.story) or "")
        self._outside_before = set(git.outside)
        desk = MemoryDesk(git, self._books.board)
        self.ending = self.habit.act(desk, self._job())
        self.closing = desk.said[-1] if desk.said else ""
        self._deeds = desk.deeds
        if self.ending.seconds > TIME_CAP:
            self.ending = self.ending._replace(seconds=TIME_CAP, outcome=Outcome.TIMED_OUT)
            self._deeds = self._deeds[: len(self._deeds) // 2]
        self.began_at = now
        self.halfway_at = now + self.ending.seconds / 2
        self.ends_at = now + self.ending.seconds

    def _job(self) -> Job:
        order = self.order
        return Job(
            order.step.name if order.step.name in _KNOWN else _LIKE.get(order.step.owes, order.step.name),
            order.story,
            self._books.board,
            self._books.folder,
            order.id.attempt,
            tuple(answer.answer for answer in order.halfway.answers) if order.halfway else (),
            order.review,
            "\n\n".join(filter(None, (order.checks, order.failure, *(log.text for log in order.logs)))),
            tuple((one.name, f"{INSISTED}\n{one.text}" if one.is_decided else one.text) for one in order.points),
        )

    def do_half(self, git: MemoryGit) -> None:
        if self.state == "running":
            half = len(self._deeds) // 2
            for deed in self._deeds[:half]:
                deed.do(git)
            del self._deeds[:half]

    def end(self, git: MemoryGit, now: float) -> None:
        for deed in self._deeds:
            deed.do(git)
        self.state = "finished"
        self.ends_at = now
        self.tree_after = git.tree()
        self.left = Tree(git.head, git.branch, self.tree_after, git.code(self._books.apart(self.order.story)))
        self.board_after = git.files.get(self._books.board)
        self.outside = tuple(sorted(set(git.outside) - self._outside_before))

    def cancel(self, git: MemoryGit, now: float) -> None:
        """Ended by us, with its work half done."""
        self._deeds, self._stopped = [], True
        self.ending = self.ending._replace(outcome=Outcome.CANCELLED, seconds=now - self.began_at)
        self.end(git, now)

    def touched(self, git: MemoryGit) -> set[str]:
        """The paths it changed; of one that was cut off, all that changed since it began."""
        after = git.at(self.tree_after) if self.tree_after is not None else git.snapshot()
        return set(changed_paths(git.at(self.tree_before), after))

    def verdict(self) -> Verdict:
        if self.state == "lost":
            return Verdict(Outcome.LOST, "its supervisor is gone", spend=Spend(None))
        outcome = Outcome(self.ending.outcome)
        limit = Limit("five_hour", self.ends_at + self.ending.resets_after) if outcome is Outcome.LIMIT else None
        message = STOPPED if self._stopped else "" if outcome is Outcome.COMPLETED else f"it ended with {outcome}"
        spend = Spend(self.ending.dollars, Tokens(output=self.ending.tokens))
        return Verdict(outcome, message, limit=limit, spend=spend, closing=self.closing)
