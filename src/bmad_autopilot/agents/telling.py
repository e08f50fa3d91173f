"""How an agent's doings read for a person who follows them: its words, its tools, its failures."""

from typing import Any

from .judging import clip

MAX_LINES = 6  # of one message
MAX_LINE = 160

# What says most about a tool's call, best first; one client says file_path, another filePath.
_TELLING = (
    *("command", "file_path", "filePath", "path", "skill", "name", "pattern", "query", "url", "description"),
)


def prose(text: str) -> list[str]:
    """The first lines of what an agent said."""
    written = [line for line in text[: 100 * MAX_LINE].splitlines() if line.strip()]
    more = [f"… {len(written) - MAX_LINES} more lines"] if len(written) > MAX_LINES else []
    return [clip(line, MAX_LINE) for line in written[:MAX_LINES]] + more


def tool(name: object, given: dict[str, Any]) -> str:
    """`bash  npm test`."""
    return f"{clip(name, 40) or 'tool'}  {gist(given)}".rstrip()


def gist(given: dict[str, Any]) -> str:
    """The one part of a tool's input that tells what it is about to do."""
    return next((text for key in _TELLING if (text := clip(given.get(key), MAX_LINE))), "")


def failed(why: object) -> str:
    return f"  failed: {clip(why, MAX_LINE)}".rstrip(": ")
