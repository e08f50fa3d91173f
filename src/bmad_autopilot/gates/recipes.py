"""Targets of a Makefile or justfile, as far as a check depends on them."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .shell import words_of

MAX_LINES = 5000

_RUNNERS = {"make", "gmake", "just", "MAKE"}

_TARGET = re.compile(r"^([A-Za-z0-9_.][\w.%/-]*(?:[ \t]+[\w.%/-]+)*)[^:=\n]{0,100}?::?(?![=:])[ \t]*([^\n]*)$")


class Recipe(NamedTuple):
    needs: tuple[str, ...]
    lines: tuple[str, ...]


def read_recipes(text: str) -> dict[str, Recipe]:
    found: dict[str, Recipe] = {}
    current: list[str] = []
    for line in text.replace("\\\n", " ").splitlines()[:MAX_LINES]:
        if line[:1] in (" ", "\t"):
            _add(found, current, line)
        elif match := _TARGET.match(line):
            current = match[1].split()
            needs, _, recipe = match[2].partition("#")[0].partition(";")
            for target in current:
                known = found.get(target, Recipe((), ()))
                found[target] = known._replace(needs=(*known.needs, *needs.split()))
            _add(found, current, recipe)
        elif line.strip() and not line.startswith("#"):
            current = []
    return found


def _add(found: dict[str, Recipe], targets: list[str], line: str) -> None:
    line = line.strip().removeprefix("@").strip()
    if not line or line.startswith("#"):
        return
    for target in targets:
        found[target] = found[target]._replace(lines=(*found[target].lines, line))


def needed(recipes: dict[str, Recipe], commands: tuple[str, ...]) -> list[str]:
    """The targets that the checks name, with those they need or call in turn."""
    used: dict[str, None] = {}
    todo = list(_called(commands))
    while todo:
        word = todo.pop()
        if word in recipes and word not in used:
            used[word] = None
            recipe = recipes[word]
            todo += recipe.needs
            todo += _called(recipe.lines)
    return list(used)


def _called(lines: Iterable[str]) -> Iterator[str]:
    """What `make` or `just` is told in these lines; `npm run lint` is no target `run`."""
    for line in lines:
        words = words_of(line)
        if _RUNNERS & set(words):
            yield from words
