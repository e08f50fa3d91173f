"""Finds the story files and build specs in one walk over the usual folders.

A file belongs to the row whose key is in its name; else its number decides, if exactly one row and exactly one
file have it.

On the path of `bmad status`: a file named after a key costs one dictionary look-up."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

MAX_DEPTH = 3  # stories/epic-1/…, epic1/stories/…
MAX_ENTRIES = 300_000

_Found = dict[str, list[str]]


class StoryFiles(NamedTuple):
    """Paths by the key of their row. Several paths are copies with the same key."""

    stories: _Found
    specs: _Found
    ambiguous: Mapping[str, list[str]] = {}  # by key: files with the row's number, shared with other files or rows
    strays: Mapping[str, list[str]] = {}  # by number: story files without a row
    by_number: frozenset[str] = frozenset()  # files matched by their row's number, not its key
    is_complete: bool = True  # False: the walk hit its limit


def find_story_files(dirs: Sequence[str], numbers: Mapping[str, str]) -> StoryFiles:
    """Find the story files and specs in these folders and in the story folders below them.

    `numbers`: the number of each story key of the board."""
    own: _Found = {}
    others: list[tuple[str, str]] = []
    left = MAX_ENTRIES
    for folder, names in _folders(dirs):
        left -= len(names)
        if left < 0:
            break
        for name in names:
            if name.endswith(".md"):
                stem = name[:-3]
                if stem not in numbers:
                    others.append((folder, name))
                elif stem in own:
                    own[stem].append(f"{folder}/{name}")
                else:
                    own[stem] = [f"{folder}/{name}"]
    others = [location for location in others if any(map(str.isdigit, location[1]))]
    files = StoryFiles(own, {}, is_complete=left >= 0)
    return _match_others(files, others, numbers) if others else files


def _match_others(files: StoryFiles, others: list[tuple[str, str]], numbers: Mapping[str, str]) -> StoryFiles:
    """Add the specs and the files with other names."""
    from .story_file_names import StoryFileMatcher, without_companions

    matcher = StoryFileMatcher(numbers, (name[:-3].removeprefix("spec-") for _, name in others))
    spelled: tuple[_Found, _Found] = ({}, {})  # story files and specs
    numbered: tuple[_Found, _Found] = ({}, {})
    for folder, name in others:
        is_spec = name.startswith("spec-")
        stem = name[5 if is_spec else 0 : -3]
        key = matcher.key(stem)
        number = matcher.number(stem) if key is None else None
        if key is not None:
            spelled[is_spec].setdefault(key, []).append(f"{folder}/{name}")
        elif number is not None:
            numbered[is_spec].setdefault(number, []).append(f"{folder}/{name}")
    stories, specs = spelled[0] | files.stories, spelled[1]
    unclear: _Found = {}
    strays: _Found = {}
    by_number = set()
    for found, candidates in zip((stories, specs), numbered, strict=True):
        for number, paths in candidates.items():
            rows, paths = matcher.rows(number), without_companions(paths)
            if not rows and found is stories:
                strays[number] = paths
            elif len(rows) == len(paths) == 1 and rows[0] not in found and files.is_complete:
                found[rows[0]] = paths
                by_number.add(paths[0])
            else:
                for key in rows:
                    if key not in found:
                        unclear.setdefault(key, []).extend(paths)
    return StoryFiles(stories, specs, unclear, strays, frozenset(by_number), files.is_complete)


def _folders(dirs: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Each folder once, with its sorted names. Links to folders are not followed."""
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
            continue  # missing or unreadable
        yield folder, names
        if depth < MAX_DEPTH:
            below = [f"{folder}/{name}" for name in names if name[-3:] != ".md" and _holds_stories(name)]
            waiting += [(path, depth + 1) for path in reversed(below) if not os.path.islink(path)]


def _holds_stories(folder: str) -> bool:
    name = folder.lower()
    return name.startswith("epic") or name in ("stories", "story", "user-stories", "user_stories")


def story_location(raw: str | None, root: str) -> str | None:
    """The board's `story_location` as a folder, or None if it is not inside the project.

    Real boards have absolute paths of other machines here; a relative path may lead out of the project."""
    if not raw or "\0" in raw or len(raw) > 1000:
        return None
    text = raw.strip().replace("\\", "/").removeprefix("{project-root}/")
    if "{" in text or text[1:2] == ":" or "://" in text:
        return None
    folder = os.path.normpath(os.path.join(root, text))
    inside = os.path.realpath(root)
    real = os.path.realpath(folder)
    return folder if real == inside or real.startswith(inside + os.sep) else None
