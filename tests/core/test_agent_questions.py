"""Options in an agent's last words: taken where the text gives them, and never invented."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.agent_questions import (
    MAX_OPTIONS,
    ParsedQuestion,
    ends_with_question,
    mentions_halt,
    parse_question,
)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("How to go on?\n1. Fix it\n2. Create action items\n3. Show", ("Fix it", "Create action items", "Show")),
        ("Which store?\n\n1) redis\n2) postgres\n\nReply with only the number.", ("redis", "postgres")),
        ("Which one do you prefer?\n[1] keep\n[2] split", ("keep", "split")),
        ("Choose:\nA) Use REST\nB) Use gRPC", ("A) Use REST", "B) Use gRPC")),
        ("Choose one:\n- [a] advanced\n- [b] basic\n- [c] continue", ("a) advanced", "b) basic", "c) continue")),
        ("Which?\n**1.** Keep the file\n   with its history\n**2.** Drop it", ("Keep the file", "Drop it")),
        ("Should it be (a) a cookie or (b) a header?", ("a) a cookie", "b) a header")),
        ("Is it (1) the old form, or (2) the new one?", ("the old form", "the new one")),
        ("Shall I overwrite it? (y/n)", ("yes", "no")),
        ("Shall I overwrite it? [Y/n]", ("yes", "no")),
        ("Go on? yes/no", ("yes", "no")),
        ("**Select:** [A] Dig deeper [P] Party [C] Go on", ("A) Dig deeper", "P) Party", "C) Go on")),
        ("Select an option:\n\n- [C] Continue\n- [P] Party", ("C) Continue", "P) Party")),
        # Lists that offer nothing.
        ("Which tasks?\n- [x] one\n- [x] two", ()),
        ("I have [A] read and [C] written it.", ()),
        ("I did this:\n1. wrote the test\n2. wrote the code", ()),
        ("Which store?\n1. redis", ()),
        ("Which?\n1. redis\n3. postgres", ()),
        ("Which?\n2. redis\n3. postgres", ()),
        ("Steps?\n1. one\n2. two\n\nThen I did\na lot\nof other\nthings.", ()),
        ("Which?\n1. one\nbut then again\n2. two", ()),
        ("Is 3.5 enough, or 4?", ()),
        ("It happened at (a) and (b)?", ()),
        ("", ()),
        ("?", ()),
    ],
)  # fmt: skip
def test_options_are_taken_where_they_stand(text: str, options: tuple[str, ...]) -> None:
    assert parse_question(text).options == options


def test_the_question_and_what_it_is_about() -> None:
    text = "The chart has two probes.\n\nWhich endpoint?\n\n1. /health\n2. /ready\n\nReply with the number."
    found = parse_question(text)
    assert found == ("Which endpoint?\nReply with the number.", "The chart has two probes.", ("/health", "/ready"))


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("Which store?", True),
        ("**Which store?**", True),
        ("どれですか？", True),
        ("HALT: cannot proceed without necessary configuration files", True),
        ("Choose:\n1. a\n2. b", True),
        ("All is done.", False),
        ("The shaft halts at noon.", False),
        ("HALT was not needed." + " And so on." * 100, False),
        ("", False),
    ],
)
def test_last_words_that_leave_it_to_somebody_else(text: str, is_one: bool) -> None:
    assert ends_with_question(text) is is_one


pieces = st.sampled_from(
    [
        "Which?",
        "1. ",
        "2) ",
        "[3] ",
        "A) ",
        "(b) ",
        "- [a] ",
        "[C] ",
        "\n",
        "\n\n",
        " or ",
        "(y/n)",
        "one",
        "two",
        "?",
        "HALT",
    ]
)


@given(st.lists(pieces | st.text(max_size=8), max_size=20).map("".join))
def test_nothing_is_invented(text: str) -> None:
    found = parse_question(text)
    assert len(found.options) == 0 or 2 <= len(found.options) <= MAX_OPTIONS
    if found.options != ("yes", "no"):
        for option in found.options:
            assert re.sub(r"^[A-Za-z]\) ", "", option) in text
    elif not re.search(r"\by(es)?\b", text, re.IGNORECASE):
        raise AssertionError(text)
    assert isinstance(ends_with_question(text), bool)
    assert isinstance(mentions_halt(text), bool)


@given(st.text(alphabet="abc xyz,.\n", max_size=300))
def test_plain_prose_offers_nothing(text: str) -> None:
    assert not [option for option in parse_question(text).options if not option]
    assert "?" in text or parse_question(text).options == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("How?\n1. a\n2. b\n3. c", ("How?", "", ("a", "b", "c"))),
        ("Which?\n1. a\n2. b\nReply.\nOr say why.", ("Which?\nReply.\nOr say why.", "", ("a", "b"))),
        ("Which?\n1. a\n2. b\nReply.\nSoon.\nPlease.", ("Which?\nReply.\nSoon.\nPlease.", "", ("a", "b"))),
        ("Which?\n1. a\n\tmore of it\n2. b", ("Which?", "", ("a", "b"))),
        ("Which size?\n1. X\n2. Y", ("Which size?", "", ("X", "Y"))),
        ("Is it (a) this OR (b) that?", ("Is it (a) this OR (b) that?", "", ("a) this", "b) that"))),
        ("One.\n\nTwo.\n\nWhich?", ("Which?", "One.\n\nTwo.", ())),
        ("", ("", "", ())),
        # Asked about something else, or not at all.
        ("Which?\nI did:\n1. a\n2. b", ("Which?\nI did:\n1. a\n2. b", "", ())),
        ("Select one.\nI wrote:\n\n[A] this [B] that", ("[A] this [B] that", "Select one.\nI wrote:", ())),
        ("[A] pick me [B] or me", ("[A] pick me [B] or me", "", ())),
    ],
)  # fmt: skip
def test_the_whole_of_it(text: str, found: tuple[str, str, tuple[str, ...]]) -> None:
    assert parse_question(text) == found


def test_what_offers_nothing_says_so() -> None:
    assert ParsedQuestion("Which?") == ("Which?", "", ())


@pytest.mark.parametrize("many", [MAX_OPTIONS, MAX_OPTIONS + 1])
def test_a_list_without_end_is_no_offer(many: int) -> None:
    letters = "abcdefghijklm"[:many]
    texts = (
        "Which?\n" + "\n".join(f"{number}. x{number}" for number in range(1, many + 1)),
        "Is it " + " or ".join(f"({letter}) x" for letter in letters) + "?",
        "Select: " + " ".join(f"[{letter}] x" for letter in reversed(letters)),
    )
    assert [len(parse_question(text).options) for text in texts] == [many if many == MAX_OPTIONS else 0] * 3
