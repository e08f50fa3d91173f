"""Real boards are read right, or refused with a line number."""

from pathlib import Path

import pytest

from bmad_autopilot.board.overview import count_stories, epic_views, next_action
from bmad_autopilot.board.sprint_status import (
    Board,
    action_items,
    board_from_text,
    find_row,
    inline_comments,
    read_board,
    short_key,
)
from bmad_autopilot.core.errors import FileError, UsageError
from bmad_autopilot.core.statuses import RowKind
from bmad_autopilot.io.files import TextFile


def board(text: str | bytes) -> Board:
    return board_from_text(TextFile("board.yaml", text if isinstance(text, bytes) else text.encode()))


def rows(text: str) -> Board:
    return board("development_status:\n" + "".join(f"  {line}\n" for line in text.splitlines()))


# Counted by hand (awk over the lines, checked by eye), not with the reader.
# file: epics, stories, retrospectives, counts of stories, what comes next
CORPUS = {
    "1987-Dmytro__Mail-Agent": (4, 45, 4, {"done": 45}, None),
    "AXOVIA-ASPEN__flipper-ai": (
        14,
        83,
        14,
        {"backlog": 2, "ready-for-dev": 2, "in-progress": 1, "review": 2, "done": 76},
        "14-5-onboarding-wizard-dark-migration",
    ),
    "Alberto-Codes__docvet": (35, 116, 35, {"backlog": 3, "review": 1, "done": 112}, "*"),
    "Alberto-Codes__gepa-adk": (6, 26, 6, {"backlog": 5, "review": 1, "done": 20}, "*"),
    "Alenryuichi__ai_trend_radar": (
        4,
        18,
        4,
        {"ready-for-dev": 14, "review": 4},
        "1-1-supabase-infrastructure-setup",
    ),
    "Andy-ZhangZilin__BI-DW-song-Request": (8, 31, 8, {"done": 30, "parked": 1}, None),
    "Brownbull__gmni_boletapp": (28, 239, 7, {"ready-for-dev": 27, "done": 206, "parked": 2, "unknown": 4}, "*"),
    "Casys-AI__casys-pml": (
        19,
        154,
        19,
        {"backlog": 31, "in-progress": 4, "review": 2, "done": 108, "parked": 9},
        "*",
    ),
    "ClaudioSBezerra__FB_SMARTPICK": (9, 34, 9, {"done": 34}, None),
    "Fledgely__fledgely": (59, 396, 59, {"backlog": 52, "done": 339, "parked": 5}, "*"),
    "HaiLammm__star-light-project": (
        7,
        33,
        7,
        {"backlog": 1, "review": 13, "done": 19},
        "1-3-define-content-collection-schemas",
    ),
    "Hexalith__Hexalith.EventStore": (8, 109, 8, {"backlog": 44, "in-progress": 2, "review": 3, "done": 60}, "*"),
    "JeiKeiLim__vibe-dash": (19, 136, 18, {"backlog": 8, "done": 128}, "*"),
    "O-Side-Systems__efofx": (7, 45, 7, {"ready-for-dev": 34, "done": 11}, "*"),
    "keliihall__ScholarSense-bmad-method": (8, 88, 8, {"backlog": 80, "done": 8}, "1-6a-同步权威身份与组织"),
    "stavatar__bmad-ralph": (7, 65, 7, {"done": 65}, None),
    "thebenlamm__bmad-autopilot": (0, 3, 0, {"done": 3}, None),
}
NOT_BOARDS = {
    "Axl59110__linktracker": (5, "is not a board"),
    "PaulKnauer__bmad-dag-automator": (4, "is not a board"),
    "Hexalith__Hexalith.Works": (38, "is not valid YAML"),
}


@pytest.mark.parametrize("name", CORPUS)
def test_hand_counted_boards(corpus: Path, name: str) -> None:
    epics, stories, retros, counts, following = CORPUS[name]
    found = read_board(str(corpus / "sprint-status" / f"{name}.yaml"))
    assert [len(found.of_kind(kind)) for kind in (RowKind.EPIC, RowKind.STORY, RowKind.RETROSPECTIVE)] == [
        epics,
        stories,
        retros,
    ]
    assert {word: n for word, n in count_stories(epic_views(found)).items() if n} == counts
    action = next_action(epic_views(found))
    assert (action is None) == (following is None)
    if following not in (None, "*"):
        assert action is not None
        assert action.story_id == following


def test_every_board_of_the_corpus_is_read_or_refused_with_a_line(corpus: Path) -> None:
    refused = {}
    for path in sorted([*corpus.glob("sprint-status/*"), *corpus.glob("extra/*")]):
        try:
            assert read_board(str(path)).rows
        except FileError as error:
            refused[path.stem] = (error.location.line if error.location else None, error.message)
    for name, (line, start) in NOT_BOARDS.items():
        assert refused[name][0] == line
        assert refused[name][1].startswith(start)
    assert len(refused) == len(NOT_BOARDS) + 1  # and a sprint log that only shares the name


def test_where_an_epic_has_no_stories_left_the_next_one_is_counted(corpus: Path) -> None:
    found = read_board(str(corpus / "sprint-status" / "Fledgely__fledgely.yaml"))
    first = epic_views(found)[0]
    assert (first.key, first.number, len(first.stories)) == ("epic-0-5", "0.5", 9)
    assert [row.number for row in epic_views(found)[1].stories[:4]] == ["1.0.1", "1.0.2", "1.0.3", "1.1"]


def test_action_items(corpus: Path) -> None:
    found = read_board(str(corpus / "sprint-status" / "Hexalith__Hexalith.EventStore.yaml"))
    assert len(action_items(found)) == 20


def test_inline_comments_quotes_and_alignment_do_not_matter() -> None:
    found = rows('1-1-a:    done     # merged\n1-2-b: \'review\'\n"1-3-c": "in-progress" # x\n1-4-d: done')
    assert [row.meaning for row in found.rows.values()] == ["done", "review", "in-progress", "done"]
    assert inline_comments(found, found.rows.values()) == {"1-1-a": "merged", "1-3-c": "x"}


def test_a_row_may_be_a_mapping_with_its_reason() -> None:
    found = rows("1-1-a: {status: blocked, blocked_reason: waits for DNS}\n1-2-b:\n  status: done")
    assert (found.rows["1-1-a"].meaning, found.rows["1-1-a"].reason) == ("parked", "waits for DNS")
    assert found.rows["1-2-b"].meaning == "done"


def test_reasons_in_a_block_of_their_own() -> None:
    found = board("development_status:\n  1-1-a: blocked\nblocked_reasons:\n  1-1-a: no key\nother: [1]\n")
    assert found.rows["1-1-a"].reason == "no key"


def test_reasons_in_a_block_of_a_regular_board() -> None:
    found = board("development_status:\n  1-1-a: blocked\nblocked_reasons:\n  1-1-a: no key\n")
    assert found.rows["1-1-a"].reason == "no key"


def test_dates_and_nulls_stay_text() -> None:
    found = board("generated: 2026-01-15\nlast_updated: null\ndevelopment_status:\n  1-1-a: yes\n  1-2-b:\n")
    assert (found.field("generated"), found.field("last_updated")) == ("2026-01-15", None)
    assert [row.status.raw for row in found.rows.values()] == ["yes", ""]


def test_of_a_key_that_comes_twice_the_last_stands_and_the_first_is_remembered() -> None:
    found = rows("1-1-a: done\n1-2-b: review\n1-1-a: backlog")
    assert found.rows["1-1-a"].status.raw == "backlog"
    assert [(row.key, row.status.raw, row.line) for row in found.shadowed] == [("1-1-a", "done", 2)]


def test_an_empty_section_is_an_empty_board() -> None:
    assert board("development_status:\n").rows == board("development_status: {}\n").rows == {}


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", 1, "is not a board"),
        ("# only a comment\n", 1, "is not a board"),
        ("project: x\nstories: []\n", 1, "is not a board"),
        ("- a\n", 1, "is not a board"),
        ("project: x\n\ndevelopment_status: [1-1-a]\n", 3, "is not a board"),
        ("development_status:\n  1-1-a: done\ndevelopment_status:\n  1-2-b: done\n", 4, "is not a board"),
        ("development_status:\n  1-1-a: [done]\n", 2, "has no status for 1-1-a"),
        ("development_status:\n  1-1-a: {owner: x}\n", 2, "has no status for 1-1-a"),
        ("a: b: c\n", 1, "is not valid YAML"),
        ("development_status:\n  1-1-a: -\n", 2, "is not valid YAML"),
        ("development_status:\n  1-1-a: done\ndevelopment_status: x\n", 3, "is not a board"),
        ("development_status:\n\t1-1-a: done\n", 2, "is not valid YAML"),
        ("development_status:\n  1-1-a: done\n    1-2-b: done\n", 3, "is not valid YAML"),
        ("development_status:\n  1-1-a: &x done\n  1-2-b: *x\n", 3, "uses a YAML alias"),
        ("development_status:\n  ../../x: done\n", 2, "has a key that cannot name a story file"),
        ("development_status:\n  1-1-a: done\n  a/b: done\n", 3, "has a key that cannot name a story file"),
        (f"development_status:\n  1-1-{'a' * 250}: done\n", 2, "has a key that cannot name a story file"),
        ('development_status:\n  "1-1-a\\nb": done\n', 2, "has a key that cannot name a story file"),
        ("development_status:\n  .hidden: done\n", 2, "has a key that cannot name a story file"),
        ("development_status:\n" + "  a: {" * 60, 2, "is nested too deeply"),
        ("---\na: 1\n---\nb: 2\n", 3, "holds several YAML documents"),
    ],
)
def test_what_is_no_board_is_refused_with_its_line(text: str, line: int, says: str) -> None:
    with pytest.raises(FileError) as caught:
        board(text)
    assert caught.value.message.startswith(says)
    assert caught.value.location is not None
    assert (caught.value.location.file, caught.value.location.line) == ("board.yaml", line)


def test_an_alias_bomb_is_refused_at_once() -> None:
    bomb = "a: &a [x]\n" + "".join(
        f"{b}: &{b} [{', '.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    with pytest.raises(FileError, match="alias"):
        board(bomb + "development_status:\n  1-1-a: done\n")


FINDABLE = rows(
    "epic-1: in-progress\n1-1-sign-in: done\n1-2-sign-out: review\n1-12-search: backlog\nepic-2: backlog"
)


@pytest.mark.parametrize("wanted", ["1-2", "1.2", "1-2-sign-out", "1-2-si", "01.02"])
def test_a_story_is_found_as_a_person_names_it(wanted: str) -> None:
    assert find_row(FINDABLE, wanted).key == "1-2-sign-out"


@pytest.mark.parametrize("wanted", ["1", "epic-1", "Epic 1", "EPIC-1"])
def test_an_epic_is_found_as_a_person_names_it(wanted: str) -> None:
    assert find_row(FINDABLE, wanted, RowKind.EPIC).key == "epic-1"


def test_a_prefix_of_several_is_an_error_that_lists_them() -> None:
    with pytest.raises(UsageError) as caught:
        find_row(FINDABLE, "1-")
    assert caught.value.found == "1-1-sign-in, 1-2-sign-out, 1-12-search"


@pytest.mark.parametrize("wanted", ["1-3", "9.9", "2-1", "1-1-sign-inn", "", "2", "1"])
def test_a_number_is_never_taken_for_the_beginning_of_another(wanted: str) -> None:
    with pytest.raises(UsageError):
        find_row(rows("1-30-a: done\n2-10-b: done\n1-1-sign-in: done"), wanted)


def test_the_shortest_name_of_a_story() -> None:
    found = rows("epic-15b: done\n1-2-x: done\n1-3-a: done\n1-3-b: done\nTD-15b-3-y: done\n15b-0a-z: done")
    stories = found.of_kind(RowKind.STORY)
    names = [short_key(row, stories) for row in stories]
    assert names == ["1-2", "1-3-a", "1-3-b", "15b-0a", "TD-15b-3-y"]
