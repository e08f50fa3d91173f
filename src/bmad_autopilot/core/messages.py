"""Translates the messages that people read. The English text is the key of its translation, so that code stays
readable and a message without a translation appears in English.

    translate("Resuming run {run} at step {step}/{total}", run=run, step=3, total=7)

The language is the one BMAD's `communication_language` names; a command sets it once, when it opens the project.
Values are inserted as they are: braces in a value are not placeholders."""

from collections.abc import Mapping

_FRENCH = ("fr", "french", "français", "francais")  # as people write it in BMAD's settings

_translations: Mapping[str, str] = {}


def use_language(name: str) -> None:
    """Translate into this language from now on; into English if there are no translations for it."""
    global _translations  # one process serves one person
    words = name.lower().replace("-", " ").replace("_", " ").split()
    if words and words[0] in _FRENCH:
        from .french import TRANSLATIONS  # most commands need none

        _translations = TRANSLATIONS
    else:
        _translations = {}


def translate(message: str, /, **values: object) -> str:
    text = _translations.get(message, message)
    return text.format(**values) if values else text


def translate_count(count: int, one: str, many: str, /, **values: object) -> str:
    """As `translate`, by number: `one` for 1, else `many`, both with the placeholder `{count}` if they name it.
    French has the singular for 0 too."""
    is_one = count == 1 or (count == 0 and one in _translations)
    return translate(one if is_one else many, count=count, **values)
