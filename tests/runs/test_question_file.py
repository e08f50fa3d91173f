"""The fixed rules for an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.runs.question_file import (
    MAX_BYTES,
    RunQuestion,
    answer_problem,
    can_be_numbered,
    is_yes_no,
    match_option,
    normalise_answer,
)

WHICH = RunQuestion("1-2-sign-in", "dev", 1, "Which endpoint should the health check use?")
MAY_I = RunQuestion("1-2-sign-in", "dev", 1, "May I drop the old table?")
STOPPED = RunQuestion(
    "1-2-sign-in", "dev", 2, "dev failed twice", options=("[r]etry", "[s]kip", "[f]ix manually", "[a]bort")
)
CHOICE = RunQuestion("1-2-sign-in", "dev", 1, "How?", options=("Use /health", "Use /ready", "Drop it"))


def choose(*options: str) -> RunQuestion:
    return CHOICE._replace(options=options)


@pytest.mark.parametrize("text", ["", " \n\t ", "\x1b\x07", "\u202e"])
@pytest.mark.parametrize("question", [WHICH, MAY_I, CHOICE])
def test_nothing_is_no_answer(question: RunQuestion, text: str) -> None:
    assert answer_problem(question, text) == "an answer cannot be empty"


@pytest.mark.parametrize(
    "text",
    [
        *("ok", "OK.", "Ok!", "okay", "yes", "Yes please", "oui", "d’accord", "ja", "sí", "si", "да", "да!", "ок"),
        *("好", "好的。", "はい", "네", "👍", "ok 👍", "+1", "...", "go ahead", "no", "non", "нет", "LGTM"),
    ],
)
def test_a_bare_ok_says_nothing_where_detail_was_asked(text: str) -> None:
    assert "does not say what is asked" in (answer_problem(WHICH, text) or "")
    assert answer_problem(MAY_I, text) is None


@pytest.mark.parametrize(
    "text", ["/health", "ok, use /health", "yes: port 80", "3", "oui, /health", "no idea, drop it"]
)
def test_words_that_say_something_are_an_answer(text: str) -> None:
    assert answer_problem(WHICH, text) is None
    assert normalise_answer(WHICH, f" {text}\n") == text


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
    assert answer_problem(CHOICE, said) is None
    assert normalise_answer(CHOICE, said) == meant


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
    assert normalise_answer(STOPPED, said) == meant


def test_labels_of_other_kinds() -> None:
    lettered = choose("A) REST", "B) GraphQL")
    assert normalise_answer(lettered, "b") == "B) GraphQL"
    assert normalise_answer(lettered, "graphql") == "B) GraphQL"
    assert normalise_answer(choose("(x) one", "(y) two"), "y") == "(y) two"
    assert normalise_answer(choose("2. two", "1. one"), "1") == "1. one"


@pytest.mark.parametrize("said", ["use", "u"])
def test_what_may_mean_several_is_refused(said: str) -> None:
    assert answer_problem(CHOICE, said) == f"{said!r} may mean any of: Use /health; Use /ready"


@pytest.mark.parametrize("said", ["ok", "0", "4", "99", "Use /health and more", "x" * 5000])
def test_what_is_none_of_the_options_is_refused(said: str) -> None:
    problem = answer_problem(CHOICE, said) or ""
    assert "is none of the options: Use /health; Use /ready; Drop it" in problem
    assert len(problem) < 300


def test_a_number_is_no_position_among_numbers() -> None:
    ports = choose("20", "10")
    assert not can_be_numbered(ports.options)
    assert "none of the options" in (answer_problem(ports, "1") or "")
    assert normalise_answer(ports, "10") == "10"


def test_yes_and_no_as_options() -> None:
    assert normalise_answer(choose("Yes", "No"), "y") == "Yes"
    assert normalise_answer(choose("Oui", "Non"), "non") == "Non"


def test_a_very_long_answer_is_refused() -> None:
    assert answer_problem(WHICH, "x" * MAX_BYTES) is None
    assert "20 kB at most" in (answer_problem(WHICH, "x" * (MAX_BYTES + 1)) or "")
    assert "20 kB at most" in (answer_problem(WHICH, "ж" * MAX_BYTES) or "")


def test_what_steers_a_terminal_is_taken_out() -> None:
    assert normalise_answer(WHICH, "\x1b[2Juse\r\n\t/health\x07\u202e") == "[2Juse\n\t/health"


def test_a_recommendation_by_its_letter() -> None:
    assert match_option(("A) REST", "B) GraphQL"), "B") == "B) GraphQL"
    assert match_option(CHOICE.options, "2") == "Use /ready"
    assert match_option(CHOICE.options, "Use") is None
    assert match_option((), "Use") is None


@given(st.text(), st.text(), st.lists(st.text(min_size=1), max_size=5))
def test_an_answer_is_refused_or_recorded(asked: str, said: str, options: list[str]) -> None:
    question = WHICH._replace(question=asked, options=tuple(options))
    if answer_problem(question, said) is None:
        recorded = normalise_answer(question, said)
        assert recorded
        if options:
            assert recorded in options


@given(st.lists(st.text("abcdefgh XYZ()[]", min_size=1).map(str.strip).filter(bool), min_size=1, max_size=5))
def test_every_option_can_be_chosen_by_its_own_text(options: list[str]) -> None:
    for option in options:
        meant = (
            {normalise_answer(choose(*options), option)}
            if answer_problem(choose(*options), option) is None
            else set(options)
        )
        assert option in meant or option.casefold() in {one.casefold() for one in meant}


# Which questions a yes answers.


@pytest.mark.parametrize(
    "question",
    [
        "Should I go on?",
        "The API is down. May I use the stub instead?",
        "So, is the old table still needed?",
        "Please confirm that the migration may run.",
        "Should we keep the old table or not?",
        "Delete the table? (y/n)",
        "Yes or no: delete the table",
        "Don't we need a test for this?",
        "Faut-il continuer ?",
        "Existe-t-il un serveur de test ?",
        "Supprimer la table (oui/non) ?",
        "Soll ich das löschen?",
        "¿Debo borrar la tabla?",
        "Posso apagar a tabela?",
        "Удалить ли таблицу?",
        "Можно удалить таблицу?",
        "要不要删除这个表？",
        "可以删除吗？",
        "続けますか？",
        "Which table? I think users.\nCan it be dropped?",
    ],
)
def test_a_yes_answers_it(question: str) -> None:
    assert is_yes_no(question)


@pytest.mark.parametrize(
    "question",
    [
        "Which endpoint should the health check use?",
        "What is the name of the database?",
        "Should I use REST or GraphQL?",
        "Is there a staging server, and where?",
        "Can you say which key is meant?",
        "Quel endpoint utiliser pour le health check ?",
        "Faut-il prendre /health ou /ready ?",
        "Combien de tentatives ? Pourquoi y a-t-il une limite ?",
        "Soll ich A oder B nehmen?",
        "¿Uso REST o GraphQL?",
        "Удалить ли таблицу или очистить?",
        "使用哪个端点？",
        "用 REST 还是 GraphQL？",
        "どのエンドポイントを使いますか？",
        "Y axis: which unit?",
        "The name of the database",
        "",
    ],
)
def test_a_yes_says_too_little(question: str) -> None:
    assert not is_yes_no(question)


@given(st.text())
def test_any_text_is_one_or_the_other(question: str) -> None:
    is_yes_no(question)
