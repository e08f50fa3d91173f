"""Which BMAD is installed: its folder, version, modules, and the era that decides how stories are driven."""

import os
import re
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import AutopilotError, FileError, Place
from .manifest import MANIFESTS, Manifest, read_manifest
from .root import Root
from .traces import BMAD_FOLDERS, OUTPUT_FOLDER, V4_FOLDER, is_archived, is_backup, is_bmad_folder

MAX_TOP_ENTRIES = 2000
MAX_OUTPUT_ENTRIES = 20_000
MAX_ABOVE = 30  # folders upwards
MAX_CONFIG = 256 * 1024

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
    TICKETS = "tickets"  # BMAD 7's ticket tree, which is recognised and not driven


class Ticketing(Enum):
    """What there is of BMAD 7."""

    TREE = "a ticket tree"
    EMPTY = "its skills or settings, and no tree"
    MIGRATION = "a migration that is not finished, and no board"
    BOARD = "its skills, or an unfinished migration, and a board of BMAD 6"


class Tickets(NamedTuple):
    state: Ticketing
    place: str  # the file or folder that shows it


class Bmad(NamedTuple):
    era: Era
    version: str | None
    folder: str | None
    modules: tuple[str, ...]
    has_build: bool  # build-auto is there too, whatever the era
    tickets: Tickets | None = None  # of BMAD 7

    def require_readable(self) -> None:
        """Raise where the project's plan is kept in a form that this version cannot read."""
        if self.tickets is not None and self.tickets.state is not Ticketing.BOARD:
            message, hint = _UNREADABLE[self.tickets.state]
            raise FileError(message, place=Place(self.tickets.place), hint=hint)

    def require_supported(self) -> None:
        """Raise where no agent may be started and no board changed: everywhere that BMAD 7 is in use."""
        self.require_readable()
        if self.tickets is not None:
            raise AutopilotError(BOARD_OF_6, place=Place(self.tickets.place), hint=MIGRATE)


_NOT_YET = "this version of bmad does not support BMAD 7's ticket tree yet; nothing was started or changed"
_IN_AGENT = "continue in your agent with BMAD's own skills, such as bmad-ticket and bmad-build-auto"
BOARD_OF_6 = "the board is BMAD 6's, and BMAD 7's skills cannot read it: agents and board edits are switched off"
MIGRATE = (
    "migrate in your agent with /bmad migrate method, whose result this version of bmad does not support yet; or "
    "install BMAD 6's skills again"
)
_UNREADABLE = {
    Ticketing.TREE: (f"the project is planned with BMAD 7: {_NOT_YET}", _IN_AGENT),
    Ticketing.EMPTY: (f"BMAD 7 is installed, and no ticket tree was found: {_NOT_YET}", _IN_AGENT),
    Ticketing.MIGRATION: (
        f"a migration from BMAD 6 to BMAD 7 is not finished: {_NOT_YET}",
        "finish it in your agent: /bmad migrate method",
    ),
}


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


def detect_tickets(root: Root, bmad: Bmad, home: str, output: str | None, boards: Iterable[str]) -> Tickets | None:
    """What there is of BMAD 7. `output`: the output folder as BMAD's settings name it; `boards`: those that were
    found. A ticket tree counts whatever else is there: 6.x's files stay after an upgrade."""
    outputs = dict.fromkeys(path for base in root.places for path in _outputs(base, output))
    traces = [found for path in outputs for found in _tickets_in(path)]
    tree = next((found for found in traces if found.state is Ticketing.TREE), None)
    if tree is not None:
        return tree
    boards = list(boards)
    archived = [path for path in boards if is_archived(path)]
    shown = (
        next((found.place for found in traces), None) or next(_backups(root), None) or next(iter(archived), None)
    )
    skills = _ticket_skills(root, home)
    is_live = any(path not in archived and os.path.lexists(path) for path in boards)
    if is_live:
        place = shown or skills
        return Tickets(Ticketing.BOARD, place) if place else None
    if shown:
        return Tickets(Ticketing.MIGRATION, shown)
    if skills:
        return Tickets(Ticketing.EMPTY, skills)
    return _above(root.path) if bmad.folder is None else None


def _outputs(base: str, setting: str | None) -> Iterator[str]:
    """BMAD 7's output folder may lie outside the project."""
    yield f"{base}/{OUTPUT_FOLDER}"
    if setting:
        text = setting.replace("{project-root}", base).replace("{project_root}", base)
        yield os.path.normpath(os.path.join(base, os.path.expanduser(text)))


def _tickets_in(output: str) -> Iterator[Tickets]:
    """Trees, also of the preview of September 2026, and what a migration leaves."""
    for name in _names(output, ("initiative-", "preview-ticketing", "migration-v6-v7", "inbox")):
        path = f"{output}/{name}"
        if name == "preview-ticketing":
            yield from _tickets_in(path)
        elif name == "migration-v6-v7":
            yield Tickets(Ticketing.MIGRATION, path)
        elif name == "inbox":
            if os.path.isdir(f"{path}/archive-v6"):
                yield Tickets(Ticketing.MIGRATION, f"{path}/archive-v6")
        else:
            yield from _initiative(path, name)


def _initiative(path: str, name: str) -> Iterator[Tickets]:
    epics = (f"{epic}/tickets.toml" for epic in _names(path, ("epic-",)))
    for file in ("tickets.toml", f"{name}.md", *epics):
        if os.path.isfile(f"{path}/{file}"):
            yield Tickets(Ticketing.TREE, f"{path}/{file}")
            return
    for folder in ("archive-v6", "migration-v6-v7"):
        if os.path.isdir(f"{path}/{folder}"):
            yield Tickets(Ticketing.MIGRATION, f"{path}/{folder}")


def _names(folder: str, beginnings: tuple[str, ...]) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            bounded = zip(entries, range(MAX_OUTPUT_ENTRIES), strict=False)
            return sorted(entry.name for entry, _ in bounded if entry.name.startswith(beginnings))
    except OSError:  # not there, or not ours to read
        return []


def _backups(root: Root) -> Iterator[str]:
    for base in root.places:
        yield from (f"{base}/{name}" for name in _names(base, (".",)) if is_backup(name))


def _ticket_skills(root: Root, home: str) -> str | None:
    """The file that shows BMAD 7's skills or its set-up. Skills of the user count where the project has none of
    6.x: create-story and dev-story are gone in BMAD 7."""
    for base in root.places:
        found = _ticket_skill(base) or _set_up(f"{base}/_bmad")
        if found:
            return found
    own = _ticket_skill(home)
    classic = own and any(
        _has((*root.places, home), name, commands=True) for name in ("dev-story", "create-story")
    )
    return own if own and not classic and not _has(root.places, "build-auto", commands=False) else None


def _ticket_skill(base: str) -> str | None:
    for folder in SKILL_FOLDERS:
        if os.path.isdir(f"{base}/{folder}"):
            for name in ("bmad-ticket/SKILL.md", "bmod-method/bmod.toml", "bmad-preview-ticketing/SKILL.md"):
                if os.path.isfile(f"{base}/{folder}/{name}"):
                    return f"{base}/{folder}/{name}"
    return None


_ACTIVE = re.compile(rb"^[ \t]*active_initiative[ \t]*=", re.MULTILINE)


def _set_up(folder: str) -> str | None:
    for name in ("method/scripts/tickets.py", "custom/ticketing-store-config.toml"):
        if os.path.isfile(f"{folder}/{name}"):
            return f"{folder}/{name}"
    for name in ("custom/config.user.toml", "custom/config.toml", "config.toml"):
        try:
            with open(f"{folder}/{name}", "rb") as file:
                if _ACTIVE.search(file.read(MAX_CONFIG)):
                    return f"{folder}/{name}"
        except OSError:
            continue
    return None


def _above(folder: str) -> Tickets | None:
    """BMAD 7 takes the nearest folder upwards with `_bmad/`, even above the repository."""
    for _ in range(MAX_ABOVE):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
        if os.path.isdir(f"{folder}/_bmad"):
            tree = next((one for one in _tickets_in(f"{folder}/{OUTPUT_FOLDER}")), None)
            skills = _set_up(f"{folder}/_bmad") or _ticket_skill(folder)
            return tree or (Tickets(Ticketing.EMPTY, skills) if skills else None)
    return None
