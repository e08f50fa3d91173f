"""Reads stories.yaml: the stories of a spec folder in build order, with dependencies, without statuses."""

import os
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ..core.errors import Diagnostic, FileError, Location, Severity
from ..core.keys import normalize_number
from ..io.files import TextFile, read_text
from ..io.yaml_reader import MappingNode, Node, ScalarNode, SequenceNode, parse_yaml
from .epic_dependencies import EpicDependency, epic_of_story

_ID = re.compile(r"\w[\w.-]{0,80}")  # becomes part of a file name
MAX_IDS = 100


class ListedStory(NamedTuple):
    id: str
    title: str
    description: str
    spec_checkpoint: bool
    done_checkpoint: bool
    invoke_dev_with: str | None
    line: int
    depends_on: tuple[str, ...] = ()  # ids; written by people and other tools, not by BMAD


class StoryList(NamedTuple):
    stories: tuple[ListedStory, ...]
    diagnostics: tuple[Diagnostic, ...]


def read_story_list(text: TextFile) -> StoryList:
    diagnostics: list[Diagnostic] = []
    stories: dict[str, ListedStory] = {}
    for node in _entries(text):
        story = _story(text, node, diagnostics)
        if story is None:
            continue
        if story.id in stories:
            message = f"the id {story.id!r} comes twice (line {stories[story.id].line})"
            _note(diagnostics, Severity.ERROR, "duplicate-id", message, text, story.line, "give one another id")
        else:
            stories[story.id] = story
    _check_prefixes(text, stories, diagnostics)
    return StoryList(tuple(stories.values()), tuple(diagnostics))


def _entries(text: TextFile) -> list[Node]:
    root = parse_yaml(text)
    if isinstance(root, MappingNode):  # some files have the list below a key
        root = next((value for key, value in root.items if key.value == "stories"), root)
    if root is None:
        return []
    if not isinstance(root, SequenceNode):
        found = "a mapping" if isinstance(root, MappingNode) else "text"
        location = Location(text.path, root.line)
        raise FileError(
            "does not list stories", location=location, found=found, expected="a list of `- id: …` entries"
        )
    return root.items


def _story(text: TextFile, node: Node, diagnostics: list[Diagnostic]) -> ListedStory | None:
    if not isinstance(node, MappingNode):
        _note(
            diagnostics,
            Severity.ERROR,
            "not-a-story",
            "this entry has no fields",
            text,
            node.line,
            "write `- id: …`",
        )
        return None
    fields = {key.value or "": value.value or "" for key, value in node.items if isinstance(value, ScalarNode)}
    identifier = fields.get("id", "").strip()
    if not _ID.fullmatch(identifier) or ".." in identifier:
        message = (
            f"the id {identifier[:80]!r} cannot be part of a file name" if identifier else "a story without an id"
        )
        _note(diagnostics, Severity.ERROR, "bad-id", message, text, node.line, 'write it as `id: "1"`')
        return None
    return ListedStory(
        id=identifier,
        title=fields.get("title", "").strip(),
        description=fields.get("description", "").strip(),
        spec_checkpoint=_is_true(fields.get("spec_checkpoint")),
        done_checkpoint=_is_true(fields.get("done_checkpoint")),
        invoke_dev_with=fields.get("invoke_dev_with", "").strip() or None,
        line=node.line,
        depends_on=_ids(node),
    )


def _ids(node: MappingNode) -> tuple[str, ...]:
    """The ids in `depends_on`: one id, or a list of them."""
    for key, value in node.items:
        if key.value in ("depends_on", "dependencies"):
            items = value.items if isinstance(value, SequenceNode) else [value]
            texts = (item.value or "" for item in items if isinstance(item, ScalarNode))
            return tuple(text.strip() for text in texts if _ID.fullmatch(text.strip()))[:MAX_IDS]
    return ()


def _is_true(value: str | None) -> bool:
    return (value or "").strip().lower() in ("true", "yes", "on")


def _check_prefixes(text: TextFile, stories: dict[str, ListedStory], diagnostics: list[Diagnostic]) -> None:
    """`1` and `1-2` would both match `1-2-x.md`: no id may start with another id and a hyphen."""
    for story in stories.values():
        parts = story.id.split("-")
        for length in range(1, len(parts)):
            shorter = stories.get("-".join(parts[:length]))
            if shorter is not None:
                message = f"the id {story.id!r} begins with the id {shorter.id!r} (line {shorter.line})"
                hint = "their files cannot be told apart; rename one"
                _note(diagnostics, Severity.ERROR, "id-not-prefix-free", message, text, story.line, hint)


def _note(
    diagnostics: list[Diagnostic],
    severity: Severity,
    code: str,
    message: str,
    text: TextFile,
    line: int,
    hint: str,
) -> None:
    diagnostics.append(Diagnostic(severity, code, message, Location(text.path, line), hint))


# Dependencies between epics, from the stories.yaml files of spec folders.

STORY_LIST_NAME = "stories.yaml"
MAX_LISTS = 200


def find_story_lists(output_dir: str) -> list[str]:
    """`<output>/specs/spec-<slug>/stories.yaml`, by name."""
    specs = os.path.join(output_dir, "specs")
    try:
        names = sorted(os.listdir(specs))[:MAX_LISTS]
    except OSError:
        return []
    paths = [os.path.join(specs, name, STORY_LIST_NAME) for name in names]
    return [path for path in paths if os.path.isfile(path)]


def read_listed_dependencies(paths: Sequence[str], epics: Sequence[str]) -> list[EpicDependency]:
    """Unreadable lists are skipped: `bmad board check` reports them."""
    found: list[EpicDependency] = []
    for path in paths:
        try:
            stories = read_story_list(read_text(path)).stories
        except FileError:
            continue
        named = any(story.depends_on for story in stories)
        found += (
            _explicit_dependencies(path, stories, epics) if named else _order_dependencies(path, stories, epics)
        )
    return found


def _explicit_dependencies(
    path: str, stories: Sequence[ListedStory], epics: Sequence[str]
) -> list[EpicDependency]:
    found = []
    for story in stories:
        number = normalize_number(story.id)
        epic = _epic_of(number, epics)
        for one in story.depends_on:
            on = normalize_number(one)
            other = on if on in epics and "." not in on else _epic_of(on, epics)
            if epic and other and epic != other:
                found.append(
                    EpicDependency(epic, other, Location(path, story.line), number, on if on != other else "")
                )
    return found


def _order_dependencies(path: str, stories: Sequence[ListedStory], epics: Sequence[str]) -> list[EpicDependency]:
    """The list is in build order: an epic waits for the epic before it, unless their stories are mixed."""
    spans: dict[str, list[int]] = {}
    for index, story in enumerate(stories):
        epic = _epic_of(normalize_number(story.id), epics)
        if epic:
            spans.setdefault(epic, []).append(index)
    ordered = sorted(spans, key=lambda epic: spans[epic][0])
    return [
        EpicDependency(epic, on, Location(path, stories[spans[epic][0]].line))
        for on, epic in pairwise(ordered)
        if spans[on][-1] < spans[epic][0]
    ]


def _epic_of(number: str, epics: Sequence[str]) -> str:
    """The epic of a story's number; empty for ids that count within one spec (`1`, `2`)."""
    epic = epic_of_story(number, epics)
    return epic if epic in epics else ""
