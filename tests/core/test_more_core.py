"""Words, numbers and ways of the core that others rely on to the letter."""

from collections.abc import Callable
from typing import Any

import pytest

from bmad_autopilot.core import errors, odd_keys
from bmad_autopilot.core.actions import WORKFLOW_MAPPING, Action, SprintStatus, get_next_action
from bmad_autopilot.core.commands import command
from bmad_autopilot.core.diagnostics import Severity
from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.core.keys import identify, natural, number_of
from bmad_autopilot.core.lines import comment_of, scan
from bmad_autopilot.core.owes import Owes
from bmad_autopilot.core.results import EpicResult, ExecutionResult, StoryResult
from bmad_autopilot.core.statuses import (
    EPIC_LIFE,
    RETRO_LIFE,
    STORY_LIFE,
    Kind,
    Status,
    plain_word,
    rank,
    read_status,
    suggest_status,
)


def in_order(items: list[str], key: Callable[[str], Any]) -> list[str]:
    found = list(items)
    found.reverse()
    return sorted(found, key=key)


def test_exit_codes_are_a_promise():
    assert errors.EXIT_DONE == 0
    assert errors.EXIT_FAILED == 1
    assert errors.EXIT_USAGE == 2
    assert errors.EXIT_HUMAN == 3
    assert errors.EXIT_UNREADABLE == 4
    assert errors.EXIT_INTERRUPTED == 130


def test_an_error_is_an_exception_with_its_message():
    assert AutopilotError("no").args == ("no",)


def test_words_others_read_stay_what_they_are():
    assert [one.value for one in Owes] == ["story", "code", "revision", "verdict", "nothing"]
    assert [one.value for one in Severity] == ["error", "warning", "note"]
    assert [one.value for one in Kind] == ["epic", "story", "retrospective", "other"]
    assert STORY_LIFE == ("backlog", "ready-for-dev", "in-progress", "review", "done")
    assert EPIC_LIFE == ("backlog", "in-progress", "done")
    assert RETRO_LIFE == ("optional", "done")
    assert WORKFLOW_MAPPING == {
        "create-story": "bmad:bmm:workflows:create-story",
        "dev-story": "bmad:bmm:workflows:dev-story",
        "code-review": "bmad:bmm:workflows:code-review",
    }


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Kind.EPIC, "an epic"),
        (Kind.STORY, "a story"),
        (Kind.RETROSPECTIVE, "a retrospective"),
        (Kind.OTHER, "an other"),
    ],
)
def test_a_kind_with_its_article(kind, words):
    assert kind.with_article == words


def test_records_need_no_more_than_what_is_known():
    assert Action("dev-story", "1-2", "skill").context == {}
    assert SprintStatus({}, {}, {}).retrospectives == {}
    result = ExecutionResult("success", "1-2")
    assert (result.exit_code, result.outcome, result.message) == (None, "", "")
    assert StoryResult("1-2", "done").results == ()
    assert EpicResult("1", "done").stories == ()


def test_an_optional_story_waits_until_somebody_wants_it():
    assert get_next_action(SprintStatus({}, {"1-1-a": "optional"}, {})) is None
    found = get_next_action(SprintStatus({}, {"1-1-a": "optional", "1-2-b": "backlog"}, {}))
    assert found is not None
    assert (found.story_id, found.context) == ("1-2-b", {"story_id": "1-2-b", "status": "backlog"})


def test_a_word_in_other_letters_is_quoted():
    assert command("set", "1-2-项目") == "bmad set '1-2-项目'"


# Regular boards take the quick way: the careful one gives the same, and costs a start-up what it must not.
@pytest.mark.parametrize(
    "keys",
    [
        ["epic-1", "1-1-a", "1-2-b", "epic-1-retrospective"],
        ["epic-1", "1-4-a", "1-4b-c", "epic-10", "10-0-x"],
        [],
    ],
)
def test_regular_keys_need_no_careful_look(keys, monkeypatch):
    expected = odd_keys.identify_carefully(keys)
    monkeypatch.setattr(odd_keys, "identify_carefully", None)
    assert identify(keys) == expected


@pytest.mark.parametrize("keys", [["1-1-a", "odd"], ["1-1-a", "1-1-b"], ["epic-1a"], ["01-1-a"]])
def test_other_keys_do(keys, monkeypatch):
    monkeypatch.setattr(odd_keys, "identify_carefully", None)
    with pytest.raises(TypeError):
        identify(keys)


@pytest.mark.parametrize(
    ("text", "number"),
    [("0-5", "0.5"), ("01", "1"), ("00", "0"), ("1A", "1a"), ("0x", "0x"), ("100", "100"), (" 1_2·3 ", "1.2.3")],
)
def test_the_number_of_a_label(text, number):
    assert number_of(text) == number


def test_numbers_sort_as_people_count():
    numbers = ["1", "1.2", "1.4", "1.4b", "1.10", "1.td.1", "2", "2.5", "10", "a"]
    assert in_order(numbers, natural) == numbers


def test_rows_without_a_number_come_last_and_retrospectives_after_the_stories():
    keys = ["epic-1", "1-1-a", "1-td-1-b", "epic-1-retrospective", "epic-2", "debug-1-x", "zebra"]
    rows = identify(keys)
    assert in_order(keys, lambda key: rows[key].order) == keys
    regular = ["epic-1", "1-1-a", "epic-1-retrospective", "epic-2", "2-1-b"]
    rows = identify(regular)
    assert in_order(regular, lambda key: rows[key].order) == regular


@pytest.mark.parametrize(
    ("keys", "key", "number"),
    [
        ([], "Epic-3-Retro", "3"),
        ([], "EPIC-4", "4"),
        ([], "sprint-2-retrospective", "sprint.2"),
        (["epic-7"], "7-2.5-x", "7.2.5"),
        (["epic-7"], "a-b-7-3-x", "7.a.b.3"),
        (["epic-a-b-c-d"], "a-b-c-d-1-x", "a.b.c.d.1"),
        ([], "a-b-c-1", "a.b.c.1"),
        ([], "a-b-c-d-1", "a-b-c-d-1"),
        ([], "7-3", "7.3"),
        ([], "7", "7"),
        (["epic-7"], "7-abc-1-x", "7.abc.1"),
        (["epic-7"], "7-td-1", "7.td.1"),
        (["epic-7"], "7-abcd-1-x", "7"),
        (["epic-3-retro"], "1-2-x", "1.2"),
        ([], "1-0-0-x", "1.0"),
    ],
)
def test_further_keys(keys, key, number):
    assert identify([*keys, key])[key].number == number


@pytest.mark.parametrize("epic", ["a", "a-b", "a-b-c", "a-b-c-d"])
def test_an_epic_may_have_up_to_four_words(epic):
    row = identify([f"epic-{epic}", f"{epic}-1-x"])[f"{epic}-1-x"]
    assert (row.epic, row.number) == (epic.replace("-", "."), f"{epic.replace('-', '.')}.1")


def test_a_number_further_on_may_have_zeros():
    rows = identify(["1-0-00-a", "1-0-02-b"])
    assert [row.number for row in rows.values()] == ["1.0.0", "1.0.2"]
    assert [row.number for row in identify(["1-0-1", "1-0-2-b"]).values()] == ["1.0", "1.0"]


def test_numbers_shared_by_some_do_not_keep_others_from_being_told_apart():
    keys = ["1-1-a", "3-0-1-x", "3-0-2-y", "3-0-10-z", "odd"]
    rows = identify(keys)
    assert [row.number for row in rows.values()] == ["1.1", "3.0.1", "3.0.2", "3.0.10", "odd"]
    assert in_order(keys, lambda key: rows[key].order) == keys


FLAT = """\
# a comment
project: Sample
quoted: "a: b"
single: 'it'
nothing:
empty: ""
null_word: NULL

development_status:
  epic-1: in-progress
  # another
  1-1-a: "done"  # merged
  1-2-b: null
"""


def test_a_regular_board_is_scanned():
    flat = scan(FLAT)
    assert flat is not None
    assert flat.top == [
        ("project", "Sample", 2),
        ("quoted", "a: b", 3),
        ("single", "it", 4),
        ("nothing", None, 5),
        ("empty", "", 6),
        ("null_word", None, 7),
        ("development_status", None, 9),
    ]
    assert flat.nested == {
        "development_status": [("epic-1", "in-progress", 10), ("1-1-a", "done", 12), ("1-2-b", None, 13)]
    }


def test_a_value_is_cut_only_where_it_is_quoted():
    flat = scan("a: Xyz\n")
    assert flat is not None
    assert flat.top == [("a", "Xyz", 1)]


def test_other_letters_are_scanned_too():
    flat = scan("项目: 示例\nblock:\n  é: ü\n")
    assert flat is not None
    assert flat.top == [("项目", "示例", 1), ("block", None, 2)]
    assert flat.nested == {"block": [("é", "ü", 3)]}


@pytest.mark.parametrize(
    "text",
    [
        *("a: b\n   c: d\n", "a:\n  b: c\n d: e\n", "a:\n  b: c\n    d: e\n", " a: b\n", "- a\n", "a: [b]\n"),
        *(
            "a:\tb\n",
            "a: b\x07\n",
            "é: b\x07\n",
            "null: a\n",
            "Null: a\n",
            "NULL: a\n",
            "a: {b: c}\n",
            "a: |\n  b\n",
        ),
        *("a:\n  b: c\na:\n  d: e\n", "a:\n  b: c\na: x\n", "a: b\na:\n  c: d\n"),
    ],
)
def test_whatever_is_unusual_is_left_to_the_parser(text):
    assert scan(text) is None


def test_the_last_of_two_plain_values_is_not_lost():
    flat = scan("a: b\na: c\n")
    assert flat is not None
    assert flat.top == [("a", "b", 1), ("a", "c", 2)]


@pytest.mark.parametrize(
    ("line", "comment"),
    [("a: b\t# c", "c"), ('"a # b": c # d', "d"), ("a: Xb # c", "c"), ("# c", None), ("a: b #c\r", "c")],
)
def test_a_comment_is_found_behind_the_value(line, comment):
    assert comment_of(line) == comment


SYNONYMS = {
    "ready-for-dev": "drafted ready",
    "in-progress": "contexted started wip",
    "review": "ready-for-review in-review",
    "done": "complete completed approved",
    "backlog": "todo",
}
PARKED = "moved-to-x merged-into-x split-into-x superseded-by-x deferred-to-x blocked deferred wont-do absorbed"
SUGGESTED = {
    "done": "deployed shipped finished closed mvp-complete",
    "review": "dev-complete testing qa",
    "in-progress": "partial doing",
    "backlog": "pending planning planned open new draft",
}


@pytest.mark.parametrize(
    ("word", "meaning"), [(word, meaning) for meaning, words in SYNONYMS.items() for word in words.split()]
)
def test_synonyms(word, meaning):
    assert read_status(word, Kind.STORY) == (word, meaning)
    assert read_status(word).is_legacy
    assert suggest_status(word) == meaning


@pytest.mark.parametrize("word", PARKED.split())
def test_parked_words(word):
    assert read_status(word, Kind.STORY).meaning == "parked"
    assert not read_status(word, Kind.STORY).is_legacy


@pytest.mark.parametrize(
    ("word", "meaning"), [(word, meaning) for meaning, words in SUGGESTED.items() for word in words.split()]
)
def test_suggested_words(word, meaning):
    assert read_status(word).meaning == "unknown"
    assert suggest_status(word) == meaning
    assert suggest_status(f"{word.split('-')[0]}-by-hand") == suggest_status(word.split("-")[0])


def test_a_suggestion_is_a_status_of_that_kind():
    assert suggest_status("ready-for-dev", Kind.EPIC) == "in-progress"
    assert suggest_status("ready", Kind.EPIC) is None
    assert suggest_status("qa", Kind.EPIC) is None
    assert suggest_status("testing-now", Kind.RETROSPECTIVE) is None
    assert suggest_status("review-again") == "review"
    assert suggest_status("ready-for-dev-2") == "ready-for-dev"
    assert suggest_status("ready-for-dev") == "ready-for-dev"
    assert suggest_status("review") == "review"
    assert suggest_status("progress") == "in-progress"
    assert suggest_status("lockback") is None
    assert suggest_status("donut") is None


def test_a_status_as_written():
    assert read_status("done") == Status("done", "done")
    assert not read_status("done").is_legacy
    assert not read_status("zebra").is_legacy
    assert plain_word(" In_Progress - now ") == "in-progress-now"


def test_a_rank_has_its_kind():
    assert [rank(word, Kind.EPIC) for word in EPIC_LIFE] == [0, 1, 2]
    assert [rank(word, Kind.RETROSPECTIVE) for word in RETRO_LIFE] == [0, 1]
    assert rank("review", Kind.OTHER) == 3
