"""Glob patterns for paths, placeholders in commands and prompts, and rules for environment variable names.

Globs: `*` stays within a folder, `**` does not, and a folder matches everything below it."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

MAX_GLOB = 500


@lru_cache(maxsize=512)
def _compiled(glob: str) -> re.Pattern[str]:
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", glob[:MAX_GLOB].removeprefix("./").removeprefix("/"))
    meaning = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(meaning.get(piece) or re.escape(piece) for piece in pieces).removesuffix("/")
    # Ignore case: on a case-insensitive file system `.GitHub/` is `.github/`.
    return re.compile(rf"{body}(?:/.*)?", re.IGNORECASE | re.DOTALL)


def matches_glob(path: str, globs: Iterable[str]) -> bool:
    return any(glob.strip() and _compiled(glob).fullmatch(path) is not None for glob in globs)


# Placeholders: `{name}` in the words of a command or a prompt.

# `${x}` (shell) and `{{x}}` (Go) are left alone. Compiled at first use: `bmad status` needs none.
_PLACEHOLDER = r"(?<![{$])\{([a-z_][a-z0-9_]*)\}(?!\})"

AGENT_PLACEHOLDERS = ("prompt", "name", "branch", "story", "model", "session", "worktree")
LAUNCHER_PLACEHOLDERS = ("worktree", "name", "attempt", "target")
PROMPT_PLACEHOLDERS = ("story", "story_file", "epic")  # for a step's own prompt


def placeholder_names(words: Iterable[str]) -> list[str]:
    """The names of all placeholders, without duplicates, in order."""
    return list(dict.fromkeys(name for word in words for name in re.findall(_PLACEHOLDER, word)))


def fill_placeholders(word: str, value: Callable[[str], str]) -> str:
    """Replace placeholders in one pass: a value that looks like a placeholder is not expanded."""
    return re.sub(_PLACEHOLDER, lambda match: value(match[1]), word)


def find_quoted_placeholder(script: str) -> str | None:
    """The first placeholder of a shell script that is inside quotes, where it would not expand to one word."""
    spots = {match.start(): match[1] for match in re.finditer(_PLACEHOLDER, script)}
    inside, escaped = "", False
    for at, char in enumerate(script):
        if inside and at in spots:
            return spots[at]
        if escaped:
            escaped = False
        elif char == "\\" and inside != "'":
            escaped = True
        elif char in "'\"" and inside in ("", char):
            inside = "" if inside else char
    return None


# Environment variables a project may pass to its agents.

_NAME = re.compile(r"[A-Za-z_]\w{0,99}|[A-Za-z]\w{1,98}_\*", re.ASCII)

# Never passed to agents: only we push and open pull requests, and we configure the agents' git.
_FORGE = re.compile(r"GH_\w*|GITHUB_(?:\w*_)?(?:TOKEN|PAT)|GIT_CONFIG_(?:COUNT|PARAMETERS|KEY_\w*|VALUE_\w*)")


def is_variable_name(name: str) -> bool:
    """Whether this is a variable's name or a prefix pattern: `AWS_*`."""
    return _NAME.fullmatch(name) is not None


def is_forge_variable(name: str) -> bool:
    return _FORGE.fullmatch(name.removesuffix("*")) is not None
