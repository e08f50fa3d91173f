"""The evidence a step is judged by, the objections, and what the story text permits. The rules do no I/O."""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from ..board import markdown
from ..core.changes import ContentReader, FileChange
from ..core.step_output import StepOutput
from ..core.text import one_line


class Document(NamedTuple):
    """A file written by agents; its content may not be valid text."""

    path: str  # relative to the top of the work tree
    raw: bytes


class Evidence(NamedTuple):
    required_output: StepOutput
    key: str
    number: str
    changes: tuple[FileChange, ...]  # since the story's baseline, by anyone
    contents: ContentReader  # at the baseline (before) or now (after); of a link: its target
    differs_from_baseline: bool  # code differs from the baseline; ignores board, story and state files
    changed_in_attempt: bool  # the same, compared with the start of this attempt
    story: Document | None = None
    spec: Document | None = None  # of a build, if the step must produce one
    is_build_step: bool = True  # the step is the build itself, whose spec states the result
    # The text of the story (create-story's story file, the epic's section) from before the first agent judged by
    # it, so that an agent cannot grant itself permissions by editing it.
    story_text: str = ""
    story_before: Document | None = None  # the story file at the same time
    rows_before: Mapping[str, str] = {}  # board rows before this attempt: key → status as written
    rows_after: Mapping[str, str] | None = None  # None: the board is unreadable, which is handled elsewhere
    descends_from_baseline: bool = True  # HEAD descends from the baseline
    is_same_branch: bool = True
    changed_outside: tuple[str, ...] = ()  # paths this attempt changed in other work trees
    replaced_files: tuple[
        tuple[str, str], ...
    ] = ()  # files the attempt replaced, since restored: path, what replaced it
    changed_git_settings: tuple[str, ...] = ()  # changed by the story's calls: `.git/hooks/pre-push`
    check_commands: tuple[str, ...] = ()  # the project's checks, from the policy
    bookkeeping: frozenset[str] = frozenset()  # only we write these. Not the board: an agent's row is a claim
    allowed_globs: tuple[str, ...] = ()  # from the policy: protected paths agents may change
    users_files: tuple[str, ...] = ()  # dirty before this attempt, and part of its commits
    project_folder: str = "."  # the project's folder below the top of the work tree

    @property
    def document(self) -> Document | None:
        return self.spec or self.story

    def in_project(self, path: str) -> str:
        """A path relative to the project's folder; unchanged if it is outside."""
        return path if self.project_folder == "." else path.removeprefix(f"{self.project_folder}/")


# Objections: reasons not to accept a step.

MAX_NAMES_SHOWN = 5
MAX_NAME_SHOWN = 120


class ObjectionKind(StrEnum):
    MISSING_OUTPUT = "owes"  # the required output is missing
    VIOLATION = "foul"  # the step did something forbidden


class GateObjection(NamedTuple):
    """A reason not to accept the step, in one or two sentences for the next attempt and for a person."""

    code: str
    message: str
    kind: ObjectionKind


def missing_output(code: str, message: str) -> GateObjection:
    return GateObjection(code, message, ObjectionKind.MISSING_OUTPUT)


def violation(code: str, message: str) -> GateObjection:
    return GateObjection(code, message, ObjectionKind.VIOLATION)


def quote(names: Sequence[str]) -> str:
    """Format names for a message: a few of them, each shortened."""
    shown = ", ".join(f"`{_plain(name)}`" for name in names[:MAX_NAMES_SHOWN])
    return f"{shown} and {len(names) - MAX_NAMES_SHOWN} more" if len(names) > MAX_NAMES_SHOWN else shown


def _plain(name: str) -> str:
    """One line without control characters: paths and task texts come from agents."""
    return one_line(name, MAX_NAME_SHOWN).replace("`", "'")


# What the story text permits that would otherwise be refused: changing named files, removing tests.

MAX_STORY_TEXT = 400_000
MAX_LINE = 2000

_REQUIREMENT_HEADING = re.compile(
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
_TEST_REMOVAL = re.compile(
    rf"{_CLAUSE}{_VERB}{_BETWEEN}\s+(?:tests?|specs?|test[ -](?:files?|cases?|suites?))\b", re.I
)
_REMOVAL = re.compile(rf"\b{_VERB}\b|\bobsolete\b|\bdeprecat", re.IGNORECASE)
_NOT = re.compile(r"\b(?:not|never|without|no|don'?t|cannot|keep)\b", re.IGNORECASE)
_NEAR = 40

# Common names of files that stories rarely give a path for: `set up the CI pipeline` in a project's first story.
_KNOWN_AS = (
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
def requirement_lines(text: str) -> tuple[str, ...]:
    """The lines of criteria and tasks; all lines if the text has no such sections. Notes and references request
    nothing."""
    text = markdown.unify_line_ends(text[:MAX_STORY_TEXT])
    prose = markdown.prose(text).text
    sections = markdown.drop_nested([s for s in markdown.sections(prose) if _REQUIREMENT_HEADING.match(s.title)])
    # From the full text: a path may be inside a code fence.
    parts = [text[s.start : s.end] for s in sections] or [text]
    return tuple(line.strip()[:MAX_LINE] for part in parts for line in part.splitlines() if line.strip())


def story_names_path(text: str, path: str) -> bool:
    """Whether the story names this path, a folder above it, or its common name."""
    parts = path.split("/")
    folders = ["/".join(parts[:end]) for end in range(1, len(parts))]
    # A top-level folder needs its slash: `.claude` in a sentence means the program.
    named = [re.escape(path), *(re.escape(f) + ("/" if "/" not in f else "/?") + r"\**" for f in folders)]
    pattern = re.compile(rf"(?<![\w./-])(?:\./)?(?:{'|'.join(named)})(?![\w/*-]|\.\w)", re.IGNORECASE)
    return any(_requests(pattern, line) for line in requirement_lines(text)) or _is_known_as(text, path)


def _is_known_as(text: str, path: str) -> bool:
    lower = path.lower()
    for paths, words in _KNOWN_AS:
        if any(lower == one or lower.startswith(f"{one}/") for one in paths):
            pattern = re.compile(words, re.IGNORECASE)
            return any(_requests(pattern, line) for line in requirement_lines(text))
    return False


def _requests(pattern: re.Pattern[str], line: str) -> bool:
    """Whether the line requests it. `Never delete tests` and `no change in .github/` request the opposite."""
    return any(
        not _NOT.search(line, max(0, found.start() - _NEAR), found.start()) for found in pattern.finditer(line)
    )


def permits_test_removal(text: str, path: str, gone: Iterable[str]) -> bool:
    """Whether the story permits removing, renaming or skipping tests: in general, this file, or the tests of a
    removed feature (`gone`: deleted files that are not tests)."""
    lines = requirement_lines(text)
    if any(_requests(_TEST_REMOVAL, line) for line in lines):
        return True
    going = [line.lower() for line in lines if _requests(_REMOVAL, line)]
    name = path.rpartition("/")[2].lower()
    if any(name in line for line in going):
        return True
    subject = _subject(name)
    if not subject or not any(_subject(file.rpartition("/")[2].lower()) == subject for file in gone):
        return False
    return any(subject <= set(re.findall(r"[a-z0-9]+", line)) for line in going)


def permits_row_removal(text: str, key: str) -> bool:
    """Whether the story asks to remove another row from the board, by its full key."""
    lines = (line.lower() for line in requirement_lines(text) if _requests(_REMOVAL, line))
    return any(key.lower() in re.findall(r"[\w-]+", line) for line in lines)


def _subject(name: str) -> set[str]:
    """`test_csv_export.py` and `csv-export.ts` are both about {csv, export}."""
    words = set(re.findall(r"[a-z0-9]+", name.partition(".")[0]))
    return words - {"test", "tests", "spec", "specs"}
