"""Whose `bmad` is it? npm's bmad-method installs a program of the same name."""

import os

from ...core.errors import FileError
from ...files import read_bytes
from ...project.programs import find_all_programs
from ...views.doctor import Check, State

_HEAD = 4096


def check_name() -> Check:
    found = find_all_programs("bmad")
    if not found:
        return Check("name bmad", State.NOTE, "not on PATH", "put the folder of our scripts on PATH")
    theirs = [path for path in found if not _is_ours(path)]
    if theirs and theirs[0] == found[0]:
        owner = "npm's bmad-method" if _is_npm(theirs[0]) else "another program"
        return Check("name bmad", State.WARN, f"{theirs[0]} is {owner}", "call ours bmad-autopilot")
    if theirs:
        what = f"{found[0]} is ours and hides {theirs[0]}"
        return Check("name bmad", State.NOTE, what, "for that one: npx bmad-method")
    return Check("name bmad", State.OK, found[0])


def _is_ours(path: str) -> bool:
    """The scripts that installers make import our package in their first lines."""
    try:
        return b"bmad_autopilot" in read_bytes(path, head=_HEAD)
    except FileError:
        return False


def _is_npm(path: str) -> bool:
    real = os.path.realpath(path)
    return "bmad-method" in real or "node_modules" in real
