"""Our lines in `.git/info/exclude`: between two marks, everything else left as it is."""

import os

from ..files import locked, read_bytes, write_atomic
from .gitdir import find_work_tree
from .root import Root
from .state_files import ignore_lines

BEGIN = "# bmad-autopilot: state of runs, which belongs to this machine (written by bmad)"
END = "# bmad-autopilot: end"


def with_excludes(before: bytes, wanted: list[str]) -> bytes:
    """The file with all of `wanted` between the marks. Other projects of the same repository have theirs there
    too, so nothing is taken away."""
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
    """Before the first run: its records must be no part of the tree whose hash they speak of."""
    tree = find_work_tree(root.path) if root.common_dir else None
    if tree is None or root.common_dir is None:
        return
    path = os.path.join(root.common_dir, "info", "exclude")
    lines = ignore_lines(os.path.relpath(root.path, tree.top))
    before = read_bytes(path) if os.path.lexists(path) else b""
    if with_excludes(before, lines) == before:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with locked(f"{path}.bmad-lock"):
        before = read_bytes(path) if os.path.lexists(path) else b""
        write_atomic(path, with_excludes(before, lines))
