"""Board, story files and specs are compared; repairs go forwards only."""

import os
from pathlib import Path

import pytest

from bmad_autopilot.board.consistency import plan_repairs, repair_story_file
from bmad_autopilot.board.drift import Drift, check_story_files, find_board_files, find_drift
from bmad_autopilot.board.overview import epic_views
from bmad_autopilot.board.sprint_status import Board, read_board
from bmad_autopilot.board.story_status import find_status
from bmad_autopilot.core.errors import ConflictError
from bmad_autopilot.core.statuses import RowKind
from tests.support.bmad_project import story_text


def write_board(folder: Path, rows: str, head: str = "") -> Board:
    folder.mkdir(exist_ok=True)
    path = folder / "sprint-status.yaml"
    lines = "".join(f"  {line.strip()}\n" for line in rows.strip().splitlines())
    path.write_text(f"{head}development_status:\n{lines}")
    return read_board(str(path))


def drift_of(board: Board, root: Path) -> list[Drift]:
    return find_drift(
        board, board.of_kind(RowKind.STORY), find_board_files(board, str(root), [os.path.dirname(board.path)])
    )


def test_agreement_is_silent(tmp_path: Path) -> None:
    board = write_board(tmp_path, "1-1-a: done\n1-2-b: drafted\n1-3-c: backlog")
    (tmp_path / "1-1-a.md").write_text(story_text("1-1-a", "Done"))
    (tmp_path / "1-2-b.md").write_text(story_text("1-2-b", "ready-for-dev"))
    assert drift_of(board, tmp_path) == []


@pytest.mark.parametrize(
    ("on_board", "in_file", "code", "further"),
    [
        ("done", "review", "file-behind", "done"),
        ("review", "done", "board-behind", "done"),
        ("ready-for-dev", "in-progress", "board-behind", "in-progress"),
        ("backlog", "ready-for-dev", "board-behind", "ready-for-dev"),
    ],
)
def test_the_further_status_stands(tmp_path: Path, on_board: str, in_file: str, code: str, further: str) -> None:
    board = write_board(tmp_path, f"1-1-a: {on_board}")
    (tmp_path / "1-1-a.md").write_text(story_text("1-1-a", in_file))
    (item,) = drift_of(board, tmp_path)
    assert (item.code, item.target_status, item.location.line) == (code, further, 3)


def test_parked_and_unknown_statuses_are_nobodys_drift(tmp_path: Path) -> None:
    board = write_board(tmp_path, "1-1-a: blocked\n1-2-b: deployed\n1-3-c: review")
    for key, status in (("1-1-a", "done"), ("1-2-b", "done"), ("1-3-c", "who knows")):
        (tmp_path / f"{key}.md").write_text(story_text(key, status))
    assert drift_of(board, tmp_path) == []


def test_a_story_under_way_without_a_file_is_said(tmp_path: Path) -> None:
    board = write_board(tmp_path, "1-1-a: ready-for-dev\n1-2-b: backlog\n1-3-c: done")
    assert [(item.code, item.row.key) for item in drift_of(board, tmp_path)] == [("no-story-file", "1-1-a")]


def test_a_file_under_another_slug_is_found_by_number(tmp_path: Path) -> None:
    board = write_board(tmp_path, "1-1-sign-in: done")
    (tmp_path / "1-1-einloggen.md").write_text(story_text("1-1-einloggen", "review"))
    assert [item.code for item in drift_of(board, tmp_path)] == ["file-behind"]


def test_a_done_spec_means_review_at_least(tmp_path: Path) -> None:
    board = write_board(tmp_path, "1-1-a: review\n1-2-b: in-progress\n1-3-c: in-progress\n1-4-d: done")
    for key, status in (("1-1-a", "done"), ("1-2-b", "done"), ("1-3-c", "blocked"), ("1-4-d", "blocked")):
        (tmp_path / f"spec-{key}.md").write_text(f"---\ntitle: x\nstatus: {status}\n---\n\nText\n")
    found = {item.row.key: (item.code, item.target_status) for item in drift_of(board, tmp_path)}
    assert found == {"1-2-b": ("board-behind", "review"), "1-3-c": ("spec-blocked", None)}


def test_a_spec_speaks_through_its_front_matter_alone(tmp_path: Path) -> None:
    board = write_board(tmp_path, "1-1-a: in-progress")
    text = "---\ntitle: x\nstatus: in-progress\n---\n\n## Status\n\ndone\n"
    (tmp_path / "spec-1-1-a.md").write_text(text)
    assert drift_of(board, tmp_path) == []


def test_an_unreadable_story_file_is_said_not_raised(tmp_path: Path) -> None:
    board = write_board(tmp_path, "1-1-a: review")
    (tmp_path / "1-1-a.md").write_bytes(b"# Story\n\nStatus: d\xffne\n")
    (item,) = drift_of(board, tmp_path)
    assert item.code == "unreadable"


def test_story_location_is_followed_inside_the_project_only(tmp_path: Path) -> None:
    (tmp_path / "stories").mkdir()
    (tmp_path / "stories" / "1-1-a.md").write_text(story_text("1-1-a", "done"))
    inside = write_board(tmp_path / "plan", "1-1-a: review", 'story_location: "{project-root}/stories"\n')
    assert [item.code for item in drift_of(inside, tmp_path)] == ["board-behind"]
    outside = write_board(tmp_path / "plan", "1-1-a: review", f'story_location: "{tmp_path}/stories"\n')
    (tmp_path / "other").mkdir()
    assert [item.code for item in drift_of(outside, tmp_path / "other")] == ["no-story-file"]


def test_a_file_the_board_does_not_name_is_nobody_elses(tmp_path: Path) -> None:
    board = write_board(tmp_path, "epic-1: in-progress\n1-1-a: done\ndebug-1-trace: review")
    (tmp_path / "1-9-x.md").write_text(story_text("1-9-x", "review"))
    (tmp_path / "debug-1-trace.md").write_text(story_text("1-9-x", "review"))
    files = find_board_files(board, str(tmp_path), [str(tmp_path)])
    assert files.stories.keys() == {"debug-1-trace"}
    assert files.strays.keys() == {"1.9"}
    assert drift_of(board, tmp_path) == []


def write_stories(folder: Path, **statuses: str) -> None:
    """Story files by name, underscores for hyphens in the keyword: `s1_1_a="done"` is `1-1-a.md`."""
    for name, status in statuses.items():
        key = name.removeprefix("s").replace("_", "-")
        (folder / f"{key}.md").write_text(story_text(key, status))


def repairs_of(board: Board, root: Path) -> list[tuple[str, str, str]]:
    repairs = plan_repairs(board, epic_views(board), drift_of(board, root))
    return [(repair.key, repair.before, repair.after) for repair in repairs]


def test_repairs(tmp_path: Path) -> None:
    board = write_board(
        tmp_path,
        """
        epic-1: backlog
        1-1-a: done
        1-2-b: In progress
        epic-2: contexted
        2-1-c: review
        2-2-d: blocked
        epic-2-retrospective: completed
        epic-3: done
        3-1-e: backlog
        """,
    )
    for key, status in (("1-1-a", "review"), ("1-2-b", "in-progress"), ("2-1-c", "done"), ("2-2-d", "done")):
        (tmp_path / f"{key}.md").write_text(story_text(key, status))
    assert repairs_of(board, tmp_path) == [
        ("epic-1", "backlog", "in-progress"),
        ("1-2-b", "In progress", "in-progress"),
        ("epic-2", "contexted", "in-progress"),  # a blocked story keeps it open
        ("2-1-c", "review", "done"),
        ("epic-2-retrospective", "completed", "done"),
        ("1-1-a", "review", "done"),  # in its story file
    ]


def test_a_story_file_that_cannot_be_changed_safely_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = write_board(tmp_path, "1-1-a: done")
    path = tmp_path / "1-1-a.md"
    path.write_text(story_text("1-1-a", "review"))
    (item,) = drift_of(board, tmp_path)
    assert item.story_status is not None
    wrong = item.story_status._replace(start=item.story_status.start + 2)
    monkeypatch.setattr("bmad_autopilot.board.consistency.find_status", lambda text: find_status(text) and wrong)
    with pytest.raises(ConflictError, match="cannot be changed safely"):
        repair_story_file(str(path), wrong, "done", state=str(tmp_path / "state"))
    assert "Status: review\n" in path.read_text()


def test_an_epic_is_done_when_all_its_stories_are(tmp_path: Path) -> None:
    board = write_board(tmp_path, "epic-1: in-progress\n1-1-a: review")
    (tmp_path / "1-1-a.md").write_text(story_text("1-1-a", "done"))
    assert repairs_of(board, tmp_path) == [("epic-1", "in-progress", "done"), ("1-1-a", "review", "done")]


def test_the_reason_names_the_ledger_and_its_word(tmp_path: Path) -> None:
    board = write_board(tmp_path, "epic-1: in-progress\n1-1-a: in-progress")
    (tmp_path / "spec-1-1-a.md").write_text("---\ntitle: x\nstatus: done\n---\n\nText\n")
    (repair,) = plan_repairs(board, epic_views(board), drift_of(board, tmp_path))
    assert (repair.after, repair.reason) == ("review", "its spec says done")


def test_odd_story_files(tmp_path: Path) -> None:
    board = write_board(tmp_path, "1-1-a: review\n1-2-b: review\n1-3-c: review")
    (tmp_path / "1-1-a.md").write_text("# Story 1.1: A\n\nNothing said.\n")
    (tmp_path / "1-2-b.md").write_text(story_text("1-2-b", "wibble"))
    (tmp_path / "1-3-c.md").write_text(story_text("1-3-c", "review"))
    (tmp_path / "9-9-x.md").write_text(story_text("9-9-x", "done"))
    found = check_story_files(find_board_files(board, str(tmp_path), [str(tmp_path)]))
    assert [(item.code, Path(item.location.file).name, item.location.line) for item in found] == [
        ("no-status-line", "1-1-a.md", None),
        ("unknown-file-status", "1-2-b.md", 3),
        ("file-not-on-board", "9-9-x.md", None),
    ]


def test_a_clean_board_needs_no_repair(tmp_path: Path) -> None:
    board = write_board(
        tmp_path, "epic-1: in-progress\n1-1-a: done\n1-2-b: backlog\nepic-1-retrospective: optional"
    )
    (tmp_path / "1-1-a.md").write_text(story_text("1-1-a", "done"))
    assert repairs_of(board, tmp_path) == []


def test_a_story_file_is_changed_in_its_status_alone(tmp_path: Path) -> None:
    board = write_board(tmp_path, "1-1-a: done")
    path = tmp_path / "1-1-a.md"
    text = story_text("1-1-a", "**Review**").replace("\n", "\r\n")
    path.write_bytes(text.encode())
    (item,) = drift_of(board, tmp_path)
    assert item.story_status is not None
    repair_story_file(str(path), item.story_status, "done", state=str(tmp_path / "state"))
    assert path.read_bytes().decode() == text.replace("**Review**", "**done**")
    with pytest.raises(ConflictError, match="changed meanwhile"):
        repair_story_file(str(path), item.story_status, "done", state=str(tmp_path / "state"))


def test_rows_that_share_a_number_are_repaired_from_their_own_files_only(tmp_path: Path) -> None:
    board = write_board(
        tmp_path,
        """
        v2-epic-0: done
        v2-0-1-fix-errors: done
        v2-0-2-fix-timers: review
        v2-epic-6: backlog
        v2-6-1-sounds: backlog
        v2-6-2-music: backlog
        """,
    )
    for key, status in (("v2-0-1-fix-errors", "review"), ("v2-0-2-fix-timers", "done"), ("v2-plan", "review")):
        (tmp_path / f"{key}.md").write_text(story_text(key, status))
    assert repairs_of(board, tmp_path) == [
        ("v2-0-2-fix-timers", "review", "done"),
        ("v2-0-1-fix-errors", "review", "done"),  # in its story file
    ]


@pytest.mark.parametrize(
    ("rows", "file"),
    [
        ("v2-6-1-sounds: backlog", "v2-0-1-fix-errors"),  # the one row, the one file, and another story
        ("v2-6-1-sounds: backlog", "v2-roadmap"),
        ("v2-epic-6: backlog", "v2-roadmap"),
        ("5-6-trays: backlog", "5-6-1-handles"),
        ("5-6-1-handles: backlog", "5-6-trays"),
        ("5-6-1-handles: backlog", "5-6-2-hinges"),
        ("0-10-1-a: backlog\n0-10-2-b: backlog", "0-10-3-c"),
        ("5-2-a-left: backlog", "5-2-b-right"),
        ("5-2-a-left: backlog\n5-2-b-right: backlog", "5-2-both"),
        ("5-2-b-right: backlog", "5-2-a-left"),
        ("5-2-both: backlog", "5-2-b-right"),
        ("5-2-both: backlog", "5-2b-right"),
        ("1-2-login: backlog\n1-2-logout: backlog", "1-2-sign-in"),
        ("1-2-login: backlog\n01-02-logout: backlog", "story-1.2"),
        ("1-2-login: backlog", "1-2-login-review"),
        ("1-2-login: backlog", "1-2-login.notes"),
        ("1-2-login: backlog", "1-20-sign-in"),
        ("1-2-login: backlog", "epic-1-story-2-3-sign-in"),
    ],
)
@pytest.mark.parametrize("prefix", ["", "story-", "spec-"])
def test_a_file_of_another_story_repairs_nothing(tmp_path: Path, rows: str, file: str, prefix: str) -> None:
    board = write_board(tmp_path, rows)
    text = f"---\ntitle: x\nstatus: done\n---\n\n{story_text(file, 'done')}"
    (tmp_path / f"{prefix}{file}.md").write_text(text)
    assert repairs_of(board, tmp_path) == []


@pytest.mark.parametrize("prefix", ["", "spec-"])
def test_two_files_with_one_number_repair_nothing_and_are_named(tmp_path: Path, prefix: str) -> None:
    board = write_board(tmp_path, "epic-4: in-progress\n4-7-to-mainnet: in-progress")
    for name in ("4-7-testnet", "4-7-devnet-complete"):
        text = f"---\ntitle: x\nstatus: done\n---\n\n{story_text(name, 'done')}"
        (tmp_path / f"{prefix}{name}.md").write_text(text)
    assert repairs_of(board, tmp_path) == []
    (item,) = drift_of(board, tmp_path)
    assert (item.code, item.target_status) == ("unclear-story-file", None)
    assert "4-7-testnet.md" in item.message


def test_a_letter_with_a_sibling_among_the_files_is_part_of_the_number(tmp_path: Path) -> None:
    board = write_board(tmp_path, "5-2-both: backlog")
    write_stories(tmp_path, s5_2_a_left="done", s5_2_b_right="done")
    assert repairs_of(board, tmp_path) == []


def test_an_article_is_no_part_of_the_number(tmp_path: Path) -> None:
    board = write_board(tmp_path, "46-4-a-save-keeps-the-toolbar: review")
    write_stories(tmp_path, s46_4_the_toolbar="done")
    assert repairs_of(board, tmp_path) == [("46-4-a-save-keeps-the-toolbar", "review", "done")]


def test_a_row_that_shares_its_number_is_not_given_another_rows_file(tmp_path: Path) -> None:
    board = write_board(tmp_path, "1-2-login: review\n1-2-logout: in-progress")
    write_stories(tmp_path, s1_2_login="done")
    assert repairs_of(board, tmp_path) == [("1-2-login", "review", "done")]


def test_the_row_whose_key_a_file_carries_keeps_it_from_every_other(tmp_path: Path) -> None:
    board = write_board(tmp_path, "epic-1: in-progress\n1-2-login: done\n1-2-logout: backlog")
    (tmp_path / "story-1.2-login.md").write_text(story_text("1-2-login", "done"))
    assert repairs_of(board, tmp_path) == []
    assert drift_of(board, tmp_path) == []


def test_a_spec_with_the_key_goes_before_a_story_file_with_the_number(tmp_path: Path) -> None:
    board = write_board(tmp_path, "1-2-login: in-progress")
    (tmp_path / "spec-1-2-login.md").write_text("---\ntitle: x\nstatus: in-progress\n---\n\nText\n")
    write_stories(tmp_path, s1_2_sign_in="done")
    assert repairs_of(board, tmp_path) == []


def test_two_files_with_the_key_repair_nothing(tmp_path: Path) -> None:
    board = write_board(tmp_path, "1-2-login: review")
    (tmp_path / "stories").mkdir()
    write_stories(tmp_path, s1_2_login="done")
    write_stories(tmp_path / "stories", s1_2_login="in-progress")
    assert repairs_of(board, tmp_path) == []
    (item,) = drift_of(board, tmp_path)
    assert "stories/1-2-login.md" in item.message


@pytest.mark.parametrize("name", ["1-2-sign-in", "story-1.2", "01-02-sign-in", "epic-1-story-2-sign-in"])
def test_a_number_that_is_unique_on_both_sides_repairs(tmp_path: Path, name: str) -> None:
    board = write_board(tmp_path, "1-2-login: review\n1-20-other: backlog\n1-2b-later: backlog\n1-3-x: done")
    (tmp_path / f"{name}.md").write_text(story_text(name, "done"))
    (tmp_path / "1-3-x.md").write_text(story_text("1-3-x", "done"))
    assert repairs_of(board, tmp_path) == [("1-2-login", "review", "done")]


def test_a_key_that_stands_twice_is_not_repaired(tmp_path: Path) -> None:
    board = write_board(
        tmp_path, "epic-1: backlog\nepic-1: backlog\n1-1-a: ready-for-dev\n1-1-a: review\n1-2-b: review"
    )
    write_stories(tmp_path, s1_1_a="done", s1_2_b="done")
    assert {item.row.key: item.target_status for item in drift_of(board, tmp_path)} == {
        "1-1-a": None,
        "1-2-b": "done",
    }
    assert repairs_of(board, tmp_path) == [("1-2-b", "review", "done")]
