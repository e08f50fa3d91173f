"""Epics files: which epics and stories were planned, in the words of their headings.

Each epic is normally written twice, in the list and in the body, so headings are gathered first (of all files) and
joined by number afterwards."""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import FileError, Place
from ..core.statuses import Kind
from ..files import Text, read_text
from . import markdown
from .headings import Named, read_heading

_HEADING = re.compile(r"^ {0,3}(#{1,6})(?!#)([^\n]*)$", re.MULTILINE)


class StorySection(NamedTuple):
    number: str
    title: str
    file: str
    line: int
    start: int  # offsets of what stands below the heading, in the text of the file
    end: int
    deleted: bool = False


class EpicSection(NamedTuple):
    number: str
    title: str
    file: str
    line: int
    deleted: bool = False
    stories: tuple[StorySection, ...] = ()


class EpicsFile(NamedTuple):
    epics: tuple[EpicSection, ...]
    diagnostics: tuple[Diagnostic, ...]
    orphans: tuple[StorySection, ...] = ()  # stories of an epic that no heading names

    def stories(self) -> Iterator[StorySection]:
        for epic in self.epics:
            yield from epic.stories
        yield from self.orphans


class _Heading(NamedTuple):
    """A heading of an epic or a story, with the epic above it."""

    kind: Kind
    section: StorySection
    strong: bool
    above: str | None


def read_epics(text: Text) -> EpicsFile:
    diagnostics: list[Diagnostic] = []
    return _join(list(_headings(text, diagnostics)), diagnostics)


def read_all_epics(paths: Iterable[str]) -> EpicsFile:
    """Several files as one plan. A file that cannot be read is a diagnostic; the others are still read."""
    headings: list[_Heading] = []
    diagnostics: list[Diagnostic] = []
    for path in paths:
        try:
            headings += _headings(read_text(path), diagnostics)
        except FileError as error:
            place = error.place or Place(path)
            diagnostics.append(Diagnostic(Severity.ERROR, "unreadable", error.message, place, error.hint))
    return _join(headings, diagnostics)


def _headings(text: Text, diagnostics: list[Diagnostic]) -> Iterator[_Heading]:
    prose = markdown.prose(markdown.unify_line_ends(text.text))
    if prose.unclosed is not None:
        place = Place(text.path, markdown.line_at(prose.text, prose.unclosed))
        message = "a code fence or comment begins here and never ends; what follows is not read"
        diagnostics.append(Diagnostic(Severity.WARNING, "unclosed-block", message, place, "close it"))
    above: str | None = None
    for named, line, start, end in _sections(prose.text):
        if named.number is None:
            message = f"this heading has no number: {named.title}"
            code = f"{named.kind.value}-without-number"
            hint = "write it as `Epic 1: Title` or `Story 1.1: Title`"
            diagnostics.append(Diagnostic(Severity.WARNING, code, message, Place(text.path, line), hint))
            continue
        if named.kind is Kind.EPIC and (named.strong or above is None):
            above = named.number
        section = StorySection(named.number, named.title, text.path, line, start, end, named.deleted)
        yield _Heading(named.kind, section, named.strong, named.outer or above)


def _sections(text: str) -> list[tuple[Named, int, int, int]]:
    """The headings that name something: what, its line, and the offsets of what stands below it.

    A section ends at the next heading that is not deeper, or that names an epic or a story."""
    found: list[tuple[Named, int, int, int]] = []
    following = [len(text)] * 7  # the next heading of each level, seen from below; [0]: the next that names
    for match in reversed(list(_HEADING.finditer(text))):
        content, level = match[2], len(match[1])
        named = read_heading(content)
        if named is None and content and content[0] not in " \t":
            continue  # `#tag`, `#!/bin/sh`
        if named is not None:
            end = min(following[: level + 1])
            found.append((named, match.start(), min(match.end() + 1, end), end))
            if named.strong:
                following[0] = match.start()
        following[level] = match.start()
    line, at = 1, 0
    result = []
    for named, heading, start, end in reversed(found):
        line += text.count("\n", at, heading)
        at = heading
        result.append((named, line, start, end))
    return result


def _join(headings: list[_Heading], diagnostics: list[Diagnostic]) -> EpicsFile:
    epics = _join_epics([h for h in headings if h.kind is Kind.EPIC])
    stories: dict[str, StorySection] = {}
    owners: dict[str, str] = {}
    # What merely starts like a story (`Story 1.1 notes`) counts where no better heading has that number.
    for heading in sorted((h for h in headings if h.kind is Kind.STORY), key=lambda h: not h.strong):
        owner, number = _owner(heading.section.number, heading.above, epics)
        section = heading.section._replace(number=number)
        known = stories.get(number)
        if known is None:
            stories[number], owners[number] = section, owner
        elif heading.strong:
            stories[number] = _better(known, section, diagnostics)
    return _assemble(epics, stories, owners, diagnostics)


def _join_epics(headings: list[_Heading]) -> dict[str, list[StorySection]]:
    """All headings of each epic; a weak one (`Epic 4 Summary`) only where the epic has no other."""
    epics: dict[str, list[StorySection]] = {}
    for heading in headings:
        if heading.strong:
            epics.setdefault(heading.section.number, []).append(heading.section)
    for heading in headings:
        if not heading.strong:
            epics.setdefault(heading.section.number, [heading.section])
    return epics


def _owner(number: str, above: str | None, epics: Collection[str]) -> tuple[str, str]:
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


def _better(known: StorySection, other: StorySection, diagnostics: list[Diagnostic]) -> StorySection:
    """Of two sections with one number: the one not deleted, then the fuller one."""
    if known.deleted != other.deleted:
        return other if known.deleted else known
    if not _same_title(known.title, other.title):
        message = f"story {known.number} has two titles: {known.title!r} and {other.title!r}"
        hint = f"the other one is at {Place(known.file, known.line)}; renumber one of them"
        place = Place(other.file, other.line)
        diagnostics.append(Diagnostic(Severity.WARNING, "duplicate-story", message, place, hint))
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
    epics = [_epic(found, tuple(members.get(number, ())), diagnostics) for number, found in headings.items()]
    # An epic stands where its stories do; its heading may be in a list of epics, in another order.
    epics.sort(key=lambda epic: min((files[s.file], s.line) for s in epic.stories or (epic,)))
    orphans = tuple(members.get("", ()))
    for story in orphans:
        message = f"story {story.number} belongs to no epic here"
        hint = "add a heading `Epic N: Title` for it, or mend its number"
        place = Place(story.file, story.line)
        diagnostics.append(Diagnostic(Severity.WARNING, "story-without-epic", message, place, hint))
    for diagnostic in diagnostics:
        files.setdefault(diagnostic.place.file, len(files))
    diagnostics.sort(key=lambda d: (files[d.place.file], d.place.line or 0))
    return EpicsFile(tuple(epics), tuple(diagnostics), orphans)


def _epic(
    found: list[StorySection], stories: tuple[StorySection, ...], diagnostics: list[Diagnostic]
) -> EpicSection:
    """One epic from its headings: the last one above its first story is the body, the others stand in lists."""
    alive = [section for section in found if not section.deleted] or found
    body = alive[0]
    if stories:
        first = stories[0]
        before = [s for s in alive if s.file == first.file and s.line < first.line]
        body = before[-1] if before else body
    title = body.title or next((section.title for section in alive if section.title), "")
    deleted = body.deleted
    if not stories and not deleted:
        message = f"epic {body.number} has no stories"
        place = Place(body.file, body.line)
        diagnostics.append(Diagnostic(Severity.NOTE, "epic-without-stories", message, place))
    return EpicSection(body.number, title, body.file, body.line, deleted, stories)
