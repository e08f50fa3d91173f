"""`{name}` in the words of a command or a prompt: which there are, and putting values in their place."""

import re
from collections.abc import Callable, Iterable

# `${x}` is the shell's and `{{x}}` is Go's: both are left alone. Compiled at first use: `bmad status` has none.
_PLACEHOLDER = r"(?<![{$])\{([a-z_][a-z0-9_]*)\}(?!\})"

AGENT = ("prompt", "name", "branch", "story", "model", "session", "worktree")
LAUNCHER = ("worktree", "name", "attempt", "target")
PROMPT = ("story", "story_file", "epic")  # of a step's own prompt


def used(words: Iterable[str]) -> list[str]:
    """The names of all placeholders, once each, in order."""
    return list(dict.fromkeys(name for word in words for name in re.findall(_PLACEHOLDER, word)))


def fill(word: str, value: Callable[[str], str]) -> str:
    """One pass: a value that looks like a placeholder stays as it is."""
    return re.sub(_PLACEHOLDER, lambda match: value(match[1]), word)


def quoted(script: str) -> str | None:
    """The first placeholder of a shell script that stands inside quotes, where it would not be one word."""
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
