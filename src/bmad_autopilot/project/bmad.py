"""Which BMAD is installed: its folder, version, modules, and the era that decides how stories are driven."""

import os
from enum import Enum
from typing import NamedTuple

from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import FileError, Place
from .manifest import MANIFESTS, Manifest, read_manifest
from .root import Root
from .traces import BMAD_FOLDERS, V4_FOLDER, is_bmad_folder

MAX_TOP_ENTRIES = 2000

# Where one client or another keeps BMAD's skills and commands, below a project or a home folder.
SKILL_FOLDERS = (
    ".claude/skills",
    ".agents/skills",
    ".codex/skills",
    ".cursor/skills",
    ".gemini/skills",
    ".github/skills",
    ".opencode/skills",
)
_COMMANDS = (
    ".claude/commands/bmad-bmm-{}.md",
    ".claude/commands/bmad_bmm_{}.md",
    ".claude/commands/bmad/bmm/workflows/{}.md",
    ".cursor/commands/bmad-bmm-{}.md",
    ".opencode/commands/bmad-bmm-{}.md",
    ".gemini/commands/bmad-bmm-{}.toml",
)


class Era(Enum):
    NONE = "none"
    V4 = "v4"
    CLASSIC = "classic"  # create-story, dev-story, code-review
    BUILD = "build"  # build-auto, code-review


class Bmad(NamedTuple):
    era: Era
    version: str | None
    folder: str | None
    modules: tuple[str, ...]
    has_build: bool  # build-auto is there too, whatever the era


def detect_bmad(root: Root, home: str) -> tuple[Bmad, tuple[Diagnostic, ...]]:
    """What is on disk says what is installed; the version decides only where no skill can be seen."""
    folder, notes = _find_folder(root)
    manifest = Manifest()
    if folder is not None:
        try:
            manifest = read_manifest(folder)
        except FileError as error:
            place = error.place or Place(folder)
            notes.append(Diagnostic(Severity.WARNING, "unreadable-manifest", error.message, place, error.hint))
    is_v4 = folder is not None and os.path.basename(folder) == V4_FOLDER
    bases = root.places if is_v4 else (*root.places, home)
    classic = any(_has(bases, name, commands=True) for name in ("dev-story", "create-story"))
    build = _has(bases, "build-auto", commands=False)
    if not classic and not build and folder is not None and not is_v4:
        build = _since_612(manifest.version) and not manifest.shims
        classic = not build
    era = Era.CLASSIC if classic else Era.BUILD if build else Era.V4 if is_v4 else Era.NONE
    return Bmad(era, manifest.version, folder, manifest.modules, build), tuple(notes)


def _find_folder(root: Root) -> tuple[str | None, list[Diagnostic]]:
    for base in root.places:
        found = [path for name in BMAD_FOLDERS if is_bmad_folder(path := f"{base}/{name}")]
        if not found:
            found = _renamed(base)
        if os.path.isdir(f"{base}/{V4_FOLDER}"):
            found.append(f"{base}/{V4_FOLDER}")
        if found:
            return found[0], [_leftover(found[0], old) for old in found[1:]]
    return None, []


def _renamed(base: str) -> list[str]:
    """A BMAD folder under another name: `_kdbp/bmm/config.yaml`, or core's settings beside a manifest."""
    try:
        with os.scandir(base) as entries:
            paths = [entry.path for entry, _ in zip(entries, range(MAX_TOP_ENTRIES), strict=False)]
    except OSError:  # a folder one may enter but not list
        return []
    return sorted(path for path in paths if _looks_renamed(path))


def _looks_renamed(folder: str) -> bool:
    if os.path.isfile(f"{folder}/bmm/config.yaml"):
        return True
    settings = os.path.isfile(f"{folder}/core/config.yaml")
    return settings and any(os.path.isfile(f"{folder}/{name}") for name in MANIFESTS[:2])


def _leftover(used: str, old: str) -> Diagnostic:
    message = f"is an older BMAD folder; {os.path.basename(used)} is used"
    return Diagnostic(Severity.NOTE, "old-bmad-folder", message, Place(old), "remove it once nothing needs it")


def _has(bases: tuple[str, ...], name: str, *, commands: bool) -> bool:
    for base in bases:
        if any(os.path.isfile(f"{base}/{folder}/bmad-{name}/SKILL.md") for folder in SKILL_FOLDERS):
            return True
        if commands and any(os.path.isfile(f"{base}/{form.format(name)}") for form in _COMMANDS):
            return True
    return False


def _since_612(version: str | None) -> bool:
    parts = (version or "").split(".")[:2]
    numbers = [int(part) for part in parts if part.isdecimal() and len(part) < 5]
    return len(numbers) == 2 and numbers >= [6, 12]
