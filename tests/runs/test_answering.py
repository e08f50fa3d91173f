"""The fixed rules for an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.runs.answering import MAX_BYTES, are_numbered, normalised, option_meant, why_invalid
from bmad_autopilot.runs.question import Question

WHICH = Question("1-2-sign-in", "dev", 1, "Which endpoint should the health check use?")
MAY_I = Question("1-2-sign-in", "dev", 1, "May I drop the old table?")
STOPPED = Question(
    "1-2-sign-in", "dev", 2, "dev failed twice", options=("[r]etry", "[s]kip", "[f]ix manually", "[a]bort")
)
CHOICE = Question("1-2-sign-in", "dev", 1, "How?", options=("Use /health", "Use /ready", "Drop it"))


def choose(*options: str) -> Question:
    return CHOICE._replace(options=options)


@pytest.mark.parametrize("text", ["", " \n\t ", "\x1b\x07", "\u202e"])
@pytest.mark.parametrize("question", [WHICH, MAY_I, CHOICE])
def test_nothing_is_no_answer(question: Question, text: str) -> None:
    assert why_invalid(question, text) == "an answer cannot be empty"


@pytest.mark.parametrize(
    "text",
    [
        *("ok", "OK.", "Ok!", "okay", "yes", "Yes please", "oui", "d’accord", "ja", "sí", "si", "да", "да!", "ок"),
        *("好", "好的。", "はい", "네", "👍", "ok 👍", "+1", "...", "go ahead", "no", "non", "нет", "LGTM"),
    ],
)
def test_a_bare_ok_says_nothing_where_detail_was_asked(text: str) -> None:
    assert "does not say what is asked" in (why_invalid(WHICH, text) or "")
    assert why_invalid(MAY_I, text) is None


@pytest.mark.parametrize(
    "text", ["/health", "ok, use /health", "yes: port 80", "3", "oui, /health", "no idea, drop it"]
)
def test_words_that_say_something_are_an_answer(text: str) -> None:
    assert why_invalid(WHICH, text) is None
    assert normalised(WHICH, f" {text}\n") == text


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("use /health", "Use /health"),
        ("Use  /READY ", "Use /ready"),
        ("2", "Use /ready"),
        ("#3", "Drop it"),
        ("3.", "Drop it"),
        ("d", "Drop it"),
        ("use /r", "Use /ready"),
    ],
)
def test_an_option_by_its_text_its_number_or_its_beginning(said: str, meant: str) -> None:
    assert why_invalid(CHOICE, said) is None
    assert normalised(CHOICE, said) == meant


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("r", "[r]etry"),
        ("[r]", "[r]etry"),
        ("retry", "[r]etry"),
        ("R", "[r]etry"),
        ("fix", "[f]ix manually"),
        ("4", "[a]bort"),
    ],
)
def test_an_option_by_its_letter(said: str, meant: str) -> None:
    assert normalised(STOPPED, said) == meant


def test_labels_of_other_kinds() -> None:
    lettered = choose("A) REST", "B) GraphQL")
    assert normalised(lettered, "b") == "B) GraphQL"
    assert normalised(lettered, "graphql") == "B) GraphQL"
    assert normalised(choose("(x) one", "(y) two"), "y") == "(y) two"
    assert normalised(choose("2. two", "1. one"), "1") == "1. one"


@pytest.mark.parametrize("said", ["use", "u"])
def test_what_may_mean_several_is_refused(said: str) -> None:
    assert why_invalid(CHOICE, said) == f"{said!r} may mean any of: Use /health; Use /ready"


@pytest.mark.parametrize("said", ["ok", "0", "4", "99", "Use /health and more", "x" * 5000])
def test_what_is_none_of_the_options_is_refused(said: str) -> None:
    problem = why_invalid(CHOICE, said) or ""
    assert "is none of the options: Use /health; Use /ready; Drop it" in problem
    assert len(problem) < 300


def test_a_number_is_no_position_among_numbers() -> None:
    ports = choose("20", "10")
    assert not are_numbered(ports.options)
    assert "none of the options" in (why_invalid(ports, "1") or "")
    assert normalised(ports, "10") == "10"


def test_yes_and_no_as_options() -> None:
    assert normalised(choose("Yes", "No"), "y") == "Yes"
    assert normalised(choose("Oui", "Non"), "non") == "Non"


def test_a_very_long_answer_is_refused() -> None:
    assert why_invalid(WHICH, "x" * MAX_BYTES) is None
    assert "20 kB at most" in (why_invalid(WHICH, "x" * (MAX_BYTES + 1)) or "")
    assert "20 kB at most" in (why_invalid(WHICH, "ж" * MAX_BYTES) or "")


def test_what_steers_a_terminal_is_taken_out() -> None:
    assert normalised(WHICH, "\x1b[2Juse\r\n\t/health\x07\u202e") == "[2Juse\n\t/health"


def test_a_recommendation_by_its_letter() -> None:
    assert option_meant(("A) REST", "B) GraphQL"), "B") == "B) GraphQL"
    assert option_meant(CHOICE.options, "2") == "Use /ready"
    assert option_meant(CHOICE.options, "Use") is None
    assert option_meant((), "Use") is None


@given(st.text(), st.text(), st.lists(st.text(min_size=1), max_size=5))
def test_an_answer_is_refused_or_recorded(asked: str, said: str, options: list[str]) -> None:
    question = WHICH._replace(question=asked, options=tuple(options))
    if why_invalid(question, said) is None:
        recorded = normalised(question, said)
        assert recorded
        if options:
            assert recorded in options


@given(st.lists(st.text("abcdefgh XYZ()[]", min_size=1).map(str.strip).filter(bool), min_size=1, max_size=5))
def test_every_option_can_be_chosen_by_its_own_text(options: list[str]) -> None:
    for option in options:
        meant = (
            {normalised(choose(*options), option)}
            if why_invalid(choose(*options), option) is None
            else set(options)
        )
        assert option in meant or option.casefold() in {one.casefold() for one in meant}
