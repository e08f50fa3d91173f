"""What a story asks for that would else be refused: files it names, tests it wants gone."""

import re
from collections.abc import Iterable
from functools import lru_cache

from ..board import markdown

MAX_ASKED = 400_000
MAX_LINE = 2000

_ASKING = re.compile(
    r"\W*(?:acceptance|crit[eéè]r|\bacs?\b|requirements?|(?:implementation "
    r"|development )?(?:sub)?tasks|goal|story\b"
    r"|scope|验收|驗收|критери|受け入れ|任务|任務|tâches|tareas|tarefas|задачи|タスク|작업|verification|intent)",
    re.IGNORECASE,
)
_CLAUSE = r"(?:^|[.;:,!?]\s|\band\s|\bto\s|\bmust\s|\bshould\s)[\W_]{0,20}(?:task[ \t\d.:#]{0,10})?"
_VERB = (
    r"(?:remov|delet|drop|retir|renam|mov|replac|rewrit|migrat|consolidat|merg|disabl|skip)"
    r"(?:e|es|ed|ing|s|ped|ping)?"
)
_BETWEEN = r"(?:\s+(?!and\b|with\b|for\b|then\b|plus\b|write\b|add\b|endpoints?\b)[\w'-]+){0,3}"
_TESTS = re.compile(rf"{_CLAUSE}{_VERB}{_BETWEEN}\s+(?:tests?|specs?|test[ -](?:files?|cases?|suites?))\b", re.I)
_GOING = re.compile(rf"\b{_VERB}\b|\bobsolete\b|\bdeprecat", re.IGNORECASE)
_NOT = re.compile(r"\b(?:not|never|without|no|don'?t|cannot|keep)\b", re.IGNORECASE)
_NEAR = 40

# What people call things whose path nobody writes down: `set up the CI pipeline` in the first story of a project.
_CALLED = (
    (
        (".github/workflows", ".github/actions", ".gitlab-ci.yml", ".circleci", "azure-pipelines.yml"),
        r"github actions?|\bci[ -](?:pipeline|workflow|job|config)|\bci/cd\b|continuous (?:integration"
        r"|deployment|deliv)",
    ),
    (
        (".husky", ".githooks", ".git/hooks", ".pre-commit-config.yaml", "lefthook.yml"),
        r"\bhusky\b|\blefthook\b|\bpre-commit\b|\bgit hooks?\b|\bcommit hooks?\b",
    ),
    ((".github/dependabot.yml",), r"\bdependabot\b"),
    ((".gitattributes",), r"\bgit lfs\b|\bline endings?\b"),
)


@lru_cache(maxsize=8)
def asking_lines(text: str) -> tuple[str, ...]:
    """The lines of criteria and tasks; all lines where the text has no such sections. What only explains (notes,
    references) asks for nothing."""
    text = markdown.unify_line_ends(text[:MAX_ASKED])
    prose = markdown.prose(text).text
    sections = markdown.outermost([s for s in markdown.sections(prose) if _ASKING.match(s.title)])
    # From the text itself: a path may well stand in a fence.
    parts = [text[s.start : s.end] for s in sections] or [text]
    return tuple(line.strip()[:MAX_LINE] for part in parts for line in part.splitlines() if line.strip())


def names_path(text: str, path: str) -> bool:
    """Whether the story names this path, a folder deep enough to be meant, or the thing it is known as."""
    parts = path.split("/")
    folders = ["/".join(parts[:end]) for end in range(1, len(parts))]
    # A folder at the top needs its slash: `.claude` in a sentence is the program.
    named = [re.escape(path), *(re.escape(f) + ("/" if "/" not in f else "/?") + r"\**" for f in folders)]
    pattern = re.compile(rf"(?<![\w./-])(?:\./)?(?:{'|'.join(named)})(?![\w/*-]|\.\w)", re.IGNORECASE)
    return any(_asks(pattern, line) for line in asking_lines(text)) or _is_called(text, path)


def _is_called(text: str, path: str) -> bool:
    lower = path.lower()
    for paths, words in _CALLED:
        if any(lower == one or lower.startswith(f"{one}/") for one in paths):
            pattern = re.compile(words, re.IGNORECASE)
            return any(_asks(pattern, line) for line in asking_lines(text))
    return False


def _asks(pattern: re.Pattern[str], line: str) -> bool:
    """`Never delete tests` and `no change in .github/` ask for the opposite."""
    return any(
        not _NOT.search(line, max(0, found.start() - _NEAR), found.start()) for found in pattern.finditer(line)
    )


def wants_tests_gone(text: str, path: str, gone: Iterable[str]) -> bool:
    """Whether the story asks for tests to be removed, renamed or skipped: all of them, this file, or the tests of
    something that is to go and did (`gone`: files, other than tests, that are not there any more)."""
    lines = asking_lines(text)
    if any(_asks(_TESTS, line) for line in lines):
        return True
    going = [line.lower() for line in lines if _asks(_GOING, line)]
    name = path.rpartition("/")[2].lower()
    if any(name in line for line in going):
        return True
    subject = _subject(name)
    if not subject or not any(_subject(file.rpartition("/")[2].lower()) == subject for file in gone):
        return False
    return any(subject <= set(re.findall(r"[a-z0-9]+", line)) for line in going)


def wants_row_gone(text: str, key: str) -> bool:
    """Whether the story asks for another to be taken off the board: by its key, which no mention of it will do."""
    lines = (line.lower() for line in asking_lines(text) if _asks(_GOING, line))
    return any(key.lower() in re.findall(r"[\w-]+", line) for line in lines)


def _subject(name: str) -> set[str]:
    """`test_csv_export.py` and `csv-export.ts` are both about {csv, export}."""
    words = set(re.findall(r"[a-z0-9]+", name.partition(".")[0]))
    return words - {"test", "tests", "spec", "specs"}
