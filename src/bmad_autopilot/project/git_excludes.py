"""Maintains our lines in `.git/info/exclude`, between two marks, and names the files to copy into a worktree."""

import os
from typing import NamedTuple

from ..io.files import hold_lock, read_bytes, write_atomic
from .root import BMAD_FOLDERS, OUTPUT_FOLDER, V4_FOLDER, Root, find_work_tree, is_bmad_folder
from .skills import CLIENTS

# The state files of runs. They belong to one machine, so git must not track them.


class StateFile(NamedTuple):
    pathspec: str  # for `git ls-files` and `git rm`
    ignore: str  # for an exclude file, below the project's folder


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
KEPT_CONFIG = StateFile(":(exclude).autopilot/config", "!/.autopilot/config")  # settings, which users commit


def exclude_lines(part: str) -> list[str]:
    """The lines for an exclude file. `part` is the project's folder below git's top, "." for the top itself."""
    lines = [entry.ignore for entry in (*STATE_FILES, KEPT_CONFIG)] + ["/bmad-autopilot.toml.bak*", "/.venv/"]
    return lines if part == "." else [_pattern_below(_escape(part), line) for line in lines]


def _pattern_below(part: str, line: str) -> str:
    bang = "!" if line.startswith("!") else ""
    pattern = line.removeprefix("!")
    return f"{bang}/{part}{pattern}" if pattern.startswith("/") else f"{bang}/{part}/**/{pattern}"


def _escape(part: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\*?[" else letter for letter in part)


def find_state_file(path: str) -> StateFile | None:
    """The entry that covers a tracked path, relative to the project's folder."""
    name = path.rpartition("/")[2]
    for entry in STATE_FILES:
        pattern = entry.ignore
        if pattern.startswith("/"):
            if path.startswith(f"{entry.pathspec}/"):
                return entry
        elif name.endswith(pattern.lstrip("*")) and (pattern.startswith("*") or name == pattern):
            return entry
    return None


BEGIN = "# bmad-autopilot: state of runs, which belongs to this machine (written by bmad)"
END = "# bmad-autopilot: end"


def add_excludes(before: bytes, wanted: list[str]) -> bytes:
    """Add the missing lines of `wanted` between the marks. No line is removed: other projects of the same
    repository have theirs there too."""
    lines = before.decode("utf-8", "surrogateescape").split("\n")
    bare = [line.rstrip("\r") for line in lines]
    if BEGIN in bare and END in bare[bare.index(BEGIN) :]:
        begin = bare.index(BEGIN)
        end = bare.index(END, begin)
        missing = [line for line in wanted if line not in bare[begin:end]]
        lines[end:end] = missing
    else:
        if lines[-1] == "":
            lines.pop()
        lines += [BEGIN, *wanted, END, ""]
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def ensure_excludes(root: Root) -> None:
    """Write the exclude lines before the first run: a run's records must not be part of the tree whose hash they
    contain."""
    tree = find_work_tree(root.path) if root.common_dir else None
    if tree is None or root.common_dir is None:
        return
    path = os.path.join(root.common_dir, "info", "exclude")
    lines = exclude_lines(os.path.relpath(root.path, tree.top))
    before = read_bytes(path) if os.path.lexists(path) else b""
    if add_excludes(before, lines) == before:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with hold_lock(f"{path}.bmad-lock"):
        before = read_bytes(path) if os.path.lexists(path) else b""
        write_atomic(path, add_excludes(before, lines))


# Files that agents need and git may ignore: they are copied into a new worktree.

MAX_ENTRIES = 2000

_CLIENT_FOLDERS = tuple(
    dict.fromkeys(
        folder.partition("/")[0]
        for client in CLIENTS.values()
        for folder in (*client.skills, *client.commands)
        if not folder.startswith(".github/")
    )
)
_GITHUB_FOLDERS = (".github/skills", ".github/prompts")
_INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md")
# Generated again on demand.
_GENERATED = frozenset(("__pycache__", "node_modules", ".DS_Store", ".git"))


def agent_file_names(folder: str) -> list[str]:
    """The possible names of skills, commands and instructions below a project's folder, existing or not. BMAD's
    folder is found under any name."""
    found = dict.fromkeys((*_CLIENT_FOLDERS, *_GITHUB_FOLDERS, *_INSTRUCTIONS, *BMAD_FOLDERS[:2], V4_FOLDER))
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry, _ in zip(entries, range(MAX_ENTRIES), strict=False))
    except OSError:
        names = []
    return [*found, *(name for name in names if name not in found and _is_bmad_name(folder, name))]


def _is_bmad_name(folder: str, name: str) -> bool:
    return name.startswith(f"{V4_FOLDER.rpartition('-')[0]}-") or is_bmad_folder(os.path.join(folder, name))


def is_not_copied(path: str, part: str) -> bool:
    """Whether a path is a run's record, which belongs to the main checkout only, or generated. `part`: the
    project's folder below git's top."""
    if not _GENERATED.isdisjoint(path.split("/")):
        return True
    inner = path if part == "." else path.removeprefix(f"{part}/")
    return find_state_file(inner) is not None or inner.startswith(f"{OUTPUT_FOLDER}/")
