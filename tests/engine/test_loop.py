"""The loop on a world in memory: what it does when things go as they should not."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.core.lane_scope import LaneScope
from bmad_autopilot.core.run_record import CheckRecord
from bmad_autopilot.engine.lane import Lane
from bmad_autopilot.engine.loop import LaneLoop
from bmad_autopilot.engine.ports import CallId
from bmad_autopilot.sim import habits
from bmad_autopilot.sim.faults import CrashPlan
from bmad_autopilot.sim.habits.honest import honest
from bmad_autopilot.sim.memory.git import raw_statuses, with_row_status
from bmad_autopilot.sim.memory.ports import (
    MemoryAgents,
    MemoryBoard,
    MemoryRecords,
    MemoryWorktree,
    build_memory_ports,
)
from bmad_autopilot.sim.memory.world import MemoryWorld
from bmad_autopilot.sim.sample import sample_files, story_keys
from bmad_autopilot.sim.scenario import Participants, seeded_random
from bmad_autopilot.sim.users import Humans, Manner
from bmad_autopilot.sim.workspace import AgentJob, ScriptedEnding, Workspace
from bmad_autopilot.workflows.workflow import PIPELINES, Step, Workflow

FIRST, SECOND = story_keys(1, 2)
RUN = "run-1"


class Bench:
    """One epic of two stories."""

    def __init__(self, habit: str = "honest", manner: Manner = Manner.ABSENT, **lane: Any) -> None:
        self.world = MemoryWorld(
            sample_files(1, 2), seeded_random(1, "world"), CrashPlan(seeded_random(1, "crashes"))
        )
        self.cast = Participants({FIRST: habit})
        self.cast.humans = Humans(manner, seeded_random(1, "humans"), self.cast, attended=False)
        self.lane = Lane(LaneScope.EPIC, "epic-1", "1", PIPELINES["lean"], branch="main")._replace(**lane)

    def run(self) -> str:
        ports = build_memory_ports(self.world, RUN, self.lane, self.cast)
        ports.records.note("resumed" if self.world.journals.get(RUN) else "run", {"run_id": RUN})
        return LaneLoop(ports, self.lane).run_to_end()

    def answer(self, text: str) -> None:
        asked = next(reversed(self.world.questions.values()))
        assert text in asked.payload.options
        asked.answer = text

    @property
    def question(self) -> str:
        return next(reversed(self.world.questions.values())).payload.code

    def entries(self, kind: str) -> list[Any]:
        return [data for name, data, _ in self.world.journals[RUN] if name == kind]

    def row(self, key: str = FIRST) -> str:
        return raw_statuses(self.world.board)[key]

    def set_row(self, status: str, key: str = FIRST) -> None:
        self.world.board = with_row_status(self.world.board, key, status)

    def remove_row(self, key: str = FIRST) -> None:
        lines = self.world.board.split(b"\n")
        self.world.board = b"\n".join(line for line in lines if not line.strip().startswith(f"{key}:".encode()))

    def put_row(self, status: str, key: str = FIRST) -> None:
        row = b"  epic-1:"
        self.world.board = self.world.board.replace(row, f"  {key}: {status}\n".encode() + row, 1)

    def after(self, seconds: float, do: Any) -> None:
        self.world.schedule(seconds, do)

    @property
    def starts(self) -> list[str]:
        return [f"{e.data['story']} {e.data['call'].step}" for e in self.world.log.select("start")]


def test_an_epic_goes_from_backlog_to_done() -> None:
    bench = Bench()
    assert bench.run() == "completed"
    assert {bench.row(FIRST), bench.row(SECOND), bench.row("epic-1")} == {"done"}
    assert bench.starts == [
        f"{key} {step}" for key in (FIRST, SECOND) for step in ("create-story", "dev", "code-review")
    ]
    messages = [commit.message for commit in bench.world.git.commits.values() if commit.key]
    assert messages == [f"Story {FIRST}", f"Story {SECOND}", "Close epic-1"]
    assert bench.world.git.dirty() == ()


def test_the_epic_is_lifted_and_the_row_set_before_anybody_works() -> None:
    bench = Bench("forgets-row")
    bench.run()
    moves = [(e.data["key"], e.data["after"]) for e in bench.world.log.effects if e.kind == "set-row"]
    assert moves[0] == ("epic-1", "in-progress")
    assert [after for key, after in moves if key == FIRST] == ["ready-for-dev", "in-progress", "review", "done"]


def test_a_review_sends_it_back_once_with_a_commit_for_the_round() -> None:
    bench = Bench("picky")
    assert bench.run() == "completed"
    assert len(bench.entries("round")) == 1
    labels = [data["label"] for data in bench.entries("commit") if data["story"] == FIRST]
    assert labels == ["round-1", "done"]


def test_reviews_without_end_go_to_a_person_who_may_allow_more() -> None:
    bench = Bench("endlessly-picky", max_rounds=2)
    assert bench.run() == "waiting"
    assert bench.question == "rounds"
    assert len(bench.entries("round")) == 1
    bench.answer("more")
    assert bench.run() == "waiting"
    assert len(bench.entries("round")) == 3
    bench.answer("approve")
    assert bench.run() == "completed"


def test_broken_checks_are_mended_before_the_review() -> None:
    bench = Bench("broken-checks")
    assert bench.run() == "completed"
    assert [check["passed"] for check in bench.entries("check")][:2] == [False, True]
    assert [step["cause"] for step in bench.entries("step") if step["story"] == FIRST] == ["", "", "checks", ""]


def test_a_missing_environment_is_no_agents_business() -> None:
    bench = Bench("environment")
    assert bench.run() == "waiting"
    assert bench.question == "environment"
    bench.answer("retry")
    assert bench.run() == "waiting"  # looked at again, asked again: never in circles
    assert len(bench.world.questions) == 2
    bench.world.git.remove("environment")
    bench.answer("retry")
    assert bench.run() == "completed"


@pytest.mark.parametrize("said", ["retry", "fix"])
def test_checks_that_a_person_has_mended_outside_the_code_are_run_again(
    monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    """A service that is up again: the tree is the same, and what failed on it must not be told again."""
    is_mended = False

    def checked(files: object, code: str) -> CheckRecord:
        return CheckRecord(code, is_mended, excerpt="" if is_mended else "FAILED test_x")

    monkeypatch.setattr("bmad_autopilot.sim.memory.ports.run_checks", checked)
    bench = Bench(max_fixes=0)
    assert bench.run() == "waiting"
    assert bench.question == "checks"
    is_mended = True
    bench.answer(said)
    assert bench.run() == "completed"
    assert bench.starts.count(f"{FIRST} dev") == 1


def test_an_answer_goes_to_the_agent_that_asked() -> None:
    bench = Bench("asking")
    assert bench.run() == "waiting"
    bench.answer("count them")
    assert bench.run() == "completed"
    assert bench.starts.count(f"{FIRST} dev") == 2


def test_a_skipped_story_is_parked_and_the_next_one_begun() -> None:
    bench = Bench("no-change")
    assert bench.run() == "waiting"
    assert bench.starts.count(f"{FIRST} dev") == 2
    bench.answer("skip")
    assert bench.run() == "waiting"
    assert (bench.question, bench.row(FIRST), bench.row(SECOND)) == ("left-out", "blocked", "done")
    bench.answer("close")
    assert bench.run() == "completed"
    assert bench.row("epic-1") == "done"


def test_a_persons_word_stands_while_we_wait() -> None:
    bench = Bench("no-change")
    bench.run()
    bench.set_row("blocked")
    bench.answer("retry")
    assert bench.run() == "waiting"
    assert bench.question == "left-out"
    assert bench.starts.count(f"{FIRST} dev") == 2
    assert [data["status"] for data in bench.entries("edited")] == ["parked"]


@pytest.mark.parametrize(("answer", "calls"), [("mine", 2), ("undo", 3)])
def test_a_story_that_says_done_without_a_commit_is_asked_about(answer: str, calls: int) -> None:
    bench = Bench("no-change")
    bench.run()
    bench.set_row("done")
    bench.cast.make_honest(FIRST)
    bench.answer("retry")
    assert bench.run() == "waiting"
    assert bench.question == "row"
    bench.answer(answer)
    assert bench.run() == "completed"
    assert bench.starts.count(f"{FIRST} dev") == calls
    assert [data["status"] for data in bench.entries("edited")] == (["done"] if answer == "mine" else [])
    assert bench.row() == "done"


@pytest.mark.parametrize(("answer", "begun"), [("mine", False), ("undo", True)])
def test_a_story_that_was_never_begun_and_says_done_is_asked_about(answer: str, begun: bool) -> None:
    """A test of the first story's agent may write it while our checks run."""
    bench = Bench(rows={FIRST: "backlog", SECOND: "backlog"})
    check = MemoryWorktree.check

    def meddling(ports: MemoryWorktree, code: str) -> CheckRecord:
        if bench.row(SECOND) == "backlog" and not bench.world.questions:
            bench.set_row("done", SECOND)
        return check(ports, code)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryWorktree, "check", meddling)
        assert bench.run() == "waiting"
        assert (bench.question, bench.row(FIRST)) == ("row", "review")
        assert bench.entries("commit") == [], "the board is part of each commit"
        bench.answer(answer)
        assert bench.run() == "completed"
    assert (f"{SECOND} dev" in bench.starts) == begun
    assert bench.row(SECOND) == "done"


@pytest.mark.parametrize(("answer", "calls"), [("mine", 0), ("undo", 1)])
def test_rows_that_moved_during_a_call_are_asked_about_once(answer: str, calls: int) -> None:
    """And the story's own row, which the call has set to done too, is set back at once."""
    bench = Bench("marks-others-done", rows={FIRST: "backlog", SECOND: "backlog"})
    assert bench.run() == "waiting"
    assert (bench.question, bench.row(FIRST)) == ("rows", "in-progress")
    bench.cast.make_honest(FIRST)
    bench.answer(answer)
    while bench.run() == "waiting":
        assert bench.question == "failed"
        bench.answer("retry")
    assert [asked.payload.code for asked in bench.world.questions.values()].count("row") == 0
    assert bench.starts.count(f"{SECOND} dev") == calls


def test_a_story_that_was_done_when_the_run_began_is_not_asked_about() -> None:
    bench = Bench(rows={FIRST: "backlog", SECOND: "done"})
    bench.set_row("done", SECOND)
    assert bench.run() == "completed"
    assert not bench.world.questions


def test_a_row_that_a_persons_commit_sets_to_done_stands() -> None:
    bench = Bench("no-change")
    bench.run()
    bench.set_row("done")
    bench.world.git.write("src/ledger/by_hand.py", b"done = True\n")
    bench.world.git.commit_files(bench.world.git.snapshot(), "By a person")
    bench.answer("retry")
    assert bench.run() == "completed"
    assert [data["status"] for data in bench.entries("edited")] == ["done"]


def test_a_commit_of_the_board_alone_proves_no_work() -> None:
    bench = Bench("no-change")
    bench.run()
    bench.set_row("done")
    bench.world.git.commit_files(bench.world.git.snapshot(), "The board")
    bench.answer("retry")
    assert bench.run() == "waiting"
    assert bench.question == "row"


def test_a_row_that_a_person_moves_back_is_worked_on_again() -> None:
    """During a call it may have been the agent: they are asked."""
    bench = Bench()
    bench.after(1500.0, lambda: bench.set_row("ready-for-dev"))  # while the second story is in hand
    assert bench.run() == "waiting"
    assert bench.question == "rows"
    bench.answer("mine")
    assert bench.run() == "completed"
    assert bench.starts.count(f"{FIRST} dev") == 2
    assert bench.row() == "done"


def test_a_story_deleted_mid_run_is_let_go_with_its_work_saved() -> None:
    bench = Bench()
    bench.after(300.0, bench.remove_row)
    assert bench.run() == "completed"
    assert [data["story"] for data in bench.entries("gone")] == [FIRST]
    assert bench.world.saved
    assert FIRST not in raw_statuses(bench.world.board)
    assert bench.row(SECOND) == "done"


def test_a_story_that_comes_back_while_another_is_worked_on_waits_its_turn() -> None:
    bench = Bench()
    bench.after(300.0, bench.remove_row)
    bench.after(1000.0, lambda: bench.put_row("ready-for-dev"))
    assert bench.run() == "completed"
    assert {bench.row(FIRST), bench.row(SECOND)} == {"done"}
    assert [data["status"] for data in bench.entries("story")] == ["backlog", "backlog", "ready-for-dev"]
    running = 0
    for effect in bench.world.log.select("start", "end"):
        running += 1 if effect.kind == "start" else -1
        assert running <= 1


def test_a_board_an_agent_spoilt_is_put_back_and_said() -> None:
    bench = Bench("breaks-board")
    assert bench.run() == "completed"
    assert bench.entries("restored")


def test_a_reviewer_that_breaks_the_build_is_not_taken_for_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    """It approves, sets the row to done, and what it changed fails the checks."""

    def breaks(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
        done = honest(workspace, job)
        if job.step == "code-review" and not (workspace.read("src/ledger/broken_once.py")):
            workspace.write("src/ledger/broken_once.py", b"x = 1\n")
            workspace.write("broken", b"by the reviewer\n")
        return done

    made = habits.Habit("breaks", habits.HabitKind.FAULTY, "Breaks the build in its review.", breaks)
    monkeypatch.setattr("bmad_autopilot.sim.scenario.HABITS", {**habits.HABITS, "breaks": made})
    bench = Bench("breaks")
    assert bench.run() == "completed"
    assert bench.entries("edited") == []
    assert [data["why"] for data in bench.entries("round")] == ["checks"]
    assert len([data for data in bench.entries("commit") if data["story"] == FIRST]) == 1


def test_a_limit_is_waited_for_and_costs_no_try() -> None:
    bench = Bench("limit")
    assert bench.run() == "completed"
    assert bench.entries("resting")[0]["why"] == "limit"
    assert bench.world.now > 3600


def test_a_retrospective_waits_for_a_limit_too() -> None:
    bench = Bench(retrospective="run")
    bench.after(1900.0, lambda: setattr(bench.world, "parked_until", 9000.0))
    assert bench.run() == "completed"
    assert bench.starts[-1] == "epic-1 retrospective"
    assert bench.world.now > 9000


def ends_with(
    monkeypatch: pytest.MonkeyPatch, step: str, *endings: Callable[[Workspace, AgentJob], ScriptedEnding]
) -> str:
    """A habit that is honest but for its first calls of this step."""
    left = list(endings)

    def acts(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
        return left.pop(0)(workspace, job) if job.step == step and left else honest(workspace, job)

    made = habits.Habit("made", habits.HabitKind.FAULTY, "Made for one test.", acts)
    monkeypatch.setattr("bmad_autopilot.sim.scenario.HABITS", {**habits.HABITS, "honest": made, "made": made})
    return "made"


def crashes(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    return ScriptedEnding("crashed")


def asks(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    question = {"id": "q1", "question": "Which way?", "options": ["left", "right"], "answer": None}
    state = {"blockReason": "critical_decision", "questions": [question]}
    workspace.write(f"{job.folder}/{job.story}.agent-state.json", json.dumps(state).encode())
    return ScriptedEnding("completed")


@pytest.mark.parametrize(("ending", "code"), [(crashes, "retrospective"), (asks, "agent")])
def test_a_retrospective_that_was_not_held_is_asked_about_where_somebody_is_there(
    monkeypatch: pytest.MonkeyPatch, ending: Callable[[Workspace, AgentJob], ScriptedEnding], code: str
) -> None:
    ends_with(monkeypatch, "retrospective", ending)
    bench = Bench(manner=Manner.PATIENT, retrospective="run")
    bench.cast.humans.attended = True
    assert bench.run() == "completed"
    assert [data["code"] for data in bench.entries("asked")] == [code]
    assert bench.starts.count("epic-1 retrospective") == 2
    assert bench.row("epic-1-retrospective") == "done"


def test_a_retrospective_that_was_not_held_holds_nobody_up_where_nobody_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ends_with(monkeypatch, "retrospective", crashes)
    bench = Bench(retrospective="run")
    assert bench.run() == "completed"
    assert (bench.entries("asked"), bench.row("epic-1")) == ([], "done")
    assert bench.row("epic-1-retrospective") == "optional"


def test_a_retrospective_that_nobody_wants_again_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    ends_with(monkeypatch, "retrospective", crashes)
    monkeypatch.setattr(Humans, "_choose_answer", lambda self, code, options, heard: "leave")
    bench = Bench(manner=Manner.PATIENT, retrospective="run")
    bench.cast.humans.attended = True
    assert bench.run() == "completed"
    assert bench.starts.count("epic-1 retrospective") == len(bench.entries("asked")) == 1


def test_a_retrospective_that_meets_a_limit_is_held_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ends_with(monkeypatch, "retrospective", lambda workspace, job: ScriptedEnding("limit", resets_after=7200.0))
    bench = Bench(retrospective="run")
    assert bench.run() == "completed"
    assert bench.starts.count("epic-1 retrospective") == 2
    assert bench.row("epic-1-retrospective") == "done"


def test_a_retrospective_that_is_refused_for_ever_ends_too(monkeypatch: pytest.MonkeyPatch) -> None:
    ends_with(monkeypatch, "retrospective", *[lambda workspace, job: ScriptedEnding("overloaded")] * 60)
    bench = Bench(retrospective="run")
    assert bench.run() == "completed"
    assert 1 < bench.starts.count("epic-1 retrospective") < 20
    assert {data["why"] for data in bench.entries("resting")} == {"pause"}
    assert bench.row("epic-1-retrospective") == "optional"


NO_REVIEW = Workflow("mine", PIPELINES["lean"].steps[:2], PIPELINES["lean"].fix)


def test_without_a_review_a_story_at_review_is_done_once_its_checks_pass() -> None:
    bench = Bench(workflow=NO_REVIEW, max_fixes=0)
    bench.set_row("review")
    bench.world.git.write("broken", b"since yesterday\n")
    assert bench.run() == "waiting"
    assert (bench.question, bench.starts) == ("checks", [])
    bench.world.git.remove("broken")
    bench.answer("retry")
    assert bench.run() == "completed"
    assert (bench.row(FIRST), bench.row(SECOND)) == ("done", "done")
    assert bench.starts == [f"{SECOND} create-story", f"{SECOND} dev"]
    assert f"Story {FIRST}" in [commit.message for commit in bench.world.git.commits.values()]


def test_a_row_that_no_step_of_the_workflow_leads_from_is_asked_about() -> None:
    """The last step sets nothing: nobody can tell whether it was done."""
    last = Step("security", "qa", prompt="Look for holes.")
    bench = Bench(workflow=NO_REVIEW._replace(steps=(*NO_REVIEW.steps, last)))
    bench.set_row("review")
    assert bench.run() == "waiting"
    assert bench.question == "stuck"
    assert "its row says review" in next(iter(bench.world.questions.values())).payload.context


def test_an_answer_that_nobody_delivered_is_delivered_when_it_is_taken() -> None:
    """Recorded, and whoever recorded it was killed before it reached the agent's file."""
    bench = Bench("asking")
    assert bench.run() == "waiting"
    bench.answer("count them")
    path = f"{bench.world.story_paths.folder}/{FIRST}.agent-state.json"
    delivered = []

    note = MemoryRecords.note

    def look(records: MemoryRecords, kind: str, data: Any) -> float:
        if kind == "answered":
            delivered.append(json.loads(bench.world.git.files[path])["questions"][0]["answer"])
        return note(records, kind, data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryRecords, "note", look)
        assert bench.run() == "completed"
    assert delivered == ["count them"]


def test_what_an_agent_asked_in_an_earlier_run_is_nobodys_question(monkeypatch: pytest.MonkeyPatch) -> None:
    def leaves_state(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
        there = workspace.read(f"{job.folder}/{job.story}.agent-state.json")
        done = honest(workspace, job)
        if there is not None:
            workspace.write(f"{job.folder}/{job.story}.agent-state.json", there)
        return done

    ends_with(monkeypatch, "create-story", leaves_state)
    bench = Bench()
    state = {"blockReason": "critical_decision", "questions": [{"id": "q1", "question": "Old?", "answer": None}]}
    bench.world.git.write(f"{bench.world.story_paths.folder}/{FIRST}.agent-state.json", json.dumps(state).encode())
    assert bench.run() == "completed"
    assert bench.world.questions == {}


def test_a_story_moved_during_the_retrospective_starts_no_second_agent() -> None:
    """It looks back, and moves no row but its own: another is put back."""
    bench = Bench(retrospective="run")
    bench.after(1980.0, lambda: bench.set_row("review"))
    assert bench.run() == "completed"
    told = [f"{e.kind} {e.data['call'].step}" for e in bench.world.log.select("start", "end")]
    assert told[-2:] == ["start retrospective", "end retrospective"]
    assert (bench.row(), bench.row("epic-1-retrospective")) == ("done", "done")


def test_a_branch_that_was_switched_is_asked_about_until_it_is_back() -> None:
    bench = Bench("switches-branch")
    assert bench.run() == "waiting"
    assert bench.question == "ground"
    bench.answer("retry")
    assert bench.run() == "waiting"
    assert (bench.question, len(bench.world.questions)) == ("ground", 2)


def test_money_that_is_spent_is_asked_about() -> None:
    bench = Bench(max_cost=0.5)
    assert bench.run() == "waiting"
    assert bench.question == "budget"
    bench.answer("stop")
    assert bench.run() == "failed"


def test_told_to_leave_it_leaves_and_the_agent_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryAgents, "cancel_on_second_stop", lambda self, call: False)
    bench = Bench()
    bench.after(200.0, lambda: setattr(bench.world, "stop", True))
    assert bench.run() == "left"
    bench.world.stop = False
    assert bench.run() == "completed"
    assert len(bench.starts) == 6


def test_rows_that_moved_during_a_call_are_asked_about_and_undone() -> None:
    bench = Bench("marks-others-done")
    assert bench.run() == "waiting"
    assert (bench.question, bench.row(SECOND)) == ("rows", "done")
    bench.answer("undo")
    bench.run()
    ours = [effect.data for effect in bench.world.log.select("set-row") if effect.data["key"] == SECOND]
    assert (ours[0]["before"], ours[0]["after"]) == ("done", "backlog")
    assert bench.row() != "done"


def test_told_twice_it_ends_the_agent_and_calls_it_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(self: MemoryAgents, call: CallId) -> bool:
        self._world.cancel(self._run, call)
        return True

    monkeypatch.setattr(MemoryAgents, "cancel_on_second_stop", ends)
    bench = Bench()
    bench.after(200.0, lambda: setattr(bench.world, "stop", True))
    assert bench.run() == "left"
    bench.world.stop = False
    assert bench.run() == "completed"
    assert len(bench.starts) == 7
    assert bench.world.questions == {}


def test_a_loop_that_goes_round_in_circles_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryBoard, "set_row", lambda self, key, status, expect: False)
    with pytest.raises(AutopilotError, match="goes round in circles at"):
        Bench().run()
