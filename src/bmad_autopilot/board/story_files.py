"""Where the story files and build specs are: one walk over the folders projects really use, matched by number.

On the path of `bmad status`: nothing per file but a dictionary look-up where its name is a key."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..core.keys import number_of

MAX_DEPTH = 3  # stories/epic-1/…, epic1/stories/…
MAX_ENTRIES = 300_000

_FOLDER = re.compile(r"(?:user[-_ ])?stor(?:y|ies)|epics?(?:[-_ .]?\d.*)?|(?:spec-)?epic[-_ ].*", re.IGNORECASE)
_REGULAR = re.compile(r"(\d{1,6})[-._](\d{1,6}[a-z]?)(?=[-._ ]|$)", re.IGNORECASE)
_PREFIX = re.compile(r"(?:story|us|user-story)[-_. ]+(?=\d)", re.IGNORECASE)
_NESTED = re.compile(
    r"(?:epic|e)[-_. ]?(\d+[a-z]?)[-_. ]+(?:story|s)[-_. ]?(\d+[a-z]?)(?=[-._ ]|$)", re.IGNORECASE
)
_DATED = re.compile(r"\d{4}-\d{2}-\d{2}")
_TOKENS = re.compile(r"[-._·\s]+")
# Never the story itself, whatever its slug: `1-2-login.context.md`, `1-2-login-validation-report.md`.
_COMPANION = re.compile(
    r"\.(?:context|validation|review|retro|notes|summary|qa|gate|plan|agent-state)$"
    r"|[-_.](?:validation-report|tech-spec|retro(?:spective)?|story-context|code-review|completion-report"
    r"|test-(?:report|summary|plan)|readiness-report)(?:[-_.]?\d{4}-?\d{2}-?\d{2})?$",
    re.IGNORECASE,
)
# Companions only where the story's own file stands beside them: a slug may well end in `-validation`.
_PERHAPS = re.compile(r"[-_.](?:validation|context|review|report|summary|checklist|notes|plan)$", re.IGNORECASE)


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
    stories, specs = _match(others, numbers)
    for number, paths in stories.items():
        exact[number] = exact.get(number, []) + _without_companions(paths, beside=number in exact)
    return StoryFiles(
        exact, {number: _without_companions(paths) for number, paths in specs.items()}, complete=left >= 0
    )


def _match(others: list[tuple[str, str]], numbers: Mapping[str, str]) -> tuple[_Found, _Found]:
    """Story files and specs that are not named like a key, by number."""
    stories: _Found = {}
    specs: _Found = {}
    matcher = _Matcher(numbers)
    for folder, name in others:
        stem = name[:-3]
        found = stories
        if stem.startswith("spec-"):
            stem, found = stem[5:], specs
        number = matcher.number(stem)
        if number is not None:
            found.setdefault(number, []).append(f"{folder}/{name}")
    return stories, specs


def _without_companions(paths: list[str], *, beside: bool = False) -> list[str]:
    own = [path for path in paths if not _PERHAPS.search(path[:-3])]
    return own if own or beside else paths


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
            below = [f"{folder}/{name}" for name in names if name[-3:] != ".md" and _FOLDER.fullmatch(name)]
            waiting += [(path, depth + 1) for path in reversed(below) if not os.path.islink(path)]


class _Matcher:
    """From a file's stem to the number of the story it is about."""

    def __init__(self, numbers: Mapping[str, str]) -> None:
        self._keys = numbers
        self._declared = set(numbers.values())
        self._written: dict[str, str] | None = None

    def number(self, stem: str) -> str | None:
        if _COMPANION.search(stem) or _DATED.match(stem):
            return None
        if (nested := _NESTED.match(stem)) is not None:
            stem = f"{nested[1]}-{nested[2]}"
        elif (prefix := _PREFIX.match(stem)) is not None:
            stem = stem[prefix.end() :]
        regular = _REGULAR.match(stem)
        number = number_of(f"{regular[1]}.{regular[2]}") if regular else None
        if regular is not None and number in self._declared and not stem[regular.end() + 1 :][:1].isdigit():
            return number
        return self._longest(stem) or number

    def _longest(self, stem: str) -> str | None:
        """The longest run of leading parts that is a number of the board: `0-5-1-x` is 0.5.1 where that is one."""
        written = self._written if self._written is not None else self._index()
        parts = [part for part in _TOKENS.split(stem, maxsplit=6) if part][:6]
        for length in range(len(parts), 0, -1):
            number = written.get(number_of("-".join(parts[:length])))
            if number is not None:
                return number
        return None

    def _index(self) -> dict[str, str]:
        """Each number, also as its key writes it: `td.15b.3` for `TD-15b-3-cleanup`, whose number is 15b.td.3."""
        self._written = {number: number for number in self._declared}
        for key, number in self._keys.items():
            parts = _TOKENS.split(key, maxsplit=8)[: number.count(".") + 1]
            self._written.setdefault(number_of("-".join(parts)), number)
        return self._written


def story_location(raw: str | None, root: str) -> str | None:
    """The board's `story_location` as a folder, or None where it is not one inside the project.

    Real boards carry other people's absolute paths here; a relative path may try to climb out."""
    if not raw or "\0" in raw or len(raw) > 1000:
        return None
    text = raw.strip().replace("\\", "/").replace("{project-root}", root).replace("{project_root}", root)
    if "{" in text or text[1:2] == ":" or "://" in text:
        return None
    folder = os.path.normpath(os.path.join(root, text))
    inside = os.path.realpath(root)
    real = os.path.realpath(folder)
    return folder if real == inside or real.startswith(inside + os.sep) else None
