"""What a Markdown heading names: an epic, a story, or neither.

Accepted: `Epic 1: T`, `Epic 1 : T`, `Epic 1：T`, `Epic 1 - T`, `**Epic 1: T**`, `~~Epic 4: T~~ — DELETED`,
`Epic 1A`, `Epic 0.5`, `Epic F1`, `EPIC-CRM-03`, `Story 1.1a`, `Story 4.5-1`, `STORY-044`, `[NEW] Story 1.1: T`,
`🚀 Epic 1 — T`."""

import re
from typing import NamedTuple

from ..core.keys import number_of
from ..core.statuses import Kind

# Longer before shorter: the first alternative that matches is taken.
EPIC_WORDS = (
    *("epic", "epik", "épica", "epica", "épico", "epico", "épopée", "épic"),
    *("эпик", "史诗", "史詩", "エピック", "에픽"),
)
STORY_WORDS = (
    *("user story", "story", "user-story", "historia de usuario", "história de usuário", "historia", "história"),
    *("histoire utilisateur", "histoire", "récit utilisateur", "récit", "storia"),
    *("пользовательская история", "история", "стори", "用户故事", "用戶故事", "使用者故事", "故事"),
    *("ユーザーストーリー", "ストーリー", "사용자 스토리", "스토리", "câu chuyện"),
)
_DELETED_WORDS = "deleted|removed|cancell?ed|dropped|absorbed|superseded|obsolete|withdrawn"
MAX_TITLE = 300

_PART = r"(?:[A-Z]{1,5}-?)?\d{1,6}[A-Za-z]?(?![A-Za-z])"
_LABEL = (
    rf"{_PART}(?:[.\-·_]{_PART}){{0,5}}(?:-[a-z]{{2,10}}(?:[.\-]\d{{1,6}}[a-z]?){{0,3}}(?=\s*[:：]))?"
    r"|[A-Z](?:[.\-]\d{1,6}[a-z]?)?(?=\s*(?:[:：.\-–—]|$))"
)
_NAMED = re.compile(
    rf"(?i:(?P<epic>{'|'.join(EPIC_WORDS)})|(?P<story>{'|'.join(STORY_WORDS)}))(?P<gap>[\s\-_#№]{{0,3}})(?P<label>{_LABEL})"
)
_ANY_WORD = re.compile("|".join((*EPIC_WORDS, *STORY_WORDS)), re.IGNORECASE)
_UNNUMBERED = re.compile(
    rf"(?i:({'|'.join(EPIC_WORDS)})|(?:{'|'.join(STORY_WORDS)}))\s*(?:TBD|N|X|\?+)?\s*(?:[:：]|[-–—]\s)\s*\S"
)
_AFTER = re.compile(
    r"\s*(?:(?i:stories)\s*(?=[:：\-–—])|\([^()]{0,60}\)\s*(?=[:：\-–—.]))?"
    r"(?P<mark>[:：.)\]|]|[-–—→]+|[,/](?=\s*\D)|$)"
)
_NUMBERING = re.compile(r"\d{1,3}(?:\.\d{1,3}){0,3}[.)]?\s+")
_LINK = re.compile(r"\[([^\[\]\n]*)\]\([^()\n]*\)")
_TAG = re.compile(r"\[[^\[\]\n]{0,60}\]|<[^<>\n]{0,200}>")
_COMMENT = re.compile(r"<!--[^\n]*?-->")
_DELETED = re.compile(rf"\s*(?:[\[(]\s*(?i:{_DELETED_WORDS})\b|[—–\-~]\s*\**(?:{_DELETED_WORDS.upper()})\b).*$")


class Named(NamedTuple):
    kind: Kind  # EPIC or STORY
    number: str | None  # None: it looks like one but has no number
    title: str
    deleted: bool
    strong: bool  # a mark (`:`, `-`) or nothing stands after the number; `Epic 4 Summary` has neither
    outer: str | None = None  # `Epic 1 - Story 2: T` names its epic itself


def read_heading(content: str) -> Named | None:
    """Read the text after the `#`s."""
    if _ANY_WORD.search(content) is None:
        return None
    text = _LINK.sub(r"\1", _COMMENT.sub("", content[: MAX_TITLE * 4])).replace("**", "")
    text = text.strip().rstrip("#").rstrip() if text.rstrip().endswith("#") else text.strip()
    struck, text = _undecorate(text)
    match = _NAMED.match(text)
    if match is None:
        return _unnumbered(text)
    after = _AFTER.match(text, match.end())
    rest = text[after.end() if after else match.end() :]
    parenthesis = text[match.end() : after.start("mark")] if after else ""
    if match["epic"]:
        inner = _NAMED.match(_undecorate(rest)[1]) if after else None
        if inner is not None and inner["story"]:
            story = read_heading(rest)
            if story is not None:
                return story._replace(outer=number_of(match["label"]), deleted=story.deleted or struck)
    title, deleted = _title(rest, struck)
    deleted = deleted or _DELETED.search(parenthesis) is not None
    kind = Kind.EPIC if match["epic"] else Kind.STORY
    return Named(kind, _number(match, kind), title, deleted, after is not None)


def _number(match: re.Match[str], kind: Kind) -> str:
    """`STORY-044` is an id of its own (`story.44`), as on a board; `Story 4` counts within its epic."""
    label = match["label"]
    if kind is Kind.STORY and match["gap"] == "-" and label.isdigit():
        return number_of(f"story-{label}")
    return number_of(label)


def _unnumbered(text: str) -> Named | None:
    match = _UNNUMBERED.match(text)
    if match is None:
        return None
    return Named(Kind.EPIC if match[1] else Kind.STORY, None, text[:MAX_TITLE], False, True)


def _undecorate(text: str) -> tuple[bool, str]:
    """Drop emoji, emphasis, `[TAGS]`, anchors and section numbers before the word; was it struck out?"""
    struck = False
    for _ in range(40):
        if not text:
            break
        if text.startswith("~~"):
            struck, text = True, text[2:]
        elif (tag := _TAG.match(text)) and _NAMED.match(text, 1) is None:
            text = text[tag.end() :]
        elif not text[0].isalnum():
            text = text[1:]
        elif (numbering := _NUMBERING.match(text)) and _NAMED.match(text, numbering.end()):
            text = text[numbering.end() :]
        else:
            break
    return struck, text


def _title(rest: str, struck: bool) -> tuple[str, bool]:
    deleted = struck
    if struck and "~~" in rest:
        rest = rest[: rest.index("~~")]
    if (gone := _DELETED.search(rest)) is not None:
        rest, deleted = rest[: gone.start()], True
    title = rest.strip()
    for mark in ("~~", "*", "_"):
        if title.count(mark) % 2:  # its other half stands before the word
            title = title.removesuffix(mark).removeprefix(mark).strip()
    return title.lstrip("-–—:： ")[:MAX_TITLE], deleted
