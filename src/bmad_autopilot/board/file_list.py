"""The File List of a story: which files its author says were touched."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import Place
from .markdown import Section

MAX_PATH = 500
MAX_FILES = 5000

_ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+([^\n]+)$|^[ \t]*\|[ \t]*([^|\n]*)\|[^\n]*$", re.MULTILINE)
_BOX = re.compile(r"\[.\][ \t]+")
_LEAD = re.compile(
    r"(?:[\[(]?(?:new|modified|created|updated|deleted|added|removed|renamed|changed|edited)[\])]?\s*[:：]?\s+|[MADR]\s+)",
    re.IGNORECASE,
)
_CODE = re.compile(r"[*_]{0,2}`([^`\n]+)`[*_]{0,2}")
_MORE_CODE = re.compile(r"\s*(?:,|/|&|and|、|\+)\s*`([^`\n]+)`")
_LINK = re.compile(r"\[([^\[\]\n]+)\]\([^()\n]*\)")
_ANNOTATION = re.compile(r"\s[-–—→(\[#]|[（：]|:\s|:$|\s—|,\s|\s{2,}")
_LINE_SUFFIX = re.compile(r":\d+(?:-\d+)?$")
_BARE_NAME = re.compile(r"\.?[\w@+-][\w.@+-]*")
_EXTENSIONLESS = frozenset(
    "makefile dockerfile license justfile procfile gemfile rakefile codeowners readme".split()
)


class ListedFile(NamedTuple):
    path: str  # as written, without the marks around it
    line: int


def read_file_list(text: str, section: Section, file: str, diagnostics: list[Diagnostic]) -> list[ListedFile]:
    """The paths in one File List section of a prose text. A path that leaves the project is refused."""
    found: list[ListedFile] = []
    line, at = section.line + 1, section.start
    for match in _ITEM.finditer(text, section.start, section.end):
        line += text.count("\n", at, match.start())
        at = match.start()
        for path in _paths(match[1] or match[2] or ""):
            problem = why_unsafe(path)
            if problem is None:
                found.append(ListedFile(path, line))
            else:
                message = f"the File List names {path[:100]!r}, which {problem}"
                hint = "paths are relative to the project"
                diagnostics.append(Diagnostic(Severity.WARNING, "unsafe-path", message, Place(file, line), hint))
            if len(found) >= MAX_FILES:
                return found
    return found


def why_unsafe(path: str) -> str | None:
    """Why a path from a file must not be used, or None."""
    parts = path.replace("\\", "/").split("/")
    if path.startswith(("/", "\\", "~")) or path[1:2] == ":" or "://" in path:
        return "is not relative"
    if ".." in parts:
        return "leaves the project"
    if len(path) > MAX_PATH or any(ord(character) < 32 for character in path):
        return "is not a path"
    return None


def _paths(item: str) -> Iterator[str]:
    item = _LINK.sub(r"\1", item.strip())
    if box := _BOX.match(item):
        item = item[box.end() :]
    first = next((i for i, char in enumerate(item) if char.isalnum() or char in "`./~_@[\\*"), len(item))
    item = item[first:]  # without ✅ and arrows
    if lead := _LEAD.match(item):
        item = item[lead.end() :]
    code = _CODE.match(item)
    if code is None:
        candidate = _clean(_cut(item))
        if looks_like_path(candidate):
            yield candidate
        return
    while code is not None:
        candidate = _clean(code[1])
        if looks_like_path(candidate):
            yield candidate
        code = _MORE_CODE.match(item, code.end())


def _cut(item: str) -> str:
    annotation = _ANNOTATION.search(item)
    return item[: annotation.start()] if annotation else item


def _clean(path: str) -> str:
    return _LINE_SUFFIX.sub("", path.strip().strip("*").rstrip(",;").strip())


def looks_like_path(text: str) -> bool:
    """Tell `src/a.py` and `package.json` from `None`, `foo()` and a sentence."""
    if not text or (" " in text and not re.search(r"\.\w{1,10}$", text)):
        return False
    if "/" in text or "\\" in text:
        return any(map(str.isalnum, text)) or text.startswith(".")
    if text.lower() in _EXTENSIONLESS:
        return True
    return " " not in text and "." in text.rstrip(".") and _BARE_NAME.fullmatch(text) is not None
