"""The settings and check commands that apply to a run, as committed on the base branch."""

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ..core.errors import AutopilotError, FileError, Location
from ..git.git import Git, GitError
from ..git.history import base_branch
from ..git.trees import read_file
from ..io.files import read_bytes, write_atomic
from ..io.toml_reader import MAX_TOML
from ..project.commands import resolve_commands
from ..project.config import CommandSettings, Config, add_legacy_settings
from ..project.config_reader import config_from_bytes, read_set_keys
from ..project.project import Project
from ..project.root import CONFIG_NAME
from .lane import Lane
from .ports import EventSink
from .story_paths import read_or_none


def check_commands(project: Project) -> tuple[str, ...]:
    """The project's check commands: from the settings, else detected in the project's files, for each kind."""
    commands = resolve_commands(project.root.checkout, project.config.commands)
    return (*commands.check, *commands.test, *commands.build)


class _Committed(NamedTuple):
    """The settings file as committed on the base branch."""

    base: str
    raw: bytes
    read: Callable[[str], bytes]  # reads a file of that commit by its path from the project's top


def with_base_settings(project: Project, on_event: EventSink) -> Project:
    """Use the settings committed on the base branch, if any: an agent's branch cannot change them."""
    found = _committed(project)
    if found is None:
        return project
    path = os.path.join(project.root.path, CONFIG_NAME)
    if read_or_none(path) != found.raw:
        text = f"{CONFIG_NAME} is not as on {found.base}; what is committed there counts"
        on_event("notice", {"text": text}, time.time())
    name = f"{found.base}:{CONFIG_NAME}"
    config = config_from_bytes(found.raw, name, found.read)
    return project._replace(
        config=add_legacy_settings(project.root, config, lambda: read_set_keys(name, found.raw))
    )


def base_settings_bytes(project: Project) -> bytes:
    """The settings file that with_base_settings reads; empty if there is none."""
    found = _committed(project)
    return found.raw if found else read_or_none(os.path.join(project.root.path, CONFIG_NAME)) or b""


def _committed(project: Project) -> _Committed | None:
    git = Git(project.root.checkout)
    base = base_branch(git, project.config.base_branch) if git.work_tree is not None else None
    if base is None:
        return None
    part = os.path.relpath(project.root.checkout, git.top)

    def read(name: str) -> bytes:
        path = os.path.normpath(f"{part}/{name}")
        for remote in ("", "origin/"):
            with suppress(GitError):  # no such branch here: only the remote has it
                raw = read_file(git, f"{remote}{base}", path)
                if raw is not None:
                    return raw
        raise FileError("is not there", location=Location(f"{base}:{name}"))

    try:
        return _Committed(base, read(CONFIG_NAME), read)
    except AutopilotError:
        return None


# The settings a run began with, kept in its folder: on resume the user is told what has changed.

SETTINGS_FILE = "settings.toml"
MAX_SHOWN = 80

# Settings that do not affect how agents work and are judged, or that may be changed while a run waits.
_NOT_COMPARED = ("path", "diagnostics", "board", "base_branch", "stale_days", "standing", "unattended")
_DETECTED = "as detected"  # a command that the settings do not set
_FROZEN = ("workflow", "workflows", "steps")  # a run keeps its workflow, whatever the user answers


def save_settings(run: str, raw: bytes) -> None:
    write_atomic(os.path.join(run, SETTINGS_FILE), raw)


def read_settings(run: str, current: Config) -> Config:
    """The settings the run began with; the current ones if they were not kept."""
    path = os.path.join(run, SETTINGS_FILE)
    with suppress(AutopilotError):
        raw = read_bytes(path, limit=MAX_TOML)
        if not raw.strip():
            return Config(base_branch=current.base_branch)
        # The prompts of its own steps are part of the workflow that the run keeps.
        return config_from_bytes(raw, path, lambda name: b"kept in the run")
    return current


def settings_digest(config: Config) -> str:
    return hashlib.sha256(
        "\n".join(f"{name}={text}" for name, text in _compared_settings(config).items()).encode()
    ).hexdigest()


def describe_differences(before: Config, after: Config) -> list[str]:
    """One line for each changed setting, named as in the settings file."""
    old, new = before._asdict(), after._asdict()
    return [
        f"{name}: {_excerpt(was, then)} → {_excerpt(then, was)}"
        + (" (this run keeps its workflow)" if top in _FROZEN else "")
        for top in new
        if top not in _NOT_COMPARED
        for name, was, then in _changed(top, old[top], new[top])
    ]


def _changed(name: str, old: object, new: object) -> Iterator[tuple[str, str, str]]:
    """Recurse down to the smallest named setting."""
    if _text(old) == _text(new):
        return
    before, after = _parts(old), _parts(new)
    if before is None or after is None:
        yield name, _text(old), _text(new)
        return
    for part in sorted({*before, *after}):
        yield from _changed(f"{name}.{part}", before.get(part), after.get(part))


def _parts(value: object) -> Mapping[str, Any] | None:
    if isinstance(value, Mapping):
        return value
    if isinstance(value, CommandSettings):
        return {name: _DETECTED if inner is None else inner for name, inner in value._asdict().items()}
    return value._asdict() if isinstance(value, tuple) and hasattr(value, "_asdict") else None


def _excerpt(text: str, other: str) -> str:
    """The whole text, or the part around the first difference."""
    if len(text) <= MAX_SHOWN:
        return text
    pairs = enumerate(zip(text, other, strict=False))
    same = next((n for n, (one, two) in pairs if one != two), min(len(text), len(other)))
    begin = max(0, same - MAX_SHOWN // 4)
    part = text[begin : begin + MAX_SHOWN]
    return "…" * (begin > 0) + part + "…" * (begin + MAX_SHOWN < len(text))


def apply_settings(lane: Lane, project: Project) -> Lane:
    """The lane with the current settings. Its workflow and its explicit caps stay."""
    config = project.config
    return lane._replace(
        max_rounds=config.max_review_rounds,
        max_fixes=config.max_check_fixes,
        retrospective=config.retrospective,
        human_checkpoint=config.human_checkpoint,
        checks=check_commands(project) if not lane.is_workflow or lane.is_flow else (),
        unprotected=config.unprotected,
    )


def _compared_settings(config: Config) -> dict[str, str]:
    return {name: _text(value) for name, value in config._asdict().items() if name not in _NOT_COMPARED}


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {_text(inner)}" for name, inner in sorted(value.items())) or "nothing"
    if isinstance(value, CommandSettings):
        return _text({name: inner for name, inner in value._asdict().items() if inner is not None})
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        set_ = {name: inner for name, inner in value._asdict().items() if inner not in (None, "", ())}
        return _text(set_)
    if isinstance(value, tuple):
        return ", ".join(map(_text, value)) or "nothing"
    return "nothing" if value is None else str(value)
