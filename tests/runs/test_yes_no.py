"""Which questions a yes answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.runs.yes_no import is_yes_no


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
