"""Each promise is broken once on purpose: a check that never fails proves nothing."""

import re
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.board.sprint import Row
from bmad_autopilot.core.records import RunRecord
from bmad_autopilot.engine.doors import CallId, CallOrder, Question
from bmad_autopilot.gates.objections import owes
from bmad_autopilot.sim.invariants import PROMISES
from bmad_autopilot.sim.memory import MemoryQuestion
from bmad_autopilot.sim.memory_board import with_status
from bmad_autopilot.sim.memory_calls import MemoryCall
from bmad_autopilot.sim.memory_doors import MemoryDoors
from bmad_autopilot.sim.memory_git import MemoryGit, changed_paths
from bmad_autopilot.sim.played import Played
from bmad_autopilot.sim.scenario import Options
from bmad_autopilot.sim.simulate import play, simulate

SEEDS = range(60)


def breaks(promise: str) -> str:
    """The first of some worlds in which a promise does not hold; what it said. They crash more than usual."""
    for seed in SEEDS:
        for problem in simulate(seed, Options(crash_rate=0.05)).broken:
            if problem.startswith(promise.replace("_", " ")):
                return problem
    raise AssertionError(f"{promise} holds in every world")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that was broken on purpose may go round for long."""
    monkeypatch.setattr("bmad_autopilot.engine.loop.MAX_TURNS", 1500)
    monkeypatch.setattr("bmad_autopilot.sim.simulate.MAX_SESSIONS", 40)


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
            return set(changed_paths(git.at(self.tree_before), git.at(self.tree_after)))

        monkeypatch.setattr(MemoryCall, "touched", touched)
        return accepted(*arguments)

    return look


def test_a_start_that_does_not_look_whether_the_agent_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(self: MemoryDoors, order: CallOrder) -> None:
        habit = self._cast.habit_of(order.story)
        self.world.start(self.run, MemoryCall(order, habit, self.world.books))
        self.world.point("start", _after_effect())

    monkeypatch.setattr(MemoryDoors, "start", start)
    monkeypatch.setattr(MemoryDoors, "call_state", lambda self, call: _state(self, call))
    assert breaks("no_call_is_started_twice")
    assert breaks("one_call_at_a_time")


def _after_effect() -> Any:
    from bmad_autopilot.sim.faults import Phase

    return Phase.AFTER_EFFECT


def _state(doors: MemoryDoors, call: CallId) -> str:
    """Says now and then that nothing was started."""
    known = doors.world.calls.get((doors.run, call))
    forgets = known is not None and known.state == "running" and doors.world.rng.random() < 0.1
    return "new" if known is None or forgets else known.state


def test_a_journal_that_forgets_what_it_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    note = MemoryDoors.note

    def forgetful(self: MemoryDoors, kind: str, data: Any) -> float:
        return self.world.now if kind == "call" else note(self, kind, data)

    monkeypatch.setattr(MemoryDoors, "note", forgetful)
    assert breaks("every_call_was_meant")


def test_a_call_taken_in_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    note = MemoryDoors.note

    def twice(self: MemoryDoors, kind: str, data: Any) -> float:
        if kind == "ended":
            note(self, kind, data)
        return note(self, kind, data)

    monkeypatch.setattr(MemoryDoors, "note", twice)
    assert breaks("every_call_is_taken_in_once")
    assert breaks("money_is_counted_once")


def test_a_step_done_again_without_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    from bmad_autopilot.core import folding

    def accepted(run: RunRecord, data: Any, at: float) -> None:
        found = run.find_step(data)
        if found is not None:
            found[1].accepted = True  # and forgotten that the story is past it

    monkeypatch.setitem(folding._KINDS, "accepted", accepted)
    assert "was begun twice" in breaks("every_call_is_justified")


def test_an_agent_believed_on_its_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bmad_autopilot.gates.work.judge_work", lambda look: ())
    assert breaks("no_liar_reaches_done")


def test_an_honest_agent_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "bmad_autopilot.gates.work.judge_work", lambda look: (owes("never", "It is never good enough."),)
    )
    assert breaks("honest_stories_get_done")


def test_a_row_written_without_comparing(monkeypatch: pytest.MonkeyPatch) -> None:
    def set_row(self: MemoryDoors, key: str, status: str, expect: str) -> bool:
        before = self.world.row(key)
        self.world.board = with_status(self.world.board, key, status)
        self._done("set-row", key=key, before=before, after=status)
        return True

    def row(doors: Any, run: Any, story: Any, row: Row | None, due: str, *rest: Any) -> str:
        return "gone" if row is None else "right" if row.meaning == due else "due"

    monkeypatch.setattr(MemoryDoors, "set_row", set_row)
    monkeypatch.setattr("bmad_autopilot.engine.observing._row", row)
    assert breaks("no_edit_is_overwritten")


def test_rows_that_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    def right(story: Any, row: Row | None, *rest: Any) -> str:
        return "gone" if row is None else "right"

    monkeypatch.setattr("bmad_autopilot.engine.observing._row", right)
    assert breaks("no_call_for_what_a_person_stopped")


def test_a_row_written_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    set_row = MemoryDoors.set_row

    def twice(self: MemoryDoors, key: str, status: str, expect: str) -> bool:
        return set_row(self, key, status, expect) and set_row(self, key, status, status)

    monkeypatch.setattr(MemoryDoors, "set_row", twice)
    assert breaks("no_board_change_is_repeated")


def test_a_question_put_anew_after_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(self: MemoryDoors, question: Question) -> str:
        name = f"q{len(self.world.questions) + 1}"
        asked = MemoryQuestion(name, question, self.world.now)
        self.world.questions[self.run, name] = asked
        self._cast.humans.hear(self.world, asked)
        call = question.call
        self._done("ask", question=name, code=question.code, story=question.story, call=call, turn=question.turn)
        return name

    monkeypatch.setattr(MemoryDoors, "ask", ask)
    assert breaks("no_question_is_asked_twice")


def test_a_wait_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    wait = MemoryDoors.wait
    monkeypatch.setattr(MemoryDoors, "wait", lambda self, until, call: wait(self, None, None))
    assert breaks("every_wait_has_a_bound")


def test_a_persons_files_committed_with_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    commit = MemoryGit.commit_paths

    def everything(self: MemoryGit, paths: Any, message: str, key: str) -> str:
        return commit(self, self.files, message, key)

    monkeypatch.setattr(MemoryGit, "commit_paths", everything)
    assert breaks("no_file_of_a_person_is_committed")


def test_a_run_that_ends_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bmad_autopilot.engine.position.choose", lambda fresh: None)
    assert breaks("every_story_ends_done_or_with_a_person")


def test_a_run_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bmad_autopilot.sim.simulate._comes_back", lambda *rest: True)
    monkeypatch.setattr("bmad_autopilot.sim.simulate.MAX_SESSIONS", 5)
    assert "endless" in breaks("every_run_ends")


def test_an_epic_that_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bmad_autopilot.engine.observing._epic_after", lambda *rest: "closed")
    assert breaks("epics_are_closed_with_their_last_story")


def test_a_row_that_says_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgets(seed: int, options: Options) -> Played:
        played = play(seed, options)
        for session in played.sessions:
            session.rows = dict.fromkeys(session.rows, "review")
        return played

    monkeypatch.setattr("bmad_autopilot.sim.simulate.play", forgets)
    assert breaks("accepted_rows_say_done")


def test_a_step_without_its_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bmad_autopilot.engine.performing.checkpoint_order", lambda *rest: None)
    assert breaks("every_completed_step_has_its_checkpoint")


def test_a_person_who_is_not_asked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bmad_autopilot.engine.observing._at_stage", lambda lane, run, look, stage: look)
    assert breaks("what_asks_a_person_first_is_asked")


def test_every_promise_is_broken_here() -> None:
    named = set(re.findall(r'breaks\("(\w+)"\)', Path(__file__).read_text()))
    assert {promise.__name__ for promise in PROMISES} == named
