"""A flow's state file is read as it is found: documented, hand-edited or broken."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import Diagnostic
from bmad_autopilot.core.flow_state import CompletedStep, FlowState, LastSession, RetryEntry
from bmad_autopilot.runs.flow_state_reader import MAX_DIAGNOSTICS, normalise_flow_state
from tests.runs.flow_states import FILE, ODD, STATE, read, said


def codes(state: FlowState) -> list[tuple[str, int | None]]:
    return [(one.code, one.location.line) for one in state.diagnostics]


def current(line: str) -> FlowState:
    return read(f"## Current Step\n{line}\n")


def only(state: FlowState) -> Diagnostic:
    (found,) = state.diagnostics
    return found


def test_the_documented_form() -> None:
    assert read(FILE) == STATE


@pytest.mark.parametrize("end", ["\r\n", "\r"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_line_ends_and_a_byte_order_mark_make_no_difference(end: str, bom: str) -> None:
    assert read(bom + FILE.replace("\n", end).removesuffix(end)) == STATE


def test_a_file_as_people_leave_it() -> None:
    state = read(ODD)
    assert said(state) == FlowState(
        flow="existing-code",
        step="2",
        name="Test Spec",
        status="in_progress",
        sub_step="1b — Test Case Generation",
        retry_count=2,
        completed=(
            CompletedStep("1", "Document", "2026-01-01", "eight components"),
            CompletedStep("2", "Test Spec", "", ""),
        ),
        decisions=("Keep the old API for a year", "No ORM"),
        last=LastSession(date="2026-01-02", reason="user paused"),
    )
    assert codes(state) == [("short-row", 33)]


@pytest.mark.parametrize(
    ("raw", "step"),
    [
        ("3", "3"),
        ("03", "3"),
        ("Step 3", "3"),
        ("step 12", "12"),
        ("3 — Plan", "3"),
        ("3 - Plan", "3"),
        ("3. Plan", "3"),
        ("Step 3: Plan", "3"),
        ("3 (Plan)", "3"),
        ("3 ← autopilot step", "3"),
        ("`3`", "3"),
        ("0", "0"),
        ("done", "done"),
        ("Done", "done"),
        ('"DONE"', "done"),
        ("3b", "3b"),
        ("2-3", "2-3"),
        ("three", "three"),
        ("99999", "99999"),
        ("", ""),
    ],
)
def test_steps_as_people_write_them(raw: str, step: str) -> None:
    assert current(f"step: {raw}").step == step


@pytest.mark.parametrize(
    ("raw", "status", "hint"),
    [
        ("completed", "completed", None),
        ("In-Progress", "in_progress", None),
        ("NOT STARTED", "not_started", None),
        ("**failed**", "failed", None),
        ("", "", None),
        ("done", "done", "did you mean completed?"),
        ("skiped", "skiped", "did you mean skipped?"),
        ("In progess", "In progess", "did you mean in_progress?"),
        ("zebra", "zebra", "one of not_started, in_progress, completed, skipped, failed"),
    ],
)
def test_an_unknown_status_is_kept_and_one_suggested(raw: str, status: str, hint: str | None) -> None:
    state = current(f"flow: x\nstatus: {raw}")
    assert state.status == status
    assert [(one.code, one.location.line, one.hint) for one in state.diagnostics] == (
        [("unknown-status", 3, hint)] if hint else []
    )


@pytest.mark.parametrize("raw", ["many", "-1", "1.5", "٣", "1 2", "9" * 40])
def test_a_count_that_is_none_is_nought_and_said(raw: str) -> None:
    state = current(f"flow: x\n\nretry_count: {raw}")
    assert state.retry_count == 0
    assert codes(state) == [("bad-retry-count", 4)]


@pytest.mark.parametrize(
    ("raw", "count"), [("0 ← reset", 0), ("2", 2), ("03", 3), ("2/3", 2), ("1 of 3", 1), ("", 0)]
)
def test_counts(raw: str, count: int) -> None:
    state = current(f"retry_count: {raw}")
    assert (state.retry_count, state.diagnostics) == (count, ())


@pytest.mark.parametrize(
    "line",
    [
        "flow: greenfield",
        "flow:greenfield",
        "  FLOW  :  greenfield  ",
        "flow：greenfield",
        "- flow: greenfield",
        "* **flow:** greenfield",
        "1. **Flow**: greenfield",
        "> `flow`: `greenfield`",
        "flow: greenfield ← active flow ← really",
        "flow: greenfield\t← active flow",
    ],
)
def test_a_key_however_it_is_written(line: str) -> None:
    assert current(line).flow == "greenfield"


def test_an_arrow_inside_a_word_is_no_remark() -> None:
    assert current("name: a←b").name == "a←b"


def test_sections_and_keys_that_come_twice() -> None:
    state = read("## Current Step\nflow: a\nflow: b\n## Current step\nflow: c\n## Mine\n## Mine\n")
    assert state.flow == "a"
    assert codes(state) == [("duplicate-key", 3), ("duplicate-section", 4)]


def test_a_file_without_the_section_that_matters() -> None:
    assert codes(read("just words\n")) == [("missing-section", 1)]
    assert read("") == FlowState()
    assert read(" \n\n") == FlowState()


def test_deeper_headings_end_a_section() -> None:
    assert read("## Blockers\n- a\n### Solved\n- b\n").blockers == ("a",)


@pytest.mark.parametrize("mark", ["```", "~~~~", "<!--"])
def test_a_fence_that_never_ends_hides_nothing_and_is_said(mark: str) -> None:
    state = read(f"{mark}\n{FILE}")
    assert said(state) == STATE
    assert codes(state) == [("unclosed-block", 1)]


def test_fences_without_end_are_bounded() -> None:
    assert said(read("<!--\n" * 1000 + FILE)) == STATE


def test_front_matter_and_comments_are_not_state() -> None:
    state = read("---\nflow: no\n---\n<!--\n## Current Step\nflow: no\n-->\n## Current Step\nflow: yes\n")
    assert said(state) == FlowState(flow="yes")


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ("| 1 | A | d | o |", ("1", "A", "d", "o")),
        ("1 | A | d | o", ("1", "A", "d", "o")),
        ("|1|A|d|o|", ("1", "A", "d", "o")),
        ("| 1 | A | d | o", ("1", "A", "d", "o")),
        (r"| 1 | a \| b | c \\ | d\e |", ("1", "a | b", r"c \\", r"d\e")),
        ("|---|---|---|---|\n| 1 | A | d | o |", ("1", "A", "d", "o")),
        ("| Step | Name | Completed | Key Outcome |\n\n\n| 1 | A | d | o |", ("1", "A", "d", "o")),
        ("| Schritt | Name | Fertig | Ergebnis |\n|--|--|--|--|\n| 1 | A | d | o |", ("1", "A", "d", "o")),
        ("a | b | c\n| Step | Name |\n|--|--|\n| 1 | A | d | o |", ("1", "A", "d", "o")),
        ("| Step | Name |\n| Step | Name |\n|--|--|\n| 1 | A | d | o |", ("1", "A", "d", "o")),
        ("| Step 1 | Name | d | o |\n|--|--|--|--|", ("Step 1", "Name", "d", "o")),
        ("| Name | Step |\n|--|--|\n| A | 1 | d | o |", ("1", "A", "d", "o")),
        ("| # | Who | Name | Outcome | Step | Date |\n|--|--|--|--|--|--|\n| 9 | Ann | A | o | 1 | d |", "1Ado"),
    ],
)
def test_rows_as_people_write_them(rows: str, found: tuple[str, ...]) -> None:
    state = read(f"## Current Step\n## Completed Steps\n{rows}\n")
    assert state.completed == (CompletedStep(*found),)
    assert state.diagnostics == ()


@pytest.mark.parametrize(
    "row", ["|", "| | | | |", "| - | - | - | - |", "| ... | ... | ... | ... |", "a | b", "|---|"]
)
def test_what_is_no_row(row: str) -> None:
    table = "| Step | Name | Completed | Key Outcome |\n|---|---|---|---|\n"
    assert read(f"## Completed Steps\n{table}{row}\n").completed == ()


def test_a_row_with_a_pipe_too_many_is_said() -> None:
    state = read(FILE.replace("Four documents", "Four | documents"))
    assert state.completed[0] == CompletedStep("1", "Problem", "2026-03-01", "Four")
    assert (only(state).code, only(state).location.line) == ("long-row", 12)


@pytest.mark.parametrize("item", ["- none", "- None.", "* [none]", "- n/a", "- —", "-", "none", "(none yet)"])
def test_nothing_is_no_blocker(item: str) -> None:
    assert read(f"## Blockers\n{item}\n").blockers == ()


def test_the_documented_form_with_everything_in_it_can_be_read() -> None:
    """The form itself, its words in brackets and all, as an agent may have copied it."""
    state = read(
        "# Autopilot State\n## Current Step\nflow: [greenfield | existing-code]\nretry_count: [0-3 — number]\n"
        "## Completed Steps\n"
        "| Step | Name | Completed | Key Outcome |\n|------|------|-----------|-------------|\n"
        "| 1 | [name] | [date] | [one-line summary] |\n| ... | ... | ... | ... |\n"
        "## Retry Log\n(Clear this table when the step succeeds or user resets.)\n## Blockers\n- [none]\n"
    )
    assert (state.completed, state.retries, state.blockers) == ((), (), ())
    assert codes(state) == [("bad-retry-count", 4)]


@pytest.mark.parametrize(
    "piece",
    [
        "\n",
        "` ",
        "\\",
        "| ",
        "- a\n",
        " a\n",
        "```x\n",
        "<!--\n",
        "flow: x\n",
        "# \n",
        "## Current Step\n",
        "←",
        "| 1 |\n",
    ],
)
@pytest.mark.parametrize("head", ["## Current Step\nflow: ", "## Blockers\n- a\n", "## Completed Steps\n| 1 | a "])
def test_a_large_file_of_one_thing_is_read_in_no_time(head: str, piece: str) -> None:
    """None of them takes the square of its size."""
    begun = time.monotonic()
    state = read(head + piece * (100_000 // len(piece)) + "x")
    assert time.monotonic() - begun < 5
    assert len(state.diagnostics) <= MAX_DIAGNOSTICS


ALPHABET = st.sampled_from(
    [*"|\\\n\r\t -*_`:#>←~<!", "flow", "step", "## Current Step", "```", "-->", "none", "é"]
)


@given(st.lists(ALPHABET, max_size=60).map("".join) | st.text())
def test_nothing_makes_the_reader_fail(content: str) -> None:
    state = read(content.replace("\0", "").encode("utf-8", "replace"))
    assert normalise_flow_state(state) == said(state)  # what was read would be read again


@given(
    st.builds(
        FlowState, *[st.text()] * 5, st.integers(), st.lists(st.builds(RetryEntry, *[st.text()] * 6)).map(tuple)
    )
)
def test_what_is_plain_stays_so(state: FlowState) -> None:
    state = state._replace(completed=(), retries=state.completed)  # type: ignore[arg-type]
    assert normalise_flow_state(normalise_flow_state(state)) == normalise_flow_state(state)
