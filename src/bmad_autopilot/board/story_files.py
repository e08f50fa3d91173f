"""Where the story files and build specs are: one walk over the folders projects really use, matched by number.

On the path of `bmad status`: nothing per file but a dictionary look-up where its name is a key."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

MAX_DEPTH = 3  # stories/epic-1/…, epic1/stories/…
MAX_ENTRIES = 300_000

_Found = dict[str, list[str]]


class StoryFiles(NamedTuple):
    """Paths by story number, the best match first."""

    stories: dict[str, list[str]]
    specs: dict[str, list[str]]
    complete: bool = True  # False: the walk met its bound


def find_story_files(dirs: Sequence[str], numbers: Mapping[str, str]) -> StoryFiles:
    """Find the story files and specs in these folders and in the story folders below them.

    `numbers` says which number each story key of the board has. A file named like a key is that story's; any
    other is matched by the number its name begins with, cut as the board cuts its keys."""
    exact: dict[str, list[str]] = {}
    others: list[tuple[str, str]] = []
    left = MAX_ENTRIES
    for folder, names in _folders(dirs):
        left -= len(names)
        if left < 0:
            break
        for name in names:
            if name.endswith(".md"):
                number = numbers.get(name[:-3])
                if number is None:
                    others.append((folder, name))
                elif number in exact:
                    exact[number].append(f"{folder}/{name}")
                else:
                    exact[number] = [f"{folder}/{name}"]
    others = [place for place in others if any(map(str.isdigit, place[1]))]
    specs = _match(others, numbers, exact) if others else {}
    return StoryFiles(exact, specs, complete=left >= 0)


def _match(others: list[tuple[str, str]], numbers: Mapping[str, str], exact: _Found) -> _Found:
    """Add the story files that are not named like a key to those that are; give the specs."""
    from .story_names import Matcher, without_companions

    stories: _Found = {}
    specs: _Found = {}
    matcher = Matcher(numbers)
    for folder, name in others:
        stem = name[:-3]
        found = stories
        if stem.startswith("spec-"):
            stem, found = stem[5:], specs
        number = matcher.number(stem)
        if number is not None:
            found.setdefault(number, []).append(f"{folder}/{name}")
    for number, paths in stories.items():
        exact[number] = exact.get(number, []) + without_companions(paths, beside=number in exact)
    return {number: without_companions(paths) for number, paths in specs.items()}


def _folders(dirs: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Each folder once, with its names in order. Links to folders are not followed."""
    seen: set[str] = set()
    waiting = [(os.path.abspath(folder), 0) for folder in reversed(list(dirs))]
    while waiting:
        folder, depth = waiting.pop()
        if folder in seen:
            continue
        seen.add(folder)
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue  # a folder that is not there, or not ours to read, holds no story files
        yield folder, names
        if depth < MAX_DEPTH:
            below = [f"{folder}/{name}" for name in names if name[-3:] != ".md" and _holds_stories(name)]
            waiting += [(path, depth + 1) for path in reversed(below) if not os.path.islink(path)]


def _holds_stories(folder: str) -> bool:
    name = folder.lower()
    return name.startswith("epic") or name in ("stories", "story", "user-stories", "user_stories")


def story_location(raw: str | None, root: str) -> str | None:
    """The board's `story_location` as a folder, or None where it is not one inside the project.

    Real boards carry other people's absolute paths here; a relative path may try to climb out."""
    if not raw or "\0" in raw or len(raw) > 1000:
        return None
    text = raw.strip().replace("\\", "/").removeprefix("{project-root}/")
    if "{" in text or text[1:2] == ":" or "://" in text:
        return None
    folder = os.path.normpath(os.path.join(root, text))
    inside = os.path.realpath(root)
    real = os.path.realpath(folder)
    return folder if real == inside or real.startswith(inside + os.sep) else None
