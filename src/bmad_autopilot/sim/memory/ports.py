"""The engine's Ports on a world in memory. Effects on disk and in git become changes of dictionaries under the
same keys; the gates and the board reader are the real ones."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ...board.sprint_status import Row
from ...core.errors import FileError, Location
from ...core.run_record import CheckRecord, RunRecord
from ...core.statuses import DONE, RowKind
from ...core.stop_causes import choose_by_policy
from ...engine.delivery.rounds import fix_round_key
from ...engine.lane import Lane
from ...engine.observation import BY_POLICY
from ...engine.ports import (
    AgentChoice,
    CallId,
    CallOrder,
    CheckpointOrder,
    CollectedCall,
    CommitOrder,
    LaneQuestion,
    PresetAnswer,
    RunEvent,
    UnansweredQuestion,
    WorktreeSnapshot,
)
from ...runs.state_file import SHORT_ID, checkpoint_digest
from ...workflows.workflow import Step
from ..effect_log import Effect, EffectActor
from ..faults import INTENT_KINDS, CrashPhase
from ..sample import BROKEN_FILE, NO_DATABASE_FILE
from ..scenario import Participants
from .agent_calls import MemoryCall
from .evidence import collect_call
from .git import Files, board_rows, changed_paths, is_readable, raw_statuses, with_new_row, with_row_status
from .world import MemoryQuestion, MemoryWorld

if TYPE_CHECKING:
    from ...engine.flows.model import FlowStore
    from ...github.forge import Forge
    from .branches import MemoryBranches
    from .world import Hub


# Questions, and answers that simulated people give at a scheduled time.


class MemoryPeople:
    def __init__(self, world: MemoryWorld, run: str, participants: Participants) -> None:
        self.world = world
        self.run = run
        self._participants = participants

    def _effect(self, kind: str, /, **data: Any) -> None:
        self.world.record(EffectActor.US, kind, self.run, **data)
        self.world.crash_point(kind, CrashPhase.AFTER_EFFECT)

    def ask(self, question: LaneQuestion) -> str:
        self.world.crash_point("ask", CrashPhase.BEFORE_INTENT)
        for (run, name), known in self.world.questions.items():
            if run == self.run and _is_same_question(known.payload, question):
                return name
        name = f"q{len(self.world.questions) + 1}"
        asked = MemoryQuestion(name, question, self.world.now)
        self.world.questions[self.run, name] = asked
        self._participants.humans.receive_question(self.world, asked)
        call = question.call
        self._effect("ask", question=name, code=question.code, story=question.story, call=call, turn=question.turn)
        return name

    def is_asked(self, question: str) -> bool:
        return (self.run, question) in self.world.questions

    def answer(self, question: str) -> str | None:
        return self.world.questions[self.run, question].answer

    def preset_answer(self, question: str) -> PresetAnswer | None:
        asked = self.world.questions[self.run, question].payload
        choice = choose_by_policy(self._participants.unattended, asked.cause)
        is_free = not self.is_attended() and choice in asked.options
        return PresetAnswer(choice, BY_POLICY, is_choice=True) if is_free else None

    def record_answer(self, question: str, advance: PresetAnswer) -> None:
        asked = self.world.questions[self.run, question]
        if asked.answer is None:
            asked.answer, asked.by = advance.text, advance.by
            self._effect("answer", code=asked.payload.code, story=asked.payload.story, answer=advance.text)

    def answered_by(self, question: str) -> str:
        return self.world.questions[self.run, question].by

    def deliver_answer(self, question: str) -> None:
        asked = self.world.questions[self.run, question]
        self.world.deliver_answer(asked)

    def is_attended(self) -> bool:
        return self._participants.humans.attended

    def wait_for_answer(self, question: str) -> bool:
        asked = self.world.questions[self.run, question]
        if not self._participants.humans.attended or asked.answer_at is None:
            return False
        self.world.record(EffectActor.US, "wait", self.run, until=asked.answer_at)
        following = self.world.next_event()
        ends = asked.answer_at if following is None else min(asked.answer_at, following)
        self.world.advance(max(ends, self.world.now) + 0.001)
        return True


def _is_same_question(one: LaneQuestion, other: LaneQuestion) -> bool:
    return one.turn == other.turn and (one.story, one.call, one.text) == (other.story, other.call, other.text)


# The sample's `check.py` as a function of the files: its result and output.


def run_checks(files: Files, code: str) -> CheckRecord:
    if NO_DATABASE_FILE in files:
        return CheckRecord(code, False, True, "environment", "database: connect ECONNREFUSED")
    if BROKEN_FILE in files:
        output = files[BROKEN_FILE].decode("utf-8", "replace")[:200]
        return CheckRecord(code, False, False, f"broken {output}", f"FAILED tests: {output}")
    return CheckRecord(code, True)


RESCAN = 60.0  # maximum wait without a wake-up


class MemoryPorts(MemoryPeople):
    def __init__(self, world: MemoryWorld, run: str, lane: Lane, participants: Participants) -> None:
        super().__init__(world, run, participants)
        self.lane = lane

    def now(self) -> float:
        return self.world.now

    def random(self) -> float:
        return self.world.rng.random()

    # the run's own records

    def entries(self) -> Iterable[RunEvent]:
        return self.world.journals.get(self.run, [])

    def note(self, kind: str, data: Mapping[str, Any]) -> float:
        is_intent = kind in INTENT_KINDS
        named = str(data["do"]) if kind in ("effect", "did") else kind
        if is_intent:
            self.world.crash_point(named, CrashPhase.BEFORE_INTENT)
        self.world.journals.setdefault(self.run, []).append((kind, data, self.world.now))
        self.world.log.effects.append(
            Effect(self.world.now, EffectActor.US, "note", self.run, {**data, "entry": kind})
        )
        self.world.crash_point(named, CrashPhase.AFTER_INTENT if is_intent else CrashPhase.AFTER_RECORD)
        return self.world.now

    def checkpoint(self, order: CheckpointOrder) -> Mapping[str, Any]:
        self.world.crash_point("checkpoint", CrashPhase.BEFORE_INTENT)
        digest = checkpoint_digest(self.run, order.step, order.variables)
        ref = f"refs/autopilot/checkpoints/{self.run}/{order.step}"
        self.world.saved[ref] = self.world.git.files_at(order.tree) if order.tree else {}
        self._effect("checkpoint", step=order.step, ref=ref)
        page = {"step": order.step, "name": order.name, "path": f"artefacts/step-{order.step:02}-output.md"}
        kept = {name: value for name, value in order._asdict().items() if name not in ("output", "saved")}
        return {**kept, "id": digest[:SHORT_ID], "digest": digest, "artefacts": [page], "ref": ref}

    def settings(self) -> str:
        return ""

    def apply_settings(self, *, keep: bool) -> Lane:
        return self.lane

    def describe_settings_changes(self) -> str:
        return ""

    # the board

    def rows(self) -> Mapping[str, Row]:
        return board_rows(self.world.board)

    def set_row(self, key: str, status: str, expect: str) -> bool:
        if not is_readable(self.world.board):
            raise FileError("cannot be read", location=Location(self.world.story_paths.board))
        row = board_rows(self.world.board).get(key)
        if (row.status.raw if row else "") != expect:
            return False
        change = with_row_status if row else with_new_row
        self.world.board = change(self.world.board, key, status)
        self._effect("set-row", key=key, before=expect, after=status)
        return True

    def restore_board(self, call: CallId) -> str:
        self.world.crash_point("restore-board", CrashPhase.BEFORE_INTENT)
        before = self.world.calls[self.run, call].board_before
        if not is_readable(before):
            raise FileError(
                "cannot be read, nor can what stood there before", location=Location(self.world.story_paths.board)
            )
        self.world.board = before
        self._effect("restore-board", call=call)
        return f"{call.number:02}-{call.step}/attempt-{call.attempt}/board.theirs"

    # git

    def worktree_problem(self, branch: str) -> str:
        here = self.world.git.branch
        return "" if here == branch else f"the work tree is on {here}, and this run began on {branch}"

    def tree(self, story: str) -> WorktreeSnapshot:
        git = self.world.git
        return WorktreeSnapshot(
            git.head, git.branch, git.tree_hash(), git.code_hash(self.world.story_paths.non_code_paths(story))
        )

    def changed_paths(self, before: str, after: str) -> tuple[str, ...]:
        return tuple(changed_paths(self.world.git.files_at(before), self.world.git.files_at(after)))

    def is_clean(self) -> bool:
        return set(self.world.git.dirty()) <= set(self.lane.dirty)

    def is_committed_done(self, key: str, since: str | None) -> bool:
        git, board = self.world.git, self.world.story_paths.board
        if since is None or git.head in (None, since) or not git.descends(git.head, since):
            return False
        if set(changed_paths(git.commits[since].files, git.head_files)) <= {
            *self.world.story_paths.non_code_paths(key),
            board,
        }:
            return False
        raw = (git.commits[commit].files.get(board, b"") for commit in (since, git.head) if commit)
        before, now = (raw_statuses(one).get(key) if is_readable(one) else None for one in raw)
        return now == DONE != before

    def commit(self, order: CommitOrder) -> str:
        git = self.world.git
        known = git.find(order.key)
        if known is not None:
            return known
        paths = (
            set(self.world.story_paths.non_code_paths(order.story))
            if order.story
            else {self.world.story_paths.board}
        )
        for call in order.calls:
            known_call = self.world.calls.get((self.run, call))
            paths |= known_call.touched(git) if known_call else set()
        sha = git.commit_paths(paths - set(self.lane.dirty), order.subject, order.key)
        self._effect("commit", key=order.key, label=order.label, story=order.story, sha=sha)
        return sha

    def stash_work(self, story: str, calls: tuple[CallId, ...], head: str | None) -> str:
        self.world.crash_point("save", CrashPhase.BEFORE_INTENT)
        if not self.world.git.descends(self.world.git.head, head):
            self.world.git.head = head
        git, ref = self.world.git, f"refs/autopilot/saved/{self.run}/{story}"
        self.world.saved[ref] = {**self.world.saved.get(ref, {}), **git.snapshot()}
        known = [self.world.calls[self.run, call] for call in calls if (self.run, call) in self.world.calls]
        kept = {*self.lane.dirty, *self.world.story_paths.non_code_paths(story)}
        for path in {path for call in known for path in call.touched(git)} - kept:
            if path in git.head_files:
                git.write(path, git.head_files[path])
            else:
                git.remove(path)
        self._effect("save", story=story, ref=ref)
        return ref

    # agents

    def call_state(self, call: CallId) -> str:
        known = self.world.calls.get((self.run, call))
        return known.state if known else "new"

    def has_own_worktree(self) -> bool:
        return False

    def has_slot(self) -> bool:
        return True

    def wait_for_slot(self) -> None:
        raise AssertionError("there is always one")

    def start(self, order: CallOrder) -> None:
        if self.call_state(order.id) != "new" or self.world.parked_until > self.world.now:
            return  # like the real port, which checks the account's limit once more
        self.world.remove_old_answers(order.story)
        habit = self._participants.habit_of(order.story)
        self.world.start(self.run, MemoryCall(order, habit, self.world.story_paths))
        self.world.crash_point("start", CrashPhase.AFTER_EFFECT)

    def collect(self, order: CallOrder) -> CollectedCall:
        self.world.crash_point("gather", CrashPhase.BEFORE_INTENT)
        call = self.world.calls[self.run, order.id]
        call.is_collected = True
        collected = collect_call(self.world, self.run, self.lane, order, call.tree_left or self.tree(order.story))
        self._effect("gather", call=order.id)
        return collected

    def choose_agent(self, step: Step) -> AgentChoice:
        return AgentChoice("", self.world.parked_until)  # all roles share one account

    def clear_agent_state(self, story: str) -> None:
        self.world.crash_point("clear-state", CrashPhase.BEFORE_INTENT)
        self.world.clear_state(story)
        self._effect("clear-state", story=story)

    def last_output(self, call: CallId) -> str:
        return f"{call.step} said this last"

    def related_files(self, story: str, call: CallId) -> tuple[str, ...]:
        return (f"{story}.md",)

    def unanswered_question(self, story: str) -> UnansweredQuestion | None:
        return None

    # the project's checks

    def check(self, code: str) -> CheckRecord:
        self.world.advance(self.world.now + 20.0)
        check = run_checks(self.world.git.files, code)
        self._effect("check", code=code[:8], passed=check.passed)
        return check

    def check_logs(self, code: str) -> str:
        return f"checks/{code[:8]}"

    # delivery

    @property
    def _hub(self) -> "Hub":
        assert self.world.hub is not None, "a world in which nothing is delivered"
        return self.world.hub

    def forge(self) -> "Forge":
        from ..github.forge import WatchedForge

        return WatchedForge(self._hub.forge, self._on_forge_effect)

    def _on_forge_effect(self, kind: str, phase: CrashPhase, data: dict[str, Any]) -> None:
        """Logs the effect; the intent before it has its own crash point. `before_merge` lets others act first."""
        if kind == "merge" and phase is CrashPhase.BEFORE_INTENT:
            self._hub.before_merge()
        if phase is CrashPhase.AFTER_EFFECT:
            self._effect(kind, **{name: value for name, value in data.items() if value is not None})

    def flow_store(self) -> "FlowStore":
        raise AssertionError("no flow is simulated")

    def branches(self) -> "MemoryBranches":
        from .branches import MemoryBranches

        return MemoryBranches(self.world, self._hub, self.run, fix_round_key(self.lane.key, 1), self.lane.dirty)

    def pull_text(self, run: RunRecord) -> tuple[str, str]:
        from ...engine.delivery.text import StorySummary, pull_body, pull_title

        rows = [row for row in self.rows().values() if row.kind is RowKind.STORY and row.epic == self.lane.epic]
        stories = [StorySummary(row.key, "", (), row.meaning == DONE) for row in rows]
        return pull_title(self.lane), pull_body(self.lane, run, stories)

    def has_merge_turn(self) -> bool:
        return True

    def acquire_merge_turn(self) -> bool:
        return True

    def request_merge_turn(self) -> None:
        raise AssertionError("it is always its turn")

    def release_merge_turn(self) -> None:
        return

    def checkout_blocker(self) -> str:
        return ""  # `switch` refuses uncommitted changes

    # waiting

    def is_stopping(self) -> bool:
        return self.world.stop

    def is_pausing(self) -> bool:
        return self.world.pause

    def wait(self, until: float | None, call: CallId | None) -> None:
        """Advance to the next event, at most to `until`, the call's end or the next rescan."""
        world = self.world
        known = world.calls.get((self.run, call)) if call else None
        bounds = [bound for bound in (until, known.ends_at if known else None) if bound is not None]
        world.record(EffectActor.US, "wait", self.run, until=min(bounds, default=None))
        following = world.next_event()
        ends = min([*bounds, *([following] if following is not None else [])], default=world.now + RESCAN)
        world.advance(max(ends, world.now) + 0.001)

    def cancel_on_second_stop(self, call: CallId) -> bool:
        """In 30 % of cases the user presses Ctrl-C a second time."""
        ends = self.world.rng.random() < 0.3
        if ends:
            self.world.cancel(self.run, call)
            self.world.crash_point("cancel", CrashPhase.AFTER_EFFECT)
        return ends
