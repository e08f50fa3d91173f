"""Which files are tests, and what is in them: cases, checks, what is silenced."""

import re
from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple

from .languages import BY_EXTENSION, RUST, Language

MAX_SUITE = 1024 * 1024
MAX_CASES = 5000

TEST_FOLDERS = frozenset(
    "test tests __tests__ spec specs e2e cypress integration-tests integration_tests unit-tests androidtest "
    "unittests testing".split()
)
_NAMES = re.compile(
    r"test_.*\.py|.*_tests?\.(?:py|go|rb|exs|dart|cc|cpp|c|rs|js|ts)|tests?\.(?:py|rs|js|ts)"
    r"|.*\.(?:test|tests|spec|cy|e2e|e2e-spec)\.\w+|.*_spec\.(?:rb|js|ts)|test_.*\.(?:rb|c|cc|cpp|sh|js|exs)"
    r"|.*(?:Tests?|IT|Spec|TestCase)\.(?:java|kt|kts|groovy|scala|cs|fs|vb|php|swift|m)|.*\.(?:feature|bats)"
)
_STRING = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'")
_DEFINITION = re.compile(
    r"^([ \t]*)(?:export\s+|pub\s+|private\s+|public\s+|static\s+|async\s+)*"
    r"(?:def|class|func|fn|fun|function|const\s+\w+\s*=\s*(?:async\s*)?\(|describe)\b",
    re.MULTILINE,
)
_ROW = re.compile(
    r"^[ \t]*(?:[\[({]|pytest\.param\(|\|[^|\n]+\||@?\[?(?:InlineData|TestCase|DataRow|case)\()", re.MULTILINE
)
_WORD = re.compile(r"\w+")


class Case(NamedTuple):
    name: str
    checks: int  # those that can fail
    skipped: bool
    words: frozenset[str]  # of its body: by them a case is known again under another name


class Suite(NamedTuple):
    cases: tuple[Case, ...]
    checks: int  # in the whole file
    silenced: int  # marks that skip more than one case
    only: int
    rows: int  # lines of tables, where cases are made from tables

    @property
    def helper_checks(self) -> int:
        return self.checks - sum(case.checks for case in self.cases)


EMPTY = Suite((), 0, 0, 0, 0)


@lru_cache(maxsize=4096)
def is_test_path(path: str) -> bool:
    """A file that test runners pick up, or that lies among those that they do. Data beside them is none."""
    folders, _, name = path.rpartition("/")
    if _NAMES.fullmatch(name):
        return True
    parts = folders.lower().split("/")
    return extension_of(name) in BY_EXTENSION and any(
        part in TEST_FOLDERS or part.endswith((".tests", ".test", "-tests")) for part in parts
    )


def extension_of(path: str) -> str:
    name = path.rpartition("/")[2]
    return name[name.rfind(".") :].lower() if "." in name else ""


@lru_cache(maxsize=256)  # what stood there before is looked at again after every call of a story
def read_suite(path: str, raw: bytes | None) -> Suite | None:
    """None where the language is not known to us or the file is too large."""
    language = BY_EXTENSION.get(extension_of(path))
    if language is None or raw is None or len(raw) > MAX_SUITE:
        return None
    text = raw.decode("utf-8", "replace").replace("\r\n", "\n")
    code = language.unread.sub(_blank, text)
    heads = _heads(language, code)
    bare = _STRING.sub(_blank, code)  # `it("should expect")` checks nothing
    skipped, silenced = _silenced(language, code, heads)
    cases = tuple(
        Case(name, _checks(language, bare, end, stop), index in skipped, _words(bare, end, stop))
        for index, ((_, end, name), stop) in enumerate(zip(heads, _stops(code, heads), strict=True))
    )
    return Suite(
        cases,
        _checks(language, bare, 0, len(bare)),
        silenced,
        _count(language.only, code),
        len(_ROW.findall(code)) if _count(language.table, code) else 0,
    )


def holds_tests(path: str, raw: bytes | None) -> bool:
    """Rust keeps tests beside the code they test."""
    if is_test_path(path):
        return True
    return (
        path.endswith(".rs") and raw is not None and RUST.case.search(raw.decode("utf-8", "replace")) is not None
    )


def _blank(match: re.Match[str]) -> str:
    return "".join("\n" if char == "\n" else " " for char in match[0])


def _heads(language: Language, code: str) -> list[tuple[int, int, str]]:
    found = []
    for match in language.case.finditer(code):
        names = (value for value in match.groupdict().values() if value)
        found.append((match.start(), match.end(), next(names, "").strip("\"'` ")))
        if len(found) >= MAX_CASES:
            break
    return found


def _stops(code: str, heads: list[tuple[int, int, str]]) -> list[int]:
    """Where each case ends: at the next one, or at whatever else is defined no deeper than it."""
    definitions = [(match.start(), len(match[1])) for match in _DEFINITION.finditer(code)]
    starts = [start for start, _ in definitions]
    stops = []
    for index, (start, end, _) in enumerate(heads):
        stop = heads[index + 1][0] if index + 1 < len(heads) else len(code)
        line = code.rfind("\n", 0, start) + 1
        indent = len(code[line:start]) - len(code[line:start].lstrip()) + _lead(code, start)
        for at, depth in definitions[bisect_right(starts, end) :]:
            if at >= stop:
                break
            if depth <= indent:
                stop = at
                break
        stops.append(stop)
    return stops


def _lead(code: str, start: int) -> int:
    """Blanks that a head's own match begins with."""
    count = 0
    while start + count < len(code) and code[start + count] in " \t":
        count += 1
    return count


def _silenced(language: Language, code: str, heads: list[tuple[int, int, str]]) -> tuple[set[int], int]:
    starts = [start for start, _, _ in heads]
    skipped: set[int] = set()
    silenced = _count(language.skip_all, code)
    for match in language.skip_here.finditer(code) if language.skip_here else ():
        index = bisect_right(starts, match.start() + _lead(code, match.start())) - 1
        if index >= 0:
            skipped.add(index)
        else:
            silenced += 1
    for match in language.skip_next.finditer(code) if language.skip_next else ():
        index = bisect_right(starts, match.start()) - 1
        inside = index >= 0 and match.start() < heads[index][1]
        index = index if inside else index + 1
        if index < len(heads):
            skipped.add(index)
    return skipped, silenced


def _checks(language: Language, bare: str, start: int, stop: int) -> int:
    every = sum(1 for _ in language.check.finditer(bare, start, stop))
    return max(0, every - sum(1 for _ in language.hollow.finditer(bare, start, stop)))


def _words(bare: str, start: int, stop: int) -> frozenset[str]:
    return frozenset(_WORD.findall(bare, start, min(stop, start + 20_000)))


def _count(pattern: re.Pattern[str] | None, code: str) -> int:
    return sum(1 for _ in pattern.finditer(code)) if pattern is not None else 0
