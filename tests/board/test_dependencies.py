"""The graph of a project's epics, by its settings."""

from bmad_autopilot.board.dependencies import dependency_graph
from bmad_autopilot.board.overview import overview
from bmad_autopilot.board.sprint import read_board
from bmad_autopilot.core.graph import Fault, Graph
from bmad_autopilot.project.open import open_project
from tests.support import ProjectMaker, SampleProject

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
EPICS = """\
## Epic 1: A
## Epic 2: B
Depends on: Epic 1, Epic 4, Epic 9
## Epic 3: C
### Story 3.1: D
Depends on: Epic 2
### Story 3.2: E
Depends on: Story 1.1
"""


def graph(sample: SampleProject, config: str, **more: str) -> Graph:
    sample.write("bmad-autopilot.toml", config)
    project = open_project(str(sample.root))
    return dependency_graph(project, overview(read_board(str(sample.board))), ["1", "2", "3"], **more)


def told(found: Graph) -> list[tuple[str, str, str, int | None]]:
    return [(e.epic, e.on, e.source.value, e.place.line if e.place else None) for e in found.edges]


def test_order_and_none(project: ProjectMaker) -> None:
    sample = project(board=BOARD, epics=EPICS, stories={}, with_git=False)
    assert told(graph(sample, "")) == [("2", "1", "order", None), ("3", "2", "order", None)]
    assert graph(sample, 'dependencies = "none"\n').edges == ()


def test_declared_in_the_epics_without_what_is_met(project: ProjectMaker) -> None:
    """Epic 4 is done; so are the story of epic 3 that needs epic 2, and the story that 3.2 needs."""
    found = graph(project(board=BOARD, epics=EPICS, stories={}, with_git=False), 'dependencies = "declared"\n')
    assert told(found) == [("2", "1", "epics", 3)]
    assert [(one.fault, one.edge.on) for one in found.problems] == [(Fault.MISSING, "9")]


def test_the_settings_are_told_of_first_with_their_line(project: ProjectMaker) -> None:
    sample = project(board=BOARD, epics=EPICS, stories={}, with_git=False)
    config = 'dependencies = "declared"\n\n[depends]\n"3" = ["epic-1"]\nepic-2 = ["1"]\n'
    assert told(graph(sample, config)) == [("3", "1", "settings", 4), ("2", "1", "settings", 5)]


def test_a_stories_yaml(project: ProjectMaker) -> None:
    sample = project(board=BOARD, epics=None, stories={}, with_git=False)
    sample.write("_bmad-output/specs/spec-x/stories.yaml", '- id: "3-2"\n  depends_on: ["2-1"]\n')
    assert told(graph(sample, "", mode="declared")) == [("3", "2", "stories", 1)]


def test_an_epics_file_that_cannot_be_read_declares_nothing(project: ProjectMaker) -> None:
    sample = project(board=BOARD, epics=b"## Epic 2: \xff\nDepends on: Epic 1\n", stories={}, with_git=False)
    assert graph(sample, "", mode="declared") == graph(sample, "", mode="none")
