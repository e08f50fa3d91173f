"""The doors of a lane, with a world in memory behind them. What the engine does on disk and in git is done here on
dictionaries, under the same keys; the gates that judge and the board's reader are the real ones."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..board.sprint import Row
from ..core.errors import FileError, Place
from ..core.records import Check, RunRecord
from ..core.statuses import DONE, Kind
from ..engine.delivery.rounds import round_key
from ..engine.doors import (
    Asked,
    Caller,
    CallId,
    CallOrder,
    CheckpointOrder,
    CommitOrder,
    Entry,
    Gathered,
    Tree,
)
from ..engine.lane import Lane
from ..runs.state import SHORT_ID, checkpoint_digest
from ..workflows.pipelines import Step
from .faults import INTENTS, Phase
from .log import Actor, Effect
from .memory import World
from .memory_board import is_readable, raw_statuses, rows_of, with_row, with_status
from .memory_calls import MemoryCall
from .memory_checks import run_checks
from .memory_gathering import gather
from .memory_git import changed_paths
from .memory_people import MemoryPeople
from .scenario import Cast

if TYPE_CHECKING:
    from ..engine.flows.sight import Desk
    from ..github.forge import Forge
    from .memory_hub import Hub
    from .memory_lines import MemoryLines

RESCAN = 60.0  # a wait is never longer without a look


class MemoryDoors(MemoryPeople):
    def __init__(self, world: World, run: str, lane: Lane, cast: Cast) -> None:
        super().__init__(world, run, cast)
        self.lane = lane

    def now(self) -> float:
        return self.world.now

    def random(self) -> float:
        return self.world.rng.random()

    # the run's own records

    def entries(self) -> Iterable[Entry]:
        return self.world.journals.get(self.run, [])

    def note(self, kind: str, data: Mapping[str, Any]) -> float:
        is_intent = kind in INTENTS
        named = str(data["do"]) if kind in ("effect", "did") else kind
        if is_intent:
            self.world.point(named, Phase.BEFORE_INTENT)
        self.world.journals.setdefault(self.run, []).append((kind, data, self.world.now))
        self.world.log.effects.append(Effect(self.world.now, Actor.US, "note", self.run, {**data, "entry": kind}))
        self.world.point(named, Phase.AFTER_INTENT if is_intent else Phase.AFTER_RECORD)
        return self.world.now

    def checkpoint(self, order: CheckpointOrder) -> Mapping[str, Any]:
        self.world.point("checkpoint", Phase.BEFORE_INTENT)
        digest = checkpoint_digest(self.run, order.step, order.variables)
        ref = f"refs/autopilot/checkpoints/{self.run}/{order.step}"
        self.world.saved[ref] = self.world.git.at(order.tree) if order.tree else {}
        self._done("checkpoint", step=order.step, ref=ref)
        page = {"step": order.step, "name": order.name, "path": f"artefacts/step-{order.step:02}-output.md"}
        kept = {name: value for name, value in order._asdict().items() if name not in ("output", "saved")}
        return {**kept, "id": digest[:SHORT_ID], "digest": digest, "artefacts": [page], "ref": ref}

    def settings(self) -> str:
        return ""

    def settle(self, *, keep: bool) -> Lane:
        return self.lane

    def changed_settings(self) -> str:
        return ""

    # the board

    def rows(self) -> Mapping[str, Row]:
        return rows_of(self.world.board)

    def set_row(self, key: str, status: str, expect: str) -> bool:
        if not is_readable(self.world.board):
            raise FileError("cannot be read", place=Place(self.world.books.board))
        row = rows_of(self.world.board).get(key)
        if (row.status.raw if row else "") != expect:
            return False
        change = with_status if row else with_row
        self.world.board = change(self.world.board, key, status)
        self._done("set-row", key=key, before=expect, after=status)
        return True

    def restore_board(self, call: CallId) -> str:
        self.world.point("restore-board", Phase.BEFORE_INTENT)
        before = self.world.calls[self.run, call].board_before
        if not is_readable(before):
            raise FileError("cannot be read, nor can what stood there before", place=Place(self.world.books.board))
        self.world.board = before
        self._done("restore-board", call=call)
        return f"{call.number:02}-{call.step}/attempt-{call.attempt}/board.theirs"

    # git

    def ground(self, branch: str) -> str:
        here = self.world.git.branch
        return "" if here == branch else f"the work tree is on {here}, and this run began on {branch}"

    def tree(self, story: str) -> Tree:
        git = self.world.git
        return Tree(git.head, git.branch, git.tree(), git.code(self.world.books.apart(story)))

    def changed(self, before: str, after: str) -> tuple[str, ...]:
        return tuple(changed_paths(self.world.git.at(before), self.world.git.at(after)))

    def is_tidy(self) -> bool:
        return set(self.world.git.dirty()) <= set(self.lane.dirty)

    def is_committed_done(self, key: str, since: str | None) -> bool:
        git, board = self.world.git, self.world.books.board
        if since is None or git.head in (None, since) or not git.descends(git.head, since):
            return False
        if set(changed_paths(git.commits[since].files, git.head_files)) <= {*self.world.books.apart(key), board}:
            return False
        raw = (git.commits[commit].files.get(board, b"") for commit in (since, git.head) if commit)
        before, now = (raw_statuses(one).get(key) if is_readable(one) else None for one in raw)
        return now == DONE != before

    def commit(self, order: CommitOrder) -> str:
        git = self.world.git
        known = git.find(order.key)
        if known is not None:
            return known
        paths = set(self.world.books.apart(order.story)) if order.story else {self.world.books.board}
        for call in order.calls:
            known_call = self.world.calls.get((self.run, call))
            paths |= known_call.touched(git) if known_call else set()
        sha = git.commit_paths(paths - set(self.lane.dirty), order.subject, order.key)
        self._done("commit", key=order.key, label=order.label, story=order.story, sha=sha)
        return sha

    def set_aside(self, story: str, calls: tuple[CallId, ...], head: str | None) -> str:
        self.world.point("save", Phase.BEFORE_INTENT)
        if not self.world.git.descends(self.world.git.head, head):
            self.world.git.head = head
        git, ref = self.world.git, f"refs/autopilot/saved/{self.run}/{story}"
        self.world.saved[ref] = {**self.world.saved.get(ref, {}), **git.snapshot()}
        known = [self.world.calls[self.run, call] for call in calls if (self.run, call) in self.world.calls]
        kept = {*self.lane.dirty, *self.world.books.apart(story)}
        for path in {path for call in known for path in call.touched(git)} - kept:
            if path in git.head_files:
                git.write(path, git.head_files[path])
            else:
                git.remove(path)
        self._done("save", story=story, ref=ref)
        return ref

    # agents

    def call_state(self, call: CallId) -> str:
        known = self.world.calls.get((self.run, call))
        return known.state if known else "new"

    def is_apart(self) -> bool:
        return False

    def has_slot(self) -> bool:
        return True

    def wait_for_slot(self) -> None:
        raise AssertionError("there is always one")

    def start(self, order: CallOrder) -> None:
        if self.call_state(order.id) != "new" or self.world.parked_until > self.world.now:
            return  # as the real one, which looks at the account once more
        self.world.take_aside(order.story)
        habit = self._cast.habit_of(order.story)
        self.world.start(self.run, MemoryCall(order, habit, self.world.books))
        self.world.point("start", Phase.AFTER_EFFECT)

    def gather(self, order: CallOrder) -> Gathered:
        self.world.point("gather", Phase.BEFORE_INTENT)
        call = self.world.calls[self.run, order.id]
        call.taken_in = True
        got = gather(self.world, self.run, self.lane, order, call.left or self.tree(order.story))
        self._done("gather", call=order.id)
        return got

    def caller(self, step: Step) -> Caller:
        return Caller("", self.world.parked_until)  # one account for all

    def clear_state(self, story: str) -> None:
        self.world.point("clear-state", Phase.BEFORE_INTENT)
        self.world.clear_state(story)
        self._done("clear-state", story=story)

    def tail(self, call: CallId) -> str:
        return f"{call.step} said this last"

    def places(self, story: str, call: CallId) -> tuple[str, ...]:
        return (f"{story}.md",)

    def left_question(self, story: str) -> Asked | None:
        return None

    # the project's checks

    def check(self, code: str) -> Check:
        self.world.advance(self.world.now + 20.0)
        check = run_checks(self.world.git.files, code)
        self._done("check", code=code[:8], passed=check.passed)
        return check

    def check_logs(self, code: str) -> str:
        return f"checks/{code[:8]}"

    # delivery

    @property
    def _hub(self) -> "Hub":
        assert self.world.hub is not None, "a world in which nothing is delivered"
        return self.world.hub

    def forge(self) -> "Forge":
        from .github.watched import WatchedForge

        return WatchedForge(self._hub.forge, self._on_forge)

    def _on_forge(self, kind: str, phase: Phase, data: dict[str, Any]) -> None:
        """Before it the intent is recorded: that is a point of its own. Somebody may be quicker than a merge."""
        if kind == "merge" and phase is Phase.BEFORE_INTENT:
            self._hub.before_merge()
        if phase is Phase.AFTER_EFFECT:
            self._done(kind, **{name: value for name, value in data.items() if value is not None})

    def flow(self) -> "Desk":
        raise AssertionError("no flow is simulated")

    def lines(self) -> "MemoryLines":
        from .memory_lines import MemoryLines

        return MemoryLines(self.world, self._hub, self.run, round_key(self.lane.key, 1), self.lane.dirty)

    def pull_text(self, run: RunRecord) -> tuple[str, str]:
        from ..engine.delivery.pull_text import Told, pull_body, pull_title

        rows = [row for row in self.rows().values() if row.kind is Kind.STORY and row.epic == self.lane.epic]
        stories = [Told(row.key, "", (), row.meaning == DONE) for row in rows]
        return pull_title(self.lane), pull_body(self.lane, run, stories)

    def has_turn(self) -> bool:
        return True

    def take_turn(self) -> bool:
        return True

    def await_turn(self) -> None:
        raise AssertionError("it is always its turn")

    def step_aside(self) -> None:
        return

    def taken(self) -> str:
        return ""  # a switch refuses whatever is not committed

    # waiting

    def stopping(self) -> bool:
        return self.world.stop

    def pausing(self) -> bool:
        return self.world.pause

    def wait(self, until: float | None, call: CallId | None) -> None:
        """To the next thing that happens, and at most until a slow look again."""
        world = self.world
        known = world.calls.get((self.run, call)) if call else None
        bounds = [bound for bound in (until, known.ends_at if known else None) if bound is not None]
        world.did(Actor.US, "wait", self.run, until=min(bounds, default=None))
        following = world.next_event()
        ends = min([*bounds, *([following] if following is not None else [])], default=world.now + RESCAN)
        world.advance(max(ends, world.now) + 0.001)

    def linger(self, call: CallId) -> bool:
        """Some press Ctrl-C a second time."""
        ends = self.world.rng.random() < 0.3
        if ends:
            self.world.cancel(self.run, call)
            self.world.point("cancel", Phase.AFTER_EFFECT)
        return ends
