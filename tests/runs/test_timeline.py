"""What a run did, from its journal: nothing in it is lost, and nothing odd in it ends the reading."""

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.events import Event, decode_entry
from bmad_autopilot.runs.journal import Journal
from bmad_autopilot.runs.timeline import (
    ForkOrigin,
    RunCost,
    build_timeline,
    decisions_of_step,
    read_decisions,
    run_cost,
)
from tests.support.journal_entries import STORY


def events(*made: tuple[str, dict[str, Any]]) -> list[Event]:
    return [decode_entry(n, 100.0 * n, kind, data) for n, (kind, data) in enumerate(made, 1)]


def step(number: int, name: str = "dev", **more: Any) -> tuple[str, dict[str, Any]]:
    return "step", {"story": "1-2-login", "number": number, "step": name, "round": 1, **more}


def test_a_story_s_steps_with_what_happened_in_each() -> None:
    whole = build_timeline(decode_entry(n, at, kind, dict(data)) for n, (kind, data, at) in enumerate(STORY, 1))
    one, two, four = whole.steps
    assert (one.number, one.name, one.status, one.dollars, one.seconds) == (1, "dev", "done", 0.84, 498.0)
    assert [(call.attempt, call.finding) for call in one.attempts] == [(1, "asked"), (2, "good")]
    assert [(asked.id, asked.answer) for asked in one.questions] == [("q1", "postgres")]
    assert (two.status, two.attempts[0].message.strip()[:9], len(two.commits)) == ("sent back", "The token", 1)
    assert (four.number, four.status) == (4, "open")
    assert whole.ended == "completed"


def test_a_step_that_was_left_for_another_was_given_up() -> None:
    whole = build_timeline(events(step(1), step(2), ("accepted", {"story": "1-2-login", "number": 2})))
    assert [one.status for one in whole.steps] == ["given up", "done"]


def test_a_row_that_was_done_when_we_came_completes_no_step() -> None:
    whole = build_timeline(events(step(1), ("accepted", {"story": "1-2-login", "number": None, "finished": True})))
    assert whole.steps[0].status == "open"


def test_what_belongs_to_no_step() -> None:
    whole = build_timeline(events(("commit", {"label": "tidy", "sha": "a" * 40, "subject": "Tidy"}), step(1)))
    assert [one.number for one in whole.all_steps] == [0, 1]
    assert whole.outside_steps.commits[0].subject == "Tidy"


def test_steps_that_agents_keep_themselves() -> None:
    page = {"step": 2, "name": "discover", "path": "artefacts/step-02-output.md"}
    made = {"id": "a3f9b2", "digest": "a3f9b2" * 10, "step": 2, "variables": {}, "artefacts": [page]}
    whole = build_timeline(
        events(
            ("opened", {"target": "create-prd"}),
            ("saved", {"step": 2, "name": "discover"}),
            ("saved", {"step": 2, "name": "discover"}),
            ("checkpoint", {"step": 2, "checkpoint": made}),
            ("checkpoint", {"step": 7, "checkpoint": made}),
        )
    )
    one, seven = whole.steps
    assert (one.name, one.status, one.checkpoint, one.output) == (
        "discover",
        "done",
        "a3f9b2",
        "artefacts/step-02-output.md",
    )
    assert one.seconds == 200.0
    assert (seven.number, seven.name) == (7, "step 7")


def decided(rule: str) -> dict[str, Any]:
    return {"decided": {"rule": rule, "facts": {"call": "good"}}}


def test_decisions_belong_to_the_step_that_was_begun_last() -> None:
    found = read_decisions(
        events(
            ("story", {"story": "1-2-login", **decided("new-story")}),
            step(1, **decided("call")),
            ("accepted", decided("good")),
            step(2, "code-review", **decided("call")),
            ("round", {"why": "review"}),  # no decision of its own
            step(3, **decided("call")),
        )
    )
    assert [(one.step, one.rule) for one in found] == [
        (0, "new-story"),
        (1, "call"),
        (1, "good"),
        (2, "call"),
        (3, "call"),
    ]
    assert [one.step for one in decisions_of_step(found, None)] == [3]
    assert [one.rule for one in decisions_of_step(found, "1")] == ["call", "good"]
    assert [one.step for one in decisions_of_step(found, "dev")] == [3]
    assert (
        decisions_of_step(found, "no-such")
        == decisions_of_step(found, "9" * 50)
        == decisions_of_step([], None)
        == []
    )


ODD: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
KINDS = ["step", "saved", "call", "ended", "accepted", "round", "checkpoint", "asked", "answered", "commit", "x"]
NAMES = ["number", "step", "attempt", "dollars", "seconds", "tokens", "checkpoint", "question", "decided", "story"]
ENTRY = st.tuples(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(NAMES), ODD | st.just(1)))


@given(st.lists(ENTRY, max_size=12))
def test_odd_entries_are_passed_over(made: list[tuple[str, dict[str, Any]]]) -> None:
    assert all(isinstance(one.name, str) for one in build_timeline(events(*made)).all_steps)
    assert all(isinstance(one.rule, str) for one in read_decisions(events(*made)))


def test_what_a_fork_took_over_is_marked_and_its_beginning_is_no_resuming() -> None:
    forked = {"run": "b", "from": "a", "checkpoint": "a3f9b2", "step": 1, "branch": "main-a3f9b2"}
    begun = events(step(1), ("resumed", {}), ("forked", forked))
    assert build_timeline(begun).resumed == 0
    whole = build_timeline(
        events(step(1), ("resumed", {}), ("forked", forked), ("resumed", {}), step(2), ("resumed", {}))
    )
    assert [one.taken_over for one in whole.steps] == [True, False]
    assert whole.forked == ForkOrigin("a", "a3f9b2", 1, "main-a3f9b2", "")
    assert whole.resumed == 1


# What a run has cost, whatever else its journal says.


def test_every_call_that_ended_counts_once(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), lambda value: value)
    journal.append("run", note='"kind":"ended"')
    journal.append("ended", dollars=0.5, tokens=100)
    journal.append("ended", dollars=None, tokens=7)
    journal.append("call", dollars=9)
    journal.append("ended", dollars="much", tokens=True)
    journal.append("ended", dollars=1)
    with (tmp_path / "journal.jsonl").open("a") as file:
        file.write('{"kind":"ended","n":1\n{"n":9,"at":1,"kind":"ended","da')
    assert run_cost(str(tmp_path)) == RunCost(1.5, 2, 107, 4)


def test_no_journal_cost_nothing(tmp_path: Path) -> None:
    assert run_cost(str(tmp_path)) == RunCost()
    (tmp_path / "journal.jsonl").mkdir()
    assert run_cost(str(tmp_path)) == RunCost()


def test_what_a_fork_took_over_was_paid_by_another(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), lambda value: value)
    journal.append("ended", dollars=0.5, tokens=100)
    journal.append("forked", run="b", **{"from": "a"})
    journal.append("ended", dollars=0.25, tokens=10)
    assert run_cost(str(tmp_path)) == RunCost(0.25, 0, 10, 1)
