"""Messages in the language of the project, English where there is no translation."""

import ast
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

import bmad_autopilot
from bmad_autopilot.core.french import TRANSLATIONS
from bmad_autopilot.core.messages import translate, translate_count, use_language


@pytest.fixture(autouse=True)
def english_afterwards() -> Iterator[None]:
    yield
    use_language("")


@pytest.mark.parametrize("name", ["French", "français", "Français (France)", "fr", "fr-CA", "fr_FR", "FRENCH"])
def test_french_is_known_by_its_usual_names(name: str) -> None:
    use_language(name)
    assert translate("the epic") == "l'epic"


@pytest.mark.parametrize("name", ["", "English", "Frisian", "Русский", "  "])
def test_other_languages_are_english(name: str) -> None:
    use_language("fr")
    use_language(name)
    assert translate("the epic") == "the epic"


def test_a_message_without_a_translation_stays_english() -> None:
    use_language("fr")
    assert translate("never {said}", said="before") == "never before"


def test_values_are_not_expanded() -> None:
    use_language("fr")
    text = translate("the delivery of {epic}", epic="{number} {0}")
    assert text == "la livraison de {number} {0}"
    assert translate("a {brace without values") == "a {brace without values"


def test_numbers_choose_the_form() -> None:
    assert [translate_count(number, "{count} run", "{count} runs") for number in (0, 1, 2)] == [
        "0 runs",
        "1 run",
        "2 runs",
    ]


def _placeholders(text: str) -> set[str | None]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("english", TRANSLATIONS)
def test_translations_have_the_placeholders_of_their_message(english: str) -> None:
    assert _placeholders(TRANSLATIONS[english]) == _placeholders(english)


def test_every_translated_message_is_one_of_the_program() -> None:
    package = Path(bmad_autopilot.__file__).parent
    messages = {
        node.value
        for path in package.rglob("*.py")
        if path.name != "french.py"
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert TRANSLATIONS.keys() - messages == set()
