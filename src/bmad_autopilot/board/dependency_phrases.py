"""Parses the phrases in which people write dependencies: `Depends on: Epic 2`, `**Dependencies:** Requires
Epics 1-5. Independent of Epic 7.`, `- Epic 3 depends on Epic 2 (needs its tables)`, `Prerequisites: Story 1.3`."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..core.keys import normalize_number
from .epics_file import EPIC_WORDS, STORY_WORDS

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
DEPENDENCY_LABEL = re.compile(rf"{_MARKS}(?i:{'|'.join(_LABELS)}){_COLON}(?P<value>.*)")
DEPENDENCY_TITLE = re.compile(rf"[*_ \t]*(?i:{'|'.join(_LABELS)})[*_:： \t]*")

# `3`, `2.5`, `1A`, `CRM-03`, `D`
_DIGITS, _LETTER = r"(?:[A-Z]{1,5}-?)?\d{1,6}(?:\.\d{1,6}){0,3}[A-Za-z]?(?!\w)", r"[A-Z](?!\w)"
_NUMBER = f"(?:{_DIGITS}|{_LETTER})"
_AND = r"\s*(?:,\s*(?:and|&)?|、|/|&|\+|和|与|(?i:and|or|et|y|e|und|и)(?=\s))\s*[#№]?"
_TO = r"\s*(?:-|–|—|\.\.\.?|~|至|到|(?i:through|thru|to|bis)(?=\s))\s*"
# A list of letters continues with letters only: `Epic 1 and A thing` names one epic.
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
# A sentence without a subject: it is about the epic of its section.
_THINGS = "|".join((*EPIC_WORDS, *STORY_WORDS, "stories"))
_SENTENCE = re.compile(
    rf"(?:^{_MARKS}|[.;!?]\s+)(?:Depends\s+(?:up)?on|Requires|Blocked\s+by|Builds\s+(?:up)?on)\s+"
    rf"(?P<object>(?:(?i:both|all\s+of|completed|the|finished)\s+)?(?i:{_THINGS})[^;\n]*)"
)
_MAX_DISTANCE = 48  # characters from the verb to the first reference

_NOT = re.compile(
    r"(?i:\b(?:no|not|none|never|without|independent(?:ly)?|nothing|n/a|neither|nor|except|unless|if|might|could"
    r"|would|\w+n['’]t|aucune?|sans|pas|ninguna?|ningún|sin|nenhuma?|sem|não|kein\w*|nicht|ohne|нет|не|без)\b)"
    r"|\bmay\b|无|無|没有|不|なし|없음"  # and not the month
)
_NONE = re.compile(
    r"[\s*_(\[]*(?i:none|n/a|nil|nothing|no\b|aucune?|ninguna?|nenhuma?|keine?|нет|无|無|没有|なし|[-–—]+\s*$)"
)
# The reverse direction: later epics wait for this one.
_LATER = re.compile(
    r"(?i:\b(?:enables?|unblocks?|blocks|blocking|before|parallel|(?:required|needed|used|prerequisite|foundation)"
    r"\s+(?:by|for))\b)"
)
_SENTENCE_END = re.compile(r"[.!。](?=\s|$)")
_CLAUSE = re.compile(r"[;；](?=\s|$)|\s[—–-]\s(?!\s*\d)|(?i:\bbut\b)")
_ASIDE = re.compile(r"\([^()]*\)|（[^（）]*）|~~[^~]*~~")
_LINK = re.compile(r"\[([^\[\]\n]*)\]\([^()\n]*\)")


class DependencyReference(NamedTuple):
    """A reference to an epic, a story, a range of epics, or all previous epics."""

    first: str  # a number, or ALL
    last: str = ""  # of a range
    is_story: bool = False


ALL_PREVIOUS = "all"


class DependencyStatement(NamedTuple):
    subjects: tuple[DependencyReference, ...]
    references: tuple[DependencyReference, ...]


def parse_references(value: str, *, bare_kind: str = "") -> list[DependencyReference]:
    """The references in a label's value. `bare_kind`: what bare numbers refer to, `epic` or `story`."""
    text = strip_markup(value)
    alone = _BARE.fullmatch(text) if bare_kind else None
    if alone is not None and any(map(str.isdigit, text)) and not _REFERENCE.search(text):
        return list(_spans(alone["list"], is_story=bare_kind == "story"))
    found: list[DependencyReference] = []
    for number, sentence in enumerate(_SENTENCE_END.split(text)):
        if number == 0 and _NONE.match(sentence):
            return []
        if number and re.search(_VERB, sentence) is None:
            continue  # it explains the first sentence
        for clause in _CLAUSE.split(sentence):
            if not (_NOT.search(clause) or _LATER.search(clause)):
                found += _in_clause(clause)
    return found


def parse_statement(line: str) -> DependencyStatement | None:
    """Parse a line such as `Epic 3 depends on Epic 2`."""
    match = _STATEMENT.match(line)
    if match is None or _NOT.search(match["between"]):
        return None
    if _LATER.search(match["between"]) or _REFERENCE.search(match["between"]):
        return None
    object_text = match["object"]
    first = _REFERENCE.search(object_text)
    if first is None or first.start() > _MAX_DISTANCE:
        return None
    found = parse_references(
        object_text.replace("(", " ").replace(")", " ") if "(" in match["between"] else object_text
    )
    return DependencyStatement(tuple(_spans(match["subject"], is_story=False)), tuple(found)) if found else None


def parse_sentences(line: str) -> list[DependencyReference]:
    """The references of `Depends on Epics 1-3`, at the start of a line or a sentence."""
    return [one for match in _SENTENCE.finditer(line) for one in parse_references(match["object"])]


def strip_markup(text: str) -> str:
    """The text without parentheses, struck-out parts and markup."""
    text = _LINK.sub(r"\1", text[:MAX_LINE])
    return _ASIDE.sub(" ", _ASIDE.sub(" ", text)).replace("*", "").replace("`", "").strip()


def _in_clause(clause: str) -> Iterator[DependencyReference]:
    for match in _REFERENCE.finditer(clause):
        if match["all"]:
            yield DependencyReference(ALL_PREVIOUS)
        else:
            yield from _spans(match["epics"] or match["stories"], is_story=match["stories"] is not None)


def _spans(text: str, *, is_story: bool) -> Iterator[DependencyReference]:
    for match in _SPAN.finditer(text):
        if match["one"]:
            yield DependencyReference(normalize_number(match["one"]), is_story=is_story)
        else:
            yield DependencyReference(normalize_number(match["first"]), normalize_number(match["last"]), is_story)
