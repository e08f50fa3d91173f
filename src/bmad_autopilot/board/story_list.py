"""stories.yaml: the stories of a spec folder in the order they are built. It never holds a status."""

import os
import re
from typing import NamedTuple

from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import FileError, Place
from ..files import Text
from ..yamls import Mapping, Node, Scalar, Sequence, parse

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
    depends_on: tuple[str, ...] = ()  # ids; BMAD itself writes none, people and other tools do


class StoryList(NamedTuple):
    stories: tuple[ListedStory, ...]
    diagnostics: tuple[Diagnostic, ...]


def read_story_list(text: Text) -> StoryList:
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


def _entries(text: Text) -> list[Node]:
    root = parse(text)
    if isinstance(root, Mapping):  # some write the list below a key
        root = next((value for key, value in root.items if key.value == "stories"), root)
    if root is None:
        return []
    if not isinstance(root, Sequence):
        found = "a mapping" if isinstance(root, Mapping) else "text"
        place = Place(text.path, root.line)
        raise FileError("does not list stories", place=place, found=found, expected="a list of `- id: …` entries")
    return root.items


def _story(text: Text, node: Node, diagnostics: list[Diagnostic]) -> ListedStory | None:
    if not isinstance(node, Mapping):
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
    fields = {key.value or "": value.value or "" for key, value in node.items if isinstance(value, Scalar)}
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
        spec_checkpoint=_truth(fields.get("spec_checkpoint")),
        done_checkpoint=_truth(fields.get("done_checkpoint")),
        invoke_dev_with=fields.get("invoke_dev_with", "").strip() or None,
        line=node.line,
        depends_on=_ids(node),
    )


def _ids(node: Mapping) -> tuple[str, ...]:
    """What `depends_on` names: one id, or a list of them."""
    for key, value in node.items:
        if key.value in ("depends_on", "dependencies"):
            items = value.items if isinstance(value, Sequence) else [value]
            texts = (item.value or "" for item in items if isinstance(item, Scalar))
            return tuple(text.strip() for text in texts if _ID.fullmatch(text.strip()))[:MAX_IDS]
    return ()


def _truth(value: str | None) -> bool:
    return (value or "").strip().lower() in ("true", "yes", "on")


def _check_prefixes(text: Text, stories: dict[str, ListedStory], diagnostics: list[Diagnostic]) -> None:
    """`1` and `1-2` would both claim `1-2-x.md`: no id may begin with another id and a hyphen."""
    for story in stories.values():
        parts = story.id.split("-")
        for length in range(1, len(parts)):
            shorter = stories.get("-".join(parts[:length]))
            if shorter is not None:
                message = f"the id {story.id!r} begins with the id {shorter.id!r} (line {shorter.line})"
                hint = "their files cannot be told apart; rename one"
                _note(diagnostics, Severity.ERROR, "id-not-prefix-free", message, text, story.line, hint)


def _note(
    diagnostics: list[Diagnostic], severity: Severity, code: str, message: str, text: Text, line: int, hint: str
) -> None:
    diagnostics.append(Diagnostic(severity, code, message, Place(text.path, line), hint))


def find_listed_specs(folder: str, stories: tuple[ListedStory, ...]) -> dict[str, list[str]]:
    """The spec files of each story: `<folder>/stories/<id>-<slug>.md`. More than one is for a person to settle."""
    below = os.path.join(folder, "stories")
    try:
        names = sorted(os.listdir(below))
    except OSError:
        return {}
    ids = {story.id for story in stories}
    found: dict[str, list[str]] = {}
    for name in names:
        if not name.endswith(".md"):
            continue
        parts = name[:-3].split("-")
        for length in range(len(parts), 0, -1):
            identifier = "-".join(parts[:length])
            if identifier in ids:
                found.setdefault(identifier, []).append(os.path.join(below, name))
                break
    return found
