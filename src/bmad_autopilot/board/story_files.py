"""Where the story files and build specs are: one walk over the folders projects really use.

A file belongs to the row whose key it carries. Failing that, the number decides, if exactly one row and exactly
one file have it.

On the path of `bmad status`: nothing per file but a dictionary look-up where its name is a key."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

MAX_DEPTH = 3  # stories/epic-1/…, epic1/stories/…
MAX_ENTRIES = 300_000

_Found = dict[str, list[str]]


class StoryFiles(NamedTuple):
    """Paths by the key of the row they belong to. More than one: copies that all carry the key."""

    stories: _Found
    specs: _Found
    unclear: Mapping[
        str, list[str]
    ] = {}  # by key: files with the row's number, which other files or other rows have too
    strays: Mapping[str, list[str]] = {}  # by number: story files of no row
    by_number: frozenset[str] = frozenset()  # the files that carry the number of their row, not its key
    complete: bool = True  # False: the walk met its bound


def find_story_files(dirs: Sequence[str], numbers: Mapping[str, str]) -> StoryFiles:
    """Find the story files and specs in these folders and in the story folders below them.

    `numbers` says which number each story key of the board has."""
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
    others = [place for place in others if any(map(str.isdigit, place[1]))]
    files = StoryFiles(own, {}, complete=left >= 0)
    return _match(files, others, numbers) if others else files


def _match(files: StoryFiles, others: list[tuple[str, str]], numbers: Mapping[str, str]) -> StoryFiles:
    """Add what is named in another way, and the specs."""
    from .story_names import Matcher, without_companions

    matcher = Matcher(numbers, (name[:-3].removeprefix("spec-") for _, name in others))
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
            elif len(rows) == len(paths) == 1 and rows[0] not in found and files.complete:
                found[rows[0]] = paths
                by_number.add(paths[0])
            else:
                for key in rows:
                    if key not in found:
                        unclear.setdefault(key, []).extend(paths)
    return StoryFiles(stories, specs, unclear, strays, frozenset(by_number), files.complete)


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
