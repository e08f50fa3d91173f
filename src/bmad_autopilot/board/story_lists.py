"""What the stories.yaml of spec folders say about epics: a story of one waits for a story of another."""

import os
from collections.abc import Sequence
from itertools import pairwise

from ..core.errors import FileError, Place
from ..core.keys import number_of
from ..files import read_text
from .needs import Need, owner_of
from .story_list import ListedStory, read_story_list

NAME = "stories.yaml"
MAX_LISTS = 200


def find_story_lists(output_dir: str) -> list[str]:
    """`<output>/specs/spec-<slug>/stories.yaml`, by name."""
    specs = os.path.join(output_dir, "specs")
    try:
        names = sorted(os.listdir(specs))[:MAX_LISTS]
    except OSError:
        return []
    paths = [os.path.join(specs, name, NAME) for name in names]
    return [path for path in paths if os.path.isfile(path)]


def listed_needs(paths: Sequence[str], epics: Sequence[str]) -> list[Need]:
    """A list that cannot be read says nothing here: `bmad board check` tells of it."""
    found: list[Need] = []
    for path in paths:
        try:
            stories = read_story_list(read_text(path)).stories
        except FileError:
            continue
        named = any(story.depends_on for story in stories)
        found += _named(path, stories, epics) if named else _in_order(path, stories, epics)
    return found


def _named(path: str, stories: Sequence[ListedStory], epics: Sequence[str]) -> list[Need]:
    found = []
    for story in stories:
        number = number_of(story.id)
        epic = _epic_of(number, epics)
        for one in story.depends_on:
            on = number_of(one)
            other = on if on in epics and "." not in on else _epic_of(on, epics)
            if epic and other and epic != other:
                found.append(Need(epic, other, Place(path, story.line), number, on if on != other else ""))
    return found


def _in_order(path: str, stories: Sequence[ListedStory], epics: Sequence[str]) -> list[Need]:
    """The list is the order in which its stories are built: an epic that comes after another waits for it, unless
    the two are mixed."""
    spans: dict[str, list[int]] = {}
    for index, story in enumerate(stories):
        epic = _epic_of(number_of(story.id), epics)
        if epic:
            spans.setdefault(epic, []).append(index)
    ordered = sorted(spans, key=lambda epic: spans[epic][0])
    return [
        Need(epic, on, Place(path, stories[spans[epic][0]].line))
        for on, epic in pairwise(ordered)
        if spans[on][-1] < spans[epic][0]
    ]


def _epic_of(number: str, epics: Sequence[str]) -> str:
    """Ids that count within one spec (`1`, `2`) are of no epic."""
    epic = owner_of(number, epics)
    return epic if epic in epics else ""
