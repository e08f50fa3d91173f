"""What epics files say about which epic waits for which, each with its line. Prose that merely mentions an epic,
or says that it is not needed, counts for nothing."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..core.errors import Place
from ..core.keys import natural
from ..core.statuses import Kind
from ..files import Text
from . import markdown
from .headings import read_heading
from .needs_words import ALL, LABEL, MAX_LINE, TITLE, Reference, plain, references, sentences, statement

MAX_NEEDS = 5000  # of one file
_HEADING = re.compile(r" {0,3}(#{1,6})(?!#)(.*)")
_ITEM = re.compile(r"[ \t>]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(.*)")


class Need(NamedTuple):
    epic: str  # the one that waits, by number
    on: str  # for this one
    place: Place
    by: str = ""  # the story of it that says so; empty: the epic itself
    story: str = ""  # the story of the other that is needed; empty: all of it


class _Here(NamedTuple):
    """The section that a line stands in."""

    epic: str = ""
    story: str = ""
    level: int = 0  # of the epic's heading
    in_list: bool = False  # below a label, or in a section about nothing else


def read_needs(text: Text, epics: Sequence[str]) -> list[Need]:
    """`epics`: the numbers of all there are, in their natural order."""
    found: list[Need] = []
    here = _Here()
    prose = markdown.prose(markdown.unify_line_ends(text.text)).text
    for number, line in enumerate(prose.split("\n"), 1):
        if len(found) >= MAX_NEEDS:
            break
        heading = _HEADING.match(line)
        if heading is not None and (heading[2][:1] in (" ", "\t", "") or read_heading(heading[2])):
            here = _under(here, len(heading[1]), heading[2], epics)
        elif line.strip():
            needs, here = _read_line(line[:MAX_LINE], here, epics)
            found += (Need(*need[:2], Place(text.path, number), *need[2:]) for need in needs)
    return found


def owner_of(story: str, epics: Sequence[str]) -> str:
    """The epic of a story's number; of one that is not there, what it would be called."""
    parts = story.split(".")
    heads = [".".join(parts[:length]) for length in range(len(parts) - 1, 0, -1)]
    return next((head for head in heads if head in epics), heads[-1] if heads else "")


def _under(here: _Here, level: int, title: str, epics: Sequence[str]) -> _Here:
    named = read_heading(title)
    if named is None:
        return _Here() if level <= here.level else here._replace(in_list=TITLE.fullmatch(title) is not None)
    if named.number is None or named.deleted:
        return _Here()
    if named.kind is Kind.EPIC:
        return _Here(named.number, "", level)
    epic = named.outer or (owner_of(named.number, epics) if "." in named.number else here.epic)
    number = named.number if "." in named.number else f"{epic}.{named.number}"
    return _Here(epic, number, here.level if epic == here.epic else level)


_Found = tuple[str, str, str, str]  # epic, on, by, story


def _read_line(line: str, here: _Here, epics: Sequence[str]) -> tuple[list[_Found], _Here]:
    label = LABEL.match(line)
    value = label["value"] if label else ""
    said = statement(value) or statement(line)
    if said is not None:
        subjects = [one for subject in said.subjects for one, _ in _resolve(subject, "", epics)]
        return [
            (epic, on, "", story) for epic in subjects for on, story in _each(said.references, epic, epics)
        ], here
    if label is not None:
        here = here._replace(in_list=not plain(value))
        return _needs(references(value, bare="story" if here.story else "epic"), here, epics), here
    item = _ITEM.match(line)
    if here.in_list and item is not None:
        return _needs(references(item[1]), here, epics), here
    # A label with nothing in bold, such as `**Internal:**`, parts a section about dependencies.
    if not line.strip().endswith((":", ":**", "：")):
        here = here._replace(in_list=False)
    return _needs(sentences(line), here, epics), here


def _needs(named: Sequence[Reference], here: _Here, epics: Sequence[str]) -> list[_Found]:
    if not here.epic:
        return []
    return [(here.epic, on, here.story, story) for on, story in _each(named, here.epic, epics, here.story)]


def _each(named: Sequence[Reference], epic: str, epics: Sequence[str], by: str = "") -> Iterator[tuple[str, str]]:
    for reference in named:
        for on, story in _resolve(reference, epic, epics):
            # Stories of one epic are worked on one after another anyway.
            if on and not (on == epic and (story or by)):
                yield on, story


def _resolve(reference: Reference, epic: str, epics: Sequence[str]) -> list[tuple[str, str]]:
    """The epics that are meant, each with the story of it, if one is."""
    first, last = reference.first, reference.last
    if first == ALL:
        return [(one, "") for one in epics if epic in epics and natural(one) < natural(epic)]
    if reference.is_story:
        if first in epics and last:  # `Story 4.5-1`, which is no span
            return [(first, f"{first}.{last}")]
        ends = [one for one in (first, last) if "." in one]
        return [(owner_of(one, epics), one if not last else "") for one in ends]
    if not last:
        is_story = first not in epics and owner_of(first, epics) in epics
        return [(owner_of(first, epics), first)] if is_story else [(first, "")]
    if f"{first}.{last}" in epics:  # `Epic 0-5`, as a board calls it
        return [(f"{first}.{last}", "")]
    between = [one for one in epics if natural(first) <= natural(one) <= natural(last)]
    return [(one, "") for one in dict.fromkeys((first, *between, last))]
