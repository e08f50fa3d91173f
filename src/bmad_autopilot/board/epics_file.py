"""Reads the planned epics and stories from the headings of epics files.

Each epic normally appears twice, in the list and in the body, so the headings of all files are collected first and
then joined by number."""

import os
import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from ..core.errors import Diagnostic, FileError, Location, Severity
from ..core.keys import normalize_number
from ..core.statuses import RowKind
from ..io.files import TextFile, read_text
from . import markdown

# The epics files: one file, several side by side, or a folder with a file per epic.

_WHOLE = re.compile(r"@?epics(?:[-_ .].*)?\.md|(?:.*[-_])?epics\.md", re.IGNORECASE)
_SHARD = re.compile(r"epic[-_ ]?\d.*\.md", re.IGNORECASE)
_SHARD_FOLDER = re.compile(r".*epics?.*", re.IGNORECASE)
# Documents about epics, not the plan: retrospectives, reports, compiled context.
_NOT_EPICS = re.compile(
    r"[-_.](?:retro(?:spective)?|validation|context|report|readiness|tech-spec|checklist|template|backup|bak|old)"
    r"(?:[-_.]?\d[\d-]*)?\.md$|^(?:archived?|backups?|old)$",
    re.IGNORECASE,
)
MAX_FILES = 200


def find_epics_files(planning_dir: str, other_dirs: tuple[str, ...] | list[str] = ()) -> list[str]:
    """The epics files of a project. Other folders count only if the planning folder has none: an old copy often
    remains after an upgrade."""
    for folder in (planning_dir, *other_dirs):
        found = _in_folder(folder) or _in_components(folder)
        if found:
            return found[:MAX_FILES]
    return []


def _in_folder(folder: str) -> list[str]:
    """Whole files; shards only if there is no whole file, as BMAD reads them."""
    names = _names(folder)
    whole = [name for name in names if _WHOLE.fullmatch(name) and not _NOT_EPICS.search(name)]
    if whole:
        whole.sort(key=lambda name: (name.lower().lstrip("@") != "epics.md", name))
        return [os.path.join(folder, name) for name in whole]
    shards = _shards(folder, names)
    for name in names:
        below = os.path.join(folder, name)
        if not name.endswith(".md") and _SHARD_FOLDER.fullmatch(name) and not _NOT_EPICS.search(name):
            inner = _names(below)
            index = [os.path.join(below, n) for n in inner if n.lower() in ("index.md", "epics.md")]
            shards += index + _shards(below, inner)
    return shards


def _shards(folder: str, names: list[str]) -> list[str]:
    return [os.path.join(folder, name) for name in names if _SHARD.fullmatch(name) and not _NOT_EPICS.search(name)]


def _in_components(folder: str) -> list[str]:
    """One folder per component, each with its own epics file."""
    found = []
    for name in _names(folder):
        path = os.path.join(folder, name, "epics.md")
        if not _NOT_EPICS.search(name) and os.path.isfile(path):
            found.append(path)
    return found


def _names(folder: str) -> list[str]:
    from ..core.keys import natural_order

    try:
        return sorted(os.listdir(folder), key=lambda name: (natural_order(name.lower()), name))
    except OSError:
        return []


# Parse a Markdown heading: it names an epic, a story, or neither.
#
# Accepted: `Epic 1: T`, `Epic 1 : T`, `Epic 1：T`, `Epic 1 - T`, `**Epic 1: T**`, `~~Epic 4: T~~ — DELETED`,
# `Epic 1A`, `Epic 0.5`, `Epic F1`, `EPIC-CRM-03`, `Story 1.1a`, `Story 4.5-1`, `STORY-044`, `[NEW] Story 1.1:
# T`, `🚀 Epic 1 — T`.

# Longer before shorter: the regular expression takes the first alternative that matches.
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
_NUMBERED = re.compile(
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


class ParsedHeading(NamedTuple):
    kind: RowKind  # EPIC or STORY
    number: str | None  # None: the heading has no number
    title: str
    is_deleted: bool
    is_strong: bool  # a mark (`:`, `-`) or nothing follows the number; `Epic 4 Summary` is weak
    epic_number: str | None = None  # `Epic 1 - Story 2: T` names its epic itself


def read_heading(content: str) -> ParsedHeading | None:
    """Parse the text after the `#`s."""
    if _ANY_WORD.search(content) is None:
        return None
    text = _LINK.sub(r"\1", _COMMENT.sub("", content[: MAX_TITLE * 4])).replace("**", "")
    text = text.strip().rstrip("#").rstrip() if text.rstrip().endswith("#") else text.strip()
    struck, text = _undecorate(text)
    match = _NUMBERED.match(text)
    if match is None:
        return _unnumbered(text)
    after = _AFTER.match(text, match.end())
    rest = text[after.end() if after else match.end() :]
    parenthesis = text[match.end() : after.start("mark")] if after else ""
    if match["epic"]:
        inner = _NUMBERED.match(_undecorate(rest)[1]) if after else None
        if inner is not None and inner["story"]:
            story = read_heading(rest)
            if story is not None:
                return story._replace(
                    epic_number=normalize_number(match["label"]), is_deleted=story.is_deleted or struck
                )
    title, deleted = _title(rest, struck)
    deleted = deleted or _DELETED.search(parenthesis) is not None
    kind = RowKind.EPIC if match["epic"] else RowKind.STORY
    return ParsedHeading(kind, _number(match, kind), title, deleted, after is not None)


def _number(match: re.Match[str], kind: RowKind) -> str:
    """`STORY-044` is an id of its own (`story.44`), as on a board; `Story 4` counts within its epic."""
    label = match["label"]
    if kind is RowKind.STORY and match["gap"] == "-" and label.isdigit():
        return normalize_number(f"story-{label}")
    return normalize_number(label)


def _unnumbered(text: str) -> ParsedHeading | None:
    match = _UNNUMBERED.match(text)
    if match is None:
        return None
    return ParsedHeading(RowKind.EPIC if match[1] else RowKind.STORY, None, text[:MAX_TITLE], False, True)


def _undecorate(text: str) -> tuple[bool, str]:
    """Whether the text is struck out, and the text without leading emoji, emphasis, `[TAGS]`, anchors and section
    numbers."""
    struck = False
    for _ in range(40):
        if not text:
            break
        if text.startswith("~~"):
            struck, text = True, text[2:]
        elif (tag := _TAG.match(text)) and _NUMBERED.match(text, 1) is None:
            text = text[tag.end() :]
        elif not text[0].isalnum():
            text = text[1:]
        elif (numbering := _NUMBERING.match(text)) and _NUMBERED.match(text, numbering.end()):
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
        if title.count(mark) % 2:  # the other half of the pair precedes the word
            title = title.removesuffix(mark).removeprefix(mark).strip()
    return title.lstrip("-–—:： ")[:MAX_TITLE], deleted


_HEADING = re.compile(r"^ {0,3}(#{1,6})(?!#)([^\n]*)$", re.MULTILINE)


class StorySection(NamedTuple):
    number: str
    title: str
    file: str
    line: int
    start: int  # offsets of the section's body in the text of the file
    end: int
    is_deleted: bool = False


class EpicSection(NamedTuple):
    number: str
    title: str
    file: str
    line: int
    is_deleted: bool = False
    stories: tuple[StorySection, ...] = ()


class EpicsFile(NamedTuple):
    epics: tuple[EpicSection, ...]
    diagnostics: tuple[Diagnostic, ...]
    orphans: tuple[StorySection, ...] = ()  # stories of an epic without a heading

    def stories(self) -> Iterator[StorySection]:
        for epic in self.epics:
            yield from epic.stories
        yield from self.orphans


class _Heading(NamedTuple):
    """A heading of an epic or a story, with the epic above it."""

    kind: RowKind
    section: StorySection
    is_strong: bool
    epic_above: str | None


def read_epics(text: TextFile) -> EpicsFile:
    diagnostics: list[Diagnostic] = []
    return _merge_headings(list(_headings(text, diagnostics)), diagnostics)


def read_all_epics(paths: Iterable[str]) -> EpicsFile:
    """Read several files as one plan. An unreadable file is a diagnostic; the others are still read."""
    headings: list[_Heading] = []
    diagnostics: list[Diagnostic] = []
    for path in paths:
        try:
            headings += _headings(read_text(path), diagnostics)
        except FileError as error:
            location = error.location or Location(path)
            diagnostics.append(Diagnostic(Severity.ERROR, "unreadable", error.message, location, error.hint))
    return _merge_headings(headings, diagnostics)


def _headings(text: TextFile, diagnostics: list[Diagnostic]) -> Iterator[_Heading]:
    prose = markdown.prose(markdown.unify_line_ends(text.text))
    if prose.unclosed is not None:
        location = Location(text.path, markdown.line_at(prose.text, prose.unclosed))
        message = "a code fence or comment begins here and never ends; what follows is not read"
        diagnostics.append(Diagnostic(Severity.WARNING, "unclosed-block", message, location, "close it"))
    above: str | None = None
    for named, line, start, end in _sections(prose.text):
        if named.number is None:
            message = f"this heading has no number: {named.title}"
            code = f"{named.kind.value}-without-number"
            hint = "write it as `Epic 1: Title` or `Story 1.1: Title`"
            diagnostics.append(Diagnostic(Severity.WARNING, code, message, Location(text.path, line), hint))
            continue
        if named.kind is RowKind.EPIC and (named.is_strong or above is None):
            above = named.number
        section = StorySection(named.number, named.title, text.path, line, start, end, named.is_deleted)
        yield _Heading(named.kind, section, named.is_strong, named.epic_number or above)


def _sections(text: str) -> list[tuple[ParsedHeading, int, int, int]]:
    """The headings that name an epic or a story: the heading, its line, and the offsets of its body.

    A section ends at the next heading that is not deeper, or that names an epic or a story."""
    found: list[tuple[ParsedHeading, int, int, int]] = []
    # The next heading of each level, filled from the end; [0]: the next that names an epic or a story.
    following = [len(text)] * 7
    for match in reversed(list(_HEADING.finditer(text))):
        content, level = match[2], len(match[1])
        named = read_heading(content)
        if named is None and content and content[0] not in " \t":
            continue  # `#tag`, `#!/bin/sh`
        if named is not None:
            end = min(following[: level + 1])
            found.append((named, match.start(), min(match.end() + 1, end), end))
            if named.is_strong:
                following[0] = match.start()
        following[level] = match.start()
    line, at = 1, 0
    result = []
    for named, heading, start, end in reversed(found):
        line += text.count("\n", at, heading)
        at = heading
        result.append((named, line, start, end))
    return result


def _merge_headings(headings: list[_Heading], diagnostics: list[Diagnostic]) -> EpicsFile:
    epics = _group_epic_headings([h for h in headings if h.kind is RowKind.EPIC])
    stories: dict[str, StorySection] = {}
    owners: dict[str, str] = {}
    # A weak heading (`Story 1.1 notes`) counts only if no strong heading has that number.
    for heading in sorted((h for h in headings if h.kind is RowKind.STORY), key=lambda h: not h.is_strong):
        owner, number = _epic_and_number(heading.section.number, heading.epic_above, epics)
        section = heading.section._replace(number=number)
        known = stories.get(number)
        if known is None:
            stories[number], owners[number] = section, owner
        elif heading.is_strong:
            stories[number] = _choose_section(known, section, diagnostics)
    return _assemble(epics, stories, owners, diagnostics)


def _group_epic_headings(headings: list[_Heading]) -> dict[str, list[StorySection]]:
    """All headings of each epic; a weak one (`Epic 4 Summary`) only if the epic has no other."""
    epics: dict[str, list[StorySection]] = {}
    for heading in headings:
        if heading.is_strong:
            epics.setdefault(heading.section.number, []).append(heading.section)
    for heading in headings:
        if not heading.is_strong:
            epics.setdefault(heading.section.number, [heading.section])
    return epics


def _epic_and_number(number: str, above: str | None, epics: Collection[str]) -> tuple[str, str]:
    """The epic a story belongs to ("" for none) and the story's full number."""
    parts = number.split(".")
    for skipped in (0, 1):
        if skipped and not parts[0].isalpha():
            break
        for length in range(len(parts) - 1, skipped, -1):
            epic = ".".join(parts[skipped:length])
            if epic in epics:
                return epic, ".".join([epic, *parts[:skipped], *parts[length:]])
    if above is not None and len(parts) == 1:
        return above, f"{above}.{number}"
    if above is not None and parts[0] == "story":
        return above, number
    return "", number


def _choose_section(known: StorySection, other: StorySection, diagnostics: list[Diagnostic]) -> StorySection:
    """Of two sections with one number, the one that is not deleted, else the longer one."""
    if known.is_deleted != other.is_deleted:
        return other if known.is_deleted else known
    if not _same_title(known.title, other.title):
        message = f"story {known.number} has two titles: {known.title!r} and {other.title!r}"
        hint = f"the other one is at {Location(known.file, known.line)}; renumber one of them"
        location = Location(other.file, other.line)
        diagnostics.append(Diagnostic(Severity.WARNING, "duplicate-story", message, location, hint))
        return known
    return other if other.end - other.start > known.end - known.start else known


def _same_title(one: str, other: str) -> bool:
    return not one or not other or _letters(one) == _letters(other)


def _letters(title: str) -> str:
    return "".join(character for character in title.casefold() if character.isalnum())


def _assemble(
    headings: dict[str, list[StorySection]],
    stories: dict[str, StorySection],
    owners: dict[str, str],
    diagnostics: list[Diagnostic],
) -> EpicsFile:
    files: dict[str, int] = {}
    for section in (*(s for found in headings.values() for s in found), *stories.values()):
        files.setdefault(section.file, len(files))
    members: dict[str, list[StorySection]] = {}
    for number, story in sorted(stories.items(), key=lambda item: (files[item[1].file], item[1].line)):
        members.setdefault(owners[number], []).append(story)
    epics = [_build_epic(found, tuple(members.get(number, ())), diagnostics) for number, found in headings.items()]
    # Sort an epic by its stories: its heading may be in a list of epics, in another order.
    epics.sort(key=lambda epic: min((files[s.file], s.line) for s in epic.stories or (epic,)))
    orphans = tuple(members.get("", ()))
    for story in orphans:
        message = f"story {story.number} belongs to no epic here"
        hint = "add a heading `Epic N: Title` for it, or mend its number"
        location = Location(story.file, story.line)
        diagnostics.append(Diagnostic(Severity.WARNING, "story-without-epic", message, location, hint))
    for diagnostic in diagnostics:
        files.setdefault(diagnostic.location.file, len(files))
    diagnostics.sort(key=lambda d: (files[d.location.file], d.location.line or 0))
    return EpicsFile(tuple(epics), tuple(diagnostics), orphans)


def _build_epic(
    found: list[StorySection], stories: tuple[StorySection, ...], diagnostics: list[Diagnostic]
) -> EpicSection:
    """One epic from its headings: the last one above its first story is the body, the others are in lists."""
    alive = [section for section in found if not section.is_deleted] or found
    body = alive[0]
    if stories:
        first = stories[0]
        before = [s for s in alive if s.file == first.file and s.line < first.line]
        body = before[-1] if before else body
    title = body.title or next((section.title for section in alive if section.title), "")
    deleted = body.is_deleted
    if not stories and not deleted:
        message = f"epic {body.number} has no stories"
        location = Location(body.file, body.line)
        diagnostics.append(Diagnostic(Severity.NOTE, "epic-without-stories", message, location))
    return EpicSection(body.number, title, body.file, body.line, deleted, stories)
