"""What epics files say about which epic waits for which."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.board.epic_dependencies import dependency_graph, epic_of_story, read_dependencies
from bmad_autopilot.board.epics_file import read_epics
from bmad_autopilot.board.overview import epic_views
from bmad_autopilot.board.sprint_status import read_board
from bmad_autopilot.core.dependency_graph import DependencyGraph, EdgeFault
from bmad_autopilot.core.keys import natural_order
from bmad_autopilot.io.files import TextFile, read_text
from bmad_autopilot.project.project import open_project
from tests.support.bmad_project import ProjectMaker, SampleProject

EPICS = ["1", "2", "2.5", "3", "4", "5", "6", "7"]


def needs(text: str, epics: list[str] = EPICS) -> list[str]:
    """`6>1:3`: epic 6 waits for epic 1, by line 3."""
    found = read_dependencies(TextFile("epics.md", text.encode()), epics)
    return [f"{need.epic}>{need.depends_on}:{need.location.line}" for need in found]


def said(line: str) -> list[str]:
    """What a line in the section of epic 6 says it waits for."""
    found = read_dependencies(TextFile("epics.md", f"# Plan\n\n## Epic 6: Reports\n\n{line}\n".encode()), EPICS)
    assert {need.epic for need in found} <= {"6"}
    assert all(need.location == ("epics.md", 5, None) for need in found)
    return [need.depends_on for need in found]


@pytest.mark.parametrize(
    ("line", "on"),
    [
        ("Depends on: Epic 2", ["2"]),
        ("**Depends on:** Epic 2", ["2"]),
        ("**Depends On**: Epic 2, Epic 4", ["2", "4"]),
        ("- **Dependencies:** Epic 1, Epic 3", ["1", "3"]),
        ("> Dependencies: Epics 1, 3 and 5", ["1", "3", "5"]),
        ("Depends on Epics 1-3", ["1", "2", "2.5", "3"]),
        ("Depends on Epic 1 – 2", ["1", "2"]),
        ("**Dependencies:** Requires Epics 1 through 2 (complete). Independent of Epics 4 and 5.", ["1", "2"]),
        ("Dependencies: Epic 2.5", ["2.5"]),
        ("Dependencies: epic 2-5", ["2.5"]),  # as a board calls it
        ("Dependencies: EPIC-004 (partly done)", ["4"]),
        ("Depends on: 1, 2", ["1", "2"]),
        ("depends_on: none\nDepends on: [3]", []),  # the second stands on another line
        ("dependsOn: 3", ["3"]),
        ("Prerequisites: Epic 4 complete", ["4"]),
        ("Prerequisites: Story 1.3, Story 6.1", ["1"]),
        ("Prerequisites: Stories 1.1, 1.2 and 2.4", ["1", "1", "2"]),
        ("Dependencies: Stories 3.1–3.9", ["3", "3"]),
        ("Dependencies: Epic 3's contracts; no other Epic 5 story is required.", ["3"]),
        ("Dependencies: [Epic 4](#epic-4) and ~~Epic 5~~", ["4"]),
        ("Blocked by: Epic 1 & Epic 2", ["1", "2"]),
        ("Requires both Epic 1 (the tables) and Epic 2 (not its views)", ["1", "2"]),
        ("Some text. Depends on Epic 5.", ["5"]),
        ("Dependencies: All previous epics", ["1", "2", "2.5", "3", "4", "5"]),
        ("**Dépendances :** Épopée 2", ["2"]),
        ("**前置依赖：** Story 2.0、3.1", ["2", "3"]),
        ("Abhängigkeiten: Epic 1 und 3", ["1", "3"]),
        ("- Epic 6 depends on Epic 2 (it needs the list)", ["2"]),
        ("6. **Epic 6** → the widget (depends on the APIs of Epics 2-3)", ["2", "2.5", "3"]),
        ("Dependencies: Epic 1 and A login that works", ["1"]),
        ("Dependencies: Epic 2, done in May 2026", ["2"]),
        ("Dependencies: Epic 9", ["9"]),  # not there: whoever builds the graph tells of it
        ("Dependencies: Epic 6", ["6"]),
    ],
)
def test_what_counts(line: str, on: list[str]) -> None:
    assert said(line.split("\n")[0]) == on


@pytest.mark.parametrize(
    "line",
    [
        "This epic does not depend on Epic 2.",
        "Does not depend on Epic 2",
        "Depends on: none",
        "**Dependencies:** None. It is the first that Epic 1 leads to.",
        "**Dependencies:** No dependency on Epic 5",
        "**Dependencies:** N/A (see Epic 3)",
        "Dependencies: independent of Epic 3",
        "Dependencies: enables Epic 7; required by Epic 5",
        "Dependencies: can run in parallel with Epic 2",
        "Works with the flat model — no dependency on Epic 7.",
        "No epic may depend on Epic 5.",
        "Epic 6 does not depend on Epic 2",
        "Epic 6 could be built after Epic 2 if it requires Epic 3",
        "Epic 6 requires care. See Epic 3.",
        "Epic 6 needs a review before Epic 7 begins",
        "After Epic 1 there is a first release",
        "FR6: Epic 2 - dependency selection",
        "**And** if custody is shared, both must sign (Epic 3 dependency)",
        "Dependencies: Node.js 18, npm 9 and PostgreSQL 15",
        "Prerequisites: Story 6.1",  # its stories go one after another anyway
        "Dependencies: Story 6.1 must be complete. Story 7.6 remains the owner of the rest.",
        "```\nDepends on: Epic 2\n```",
        "<!-- Depends on: Epic 2 -->",
    ],
)
def test_what_does_not(line: str) -> None:
    assert needs(f"## Epic 6: Reports\n\n{line}\n") == []


def test_a_section_and_a_list_below_a_label() -> None:
    text = (
        "## Epic 5: Export\n\n### Dependencies\n\n**External:**\n- A library (from Epic 2)\n\n**Internal:**\n"
        "- Epic 4 completed (hardened)\n\nSee also Epic 1.\n- Epic 2 as an idea\n\n"
        "### Story 5.1: CSV\n\n- Epic 3\n\n"
        "## Epic 6: More\n\n**Dependencies:**\n\n1. Epic 3\n2. Epic 5\n"
    )
    assert needs(text) == ["5>4:9", "6>3:22", "6>5:23"]


def test_a_section_of_all_epics_belongs_to_none() -> None:
    text = "## Epic 6: X\n\n## Epic Dependencies\n\nDepends on: Epic 1\n- Epic 1 first\n- Epic 3 needs Epic 2\n"
    assert needs(text) == ["3>2:7"]


def test_several_epics_wait_for_several() -> None:
    assert needs("- **Track A:** Epics 3-4 (mobile) - depends on Epic 1, 2\n") == [
        "3>1:1",
        "3>2:1",
        "4>1:1",
        "4>2:1",
    ]


def test_a_story_speaks_for_its_epic() -> None:
    text = (
        "## Epic 4: A\n\n### Story 4.2: B\n\n**Prerequisites:** Story 4.1, Story 2.5.3, 2.1\n\n"
        "### Story 5.1: C\n\nDepends on: 1.3\n"
    )
    found = read_dependencies(TextFile("e.md", text.encode()), EPICS)
    assert [(need.epic, need.by_story, need.depends_on, need.on_story) for need in found] == [
        ("4", "4.2", "2.5", "2.5.3"),
        ("4", "4.2", "2", "2.1"),
        ("5", "5.1", "1", "1.3"),
    ]


def test_a_deleted_epic_says_nothing() -> None:
    assert needs("## ~~Epic 4: Old~~ — DELETED\n\nDepends on: Epic 2\n") == []


def test_windows_line_ends_and_letters() -> None:
    text = "## Epic 1A: X\r\n\r\nDepends on: Epic 1B\r\n\r\n## Epic 1B: Y\r\n"
    assert needs(text, ["1a", "1b"]) == ["1a>1b:3"]
    assert needs("## Epic C: X\n\nDepends on: Epics A and B\n", ["a", "b", "c"]) == ["c>a:3", "c>b:3"]


@pytest.mark.parametrize(
    ("story", "epic"), [("1.2", "1"), ("2.5.1", "2.5"), ("2.9", "2"), ("9.1", "9"), ("3", ""), ("", "")]
)
def test_whose_story_a_number_is(story: str, epic: str) -> None:
    assert epic_of_story(story, EPICS) == epic


WORDS = [
    "Epic",
    "Epics",
    "1",
    "2",
    "7",
    "2.5",
    "-",
    ",",
    "and",
    "Story 1.2",
    "depends on",
    "Depends on:",
    "not",
    "(",
]
more = [
    ")",
    "**",
    "\n",
    "## Epic 3: X\n",
    "### Dependencies\n",
    ". ",
    "all previous epics",
    "requires",
    "none",
    "·",
    "|",
]


@given(
    st.lists(st.sampled_from([*WORDS, *more]), max_size=60).map(" ".join)
    | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=300)
)
def test_any_text_can_be_read_and_every_line_is_there(text: str) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    for need in read_dependencies(TextFile("epics.md", text.encode("utf-8", "replace")), EPICS):
        assert 1 <= (need.location.line or 0) <= lines
        assert need.epic
        assert need.depends_on


@pytest.mark.parametrize("piece", ["(", "Epic 1, ", "Depends on: Epic 1 and ", "a ", "- "])
def test_no_line_takes_long(piece: str) -> None:
    line = piece * 5000
    begun = time.process_time()
    needs("## Epic 6: X\n\n" + f"{line}\nEpic 6 {line}\nDepends on: {line}\n" * 10)
    assert time.process_time() - begun < 10


def test_real_files(corpus: Path) -> None:
    """Every edge of a real plan that was looked at by a person; none of those that prose might suggest."""
    found = {}
    for path in sorted((corpus / "epics").glob("*.md")):
        text = read_text(str(path))
        epics = sorted((epic.number for epic in read_epics(text).epics), key=natural_order)
        found[path.stem.split("__")[1]] = {(need.epic, need.depends_on) for need in read_dependencies(text, epics)}
    assert {("6", "5"), ("7", "1"), ("8", "6"), ("8", "7"), ("3", "2")} <= found["bmad-orchestrator"]
    assert not {("6", "7"), ("6", "8"), ("7", "8"), ("8", "1")} & found["bmad-orchestrator"]
    assert found["casys-pml"] == {("2", "1"), ("3", "1")}
    assert ("9", "6") in found["gmni_boletapp"]
    assert found["docvet"] == found["gepa-adk"] == set()


# The graph of a project's epics, by its settings.

BOARD = """\
development_status:
  epic-1: in-progress
  1-1-a: done
  1-2-b: backlog
  epic-2: backlog
  2-1-a: backlog
  epic-3: backlog
  3-1-a: done
  3-2-b: backlog
  epic-4: done
  4-1-a: done
"""
EPICS_TEXT = """\
## Epic 1: A
## Epic 2: B
Depends on: Epic 1, Epic 4, Epic 9
## Epic 3: C
### Story 3.1: D
Depends on: Epic 2
### Story 3.2: E
Depends on: Story 1.1
"""


def graph(sample: SampleProject, config: str, **more: str) -> DependencyGraph:
    sample.write("bmad-autopilot.toml", config)
    project = open_project(str(sample.root))
    return dependency_graph(project, epic_views(read_board(str(sample.board))), ["1", "2", "3"], **more)


def told(found: DependencyGraph) -> list[tuple[str, str, str, int | None]]:
    return [(e.epic, e.depends_on, e.source.value, e.location.line if e.location else None) for e in found.edges]


def test_order_and_none(project: ProjectMaker) -> None:
    sample = project(board=BOARD, epics=EPICS_TEXT, stories={}, with_git=False)
    assert told(graph(sample, "")) == [("2", "1", "order", None), ("3", "2", "order", None)]
    assert graph(sample, 'dependencies = "none"\n').edges == ()


def test_declared_in_the_epics_without_what_is_met(project: ProjectMaker) -> None:
    """Epic 4 is done; so are the story of epic 3 that needs epic 2, and the story that 3.2 needs."""
    found = graph(
        project(board=BOARD, epics=EPICS_TEXT, stories={}, with_git=False), 'dependencies = "declared"\n'
    )
    assert told(found) == [("2", "1", "epics", 3)]
    assert [(one.fault, one.edge.depends_on) for one in found.problems] == [(EdgeFault.MISSING, "9")]


def test_the_settings_are_told_of_first_with_their_line(project: ProjectMaker) -> None:
    sample = project(board=BOARD, epics=EPICS_TEXT, stories={}, with_git=False)
    config = 'dependencies = "declared"\n\n[depends]\n"3" = ["epic-1"]\nepic-2 = ["1"]\n'
    assert told(graph(sample, config)) == [("3", "1", "settings", 4), ("2", "1", "settings", 5)]


def test_a_stories_yaml(project: ProjectMaker) -> None:
    sample = project(board=BOARD, epics=None, stories={}, with_git=False)
    sample.write("_bmad-output/specs/spec-x/stories.yaml", '- id: "3-2"\n  depends_on: ["2-1"]\n')
    assert told(graph(sample, "", mode="declared")) == [("3", "2", "stories", 1)]


def test_an_epics_file_that_cannot_be_read_declares_nothing(project: ProjectMaker) -> None:
    sample = project(board=BOARD, epics=b"## Epic 2: \xff\nDepends on: Epic 1\n", stories={}, with_git=False)
    assert graph(sample, "", mode="declared") == graph(sample, "", mode="none")
