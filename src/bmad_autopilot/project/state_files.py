"""The files in which runs keep their state. They belong to one machine, so git must not have them."""

from typing import NamedTuple


class StateFile(NamedTuple):
    pathspec: str  # as `git ls-files` and `git rm` take it
    ignore: str  # as an exclude file takes it, below the project's folder


STATE_FILES = (
    StateFile("_bmad-output/.runs", "/_bmad-output/.runs/"),
    StateFile(".autopilot", "/.autopilot/*"),
    StateFile(".claude/.bmad-running", "/.claude/.bmad-running/"),
    StateFile(":(glob)**/.run-epic-state.json", ".run-epic-state.json"),
    StateFile("*.agent-state.json", "*.agent-state.json"),
    StateFile("*.review.json", "*.review.json"),
    StateFile("*.threads.json", "*.threads.json"),
    StateFile("*.bmad-tmp", "*.bmad-tmp"),
)
KEPT = StateFile(":(exclude).autopilot/config", "!/.autopilot/config")  # settings, which people commit


def ignore_lines(part: str) -> list[str]:
    """The lines for an exclude file. `part` is the project's folder below git's top, "." for the top itself."""
    lines = [entry.ignore for entry in (*STATE_FILES, KEPT)] + ["/bmad-autopilot.toml.bak*", "/.venv/"]
    return lines if part == "." else [_below(_escape(part), line) for line in lines]


def _below(part: str, line: str) -> str:
    bang = "!" if line.startswith("!") else ""
    pattern = line.removeprefix("!")
    return f"{bang}/{part}{pattern}" if pattern.startswith("/") else f"{bang}/{part}/**/{pattern}"


def _escape(part: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\*?[" else letter for letter in part)


def owner_of(path: str) -> StateFile | None:
    """Which entry a tracked path, relative to the project's folder, falls under."""
    name = path.rpartition("/")[2]
    for entry in STATE_FILES:
        pattern = entry.ignore
        if pattern.startswith("/"):
            if path.startswith(f"{entry.pathspec}/"):
                return entry
        elif name.endswith(pattern.lstrip("*")) and (pattern.startswith("*") or name == pattern):
            return entry
    return None
