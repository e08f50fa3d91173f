"""Diagnostics and risks: each oddity is said once, with its line and what mends it."""

from pathlib import Path

import pytest

from bmad_autopilot.board.consistency import check_board, check_epics
from bmad_autopilot.board.epics_file import read_epics
from bmad_autopilot.board.overview import DAY, epic_views, find_risks, read_date
from bmad_autopilot.board.sprint_status import Board, board_from_text, read_board
from bmad_autopilot.core.errors import FileError
from bmad_autopilot.io.files import TextFile

NOW = read_date("2026-02-01") or 0.0


def board(rows: str, head: str = "") -> Board:
    lines = "".join(f"  {line}\n" for line in rows.splitlines())
    return board_from_text(TextFile("board.yaml", f"{head}development_status:\n{lines}".encode()))


def codes(found: Board) -> list[tuple[int | None, str, str | None]]:
    return [(d.location.line, d.code, d.hint) for d in check_board(found, epic_views(found))]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("epic-1: in-progress\n1-1-a: review", []),
        ("epic-1: backlog\n1-1-a: deployed", [(3, "unknown-status", "bmad board set 1-1-a done")]),
        ("epic-1: backlog\n1-1-a: zebra", [(3, "unknown-status", "bmad board set 1-1-a STATUS")]),
        ("epic-1: backlog\n1-1-a: drafted", [(3, "legacy-status", "bmad board set 1-1-a ready-for-dev")]),
        ("epic-1: review\n1-1-a: backlog", [(2, "unknown-status", "bmad board set epic-1 in-progress")]),
        ("1-1-a: backlog", [(2, "orphaned-story", "add a row epic-1")]),
        ("epic-1: in-progress\nnotes: done\n1-1-a: backlog", [(3, "unrecognised-key", None)]),
        ("epic-1: backlog", [(2, "empty-epic", None)]),
        (
            "epic-1: done\n1-1-a: review",
            [(2, "done-epic-open-story", "bmad board set epic-1 in-progress --force")],
        ),
        ("epic-1: in-progress\n1-1-a: done\n1-2-b: done", [(2, "finished-epic", "bmad board set epic-1 done")]),
        ("epic-1: contexted\n1-1-a: done", [(2, "finished-epic", "bmad board set epic-1 done")]),
        ("epic-1: in-progress\n1-1-a: done\n1-2-b: blocked", []),
        ("epic-1: Done\n1-1-a: done", [(2, "legacy-status", "bmad board set epic-1 done")]),
        (
            "epic-1: backlog\n1-1-a: backlog\n1-1-b: backlog",
            [(4, "duplicate-number", "give it a number of its own")],
        ),
        ("epic-1: backlog\n1-1-a: done\n1-1-a: backlog", [(3, "duplicate-key", "keep one of the lines")]),
    ],
)
def test_each_oddity_has_its_line(rows: str, expected: list[tuple[int, str, str | None]]) -> None:
    found = codes(board(rows))
    assert [(line, code) for line, code, _ in found] == [(line, code) for line, code, _ in expected]
    for (_, _, hint), (_, _, wanted) in zip(found, expected, strict=True):
        assert wanted is None or hint == wanted


def test_duplicates_that_disagree_are_errors() -> None:
    severities = [d.severity.value for d in check_board(board("1-1-a: done\n1-1-a: review"), [])]
    assert severities == ["error"]
    severities = [d.severity.value for d in check_board(board("1-1-a: done\n1-1-a: done"), [])]
    assert severities == ["warning"]


def test_stories_of_one_ledger_only() -> None:
    plan = read_epics(TextFile("epics.md", b"# X\n\n## Epic 1: A\n\n### Story 1.1: B\n\n### Story 1.2: C\n"))
    found = list(check_epics(board("epic-1: backlog\n1-1-b: done\n1-3-d: backlog"), plan))
    assert [(d.code, d.location.file, d.location.line) for d in found] == [
        ("not-on-board", "epics.md", 7),
        ("not-in-epics", "board.yaml", 4),
    ]


def risks(rows: str, head: str = "") -> list[str]:
    found = board(rows, head)
    return [risk.code for risk in find_risks(found, epic_views(found), now=NOW)]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("epic-1: in-progress\n1-1-a: ready-for-dev\n1-2-b: in-progress", []),
        ("epic-1: in-progress\n1-1-a: ready-for-dev\n1-2-b: review", ["in-review"]),
        ("epic-1: in-progress\n1-1-a: in-progress", ["nothing-ready"]),
        ("epic-1: backlog\n1-1-a: backlog", ["nothing-started"]),
        ("epic-1: in-progress", ["empty-epic"]),
        ("2-1-a: done", ["orphaned-story"]),
        ("epic-1: done\n1-1-a: ready-for-dev", ["done-epic-open-story"]),
        ("epic-1: done\n1-1-a: odd", ["unknown-status"]),
        ("epic-1: done\n1-1-a: done\nsome-notes: done", ["unrecognised-key"]),
        ("epic-1: done\n1-1-a: done\n1-1-a: done", ["duplicate-key"]),
        ("epic-1: done\n1-1-a: done\n1-1-b: done", ["duplicate-number"]),
    ],
)
def test_risks(rows: str, expected: list[str]) -> None:
    assert risks(rows) == expected


@pytest.mark.parametrize(
    ("head", "stale"),
    [
        ("generated: 2026-01-24\n", True),
        ("generated: 2026-01-26\n", False),
        ("generated: 2025-01-01\nlast_updated: 2026-01-31\n", False),
        ("generated: 2026-01-31\nlast_updated: 01-20-2026 10:00\n", True),
        ("generated: some day\n", False),
        ("", False),
    ],
)
def test_a_board_nobody_touched_for_a_week_is_stale(head: str, stale: bool) -> None:
    assert risks("epic-1: done\n1-1-a: done", head) == (["stale"] if stale else [])


@pytest.mark.parametrize(
    "text",
    ["2026-01-15", "2026-01-15T00:00:00+02:00", "2026-01-15 00:00", "01-15-2026 00:00", "2026-01-15 (late)"],
)
def test_dates_of_real_boards(text: str) -> None:
    assert abs((read_date(text) or 0) - (read_date("2026-01-15") or 1)) < DAY


@pytest.mark.parametrize("text", ["", "yesterday", "05-06-2-2025 21:30", "0000-00-00", "9999999999"])
def test_what_is_no_date_is_none(text: str) -> None:
    assert read_date(text) is None


def test_the_corpus_is_checked_without_a_crash(corpus: Path) -> None:
    seen = set()
    for path in sorted(corpus.glob("sprint-status/*")):
        try:
            found = read_board(str(path))
        except FileError:
            continue
        views = epic_views(found)
        seen |= {d.code for d in check_board(found, views)}
        find_risks(found, views, now=NOW)
    assert {"legacy-status", "unknown-status", "orphaned-story", "finished-epic", "unrecognised-key"} <= seen
