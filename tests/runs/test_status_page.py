"""workflow-status.md: one page for a person, whatever the names in it are."""

import re
import time
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.runs.state_file import StepArtefact
from bmad_autopilot.runs.status_page import MAX_STEPS, StatusPage, StepLine, render_status_page, write_status_page
from tests.support.terminals import assert_golden

PAGE = StatusPage(
    workflow="create-architecture",
    run_id="create-architecture-20260226-120000",
    session="feature-auth",
    status="paused",
    started_at=1_772_107_200.0,
    updated_at=1_772_110_920.0,
    agent="claude",
    current_step=3,
    total_steps=8,
    steps=(
        StepLine(1, "analyse", "done", "claude", 249.0, "artefacts/step-01-output.md"),
        StepLine(2, "decide", "done", "claude", 3720.0, "artefacts/step-02-output.md", "1-2-login"),
        StepLine(3, "write", "waiting", "claude", 12.4, "asks: which store?"),
        StepLine(4, "review", "pending"),
    ),
    variables={"store": "redis", "tables": ["users", "sessions"], "odd name": "a: b # c"},
    artefacts=(
        StepArtefact(1, "step-01-output.md", "artefacts/step-01-output.md"),
        StepArtefact(2, "the plan", "docs/p.md"),
    ),
    issues=("the disk was full",),
    resume="bmad resume --run create-architecture-20260226-120000",
)


def rows(page: str, title: str) -> list[list[str]]:
    """The cells of the table below a heading."""
    part = page.split(title, 1)[1]
    lines = [line for line in part.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_the_whole_page() -> None:
    time.tzset()
    assert_golden("workflow-status", render_status_page(PAGE))


def test_it_is_written_beside_the_state(tmp_path: Path) -> None:
    write_status_page(str(tmp_path), PAGE)
    assert (tmp_path / "workflow-status.md").read_text() == render_status_page(PAGE)


def test_a_page_of_nothing_but_a_name() -> None:
    page = render_status_page(StatusPage("lean", "lean-1", "main", "running", 0.0, 0.0))
    assert "None has begun." in page
    assert "0/1 steps" in page
    assert "## Variables" not in page


def test_so_many_steps_at_most_and_the_last_ones() -> None:
    steps = tuple(StepLine(n, "dev", "done") for n in range(1, MAX_STEPS + 51))
    page = render_status_page(PAGE._replace(steps=steps, total_steps=0))
    shown = rows(page, "## Steps")
    assert (len(shown), shown[-1][0]) == (MAX_STEPS, str(MAX_STEPS + 50))
    assert f"The last {MAX_STEPS} of {MAX_STEPS + 50}; 50 before them" in page
    assert "100%" in page


def test_begun_is_never_empty_and_unfinished_never_full() -> None:
    steps = tuple(StepLine(n, "dev", "done" if n == 1 else "pending") for n in range(1, 100))
    assert "`█░" in render_status_page(PAGE._replace(steps=steps))
    steps = tuple(StepLine(n, "dev", "pending" if n == 1 else "done") for n in range(1, 100))
    assert "█░ " in render_status_page(PAGE._replace(steps=steps))


NASTY = st.text(alphabet=st.sampled_from("a|\\`\n\r\x1b<b>#* \u2028\t-"), max_size=30)


@given(NASTY, NASTY, NASTY)
def test_no_name_breaks_the_table(name: str, story: str, output: str) -> None:
    step = StepLine(1, name, "done", name, 1.0, output, story)
    page = render_status_page(PAGE._replace(workflow=name, steps=(step,), issues=(story,)))
    (row,) = rows(page, "## Steps")
    assert (len(row), row[0], row[3]) == (7, "1", "✅ done")
    assert "\x1b" not in page
    assert len([line for line in page.splitlines() if line.startswith("## ")]) == 5


PLAIN: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers() | st.text(max_size=20)


@given(st.dictionaries(st.text(min_size=1, max_size=10), PLAIN | st.lists(PLAIN, max_size=3), max_size=5))
def test_variables_read_back_as_yaml(variables: dict[str, Any]) -> None:
    page = render_status_page(PAGE._replace(variables=variables, issues=(), artefacts=()))
    block = page.split("```yaml\n")[1].split("\n```")[0] if variables else "{}"
    assert len(yaml.safe_load(block)) == len(variables)


def test_many_are_counted_not_listed() -> None:
    many = {f"v{n}": n for n in range(80)}
    page = render_status_page(PAGE._replace(variables=many, issues=tuple(map(str, range(80)))))
    assert "# … 30 more in state.json" in page
    assert "- … 30 earlier ones" in page
    assert "- 79" in page


def test_what_is_completed_is_not_gone_on_with() -> None:
    assert "How to go on" not in render_status_page(PAGE._replace(status="completed"))
