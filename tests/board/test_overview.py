"""The board as epics with their stories."""

from bmad_autopilot.board.overview import epic_views, next_action, pending_retrospective
from bmad_autopilot.board.sprint_status import Board, board_from_text
from bmad_autopilot.io.files import TextFile


def board(*rows: str) -> Board:
    lines = "".join(f"  {row}\n" for row in rows)
    return board_from_text(TextFile("board.yaml", f"development_status:\n{lines}".encode()))


def test_epics_come_in_order_with_their_stories_in_order() -> None:
    found = epic_views(
        board("epic-10: backlog", "2-2-b: done", "2-10-c: done", "2-1-a: done", "epic-2: done", "debug-1-x: done")
    )
    assert [epic.key for epic in found] == ["epic-2", "epic-10", "no epic"]
    assert [row.key for row in found[0].stories] == ["2-1-a", "2-2-b", "2-10-c"]


def test_the_retrospective_is_suggested_once_its_epic_is_over() -> None:
    rows = ["1-1-a: done", "1-2-b: blocked", "epic-1-retrospective: optional", "2-1-c: review"]
    rows += ["epic-2-retrospective: optional"]
    found = pending_retrospective(epic_views(board(*rows)))
    assert found is not None
    assert found.key == "epic-1-retrospective"
    rows[2:4] = ["epic-1-retrospective: done", "2-1-c: done"]
    found = pending_retrospective(epic_views(board(*rows)))
    assert found is not None
    assert found.key == "epic-2-retrospective"
    assert next_action(epic_views(board(*rows))) is None
    rows[-1] = "epic-2-retrospective: done"
    assert pending_retrospective(epic_views(board(*rows))) is None


def test_under_way_is_begun_and_not_over() -> None:
    found = epic_views(
        board(
            *("epic-1: done", "1-1-a: done"),
            *("epic-2: backlog", "2-1-a: backlog"),
            *("epic-3: backlog", "3-1-a: review"),
            *("epic-4: in-progress", "4-1-a: backlog"),
            *("epic-5: deferred", "5-1-a: review"),
            *("epic-6: in-progress", "6-1-a: done", "6-2-b: skipped"),
        )
    )
    assert [epic.key for epic in found if epic.is_in_progress] == ["epic-3", "epic-4"]
    assert [epic.key for epic in found if epic.is_closed] == ["epic-1", "epic-5", "epic-6"]
