"""Three boards become one: no row is lost, none goes back, comments stay."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.board.merge import MergeResult, merge_boards
from bmad_autopilot.board.sprint_status import Board, board_from_text, inline_comments
from bmad_autopilot.core.errors import FileError
from bmad_autopilot.core.statuses import DONE, LIFECYCLES, PARKED, status_rank
from bmad_autopilot.io.files import TextFile
from tests.support.random_boards import make_board

BASE = """\
# last_updated: 2026-01-01
last_updated: 2026-01-01
project: Shop  # ours
development_status:
  epic-1: in-progress
  1-1-a: review   # why
  1-2-b: backlog
  # Epic 2
  epic-2: backlog
  2-1-x: backlog
"""


def merged(ours: str, theirs: str, base: str | None = BASE, **more: frozenset[str]) -> str:
    found = merge_boards(base.encode() if base is not None else None, ours.encode(), theirs.encode(), **more)
    assert found is not None
    return found.data.decode()


def read(raw: bytes) -> Board:
    return board_from_text(TextFile("x", raw))


def set_to(status: str, key: str = "1-2-b") -> str:
    return re.sub(rf"(?m)^(  {key}:) [\w-]+", rf"\1 {status}", BASE)


@pytest.mark.parametrize(
    ("here", "there", "stands"),
    [
        ("backlog", "review", "review"),
        ("review", "backlog", "review"),
        ("done", "in-progress", "done"),
        ("in-progress", "done", "done"),
        ("review", "review", "review"),
        ("completed", "done", "done"),
        ("done", "completed", "done"),
        ("review", "blocked", "blocked"),
        ("done", "blocked", "done"),
        ("strange", "review", "review"),
    ],
)
def test_the_side_that_changed_wins_and_of_two_the_further(here: str, there: str, stands: str) -> None:
    assert merged(set_to(here), set_to(there)) == set_to(stands)


def test_a_step_back_by_one_side_alone_is_meant() -> None:
    assert merged(BASE, set_to("backlog", "1-1-a")) == set_to("backlog", "1-1-a")


def test_what_a_person_set_stands_even_if_it_is_a_step_back() -> None:
    ours, theirs = set_to("done"), set_to("ready-for-dev")
    assert merged(ours, theirs, human_rows_theirs=frozenset({"1-2-b"})) == theirs
    assert merged(ours, theirs, human_rows_theirs=frozenset({"1-1-a"})) == ours


def test_two_changes_of_one_row_are_told() -> None:
    found = merge_boards(BASE.encode(), set_to("done").encode(), set_to("review").encode())
    assert found is not None
    assert found.notes == ("1-2-b: done here, review there; done stands",)


def test_a_deleted_row_is_gone_unless_the_other_side_changed_it() -> None:
    without = BASE.replace("  1-2-b: backlog\n", "")
    assert merged(without, BASE) == merged(BASE, without) == without
    found = merge_boards(BASE.encode(), without.encode(), set_to("review").encode())
    assert found is not None
    assert found.data.decode() == set_to("review")
    assert found.notes == ("1-2-b: deleted here, changed to review on the other side; kept",)
    assert merged(set_to("review"), without) == set_to("review")


def test_a_deleted_row_stays_if_the_other_side_wrote_something_beside_it() -> None:
    without, remarked = (BASE.replace("  1-2-b: backlog\n", new) for new in ("", "  1-2-b: backlog  # not yet\n"))
    assert merged(without, remarked) == merged(remarked, without) == remarked


@pytest.mark.parametrize(("here", "there"), [("", "  # there"), ("  # here", ""), ("  # here", "  # there")])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_row_that_both_sides_added_keeps_both_comments(here: str, there: str, end: str) -> None:
    ours, theirs = f"{BASE}  2-2-y: review{here}\n", BASE.replace("  epic-2", f"  2-2-y: done{there}\n  epic-2")
    found = merged(*(text.replace("\n", end) for text in (ours, theirs, BASE)))
    line = next(line for line in found.split(end) if "2-2-y" in line)
    assert line.startswith("  2-2-y: done")
    assert all(word in line for word in (here.strip(), there.strip()))
    assert found.count("2-2-y") == 1
    assert found.count("\n") == found.count(end)


def test_an_epic_in_review_is_further_than_one_in_the_backlog() -> None:
    assert merged(set_to("review", "epic-1"), set_to("backlog", "epic-1")) == set_to("review", "epic-1")


def test_a_new_slug_is_the_same_row() -> None:
    renamed = BASE.replace("1-2-b", "1-2-better")
    assert merged(renamed, set_to("review")) == set_to("review").replace("1-2-b", "1-2-better")


def test_both_sides_add_an_epic_at_the_end() -> None:
    ours, theirs = "  # Epic 3\n  epic-3: backlog\n", "  # Epic 4\n  epic-4: backlog  # four\n"
    changed = set_to("done", "2-1-x")
    assert merged(BASE + ours, changed + theirs) == changed + ours + theirs


def test_both_sides_began_the_board() -> None:
    assert merged(BASE, set_to("review"), base=None) == set_to("review")


def test_the_newest_date_stands_also_in_the_remark_above() -> None:
    ours, theirs = (BASE.replace("01-01", day) for day in ("02-01", "01-31"))
    assert merged(ours, theirs) == merged(theirs, ours) == ours


def test_a_field_that_one_side_took_away_stays_if_the_other_changed_it() -> None:
    without, changed = BASE.replace("project: Shop  # ours\n", ""), BASE.replace("Shop", "Shops")
    assert merged(without, changed) == merged(changed, without) == changed
    assert merged(without, BASE) == without


def test_comments_of_both_sides_behind_one_row_stay() -> None:
    ours, theirs = (BASE.replace("# why", f"# {word}") for word in ("mine", "yours"))
    assert "1-1-a: review   # mine # yours\n" in merged(ours, theirs)
    assert merged(ours, set_to("done", "1-1-a")) == set_to("done", "1-1-a").replace("# why", "# mine")


def test_two_rewritings_of_what_is_no_row_are_left_to_a_person() -> None:
    base = BASE + "notes: >\n  one\n  two\n"
    ours, theirs = base.replace("  two", "  second"), base.replace("  two", "  2")
    assert merge_boards(base.encode(), ours.encode(), theirs.encode()) is None
    assert merged(ours, base, base) == ours


@pytest.mark.parametrize("bad", [b"development_status:\n  a: [\n", b"\xff\xfe", b"", b"- list\n", b"\0"])
def test_what_is_no_board_is_left_to_a_person(bad: bytes) -> None:
    good = BASE.encode()
    assert merge_boards(good, bad, good) is merge_boards(good, good, bad) is merge_boards(bad, good, good) is None


@given(st.binary(max_size=200), st.binary(max_size=200), st.binary(max_size=200))
def test_any_bytes_give_an_answer(base: bytes, ours: bytes, theirs: bytes) -> None:
    head = b"development_status:\n  1-1-a: done\n"
    merge_boards(head + base, head + ours, head + theirs)


# Chance: two sides that each change statuses, comments and rows of one board.


def vary(rng: random.Random, raw: bytes, side: str) -> bytes:
    board = read(raw)
    lines = raw.decode().split("\n")
    rows = [row for row in board.rows.values() if re.search(r": [\w-]+\s*(#.*)?\r?$", lines[row.line - 1])]
    for row in rng.sample(rows, min(len(rows), rng.randrange(6))):
        status = rng.choice([*LIFECYCLES[row.kind], "blocked"])
        lines[row.line - 1] = re.sub(r": [\w-]+", f": {status}", lines[row.line - 1], count=1)
    if rows and rng.random() < 0.5:
        near = rng.choice(rows)
        indent = re.match(r" *", lines[near.line - 1])
        assert indent is not None
        new = [f"{indent[0]}# by {side}", f"{indent[0]}9{rng.randrange(3)}-{rng.randrange(3)}-new: review"]
        lines[near.line : near.line] = new[rng.randrange(2) :]
    if rows and rng.random() < 0.3:
        del lines[rng.choice(rows).line - 1]
    return "\n".join(lines).encode()


def comments(raw: bytes) -> set[str]:
    return {line.strip() for line in raw.decode().splitlines() if line.strip().startswith("#")}


def check_merge(base: bytes, ours: bytes, theirs: bytes, found: MergeResult) -> None:
    boards = [read(raw) for raw in (base, ours, theirs, found.data)]
    before, here, there, after = (board.rows for board in boards)
    remarks = [inline_comments(board, board.rows.values()) for board in boards]
    for key in here.keys() | there.keys():
        if key in here and key in there:
            assert key in after
            was = before[key].status.raw if key in before else None
            statuses = (here[key].status.raw, there[key].status.raw)
            changed = [word for word in statuses if word != was] or [statuses[0]]
            assert after[key].status.raw in changed
            if len(changed) == 2:
                rows = (here[key], there[key], after[key])
                *sides, now = (
                    3.5 if row.meaning == PARKED else status_rank(row.meaning, row.kind) for row in rows
                )
                assert now >= max(sides) or after[key].meaning == DONE
        elif key not in before:
            assert key in after
        else:
            side = here.get(key) or there[key]
            said = remarks[1 if key in here else 2].get(key)
            is_remarked = said not in (None, remarks[0].get(key))
            assert (key in after) == (side.status.raw != before[key].status.raw or is_remarked)
    assert after.keys() <= here.keys() | there.keys()
    assert comments(found.data) >= (comments(ours) & comments(theirs)) | (
        (comments(ours) | comments(theirs)) - comments(base)
    )


@pytest.mark.parametrize("count", [200, pytest.param(1_000, marks=pytest.mark.soak)])
def test_boards_from_chance(count: int) -> None:
    conflicts = 0
    for seed in range(count):
        rng = random.Random(seed)
        base = make_board(rng, odd=rng.choice([0.0, 0.1, 0.3])).raw
        try:
            ours, theirs = vary(rng, base, "us"), vary(rng, base, "them")
            read(ours), read(theirs)
        except FileError:
            continue
        found = merge_boards(base, ours, theirs)
        conflicts += found is None
        if found is not None:
            check_merge(base, ours, theirs, found)
    assert conflicts <= count // 50


@pytest.mark.parametrize("count", [1, pytest.param(20, marks=pytest.mark.soak)])
def test_boards_of_the_corpus(corpus: Path, count: int) -> None:
    merges = conflicts = 0
    for path in sorted(corpus.glob("sprint-status/*")):
        base = path.read_bytes()
        try:
            read(base)
        except FileError:
            continue
        for seed in range(count):
            rng = random.Random(f"{path.name} {seed}")
            ours, theirs = vary(rng, base, "us"), vary(rng, base, "them")
            found = merge_boards(base, ours, theirs)
            merges, conflicts = merges + 1, conflicts + (found is None)
            if found is not None:
                check_merge(base, ours, theirs, found)
    assert merges >= 15 * count
    assert conflicts <= merges // 50
