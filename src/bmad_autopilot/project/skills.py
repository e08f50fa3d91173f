"""Finds BMAD's skills and commands installed for an agent, and the invocation of each."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from ..core.errors import FileError, UsageError
from ..io import yaml_reader
from ..io.files import TextFile, read_bytes

MAX_ENTRIES = 2000
MAX_DEPTH = 4
MAX_SKILL = 1024 * 1024

VALIDATE = "validate"  # an action of create-story, and a step of ours


class Skill(NamedTuple):
    name: str  # `dev-story`, `agent-dev`, `validate`
    invocation: str  # the start of the prompt, or the client's option
    path: str
    is_shim: bool = False  # an old name that BMAD keeps for compatibility
    is_usable: bool = True  # False: it only forwards to another skill, or cannot be read


class _Client(NamedTuple):
    """Where one agent CLI looks for skills and commands, the nearest first, and how it invokes them."""

    skills: tuple[str, ...]
    skill_invocation: str
    commands: tuple[str, ...] = ()
    command_invocation: str = ""
    extension: str = ".md"


# Gemini and Copilot load a skill when the model asks for it: a slash name would reach the model as plain text.
_ASK_FOR_SKILL = "Use the skill {}:"
_READ_FILE = "Follow the instructions in {path}:"  # Copilot's CLI has no prompt files, but can read one

CLIENTS = {
    "claude": _Client((".claude/skills",), "/{}", (".claude/commands",), "/{}"),
    "codex": _Client((".agents/skills", ".codex/skills"), "${}", (".codex/prompts",), "/prompts:{}"),
    "opencode": _Client(
        (".agents/skills", ".opencode/skills", ".claude/skills"),
        "--command {}",
        (".opencode/commands", ".opencode/command"),
        "--command {}",
    ),
    "gemini": _Client((".agents/skills", ".gemini/skills"), _ASK_FOR_SKILL, (".gemini/commands",), "/{}", ".toml"),
    "copilot": _Client(
        (".agents/skills", ".github/skills", ".claude/skills"),
        _ASK_FOR_SKILL,
        (".github/prompts",),
        _READ_FILE,
        ".prompt.md",
    ),
    "cursor": _Client((".agents/skills", ".cursor/skills", ".claude/skills"), "/{}", (".cursor/commands",), "/{}"),
}

# Until 6.0.4 names include their module, except those of the core.
_PREFIXES = ("bmad-bmm-", "bmad_bmm_", "bmad-", "bmad_")


def find_skills(checkout: str, agent: str, home: str | None) -> dict[str, Skill]:
    """Every BMAD skill of the project, then of the home folder, by name. The first one found counts: skills before
    commands, because upgrades leave the older form in place."""
    return _find(checkout, agent, home, None)


def find_skill(checkout: str, agent: str, home: str | None, name: str) -> Skill | None:
    """One BMAD skill, without opening the others."""
    wanted = ("create-story", "agent-sm") if name == VALIDATE else (name,)
    return _find(checkout, agent, home, wanted).get(name)


def find_project_skill(checkout: str, agent: str, home: str | None, name: str) -> Skill | None:
    """A skill with exactly this name that is not BMAD's, from the project or the home folder."""
    client = CLIENTS.get(agent)
    if client is None or "/" in name:
        return None
    places = [f"{base}/{folder}/{name}/SKILL.md" for base in (checkout, home) if base for folder in client.skills]
    found = next(filter(os.path.isfile, places), None)
    return Skill(name, client.skill_invocation.format(name), found) if found else None


def _find(checkout: str, agent: str, home: str | None, wanted: tuple[str, ...] | None) -> dict[str, Skill]:
    client = CLIENTS.get(agent)
    if client is None:
        raise UsageError(f"unknown agent: {agent}", expected=", ".join(CLIENTS))
    found: dict[str, Skill] = {}
    for base in (checkout, home):
        for skill in _skills_in(base, client, wanted) if base else ():
            found.setdefault(skill.name, skill)
    validate = _validate_skill(found)
    if validate is not None:
        found[VALIDATE] = validate
    return found


def _skills_in(base: str, client: _Client, wanted: tuple[str, ...] | None) -> Iterator[Skill]:
    for folder in client.skills:
        for title in _entries(f"{base}/{folder}"):
            path = f"{base}/{folder}/{title}/SKILL.md"
            if (
                title.startswith("bmad-")
                and (wanted is None or _skill_name(title) in wanted)
                and os.path.isfile(path)
            ):
                yield _read_skill(path, title, client.skill_invocation.format(title))
    for folder in client.commands:
        location = f"{base}/{folder}"
        for title, file in (*_flat_commands(location, client), *_tree_commands(location, client)):
            invocation = client.command_invocation.format(title, path=f"{folder}/{file}")
            yield Skill(_skill_name(title), invocation, f"{location}/{file}")


def _skill_name(title: str) -> str:
    """`bmad-bmm-dev-story`, `bmad_bmm_dev-story`, `bmad:bmm:workflows:dev-story` → `dev-story`."""
    if ":" in title:
        *parts, name = title.split(":")
        return f"agent-{name}" if parts[-1] == "agents" else name
    for prefix in _PREFIXES:
        if title.startswith(prefix) and len(title) > len(prefix):
            return title.removeprefix(prefix).replace("agent-bmm-", "agent-")
    return title


def _read_skill(path: str, title: str, invocation: str) -> Skill:
    name = _skill_name(title)
    try:
        text = read_bytes(path, limit=MAX_SKILL)
    except FileError:
        return Skill(name, invocation, path, is_usable=False)
    shim = _is_shim(path, text)
    return Skill(name, invocation, path, shim, not _only_forwards(path, name, shim))


def _is_shim(path: str, raw: bytes) -> bool:
    """`metadata.lifecycle: shim` in the front matter."""
    if not raw.startswith(b"---"):
        return False
    front = raw.partition(b"\n")[2].partition(b"\n---")[0]
    if b"lifecycle" not in front:
        return False
    try:
        data = yaml_reader.load_yaml(TextFile(path, front + b"\n"))
    except FileError:
        return False
    metadata = data.get("metadata") if isinstance(data, dict) else None
    return isinstance(metadata, dict) and metadata.get("lifecycle") == "shim"


def _only_forwards(path: str, name: str, shim: bool) -> bool:
    """The stubs of 6.11 and later consist of one file that forwards the agent, and stop if an old setting remains.
    The real dev-auto of 6.10 has its steps and settings beside it."""
    folder = os.path.dirname(path)
    if name == "dev-auto":
        return not all(os.path.isfile(f"{folder}/{part}") for part in ("step-04-review.md", "customize.toml"))
    return shim and len(_entries(folder)) == 1


def _flat_commands(folder: str, client: _Client) -> Iterator[tuple[str, str]]:
    """Title and file of `bmad-bmm-dev-story.md`, and of `bmad_bmm_dev-story.md` from the first betas."""
    for prefix in ("bmad-", "bmad_"):
        for file in _entries(folder):
            if file.startswith(prefix) and file.endswith(client.extension):
                yield file.removesuffix(client.extension), file


def _tree_commands(folder: str, client: _Client) -> Iterator[tuple[str, str]]:
    """`bmad/bmm/workflows/dev-story.md` of the alphas, `BMad/agents/dev.md` of v4: folders become colons."""
    for top in _entries(folder):
        if top.lower() == "bmad":
            files = sorted(_walk(folder, top, client.extension), key=lambda file: ("/bmm/" not in file, file))
            for file in files:
                yield file.removesuffix(client.extension).replace("/", ":"), file


def _walk(folder: str, part: str, extension: str, depth: int = 0) -> Iterator[str]:
    for name in _entries(f"{folder}/{part}"):
        path = f"{part}/{name}"
        if name.endswith(extension):
            if depth and name.lower() != f"readme{extension}":
                yield path
        elif depth < MAX_DEPTH:
            yield from _walk(folder, path, extension, depth + 1)


def _validate_skill(found: dict[str, Skill]) -> Skill | None:
    """Validating a story is an action of create-story; in the alphas it was a command of the story master."""
    create, master = found.get("create-story"), found.get("agent-sm")
    if create is None:
        return None
    if ":workflows:" in create.invocation and master is not None:
        return master._replace(name=VALIDATE, invocation=f"{master.invocation} *validate-create-story")
    return create._replace(name=VALIDATE, invocation=f"{create.invocation} validate")


def _entries(folder: str) -> list[str]:
    """The sorted names in a folder; empty if it cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry, _ in zip(entries, range(MAX_ENTRIES), strict=False))
    except OSError:
        return []
