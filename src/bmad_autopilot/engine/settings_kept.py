"""The settings a run began with, kept in its folder: whoever goes on with it later is told what has changed."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from ..core.errors import AutopilotError
from ..files import read_bytes, write_atomic
from ..project.config import CommandSettings, Config
from ..project.open import Project
from ..project.settings_file import config_from_bytes
from ..project.toml import MAX_TOML
from .lane import Lane
from .policy import checks_of

NAME = "settings.toml"
MAX_SHOWN = 80

# What says nothing about how agents work and are judged, or is meant to be changed while a run waits.
_APART = ("path", "diagnostics", "board", "base_branch", "stale_days", "standing", "unattended")
_DETECTED = "as detected"  # a command that the settings do not set
_FROZEN = ("workflow", "workflows", "steps")  # a run keeps the workflow it began with, whatever is answered


def keep_settings(run: str, raw: bytes) -> None:
    write_atomic(os.path.join(run, NAME), raw)


def read_settings(run: str, present: Config) -> Config:
    """Those of the run's beginning; the present ones where nobody has kept them."""
    path = os.path.join(run, NAME)
    with suppress(AutopilotError):
        raw = read_bytes(path, limit=MAX_TOML)
        if not raw.strip():
            return Config(base_branch=present.base_branch)
        # The prompts of its own steps are part of the workflow that the run keeps.
        return config_from_bytes(raw, path, lambda name: b"kept in the run")
    return present


def digest_of(config: Config) -> str:
    return hashlib.sha256("\n".join(f"{name}={text}" for name, text in _told(config).items()).encode()).hexdigest()


def differences(before: Config, after: Config) -> list[str]:
    """A line for each setting that is another now, as its file names them."""
    old, new = before._asdict(), after._asdict()
    return [
        f"{name}: {_shown(was, then)} → {_shown(then, was)}"
        + (" (this run keeps its workflow)" if top in _FROZEN else "")
        for top in new
        if top not in _APART
        for name, was, then in _changed(top, old[top], new[top])
    ]


def _changed(name: str, old: object, new: object) -> Iterator[tuple[str, str, str]]:
    """Down to the smallest setting that has a name of its own."""
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


def _shown(text: str, other: str) -> str:
    """Whole, or the part where the two begin to differ."""
    if len(text) <= MAX_SHOWN:
        return text
    pairs = enumerate(zip(text, other, strict=False))
    same = next((n for n, (one, two) in pairs if one != two), min(len(text), len(other)))
    begin = max(0, same - MAX_SHOWN // 4)
    part = text[begin : begin + MAX_SHOWN]
    return "…" * (begin > 0) + part + "…" * (begin + MAX_SHOWN < len(text))


def with_settings(lane: Lane, project: Project) -> Lane:
    """The lane by the present settings. Its workflow stays, and so do the caps that somebody has named for it."""
    config = project.config
    return lane._replace(
        max_rounds=config.max_review_rounds,
        max_fixes=config.max_check_fixes,
        retrospective=config.retrospective,
        human_checkpoint=config.human_checkpoint,
        checks=checks_of(project) if not lane.is_workflow or lane.is_flow else (),
        unprotected=config.unprotected,
    )


def _told(config: Config) -> dict[str, str]:
    return {name: _text(value) for name, value in config._asdict().items() if name not in _APART}


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
