"""Where a flow stands, for each of the 22 steps: found in the folder, and the folder wins over the state file."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.flow_state import CompletedStep, FlowState
from bmad_autopilot.workflows.flow_file import condition_globs
from bmad_autopilot.workflows.flow_position import FlowPosition, locate_step
from bmad_autopilot.workflows.workflow import DEV, FlowPart, Step
from tests.workflows.flow_folders import (
    DOCS,
    STEPS,
    Leaves,
    all_rows,
    finish_tasks,
    flow,
    lay,
    look,
    needed_rows,
    put,
    row,
    state_of,
    up_to,
)

EACH = pytest.mark.parametrize("one", STEPS, ids=lambda one: f"{one.flow}-{one.number}")
LAST = {"greenfield": 10, "existing-code": 12}


def place(top: Path, name: str, state: FlowState | None = None) -> FlowPosition:
    return locate_step(flow(name).steps, look(top, flow(name)), state)


def test_the_table_names_every_step() -> None:
    for name in LAST:
        assert [step.name for step in flow(name).steps] == [one.name for one in up_to(name, 99)]


@EACH
def test_a_folder_that_shows_this_step(tmp_path: Path, one: Leaves) -> None:
    lay(tmp_path, one.flow, one.number - 1)
    rows = needed_rows(one.flow, one.number - 1)
    found = place(tmp_path, one.flow, state_of(one.flow, one.number, rows))
    assert (found.index, found.at_gate, found.matches_state_file, found.disagreement) == (
        one.number - 1,
        False,
        True,
        "",
    )
    if not rows:
        assert place(tmp_path, one.flow).index == one.number - 1


@EACH
def test_a_folder_that_shows_the_next(tmp_path: Path, one: Leaves) -> None:
    lay(tmp_path, one.flow, one.number)
    rows = needed_rows(one.flow, one.number)
    expected = None if one.number == LAST[one.flow] else one.number
    found = place(tmp_path, one.flow, state_of(one.flow, one.number, rows))
    assert (found.index, found.matches_state_file) == (expected, False)
    assert "the state file says step" in found.disagreement
    listed = {int(row.step) - 1 for row in rows}
    assert found.found == tuple(index for index in range(one.number) if index not in listed)
    done = state_of(one.flow, one.number, rows, "completed")
    assert place(tmp_path, one.flow, done).disagreement == ""


@EACH
@pytest.mark.parametrize("said", ["before", "after", "0", "99", "-3", "1.5", "Nowhere", "", "done"])
def test_the_folder_wins_over_the_state_file(tmp_path: Path, one: Leaves, said: str) -> None:
    lay(tmp_path, one.flow, one.number - 1)
    rows = needed_rows(one.flow, one.number - 1)
    last = LAST[one.flow]
    step = {"before": one.number - 1 or 99, "after": one.number + 1 if one.number < last else "done"}.get(
        said, said
    )
    found = place(tmp_path, one.flow, state_of(one.flow, step, rows))
    # What leaves no file is done if the state file has gone on; the next step that owes files is not.
    is_past = one.by_word and said in ("after", "done")
    following = [other for other in STEPS if other.flow == one.flow and other.number > one.number]
    expected = next(other for other in following if not other.by_word) if is_past else one
    assert found.index == expected.number - 1
    agrees = str(step) == str(expected.number)
    assert found.matches_state_file is agrees
    assert bool(found.disagreement) is not agrees
    assert found.index is not None
    assert found.index - 1 in found.passed or not is_past


@EACH
def test_a_folder_that_lacks_what_the_state_file_lists(tmp_path: Path, one: Leaves) -> None:
    """Rows of steps that owe files are no proof that these are still there."""
    lay(tmp_path, one.flow, one.number - 1)
    found = place(tmp_path, one.flow, state_of(one.flow, "done", all_rows(range(1, LAST[one.flow] + 1))))
    owing = (
        other for other in STEPS if other.flow == one.flow and other.number >= one.number and not other.by_word
    )
    assert found.index == next(owing).number - 1
    assert "every step is done" in found.disagreement


@EACH
def test_a_step_that_was_skipped_is_over(tmp_path: Path, one: Leaves) -> None:
    lay(tmp_path, one.flow, one.number - 1)
    put(tmp_path, f"{DOCS}/02_document/user_interface.md")
    rows = (*needed_rows(one.flow, one.number - 1), row(one.number, "Skipped: by the owner"))
    expected = None if one.number == LAST[one.flow] else one.number
    assert place(tmp_path, one.flow, state_of(one.flow, one.number, rows)).index == expected
    pointed = state_of(one.flow, one.number, rows[:-1], "skipped")
    found = place(tmp_path, one.flow, pointed)
    assert (found.index, found.passed[-1:]) == (expected, (one.number - 1,))


@EACH
def test_a_step_that_was_reset_is_done_anew_with_all_after_it(tmp_path: Path, one: Leaves) -> None:
    last = LAST[one.flow]
    lay(tmp_path, one.flow, last)
    rows = (*all_rows(range(1, last + 1)), row(one.number, "reset by the owner"))
    state = state_of(one.flow, one.number, rows)
    assert place(tmp_path, one.flow, state).index == one.number - 1
    for number in range(one.number, last + 1):
        state = state._replace(completed=(*state.completed, row(number)))
        assert place(tmp_path, one.flow, state).index == (None if number == last else number)


def test_a_second_cycle_of_existing_code(tmp_path: Path) -> None:
    """New Task once more: what was implemented, tested and deployed before counts no longer."""
    lay(tmp_path, "existing-code", 12)
    rows = all_rows(range(1, 13))
    assert place(tmp_path, "existing-code", state_of("existing-code", "done", rows)).index is None
    put(tmp_path, f"{DOCS}/02_tasks/todo/04_four.md")
    rows = (*rows, row(7, "one more task"))
    for number in range(8, 13):
        found = place(tmp_path, "existing-code", state_of("existing-code", number, rows))
        assert (found.index, found.matches_state_file) == (number - 1, True)
        finish_tasks(tmp_path)
        # The state file pointing further is no proof either.
        assert place(tmp_path, "existing-code", state_of("existing-code", "done", rows)).index == number - 1
        rows = (*rows, row(number))
    assert place(tmp_path, "existing-code", state_of("existing-code", "done", rows)).index is None


@pytest.mark.parametrize("word", ["found in the folder", "passed: what follows is there", "skipped: not needed"])
def test_a_row_that_is_no_new_turn_overtakes_nothing(tmp_path: Path, word: str) -> None:
    lay(tmp_path, "existing-code", 12)
    rows = (*all_rows(range(5, 13)), row(2, word))
    assert place(tmp_path, "existing-code", state_of("existing-code", "done", rows)).index is None


def test_a_task_that_is_left_brings_back_the_implementation(tmp_path: Path) -> None:
    lay(tmp_path, "greenfield", 8)
    put(tmp_path, f"{DOCS}/02_tasks/todo/09_more.md")
    assert place(tmp_path, "greenfield", state_of("greenfield", 9, all_rows(range(1, 9)))).index == 5


def test_what_explains_the_folder_is_no_task(tmp_path: Path) -> None:
    lay(tmp_path, "greenfield", 8)
    put(tmp_path, f"{DOCS}/02_tasks/todo/README.md", f"{DOCS}/02_tasks/todo/_template.md")
    assert place(tmp_path, "greenfield", state_of("greenfield", 9, all_rows(range(1, 9)))).index == 8


@pytest.mark.parametrize("empty", ["problem.md", "restrictions.md", "acceptance_criteria.md"])
def test_a_problem_with_an_empty_file_is_not_described(tmp_path: Path, empty: str) -> None:
    lay(tmp_path, "greenfield", 1)
    put(tmp_path, f"{DOCS}/00_problem/{empty}", text="")
    found = place(tmp_path, "greenfield")
    assert (found.index, found.unmet_conditions) == (0, (f"{DOCS}/00_problem/{empty}",))


@pytest.mark.parametrize("status", ["in_progress", "failed"])
@pytest.mark.parametrize(("name", "number"), [("existing-code", 6), ("existing-code", 12), ("greenfield", 10)])
def test_files_are_no_proof_that_the_checks_have_passed(
    tmp_path: Path, name: str, number: int, status: str
) -> None:
    lay(tmp_path, name, number)
    rows = needed_rows(name, number)
    under_way = place(tmp_path, name, state_of(name, number, rows, status))
    assert (under_way.index, under_way.matches_state_file, under_way.disagreement) == (number - 1, True, "")
    done = place(tmp_path, name, state_of(name, number, (*rows, row(number)), status))
    assert done.index == (None if number == LAST[name] else number)


# gates


def test_the_research_gate_waits_for_a_decision(tmp_path: Path) -> None:
    lay(tmp_path, "greenfield", 2)
    found = place(tmp_path, "greenfield")
    assert (found.index, found.at_gate, found.unmet_conditions) == (1, True, ())
    put(tmp_path, f"{DOCS}/01_solution/solution_draft02.md")  # another round changes nothing
    assert place(tmp_path, "greenfield", state_of("greenfield", 2)).at_gate
    ahead = place(tmp_path, "greenfield", state_of("greenfield", 5))
    assert (ahead.index, ahead.at_gate) == (1, True)
    assert "waits for a decision" in ahead.disagreement
    decided = place(tmp_path, "greenfield", state_of("greenfield", 3, [row(2)]))
    assert (decided.index, decided.at_gate) == (2, False)


@pytest.mark.parametrize("name", ["01_solution/solution.md", "02_document/architecture.md"])
def test_somebody_has_gone_on_from_research(tmp_path: Path, name: str) -> None:
    lay(tmp_path, "greenfield", 2)
    put(tmp_path, f"{DOCS}/{name}")
    found = place(tmp_path, "greenfield")
    assert (found.index, found.at_gate, found.found) == (2, False, (0, 1))


def test_a_later_file_decides_the_gate_too(tmp_path: Path) -> None:
    steps = (
        Step("a", "sm", prompt="x", flow=FlowPart(1, ("_docs/a.md",), gate=flow("greenfield").steps[1].flow.gate)),  # type: ignore[union-attr]
        Step("b", "sm", prompt="x", flow=FlowPart(2, ("_docs/b.md",))),
    )
    put(tmp_path, "_docs/a.md", "_docs/b.md")
    assert locate_step(steps, look(tmp_path), None).index is None


# user interfaces, and what is optional


def test_a_project_without_a_user_interface_has_none_designed(tmp_path: Path) -> None:
    lay(tmp_path, "greenfield", 3)
    (tmp_path / DOCS / "02_document/user_interface.md").unlink()
    found = place(tmp_path, "greenfield", state_of("greenfield", 4, [row(2)]))
    assert (found.index, found.not_applicable) == (4, (3,))
    put(tmp_path, "web/index.html")
    assert place(tmp_path, "greenfield", state_of("greenfield", 4, [row(2)])).index == 3


def test_a_user_interface_that_comes_later_leads_nobody_back(tmp_path: Path) -> None:
    lay(tmp_path, "greenfield", 6)
    put(tmp_path, "web/index.html")
    (tmp_path / DOCS / "02_document/ui_design.md").unlink()
    found = place(tmp_path, "greenfield", state_of("greenfield", 7, all_rows((1, 2, 3, 5, 6))))
    assert (found.index, found.passed) == (6, (3,))


def test_an_optional_step_is_not_come_back_to(tmp_path: Path) -> None:
    """Neither is what leaves no file, once something that comes later is there."""
    lay(tmp_path, "greenfield", 6)
    lay_deploy = [one for one in STEPS if one.flow == "greenfield" and one.number == 10]
    put(tmp_path, *lay_deploy[0].files)
    found = place(tmp_path, "greenfield")
    assert (found.index, found.passed) == (None, (6, 7, 8))
    assert found.found == (0, 1, 2, 3, 4, 5, 9)


def test_test_tasks_are_no_new_tasks(tmp_path: Path) -> None:
    """Both steps leave tasks: while the tests' are open, nothing after them is found done."""
    lay(tmp_path, "existing-code", 3)
    found = place(tmp_path, "existing-code")
    assert (found.index, found.found) == (3, (0, 1, 2))


def test_the_step_is_known_by_its_name_where_its_number_is_not(tmp_path: Path) -> None:
    lay(tmp_path, "greenfield", 4)
    state = FlowState(
        "greenfield", "", "decompose", "in_progress", completed=(CompletedStep("", "research", "", ""),)
    )
    assert place(tmp_path, "greenfield", state) == FlowPosition(
        4,
        found=(0, 2, 3),
        unmet_conditions=flow("greenfield").steps[4].flow.done,  # type: ignore[union-attr]
    )


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (FlowState(step="14", name="Ship"), "step `14`, and there are 10; by the folder it is step 1, Problem"),
        (FlowState(step="x", name=""), "says step `x`, which is no step of this flow"),
        (FlowState(), "does not say which step it is; by the folder it is step 1, Problem"),
        (FlowState(step="1", name="Plan"), "calls step 1 `Plan`, and it is Problem"),
        (FlowState(step="1", name="Problem", status="wip"), "status, `wip`, is none that is known"),
        (FlowState(step="3", name="Plan"), "says step 3, Plan; step 1, Problem, comes before it and has not left"),
    ],
)
def test_what_is_odd_is_said(tmp_path: Path, state: FlowState, why: str) -> None:
    found = place(tmp_path, "greenfield", state)
    assert found.index == 0
    assert why in found.disagreement


def test_steps_of_any_workflow_can_be_located(tmp_path: Path) -> None:
    assert locate_step((DEV,), look(tmp_path), None).index == 0
    assert locate_step((DEV,), look(tmp_path), FlowState(completed=(row(1),))).index is None
    assert locate_step((), look(tmp_path), FlowState()).index is None


# any state, any folder


class AnyFolder:
    """Every answer that a folder could give."""

    def __init__(self, there: frozenset[str], flags: tuple[bool, bool, bool, bool]) -> None:
        self.there = there
        self.sources, self.ui, self.bmad, self.board = flags
        self.artefacts = frozenset[str]()

    def has(self, glob: str) -> bool:
        return glob in self.there


GLOBS = sorted({glob for name in LAST for glob in condition_globs(flow(name).conditions)})
flags = st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans())
folders = st.frozensets(st.sampled_from(GLOBS))
words = st.text(max_size=12) | st.sampled_from(
    ["done", "3", "12", "Plan", "Run Tests", "-1", "99999999999", "²", "٣"]
)
outcomes = st.sampled_from(["ok", "skipped", "reset", "found in the folder", ""]) | st.text(max_size=8)
table = st.lists(
    st.builds(CompletedStep, words | st.integers(0, 14).map(str), words, words, outcomes), max_size=20
)
states = st.none() | st.builds(FlowState, words, words, words, words, words, st.integers(), table.map(tuple))
names = st.sampled_from(sorted(LAST))


@given(names, folders, flags, states)
def test_there_is_always_a_place(
    name: str, there: frozenset[str], flags: tuple[bool, bool, bool, bool], state: FlowState | None
) -> None:
    steps = flow(name).steps
    found = locate_step(steps, AnyFolder(there, flags), state)
    assert found.index is None or 0 <= found.index < len(steps)
    before = len(steps) if found.index is None else found.index
    told = (*found.found, *found.passed, *found.not_applicable)
    assert len(set(told)) == len(told)
    assert all(0 <= index < before for index in told)
    assert state is not None or (found.disagreement, found.matches_state_file) == ("", True)
    assert found == locate_step(steps, AnyFolder(there, flags), state)


@given(names, folders, folders, flags)
def test_more_files_never_lead_back(
    name: str, there: frozenset[str], more: frozenset[str], flags: tuple[bool, bool, bool, bool]
) -> None:
    """But for those that say that something is left to do."""
    steps = flow(name).steps
    left = {"_docs/02_tasks/todo/*.md", "_docs/02_document/user_interface.md"}
    first, second = (locate_step(steps, AnyFolder(files, flags), None) for files in (there, there | (more - left)))
    ends = [len(steps) if one.index is None else one.index for one in (first, second)]
    assert ends[0] <= ends[1]


@given(names, folders, flags, st.none() | states)
def test_a_step_whose_files_and_row_are_there_is_left_behind(
    name: str, there: frozenset[str], flags: tuple[bool, bool, bool, bool], state: FlowState | None
) -> None:
    steps = flow(name).steps
    at = locate_step(steps, AnyFolder(there, flags), state).index
    if at is None:
        return
    part = steps[at].flow
    assert part is not None
    todo = {"_docs/02_tasks/todo/*.md"} if part.tasks else set()
    files = (there | frozenset(condition_globs(part.done))) - todo
    before = state or FlowState()
    after = before._replace(completed=(*before.completed, row(at + 1)))
    then = locate_step(steps, AnyFolder(files, flags), after).index
    assert then is None or then != at


def test_ten_thousand_files_are_looked_through_in_time(tmp_path: Path) -> None:
    lay(tmp_path, "existing-code", 11)
    for folder in range(100):
        heap = tmp_path / DOCS / ("00_problem/input_data" if folder % 2 else "02_document/modules") / f"f{folder}"
        heap.mkdir(parents=True)
        for number in range(100):
            (heap / f"{number}.md").write_text("x")
    rows = needed_rows("existing-code", 11)
    begun = time.perf_counter()
    found = place(tmp_path, "existing-code", state_of("existing-code", 12, rows))
    took = time.perf_counter() - begun
    print(f"10,000 files: {took * 1000:.0f} ms")
    assert found.index == 11
    assert took < 1.5
