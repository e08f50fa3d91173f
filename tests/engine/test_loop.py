"""The loop on a world in memory: what it does when things go as they should not."""

from typing import Any

import pytest

from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.engine.doors import CallId
from bmad_autopilot.engine.lane import Lane
from bmad_autopilot.engine.loop import LaneLoop
from bmad_autopilot.sim.faults import CrashPlan
from bmad_autopilot.sim.humans import Humans, Manner
from bmad_autopilot.sim.memory import World
from bmad_autopilot.sim.memory_board import raw_statuses, with_status
from bmad_autopilot.sim.memory_doors import MemoryDoors
from bmad_autopilot.sim.sample import sample_files, story_keys
from bmad_autopilot.sim.scenario import Cast, chances
from bmad_autopilot.workflows.pipelines import PIPELINES

FIRST, SECOND = story_keys(1, 2)
RUN = "run-1"


class Bench:
    """One epic of two stories."""

    def __init__(self, habit: str = "honest", manner: Manner = Manner.ABSENT, **lane: Any) -> None:
        self.world = World(sample_files(1, 2), chances(1, "world"), CrashPlan(chances(1, "crashes")))
        self.cast = Cast({FIRST: habit})
        self.cast.humans = Humans(manner, chances(1, "humans"), self.cast, attended=False)
        self.lane = Lane("epic", "epic-1", "1", PIPELINES["lean"], branch="main")._replace(**lane)

    def run(self) -> str:
        doors = MemoryDoors(self.world, RUN, self.lane, self.cast)
        doors.note("resumed" if self.world.journals.get(RUN) else "run", {"run_id": RUN})
        return LaneLoop(doors, self.lane).to_end()

    def answer(self, text: str) -> None:
        asked = next(reversed(self.world.questions.values()))
        assert text in asked.asked.options
        asked.answer = text

    @property
    def question(self) -> str:
        return next(reversed(self.world.questions.values())).asked.code

    def entries(self, kind: str) -> list[Any]:
        return [data for name, data, _ in self.world.journals[RUN] if name == kind]

    def row(self, key: str = FIRST) -> str:
        return raw_statuses(self.world.board)[key]

    def set_row(self, status: str, key: str = FIRST) -> None:
        self.world.board = with_status(self.world.board, key, status)

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
        return [f"{e.data['story']} {e.data['call'].step}" for e in self.world.log.of("start")]


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
    bench.set_row("done")
    bench.answer("retry")
    assert bench.run() == "completed"
    assert bench.starts.count(f"{FIRST} dev") == 2
    assert [data["status"] for data in bench.entries("edited")] == ["done"]


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
    for effect in bench.world.log.of("start", "end"):
        running += 1 if effect.kind == "start" else -1
        assert running <= 1


def test_a_board_an_agent_spoilt_is_put_back_and_said() -> None:
    bench = Bench("breaks-board")
    assert bench.run() == "completed"
    assert bench.entries("restored")


def test_a_reviewer_that_breaks_the_build_is_not_taken_for_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    """It approves, sets the row to done, and what it changed fails the checks."""
    from bmad_autopilot.sim import habits
    from bmad_autopilot.sim.desk import Desk, Ending, Job
    from bmad_autopilot.sim.habits.honest import honest

    def breaks(desk: Desk, job: Job) -> Ending:
        done = honest(desk, job)
        if job.step == "code-review" and not (desk.read("src/ledger/broken_once.py")):
            desk.write("src/ledger/broken_once.py", b"x = 1\n")
            desk.write("broken", b"by the reviewer\n")
        return done

    made = habits.Habit("breaks", habits.Kind.FAULTY, "Breaks the build in its review.", breaks)
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


def test_a_story_moved_during_the_retrospective_starts_no_second_agent() -> None:
    """It looks back, and moves no row but its own: another is put back."""
    bench = Bench(retrospective="run")
    bench.after(1980.0, lambda: bench.set_row("review"))
    assert bench.run() == "completed"
    told = [f"{e.kind} {e.data['call'].step}" for e in bench.world.log.of("start", "end")]
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
    monkeypatch.setattr(MemoryDoors, "linger", lambda self, call: False)
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
    ours = [effect.data for effect in bench.world.log.of("set-row") if effect.data["key"] == SECOND]
    assert (ours[0]["before"], ours[0]["after"]) == ("done", "backlog")
    assert bench.row() != "done"


def test_told_twice_it_ends_the_agent_and_calls_it_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(self: MemoryDoors, call: CallId) -> bool:
        self.world.cancel(self.run, call)
        return True

    monkeypatch.setattr(MemoryDoors, "linger", ends)
    bench = Bench()
    bench.after(200.0, lambda: setattr(bench.world, "stop", True))
    assert bench.run() == "left"
    bench.world.stop = False
    assert bench.run() == "completed"
    assert len(bench.starts) == 7
    assert bench.world.questions == {}


def test_a_loop_that_goes_round_in_circles_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryDoors, "set_row", lambda self, key, status, expect: False)
    with pytest.raises(AutopilotError, match="goes round in circles at"):
        Bench().run()
