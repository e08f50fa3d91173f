"""Each promise is broken once on purpose: a check that never fails proves nothing."""

import re
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.board.sprint_status import Row
from bmad_autopilot.core.run_record import RunRecord
from bmad_autopilot.engine.ports import AgentCall, CallId, LaneQuestion
from bmad_autopilot.gates.evidence import missing_output
from bmad_autopilot.sim.invariants import INVARIANTS
from bmad_autopilot.sim.memory.agent_calls import MemoryCall
from bmad_autopilot.sim.memory.git import MemoryGit, changed_paths, with_row_status
from bmad_autopilot.sim.memory.ports import MemoryAgents, MemoryBoard, MemoryPeople, MemoryRecords, wait_for_event
from bmad_autopilot.sim.memory.world import MemoryQuestion, MemoryWorld
from bmad_autopilot.sim.result import SimulationResult
from bmad_autopilot.sim.scenario import SimulationOptions
from bmad_autopilot.sim.simulate import run_simulation, simulate

SEEDS = range(60)


def breaks(promise: str) -> str:
    """The first of some worlds in which a promise does not hold; what it said. They crash more than usual."""
    for seed in SEEDS:
        for problem in simulate(seed, SimulationOptions(crash_rate=0.05)).broken:
            if problem.startswith(promise.replace("_", " ")):
                return problem
    raise AssertionError(f"{promise} holds in every world")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that was broken on purpose may go round for long."""
    monkeypatch.setattr("bmad_autopilot.engine.loop.MAX_TURNS", 1500)
    monkeypatch.setattr("bmad_autopilot.sim.simulate.MAX_LANE_STARTS", 40)


def test_a_commit_made_without_looking_whether_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryGit, "find", lambda self, key: None)
    assert "times" in breaks("no_commit_is_made_twice")


def test_a_commit_that_leaves_work_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryCall, "touched", lambda self, git: set())
    monkeypatch.setattr("bmad_autopilot.sim.invariants._accepted", _accepted_with_what_it_touched(monkeypatch))
    assert "is not in" in breaks("every_accepted_story_is_committed_once")


def _accepted_with_what_it_touched(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The doors see nothing touched; the promise sees what was."""
    from bmad_autopilot.sim import invariants

    accepted = invariants._accepted

    def look(*arguments: Any) -> dict[str, list[str]]:
        def touched(self: MemoryCall, git: Any) -> set[str]:
            return set(changed_paths(git.files_at(self.tree_before), git.files_at(self.tree_after)))

        monkeypatch.setattr(MemoryCall, "touched", touched)
        return accepted(*arguments)

    return look


def test_a_start_that_does_not_look_whether_the_agent_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(self: MemoryAgents, order: AgentCall) -> None:
        habit = self._participants.habit_of(order.story)
        self._world.start(self._run, MemoryCall(order, habit, self._world.story_paths))
        self._world.crash_point("start", _after_effect())

    monkeypatch.setattr(MemoryAgents, "start", start)
    monkeypatch.setattr(MemoryAgents, "state", lambda self, call: _state(self, call))
    assert breaks("no_call_is_started_twice")
    assert breaks("one_call_at_a_time")


def _after_effect() -> Any:
    from bmad_autopilot.sim.faults import CrashPhase

    return CrashPhase.AFTER_EFFECT


def _state(ports: MemoryAgents, call: CallId) -> str:
    """Says now and then that nothing was started."""
    known = ports._world.calls.get((ports._run, call))
    forgets = known is not None and known.state == "running" and ports._world.rng.random() < 0.1
    return "new" if known is None or forgets else known.state


def test_a_journal_that_forgets_what_it_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    note = MemoryRecords.note

    def forgetful(self: MemoryRecords, kind: str, data: Any) -> float:
        return self._world.now if kind == "call" else note(self, kind, data)

    monkeypatch.setattr(MemoryRecords, "note", forgetful)
    assert breaks("every_call_was_meant")


def test_a_call_taken_in_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    note = MemoryRecords.note

    def twice(self: MemoryRecords, kind: str, data: Any) -> float:
        if kind == "ended":
            note(self, kind, data)
        return note(self, kind, data)

    monkeypatch.setattr(MemoryRecords, "note", twice)
    assert breaks("every_call_is_taken_in_once")
    assert breaks("money_is_counted_once")


def test_a_step_done_again_without_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    from bmad_autopilot.core import journal_fold

    def accepted(run: RunRecord, data: Any, at: float) -> None:
        found = run.find_step(data)
        if found is not None:
            found[1].accepted = True  # and forgotten that the story is past it

    monkeypatch.setitem(journal_fold._HANDLERS, "accepted", accepted)
    assert "was begun twice" in breaks("every_call_is_justified")


def test_an_agent_believed_on_its_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bmad_autopilot.gates.judge.judge_work", lambda look: ())
    assert breaks("no_liar_reaches_done")


def test_an_honest_agent_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "bmad_autopilot.gates.judge.judge_work",
        lambda look: (missing_output("never", "It is never good enough."),),
    )
    assert breaks("honest_stories_get_done")


def test_a_row_written_without_comparing(monkeypatch: pytest.MonkeyPatch) -> None:
    def set_row(self: MemoryBoard, key: str, status: str, expect: str) -> bool:
        before = self._world.site.row_meaning(key)
        self._world.board = with_row_status(self._world.board, key, status)
        self._effects.done("set-row", key=key, before=before, after=status)
        return True

    def row(ports: Any, run: Any, story: Any, row: Row | None, due: str, *rest: Any) -> str:
        return "gone" if row is None else "right" if row.meaning == due else "due"

    monkeypatch.setattr(MemoryBoard, "set_row", set_row)
    monkeypatch.setattr("bmad_autopilot.engine.observe._row", row)
    assert breaks("no_edit_is_overwritten")


def test_rows_that_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    def right(story: Any, row: Row | None, *rest: Any) -> str:
        return "gone" if row is None else "right"

    monkeypatch.setattr("bmad_autopilot.engine.observe._row", right)
    assert breaks("no_call_for_what_a_person_stopped")


def test_a_row_written_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    set_row = MemoryBoard.set_row

    def twice(self: MemoryBoard, key: str, status: str, expect: str) -> bool:
        return set_row(self, key, status, expect) and set_row(self, key, status, status)

    monkeypatch.setattr(MemoryBoard, "set_row", twice)
    assert breaks("no_board_change_is_repeated")


def test_a_question_put_anew_after_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(self: MemoryPeople, question: LaneQuestion) -> str:
        name = f"q{len(self._world.questions) + 1}"
        asked = MemoryQuestion(name, question, self._world.now, self._world.site)
        self._world.questions[self._run, name] = asked
        self._participants.humans.receive_question(self._world, asked)
        call = question.call
        self._effects.done(
            "ask", question=name, code=question.code, story=question.story, call=call, turn=question.turn
        )
        return name

    monkeypatch.setattr(MemoryPeople, "ask", ask)
    assert breaks("no_question_is_asked_twice")


def test_a_wait_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(world: MemoryWorld, run: str, until: float | None) -> None:
        wait_for_event(world, run, None)

    monkeypatch.setattr("bmad_autopilot.sim.memory.ports.wait_for_event", wait)
    assert breaks("every_wait_has_a_bound")


def test_a_persons_files_committed_with_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    commit = MemoryGit.commit_paths

    def everything(self: MemoryGit, paths: Any, message: str, key: str) -> str:
        return commit(self, self.files, message, key)

    monkeypatch.setattr(MemoryGit, "commit_paths", everything)
    assert breaks("no_file_of_a_person_is_committed")


def test_a_run_that_ends_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bmad_autopilot.engine.observation.choose_action", lambda fresh: None)
    assert breaks("every_story_ends_done_or_with_a_person")


def test_a_run_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bmad_autopilot.sim.simulate._is_restarted", lambda *rest: True)
    monkeypatch.setattr("bmad_autopilot.sim.simulate.MAX_LANE_STARTS", 5)
    assert "endless" in breaks("every_run_ends")


def test_an_epic_that_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bmad_autopilot.engine.observe._epic_after", lambda *rest: "closed")
    assert breaks("epics_are_closed_with_their_last_story")


def test_a_row_that_says_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgets(seed: int, options: SimulationOptions) -> SimulationResult:
        result = run_simulation(seed, options)
        for session in result.sessions:
            session.rows = dict.fromkeys(session.rows, "review")
        return result

    monkeypatch.setattr("bmad_autopilot.sim.simulate.run_simulation", forgets)
    assert breaks("accepted_rows_say_done")


def test_a_step_without_its_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bmad_autopilot.engine.perform.checkpoint_order", lambda *rest: None)
    assert breaks("every_completed_step_has_its_checkpoint")


def test_a_person_who_is_not_asked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bmad_autopilot.engine.observe._at_stage", lambda lane, run, look, stage: look)
    assert breaks("what_asks_a_person_first_is_asked")


def test_every_promise_is_broken_here() -> None:
    named = set(re.findall(r'breaks\("(\w+)"\)', Path(__file__).read_text()))
    assert {promise.__name__ for promise in INVARIANTS} == named
