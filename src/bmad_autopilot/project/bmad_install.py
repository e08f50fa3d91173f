"""Detects the installed BMAD: its folder, version, modules, and the era that decides how stories are driven."""

import os
import re
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from ..core.errors import AutopilotError, Diagnostic, FileError, Location, Severity
from ..io import yaml_reader
from ..io.files import TextFile, read_text
from .root import BMAD_FOLDERS, OUTPUT_FOLDER, V4_FOLDER, Root, is_archived, is_bmad_folder, is_migration_backup

# The installer's manifest: version, modules, and whether it installed the old skills as shims.

MANIFESTS = ("_config/manifest.yaml", "_cfg/manifest.yaml", "manifest.yaml", "install-manifest.yaml")
MAX_MODULES = 100


class Manifest(NamedTuple):
    version: str | None = None
    shims: bool | None = None
    modules: tuple[str, ...] = ()


def read_manifest(folder: str) -> Manifest:
    """Read the first manifest found below `folder`; an empty Manifest if there is none."""
    path = next((path for name in MANIFESTS if os.path.isfile(path := f"{folder}/{name}")), None)
    if path is None:
        return Manifest()
    lines = read_text(path).text.splitlines()
    # Read only the blocks that are needed: the fast scanner reads flat ones, a whole manifest would import PyYAML.
    fields = _fields(path, lines, "installation") or _fields(path, lines, "version")
    version, shims = fields.get("version"), fields.get("installShims")
    modules = filter(None, map(_module_name, _block(lines, "modules")[1:]))
    return Manifest(
        version if isinstance(version, str) else None,
        None if shims is None else shims == "true",
        tuple(modules)[:MAX_MODULES],
    )


def _module_name(line: str) -> str:
    """`- name: bmm`, or `- bmm` in the alphas; "" for any other line."""
    item = line.strip()
    if not item.startswith("- "):
        return ""
    name = item[2:].strip().removeprefix("name:").strip(" \"'")
    return name if name.replace("-", "").replace("_", "").replace(".", "").isalnum() else ""


def _fields(path: str, lines: list[str], key: str) -> dict[str, object]:
    block = _block(lines, key)
    if not block:
        return {}
    before = "\n" * lines.index(block[0])  # keeps the line numbers of errors right
    data = yaml_reader.load_yaml(TextFile(path, f"{before}{chr(10).join(block)}\n".encode()))
    fields = data.get(key) if isinstance(data, dict) else None
    return fields if isinstance(fields, dict) else {key: fields}


def _block(lines: list[str], key: str) -> list[str]:
    """The lines of a top-level key and everything below it."""
    for start, line in enumerate(lines):
        if line.startswith(f"{key}:"):
            end = start + 1
            while end < len(lines) and lines[end][:1] in ("", " ", "\t", "#", "-"):
                end += 1
            return lines[start:end]
    return []


MAX_TOP_ENTRIES = 2000
MAX_OUTPUT_ENTRIES = 20_000
MAX_PARENTS = 30  # parent folders searched
MAX_CONFIG = 256 * 1024

# Where the agent clients keep BMAD's skills and commands, below a project or a home folder.
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
    TICKETS = "tickets"  # BMAD 7's ticket tree: detected, not driven


class TicketState(Enum):
    """How far the project has moved to BMAD 7."""

    TREE = "a ticket tree"
    EMPTY = "its skills or settings, and no tree"
    MIGRATION = "a migration that is not finished, and no board"
    BOARD = "its skills, or an unfinished migration, and a board of BMAD 6"


class Tickets(NamedTuple):
    state: TicketState
    path: str  # the file or folder that proves the state


class BmadInstall(NamedTuple):
    era: Era
    version: str | None
    folder: str | None
    modules: tuple[str, ...]
    has_build: bool  # build-auto is installed too, in any era
    tickets: Tickets | None = None  # BMAD 7, if in use

    def require_readable(self) -> None:
        """Raise if this version cannot read the format of the project's plan."""
        if self.tickets is not None and self.tickets.state is not TicketState.BOARD:
            message, hint = _UNREADABLE[self.tickets.state]
            raise FileError(message, location=Location(self.tickets.path), hint=hint)

    def require_supported(self) -> None:
        """Raise if BMAD 7 is in use: no agent may be started and no board changed."""
        self.require_readable()
        if self.tickets is not None:
            raise AutopilotError(BMAD6_BOARD_MESSAGE, location=Location(self.tickets.path), hint=MIGRATE_HINT)


_UNSUPPORTED = "this version of bmad does not support BMAD 7's ticket tree yet; nothing was started or changed"
_USE_AGENT_HINT = "continue in your agent with BMAD's own skills, such as bmad-ticket and bmad-build-auto"
BMAD6_BOARD_MESSAGE = (
    "the board is BMAD 6's, and BMAD 7's skills cannot read it: agents and board edits are switched off"
)
MIGRATE_HINT = (
    "migrate in your agent with /bmad migrate method, whose result this version of bmad does not support yet; or "
    "install BMAD 6's skills again"
)
_UNREADABLE = {
    TicketState.TREE: (f"the project is planned with BMAD 7: {_UNSUPPORTED}", _USE_AGENT_HINT),
    TicketState.EMPTY: (f"BMAD 7 is installed, and no ticket tree was found: {_UNSUPPORTED}", _USE_AGENT_HINT),
    TicketState.MIGRATION: (
        f"a migration from BMAD 6 to BMAD 7 is not finished: {_UNSUPPORTED}",
        "finish it in your agent: /bmad migrate method",
    ),
}


def detect_bmad(root: Root, home: str) -> tuple[BmadInstall, tuple[Diagnostic, ...]]:
    """Detect BMAD from its files. The manifest's version decides only where no skill is found."""
    folder, notes = _find_folder(root)
    manifest = Manifest()
    if folder is not None:
        try:
            manifest = read_manifest(folder)
        except FileError as error:
            location = error.location or Location(folder)
            notes.append(Diagnostic(Severity.WARNING, "unreadable-manifest", error.message, location, error.hint))
    is_v4 = folder is not None and os.path.basename(folder) == V4_FOLDER
    bases = root.search_folders if is_v4 else (*root.search_folders, home)
    classic = any(_has_skill(bases, name, commands=True) for name in ("dev-story", "create-story"))
    build = _has_skill(bases, "build-auto", commands=False)
    if not classic and not build and folder is not None and not is_v4:
        build = _is_612_or_later(manifest.version) and not manifest.shims
        classic = not build
    era = Era.CLASSIC if classic else Era.BUILD if build else Era.V4 if is_v4 else Era.NONE
    return BmadInstall(era, manifest.version, folder, manifest.modules, build), tuple(notes)


def _find_folder(root: Root) -> tuple[str | None, list[Diagnostic]]:
    for base in root.search_folders:
        found = [path for name in BMAD_FOLDERS if is_bmad_folder(path := f"{base}/{name}")]
        if not found:
            found = _find_renamed_folders(base)
        if os.path.isdir(f"{base}/{V4_FOLDER}"):
            found.append(f"{base}/{V4_FOLDER}")
        if found:
            return found[0], [_old_folder_diagnostic(found[0], old) for old in found[1:]]
    return None, []


def _find_renamed_folders(base: str) -> list[str]:
    """BMAD folders under another name: `_kdbp/bmm/config.yaml`, or core's settings beside a manifest."""
    try:
        with os.scandir(base) as entries:
            paths = [entry.path for entry, _ in zip(entries, range(MAX_TOP_ENTRIES), strict=False)]
    except OSError:  # a folder without read permission
        return []
    return sorted(path for path in paths if _is_renamed_bmad_folder(path))


def _is_renamed_bmad_folder(folder: str) -> bool:
    if os.path.isfile(f"{folder}/bmm/config.yaml"):
        return True
    settings = os.path.isfile(f"{folder}/core/config.yaml")
    return settings and any(os.path.isfile(f"{folder}/{name}") for name in MANIFESTS[:2])


def _old_folder_diagnostic(used: str, old: str) -> Diagnostic:
    message = f"is an older BMAD folder; {os.path.basename(used)} is used"
    return Diagnostic(Severity.NOTE, "old-bmad-folder", message, Location(old), "remove it once nothing needs it")


def _has_skill(bases: tuple[str, ...], name: str, *, commands: bool) -> bool:
    for base in bases:
        if any(os.path.isfile(f"{base}/{folder}/bmad-{name}/SKILL.md") for folder in SKILL_FOLDERS):
            return True
        if commands and any(os.path.isfile(f"{base}/{form.format(name)}") for form in _COMMANDS):
            return True
    return False


def _is_612_or_later(version: str | None) -> bool:
    parts = (version or "").split(".")[:2]
    numbers = [int(part) for part in parts if part.isdecimal() and len(part) < 5]
    return len(numbers) == 2 and numbers >= [6, 12]


def detect_tickets(
    root: Root, bmad: BmadInstall, home: str, output: str | None, boards: Iterable[str]
) -> Tickets | None:
    """Detect BMAD 7. `output`: the output folder from BMAD's settings; `boards`: the boards found. A ticket tree
    takes precedence over everything else, since 6.x's files stay after an upgrade."""
    outputs = dict.fromkeys(path for base in root.search_folders for path in _output_folders(base, output))
    traces = [found for path in outputs for found in _scan_output_folder(path)]
    tree = next((found for found in traces if found.state is TicketState.TREE), None)
    if tree is not None:
        return tree
    boards = list(boards)
    archived = [path for path in boards if is_archived(path)]
    evidence = (
        next((found.path for found in traces), None)
        or next(_migration_backups(root), None)
        or next(iter(archived), None)
    )
    skills = _find_ticket_skills(root, home)
    is_live = any(path not in archived and os.path.lexists(path) for path in boards)
    if is_live:
        location = evidence or skills
        return Tickets(TicketState.BOARD, location) if location else None
    if evidence:
        return Tickets(TicketState.MIGRATION, evidence)
    if skills:
        return Tickets(TicketState.EMPTY, skills)
    return _find_in_parents(root.path) if bmad.folder is None else None


def _output_folders(base: str, setting: str | None) -> Iterator[str]:
    """BMAD 7's output folder may lie outside the project."""
    yield f"{base}/{OUTPUT_FOLDER}"
    if setting:
        text = setting.replace("{project-root}", base).replace("{project_root}", base)
        yield os.path.normpath(os.path.join(base, os.path.expanduser(text)))


def _scan_output_folder(output: str) -> Iterator[Tickets]:
    """Ticket trees, including the preview of September 2026, and the folders a migration leaves."""
    for name in _names_with_prefix(output, ("initiative-", "preview-ticketing", "migration-v6-v7", "inbox")):
        path = f"{output}/{name}"
        if name == "preview-ticketing":
            yield from _scan_output_folder(path)
        elif name == "migration-v6-v7":
            yield Tickets(TicketState.MIGRATION, path)
        elif name == "inbox":
            if os.path.isdir(f"{path}/archive-v6"):
                yield Tickets(TicketState.MIGRATION, f"{path}/archive-v6")
        else:
            yield from _scan_initiative(path, name)


def _scan_initiative(path: str, name: str) -> Iterator[Tickets]:
    epics = (f"{epic}/tickets.toml" for epic in _names_with_prefix(path, ("epic-",)))
    for file in ("tickets.toml", f"{name}.md", *epics):
        if os.path.isfile(f"{path}/{file}"):
            yield Tickets(TicketState.TREE, f"{path}/{file}")
            return
    for folder in ("archive-v6", "migration-v6-v7"):
        if os.path.isdir(f"{path}/{folder}"):
            yield Tickets(TicketState.MIGRATION, f"{path}/{folder}")


def _names_with_prefix(folder: str, prefixes: tuple[str, ...]) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            bounded = zip(entries, range(MAX_OUTPUT_ENTRIES), strict=False)
            return sorted(entry.name for entry, _ in bounded if entry.name.startswith(prefixes))
    except OSError:  # missing or unreadable
        return []


def _migration_backups(root: Root) -> Iterator[str]:
    for base in root.search_folders:
        yield from (f"{base}/{name}" for name in _names_with_prefix(base, (".",)) if is_migration_backup(name))


def _find_ticket_skills(root: Root, home: str) -> str | None:
    """The file that proves BMAD 7's skills or setup. The user's own skills count only if no skills of 6.x are
    found: create-story and dev-story are gone in BMAD 7."""
    for base in root.search_folders:
        found = _ticket_skill_in(base) or _find_ticket_setup(f"{base}/_bmad")
        if found:
            return found
    own = _ticket_skill_in(home)
    classic = own and any(
        _has_skill((*root.search_folders, home), name, commands=True) for name in ("dev-story", "create-story")
    )
    return (
        own if own and not classic and not _has_skill(root.search_folders, "build-auto", commands=False) else None
    )


def _ticket_skill_in(base: str) -> str | None:
    for folder in SKILL_FOLDERS:
        if os.path.isdir(f"{base}/{folder}"):
            for name in ("bmad-ticket/SKILL.md", "bmod-method/bmod.toml", "bmad-preview-ticketing/SKILL.md"):
                if os.path.isfile(f"{base}/{folder}/{name}"):
                    return f"{base}/{folder}/{name}"
    return None


_ACTIVE = re.compile(rb"^[ \t]*active_initiative[ \t]*=", re.MULTILINE)


def _find_ticket_setup(folder: str) -> str | None:
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


def _find_in_parents(folder: str) -> Tickets | None:
    """BMAD 7 uses the nearest parent folder with `_bmad/`, even above the repository."""
    for _ in range(MAX_PARENTS):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
        if os.path.isdir(f"{folder}/_bmad"):
            tree = next((one for one in _scan_output_folder(f"{folder}/{OUTPUT_FOLDER}")), None)
            skills = _find_ticket_setup(f"{folder}/_bmad") or _ticket_skill_in(folder)
            return tree or (Tickets(TicketState.EMPTY, skills) if skills else None)
    return None
