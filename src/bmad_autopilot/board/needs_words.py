"""How people write what an epic waits for: `Depends on: Epic 2`, `**Dependencies:** Requires Epics 1-5.
Independent of Epic 7.`, `- Epic 3 depends on Epic 2 (needs its tables)`, `Prerequisites: Story 1.3`."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..core.keys import number_of
from .headings import EPIC_WORDS, STORY_WORDS

MAX_LINE = 2000

_LABELS = (
    r"(?:(?:epic|story|hard|internal|upstream|cross-epic|key)\s+)?dependenc(?:y|ies)(?:\s+on)?",
    r"depends?(?:\s+up)?(?:\s*on)?|dependent(?:\s+up)?on",
    r"(?:epic\s+|story\s+)?pre-?requisites?|requires?|blocked\s+by|builds?(?:\s+up)?\s*on|waits?\s+for",
    r"d[ée]pendances?|d[ée]pend\s+de|pr[ée]-?requis|dependencias?|depende\s+de|depend[êe]ncias?",
    r"pr[ée]?-?r?requisitos?|abhängigkeit(?:en)?|abhängig\s+von|voraussetzung(?:en)?",
    r"зависимости|зависит\s+от|依赖(?:关系|项|于)?|依賴|前置(?:条件|條件|依赖)?",
    r"依存(?:関係)?|前提(?:条件)?",
)
_MARKS = r"[ \t>|]*(?:[-*+•][ \t]+|\d{1,3}[.)][ \t]+)?[*_`]{0,3}"
_COLON = r"(?:[ \t]*\([^()\n]{0,60}\))?[*_`]{0,3}[ \t]*[:：][*_`]{0,3}"
LABEL = re.compile(rf"{_MARKS}(?i:{'|'.join(_LABELS)}){_COLON}(?P<value>.*)")
TITLE = re.compile(rf"[*_ \t]*(?i:{'|'.join(_LABELS)})[*_:： \t]*")

# `3`, `2.5`, `1A`, `CRM-03`, `D`
_DIGITS, _LETTER = r"(?:[A-Z]{1,5}-?)?\d{1,6}(?:\.\d{1,6}){0,3}[A-Za-z]?(?!\w)", r"[A-Z](?!\w)"
_NUMBER = f"(?:{_DIGITS}|{_LETTER})"
_AND = r"\s*(?:,\s*(?:and|&)?|、|/|&|\+|和|与|(?i:and|or|et|y|e|und|и)(?=\s))\s*[#№]?"
_TO = r"\s*(?:-|–|—|\.\.\.?|~|至|到|(?i:through|thru|to|bis)(?=\s))\s*"
# A letter goes on with letters only: `Epic 1 and A thing` names one.
_LIST = rf"(?:{_DIGITS}(?:(?:{_AND}|{_TO}){_DIGITS}){{0,40}}|{_LETTER}(?:{_AND}{_LETTER}){{0,40}})"
_EPICS = rf"(?i:{'|'.join(EPIC_WORDS)})s?[\s\-_#№]{{0,3}}(?P<epics>{_LIST})"
_STORIES = rf"(?i:{'|'.join(STORY_WORDS)}|stories)[\s\-_#№]{{0,3}}(?P<stories>{_LIST})"
_ALL = r"(?P<all>(?i:\b(?:all|every)\s+(?:previous|prior|earlier|preceding)\s+epics?))"
_REFERENCE = re.compile(f"{_EPICS}|{_STORIES}|{_ALL}")
_BARE = re.compile(rf"[\s\[]*[#№]?(?P<list>{_LIST})[\s\].]*")
_SPAN = re.compile(rf"(?P<first>{_NUMBER})(?P<to>{_TO})(?P<last>{_NUMBER})|(?P<one>{_NUMBER})")

_VERB = (
    r"(?i:\bdepends?\s+(?:up)?on|\brequires?|\bneeds?|\bbuilds?\s+(?:up)?on|\bblocked\s+by|\bwaits?\s+for"
    r"|依赖|зависит\s+от)"
)
_STATEMENT = re.compile(
    rf"{_MARKS}(?:[^:：\n]{{1,40}}[:：][*_]{{0,3}}[ \t]*)?(?i:{'|'.join(EPIC_WORDS)})s?[\s\-_#№]{{0,3}}"
    rf"(?P<subject>{_LIST})(?P<between>[^.;\n]{{0,80}}?){_VERB}(?P<object>[^.;\n]{{1,400}}(?:\.\d[^.;\n]{{0,80}})*)"
)
# A sentence that has no other subject than the epic it stands in.
_THINGS = "|".join((*EPIC_WORDS, *STORY_WORDS, "stories"))
_SENTENCE = re.compile(
    rf"(?:^{_MARKS}|[.;!?]\s+)(?:Depends\s+(?:up)?on|Requires|Blocked\s+by|Builds\s+(?:up)?on)\s+"
    rf"(?P<object>(?:(?i:both|all\s+of|completed|the|finished)\s+)?(?i:{_THINGS})[^;\n]*)"
)
_FAR = 48  # characters from such a verb to what it is about

_NOT = re.compile(
    r"(?i:\b(?:no|not|none|never|without|independent(?:ly)?|nothing|n/a|neither|nor|except|unless|if|might|could"
    r"|would|\w+n['’]t|aucune?|sans|pas|ninguna?|ningún|sin|nenhuma?|sem|não|kein\w*|nicht|ohne|нет|не|без)\b)"
    r"|\bmay\b|无|無|没有|不|なし|없음"  # and not the month
)
_NONE = re.compile(
    r"[\s*_(\[]*(?i:none|n/a|nil|nothing|no\b|aucune?|ninguna?|nenhuma?|keine?|нет|无|無|没有|なし|[-–—]+\s*$)"
)
# What is said of those that come later: they wait for this one, not the other way round.
_LATER = re.compile(
    r"(?i:\b(?:enables?|unblocks?|blocks|blocking|before|parallel|(?:required|needed|used|prerequisite|foundation)"
    r"\s+(?:by|for))\b)"
)
_SENTENCE_END = re.compile(r"[.!。](?=\s|$)")
_CLAUSE = re.compile(r"[;；](?=\s|$)|\s[—–-]\s(?!\s*\d)|(?i:\bbut\b)")
_ASIDE = re.compile(r"\([^()]*\)|（[^（）]*）|~~[^~]*~~")
_LINK = re.compile(r"\[([^\[\]\n]*)\]\([^()\n]*\)")


class Reference(NamedTuple):
    """What somebody names: an epic, a story, all epics from one to another, or all that come before."""

    first: str  # a number, or ALL
    last: str = ""  # of a span
    is_story: bool = False


ALL = "all"


class Statement(NamedTuple):
    subjects: tuple[Reference, ...]
    references: tuple[Reference, ...]


def references(value: str, *, bare: str = "") -> list[Reference]:
    """What a label's value names. `bare`: what numbers by themselves are of, `epic` or `story`."""
    text = plain(value)
    alone = _BARE.fullmatch(text) if bare else None
    if alone is not None and any(map(str.isdigit, text)) and not _REFERENCE.search(text):
        return list(_spans(alone["list"], is_story=bare == "story"))
    found: list[Reference] = []
    for number, sentence in enumerate(_SENTENCE_END.split(text)):
        if number == 0 and _NONE.match(sentence):
            return []
        if number and re.search(_VERB, sentence) is None:
            continue  # it explains what the first one named
        for clause in _CLAUSE.split(sentence):
            if not (_NOT.search(clause) or _LATER.search(clause)):
                found += _in_clause(clause)
    return found


def statement(line: str) -> Statement | None:
    """`Epic 3 depends on Epic 2`, as a line of its own."""
    match = _STATEMENT.match(line)
    if match is None or _NOT.search(match["between"]):
        return None
    if _LATER.search(match["between"]) or _REFERENCE.search(match["between"]):
        return None
    said = match["object"]
    first = _REFERENCE.search(said)
    if first is None or first.start() > _FAR:
        return None
    found = references(said.replace("(", " ").replace(")", " ") if "(" in match["between"] else said)
    return Statement(tuple(_spans(match["subject"], is_story=False)), tuple(found)) if found else None


def sentences(line: str) -> list[Reference]:
    """`Depends on Epics 1-3`, at the beginning of a line or a sentence."""
    return [one for match in _SENTENCE.finditer(line) for one in references(match["object"])]


def plain(text: str) -> str:
    """Without what stands in brackets, is struck out, or only marks it up."""
    text = _LINK.sub(r"\1", text[:MAX_LINE])
    return _ASIDE.sub(" ", _ASIDE.sub(" ", text)).replace("*", "").replace("`", "").strip()


def _in_clause(clause: str) -> Iterator[Reference]:
    for match in _REFERENCE.finditer(clause):
        if match["all"]:
            yield Reference(ALL)
        else:
            yield from _spans(match["epics"] or match["stories"], is_story=match["stories"] is not None)


def _spans(text: str, *, is_story: bool) -> Iterator[Reference]:
    for match in _SPAN.finditer(text):
        if match["one"]:
            yield Reference(number_of(match["one"]), is_story=is_story)
        else:
            yield Reference(number_of(match["first"]), number_of(match["last"]), is_story)
