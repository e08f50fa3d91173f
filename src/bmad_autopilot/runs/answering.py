"""The fixed rules for an answer. No model judges a human: what is refused is refused for a reason one can see."""

import re
from typing import NamedTuple

from .question import MAX_TEXT, Question, cleaned
from .yes_no import is_yes_no

MAX_BYTES = 20_000

# What says nothing but yes, no or go on.
_BARE = frozenset(
    "ok okay okey k kk yes y yep yeah yup ya sure fine good great right agreed agree done go lgtm no n nope nah "
    "oui ouais non d'accord daccord vale ja jo jawohl nein genau gut si sí claro bueno sim não nao "
    "да ок окей хорошо ладно нет ага tak nie ano evet hayır ναι "
    "好 好的 是 是的 可以 行 对 嗯 不 不是 没问题 はい いいえ 了解 うん 네 예 응 아니요".split()
)
_BARE_PHRASES = frozenset(
    "go ahead,go on,yes please,no thanks,sounds good,of course,bien sûr,c'est bon,de acuerdo,+1".split(",")
)
_DECORATION = re.compile(r"[^\w'+ ]+")
_LABEL = re.compile(r"(?:\[(\w{1,2})\]|\((\w{1,2})\)|(\w{1,2})[).:](?=\s))\s*")


class _Option(NamedTuple):
    text: str
    label: str  # `r` of `[r]etry`, `a` of `A) Use REST`
    bare: str  # `retry`, `use rest`


def why_invalid(question: Question, answer: str) -> str | None:
    """What is wrong with an answer, in words for whoever gave it; None where nothing is."""
    text = cleaned(answer, len(answer) + 1)
    if not text:
        return "an answer cannot be empty"
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        return f"an answer can have {MAX_BYTES // 1000} kB at most; this one has {len(text.encode()) // 1000 + 1}"
    if question.options:
        return None if _by_letter(question, text) else _why_no_option(question.options, text)
    if _is_bare(text) and not is_yes_no(question.question):
        return f"{text!r} alone does not say what is asked; say which, or what"
    return None


def normalised(question: Question, answer: str) -> str:
    """A valid answer as it is recorded: the whole option, or the text without what steers a terminal."""
    assert why_invalid(question, answer) is None, answer
    text = cleaned(answer, MAX_TEXT)
    if lettered := _by_letter(question, text):
        return lettered
    return _meant(question.options, text)[0] if question.options else text


def letter_of(index: int) -> str:
    """`A`, `B` … of an option that has a label."""
    return chr(ord("A") + index)


def _by_letter(question: Question, said: str) -> str:
    """The option that a letter stands for, where they are shown with letters."""
    letters = (
        {letter_of(index): option for index, option in enumerate(question.options)} if question.labels else {}
    )
    return letters.get(said.strip(" ).").upper(), "")


def _why_no_option(options: tuple[str, ...], text: str) -> str | None:
    meant = _meant(options, text)
    if len(meant) == 1:
        return None
    if meant:
        return f"{text!r} may mean any of: {'; '.join(meant)}"
    shown = text if len(text) <= 60 else f"{text[:60]}…"
    return f"{shown!r} is none of the options: {'; '.join(options)}"


def option_meant(options: tuple[str, ...], said: str) -> str | None:
    """The one option a word, a letter or a number stands for."""
    meant = _meant(options, cleaned(said))
    return meant[0] if len(meant) == 1 else None


def are_numbered(options: tuple[str, ...]) -> bool:
    """Can an option be named by its number? Not where some have digits of their own: `1` of `20, 10` is a trap."""
    return not any(one.bare[:1].isdigit() or one.label.isdigit() for one in map(_option, options))


def _meant(texts: tuple[str, ...], said: str) -> list[str]:
    """The options an answer may mean: by its whole text, its letter, its number, or a beginning."""
    word = _folded(said)
    options = [_option(text) for text in texts]
    found = [one.text for one in options if word in (_folded(one.text), one.bare)]
    found = found or [one.text for one in options if one.label and word.strip("[]().:") == one.label]
    digits = word.removeprefix("#").rstrip(".)")
    if not found and re.fullmatch(r"[0-9]{1,2}", digits):
        is_one = are_numbered(texts) and 1 <= int(digits) <= len(texts)
        return [texts[int(digits) - 1]] if is_one else []
    begun = [one.text for one in options if one.bare.startswith(word) or _folded(one.text).startswith(word)]
    return found or (begun if word else [])


def _option(text: str) -> _Option:
    match = _LABEL.match(text)
    if match is None:
        return _Option(text, "", _folded(text))
    label = next(part for part in match.groups() if part)
    rest = text[match.end() :]
    is_first_letter = match[1] and rest[:1].isalpha() and match.end() == match.end(1) + 1
    return _Option(text, label.casefold(), _folded(label + rest if is_first_letter else rest))


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _is_bare(text: str) -> bool:
    """`OK.`, `ok 👍`, `+1` and `да!` are bare; so is whatever has no letter and no digit."""
    words = " ".join(_DECORATION.sub(" ", text.replace("’", "'")).casefold().split())
    return not words or words in _BARE or words in _BARE_PHRASES
