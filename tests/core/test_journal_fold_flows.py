"""What a flow's entries in a journal come to."""

from collections.abc import Mapping

from bmad_autopilot.core.journal_fold import fold
from bmad_autopilot.core.run_record import RunRecord

ASKED: dict[str, object] = {
    "question": "q1",
    "code": "gate",
    "story": "greenfield",
    "step": "Research",
    "stage": "gate-2-1",
}


def folded(*entries: tuple[str, Mapping[str, object]]) -> RunRecord:
    return fold((kind, data, float(at)) for at, (kind, data) in enumerate(entries))


def answered(means: str) -> tuple[str, dict[str, object]]:
    return "answered", {"question": "q1", "answer": "…", "means": means, "by": "human"}


def test_once_more_holds_until_the_step_is_begun_again() -> None:
    run = folded(("asked", ASKED), answered("once-more"))
    assert run.stories["greenfield"].repeat_step == "Research"
    assert run.passed_checkpoints == set()
    begun = ("step", {"story": "greenfield", "number": 2, "step": "Research"})
    assert folded(("asked", ASKED), answered("once-more"), begun).stories["greenfield"].repeat_step == ""


def test_what_was_let_pass_is_remembered_by_its_stage() -> None:
    run = folded(("asked", ASKED), answered("go-on"))
    assert run.passed_checkpoints == {"gate-2-1:greenfield"}
    assert run.stories == {}


def test_what_stands_in_the_state_file_is_added_up() -> None:
    run = folded(("state", {"recorded": ["step:1"]}), ("state", {}), ("state", {"recorded": ["step:2", "q1"]}))
    assert run.recorded == {"step:1", "step:2", "q1"}


def test_the_step_whose_tasks_are_due() -> None:
    begun = ("implementing", {"step": "Implement"})
    assert folded().implementing == ""
    assert folded(begun).implementing == "Implement"
    run = folded(begun, ("implemented", {"step": "Implement", "outcome": "2 tasks done"}))
    assert run.implementing == ""
    assert run.implemented == [{"step": "Implement", "outcome": "2 tasks done"}]
    assert folded(begun, ("restarted", {"story": "greenfield"})).implementing == ""
