"""Turning a path somebody wrote into a folder of this project, or into a reason why not."""

import os
from typing import NamedTuple

from .traces import OUTPUT_FOLDER

_PROJECT = ("{project-root}", "{project_root}")
_OUTPUT = ("{output_folder}", "{output-folder}")


class Resolved(NamedTuple):
    """A path inside the project, or the code and the words of what is wrong with it."""

    path: str | None
    code: str = ""
    problem: str = ""


def resolve(value: str, base: str, *, output: str = OUTPUT_FOLDER, aliases: tuple[str, ...] = ()) -> Resolved:
    """Resolve `value` against `base`. `aliases` are other places of the same project (its main checkout):
    an absolute path into one of them means the same file here."""
    text = value.strip()
    if not text or any(letter < " " or letter == "\x7f" for letter in text):
        return Resolved(None, "bad-path", "is not a path")
    for name in _OUTPUT:
        text = text.replace(name, output)
    for name in _PROJECT:
        # The last one counts: an output folder may begin with {project-root} itself.
        if name in text:
            text = text.rpartition(name)[2].lstrip("/\\") or "."
    if "{" in text and "}" in text:
        return Resolved(None, "unknown-placeholder", "holds a placeholder nobody fills in")
    return _place(text, base, aliases)


def _place(text: str, base: str, aliases: tuple[str, ...]) -> Resolved:
    if text[1:3] in (":\\", ":/") or text.startswith(("~", "\\\\")):
        return Resolved(None, "foreign-path", "is an absolute path of another machine")
    if text.startswith("/"):
        inner = _inside(text, (base, *aliases)) or _inside(os.path.realpath(text), (base, *aliases))
        if inner is None:
            return Resolved(None, "foreign-path", "is an absolute path outside this project")
        text = inner
    part = os.path.normpath(text.replace("\\", "/"))
    if part == ".." or part.startswith("../"):
        return Resolved(None, "outside-project", "leaves the project")
    return Resolved(base if part == "." else os.path.join(base, part))


def _inside(path: str, roots: tuple[str, ...]) -> str | None:
    for root in roots:
        if path == root or path.startswith(f"{root.rstrip('/')}/"):
            return os.path.relpath(path, root)
    return None
