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
    AgentCall,
    AgentChoice,
    AgentResult,
    CallId,
    CheckpointOrder,
    CommitOrder,
    LaneQuestion,
    Ports,
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
    from ...github.forge import Forge
    from .branches import MemoryBranches
    from .world import Hub


class RunEffects:
    """Records a run's effects. After each of them others may act, and the supervisor may crash."""

    def __init__(self, world: MemoryWorld, run: str) -> None:
        self._world = world
        self._run = run

    def done(self, kind: str, /, **data: Any) -> None:
        self._world.record(EffectActor.US, kind, self._run, **data)
        self._world.crash_point(kind, CrashPhase.AFTER_EFFECT)


class MemoryPeople:
    """Questions, and answers that simulated people give at a scheduled time."""

    def __init__(self, world: MemoryWorld, run: str, participants: Participants) -> None:
        self._world = world
        self._run = run
        self._participants = participants
        self._effects = RunEffects(world, run)

    def ask(self, question: LaneQuestion) -> str:
        self._world.crash_point("ask", CrashPhase.BEFORE_INTENT)
        for (run, name), known in self._world.questions.items():
            if run == self._run and _is_same_question(known.payload, question):
                return name
        name = f"q{len(self._world.questions) + 1}"
        asked = MemoryQuestion(name, question, self._world.now, self._world.site_of(self._run))
        self._world.questions[self._run, name] = asked
        self._participants.humans.receive_question(self._world, asked)
        call = question.call
        self._effects.done(
            "ask", question=name, code=question.code, story=question.story, call=call, turn=question.turn
        )
        return name

    def is_asked(self, question: str) -> bool:
        return (self._run, question) in self._world.questions

    def answer(self, question: str) -> str | None:
        return self._world.questions[self._run, question].answer

    def preset_answer(self, question: str) -> PresetAnswer | None:
        asked = self._world.questions[self._run, question].payload
        choice = choose_by_policy(self._participants.unattended, asked.cause)
        is_free = not self.is_attended() and choice in asked.options
        return PresetAnswer(choice, BY_POLICY, is_choice=True) if is_free else None

    def record_answer(self, question: str, advance: PresetAnswer) -> None:
        asked = self._world.questions[self._run, question]
        if asked.answer is None:
            asked.answer, asked.by = advance.text, advance.by
            self._effects.done("answer", code=asked.payload.code, story=asked.payload.story, answer=advance.text)

    def answered_by(self, question: str) -> str:
        return self._world.questions[self._run, question].by

    def deliver_answer(self, question: str) -> None:
        asked = self._world.questions[self._run, question]
        payload = asked.payload
        site = self._world.site_of(self._run)
        site.deliver_answer(payload.story, payload.agent_question_id, asked.answer)

    def is_attended(self) -> bool:
        return self._participants.humans.attended

    def wait_for_answer(self, question: str) -> bool:
        asked = self._world.questions[self._run, question]
        if not self._participants.humans.attended or asked.answer_at is None:
            return False
        self._world.record(EffectActor.US, "wait", self._run, until=asked.answer_at)
        following = self._world.next_event()
        ends = asked.answer_at if following is None else min(asked.answer_at, following)
        self._world.advance(max(ends, self._world.now) + 0.001)
        return True

    def is_stopping(self) -> bool:
        return self._world.stop

    def is_pausing(self) -> bool:
        return self._world.pause


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


class MemoryClock:
    def __init__(self, world: MemoryWorld, run: str) -> None:
        self._world = world
        self._run = run

    def now(self) -> float:
        return self._world.now

    def random(self) -> float:
        return self._world.rng.random()

    def wait(self, until: float | None) -> None:
        wait_for_event(self._world, self._run, until)


def wait_for_event(world: MemoryWorld, run: str, until: float | None) -> None:
    """Advance to the next event, at most to `until` or the next rescan."""
    world.record(EffectActor.US, "wait", run, until=until)
    bounds = [bound for bound in (until, world.next_event()) if bound is not None]
    world.advance(max(min(bounds, default=world.now + RESCAN), world.now) + 0.001)


class MemoryRecords:
    """The run's journal and checkpoints. Settings never change."""

    def __init__(self, world: MemoryWorld, run: str, lane: Lane) -> None:
        self._world = world
        self._run = run
        self._lane = lane
        self._effects = RunEffects(world, run)

    def entries(self) -> Iterable[RunEvent]:
        return self._world.journals.get(self._run, [])

    def note(self, kind: str, data: Mapping[str, Any]) -> float:
        is_intent = kind in INTENT_KINDS
        named = str(data["do"]) if kind in ("effect", "did") else kind
        if is_intent:
            self._world.crash_point(named, CrashPhase.BEFORE_INTENT)
        self._world.journals.setdefault(self._run, []).append((kind, data, self._world.now))
        self._world.log.effects.append(
            Effect(self._world.now, EffectActor.US, "note", self._run, {**data, "entry": kind})
        )
        self._world.crash_point(named, CrashPhase.AFTER_INTENT if is_intent else CrashPhase.AFTER_RECORD)
        return self._world.now

    def checkpoint(self, order: CheckpointOrder) -> Mapping[str, Any]:
        self._world.crash_point("checkpoint", CrashPhase.BEFORE_INTENT)
        digest = checkpoint_digest(self._run, order.step, order.variables)
        ref = f"refs/autopilot/checkpoints/{self._run}/{order.step}"
        self._world.saved[ref] = self._world.git.files_at(order.tree) if order.tree else {}
        self._effects.done("checkpoint", step=order.step, ref=ref)
        page = {"step": order.step, "name": order.name, "path": f"artefacts/step-{order.step:02}-output.md"}
        kept = {name: value for name, value in order._asdict().items() if name not in ("output", "saved")}
        return {**kept, "id": digest[:SHORT_ID], "digest": digest, "artefacts": [page], "ref": ref}

    def settings(self) -> str:
        return ""

    def apply_settings(self, *, keep: bool) -> Lane:
        return self._lane

    def describe_settings_changes(self) -> str:
        return ""


class MemoryBoard:
    """The board, with the real reader and the real one-token edit."""

    def __init__(self, world: MemoryWorld, run: str) -> None:
        self._world = world
        self._site = world.site_of(run)
        self._run = run
        self._effects = RunEffects(world, run)

    def rows(self) -> Mapping[str, Row]:
        return board_rows(self._site.board)

    def set_row(self, key: str, status: str, expect: str) -> bool:
        if not is_readable(self._site.board):
            raise FileError("cannot be read", location=Location(self._site.story_paths.board))
        row = board_rows(self._site.board).get(key)
        if (row.status.raw if row else "") != expect:
            return False
        change = with_row_status if row else with_new_row
        self._site.board = change(self._site.board, key, status)
        self._effects.done("set-row", key=key, before=expect, after=status)
        return True

    def restore(self, call: CallId) -> str:
        self._world.crash_point("restore-board", CrashPhase.BEFORE_INTENT)
        before = self._world.calls[self._run, call].board_before
        if not is_readable(before):
            raise FileError(
                "cannot be read, nor can what stood there before", location=Location(self._site.story_paths.board)
            )
        self._site.board = before
        self._effects.done("restore-board", call=call)
        return f"{call.number:02}-{call.step}/attempt-{call.attempt}/board.theirs"


class MemoryWorktree:
    """The work tree in memory, and the project's checks as a function of its files."""

    def __init__(self, world: MemoryWorld, run: str, lane: Lane) -> None:
        self._world = world
        self._site = world.site_of(run)
        self._run = run
        self._lane = lane
        self._effects = RunEffects(world, run)

    def problem(self, branch: str) -> str:
        here = self._site.git.branch
        return "" if here == branch else f"the work tree is on {here}, and this run began on {branch}"

    def snapshot(self, story: str) -> WorktreeSnapshot:
        git = self._site.git
        return WorktreeSnapshot(
            git.head, git.branch, git.tree_hash(), git.code_hash(self._site.story_paths.non_code_paths(story))
        )

    def changed_paths(self, before: str, after: str) -> tuple[str, ...]:
        return tuple(changed_paths(self._site.git.files_at(before), self._site.git.files_at(after)))

    def is_clean(self) -> bool:
        return set(self._site.git.dirty()) <= set(self._lane.dirty)

    def is_committed_done(self, key: str, since: str | None) -> bool:
        git, board = self._site.git, self._site.story_paths.board
        if self._site.is_own or since is None or git.head in (None, since) or not git.descends(git.head, since):
            return False
        if set(changed_paths(git.commits[since].files, git.head_files)) <= {
            *self._site.story_paths.non_code_paths(key),
            board,
        }:
            return False
        raw = (git.commits[commit].files.get(board, b"") for commit in (since, git.head) if commit)
        before, now = (raw_statuses(one).get(key) if is_readable(one) else None for one in raw)
        return now == DONE != before

    def commit(self, order: CommitOrder) -> str:
        git = self._site.git
        known = git.find(order.key)
        if known is not None:
            return known
        paths = (
            set(self._site.story_paths.non_code_paths(order.story))
            if order.story
            else {self._site.story_paths.board}
        )
        for call in order.calls:
            known_call = self._world.calls.get((self._run, call))
            paths |= known_call.touched(git) if known_call else set()
        sha = git.commit_paths(paths - set(self._lane.dirty), order.subject, order.key)
        self._effects.done("commit", key=order.key, label=order.label, story=order.story, sha=sha)
        return sha

    def stash(self, story: str, calls: tuple[CallId, ...], head: str | None) -> str:
        self._world.crash_point("save", CrashPhase.BEFORE_INTENT)
        if not self._site.git.descends(self._site.git.head, head):
            self._site.git.head = head
        git, ref = self._site.git, f"refs/autopilot/saved/{self._run}/{story}"
        self._world.saved[ref] = {**self._world.saved.get(ref, {}), **git.snapshot()}
        known = [self._world.calls[self._run, call] for call in calls if (self._run, call) in self._world.calls]
        kept = {*self._lane.dirty, *self._site.story_paths.non_code_paths(story)}
        for path in {path for call in known for path in call.touched(git)} - kept:
            if path in git.head_files:
                git.write(path, git.head_files[path])
            else:
                git.remove(path)
        self._effects.done("save", story=story, ref=ref)
        return ref

    def is_own(self) -> bool:
        return self._site.is_own

    def check(self, code: str) -> CheckRecord:
        self._world.advance(self._world.now + 20.0)
        check = run_checks(self._site.git.files, code)
        self._effects.done("check", code=code[:8], passed=check.passed)
        return check

    def check_logs(self, code: str) -> str:
        return f"checks/{code[:8]}"

    def recover_check(self) -> None:
        return


class MemoryAgents:
    """Agents whose habits run in virtual time."""

    def __init__(
        self, world: MemoryWorld, run: str, lane: Lane, participants: Participants, worktree: MemoryWorktree
    ) -> None:
        self._world = world
        self._site = world.site_of(run)
        self._run = run
        self._lane = lane
        self._participants = participants
        self._worktree = worktree
        self._effects = RunEffects(world, run)

    def state(self, call: CallId) -> str:
        known = self._world.calls.get((self._run, call))
        return known.state if known else "new"

    def has_slot(self) -> bool:
        return True

    def wait_for_slot(self) -> None:
        raise AssertionError("there is always one")

    def start(self, order: AgentCall) -> None:
        if self.state(order.id) != "new" or self._world.parked_until > self._world.now:
            return  # like the real port, which checks the account's limit once more
        self._site.remove_old_answers(order.story)
        habit = self._participants.habit_of(order.story)
        self._world.start(self._run, MemoryCall(order, habit, self._site.story_paths))
        self._world.crash_point("start", CrashPhase.AFTER_EFFECT)

    def collect(self, order: AgentCall) -> AgentResult:
        self._world.crash_point("gather", CrashPhase.BEFORE_INTENT)
        call = self._world.calls[self._run, order.id]
        call.is_collected = True
        collected = collect_call(
            self._world, self._run, self._lane, order, call.tree_left or self._worktree.snapshot(order.story)
        )
        self._effects.done("gather", call=order.id)
        return collected

    def choose(self, step: Step) -> AgentChoice:
        return AgentChoice("", self._world.parked_until)  # all roles share one account

    def clear_state(self, story: str) -> None:
        self._world.crash_point("clear-state", CrashPhase.BEFORE_INTENT)
        self._site.clear_state(story)
        self._effects.done("clear-state", story=story)

    def last_output(self, call: CallId) -> str:
        return f"{call.step} said this last"

    def related_files(self, story: str, call: CallId) -> tuple[str, ...]:
        return (f"{story}.md",)

    def unanswered_question(self, story: str) -> UnansweredQuestion | None:
        return None

    def wait(self, call: CallId) -> None:
        known = self._world.calls.get((self._run, call))
        wait_for_event(self._world, self._run, known.ends_at if known else None)

    def cancel_on_second_stop(self, call: CallId) -> bool:
        """In 30 % of cases the user presses Ctrl-C a second time."""
        ends = self._world.rng.random() < 0.3
        if ends:
            self._world.cancel(self._run, call)
            self._world.crash_point("cancel", CrashPhase.AFTER_EFFECT)
        return ends


class MemoryDelivery:
    """The simulated GitHub and the branches."""

    def __init__(self, world: MemoryWorld, run: str, lane: Lane, board: MemoryBoard) -> None:
        self._world = world
        self._run = run
        self._lane = lane
        self._board = board
        self._effects = RunEffects(world, run)

    @property
    def _hub(self) -> "Hub":
        assert self._world.hub is not None, "a world in which nothing is delivered"
        return self._world.hub

    def forge(self) -> "Forge":
        from ..github.forge import WatchedForge

        return WatchedForge(self._hub.forge, self._on_forge_effect)

    def _on_forge_effect(self, kind: str, phase: CrashPhase, data: dict[str, Any]) -> None:
        """Logs the effect; the intent before it has its own crash point. `before_merge` lets others act first."""
        if kind == "merge" and phase is CrashPhase.BEFORE_INTENT:
            self._hub.before_merge()
        if phase is CrashPhase.AFTER_EFFECT:
            self._effects.done(kind, **{name: value for name, value in data.items() if value is not None})

    def branches(self) -> "MemoryBranches":
        from .branches import MemoryBranches

        return MemoryBranches(
            self._world, self._hub, self._run, fix_round_key(self._lane.key, 1), self._lane.dirty
        )

    def pull_text(self, run: RunRecord) -> tuple[str, str]:
        from ...engine.delivery.text import StorySummary, pull_body, pull_title

        rows = [
            row for row in self._board.rows().values() if row.kind is RowKind.STORY and row.epic == self._lane.epic
        ]
        stories = [StorySummary(row.key, "", (), row.meaning == DONE) for row in rows]
        return pull_title(self._lane), pull_body(self._lane, run, stories)

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


def build_memory_ports(world: MemoryWorld, run: str, lane: Lane, participants: Participants) -> Ports:
    board, worktree = MemoryBoard(world, run), MemoryWorktree(world, run, lane)
    return Ports(
        clock=MemoryClock(world, run),
        records=MemoryRecords(world, run, lane),
        board=board,
        worktree=worktree,
        agents=MemoryAgents(world, run, lane, participants, worktree),
        people=MemoryPeople(world, run, participants),
        delivery=MemoryDelivery(world, run, lane, board),
    )
