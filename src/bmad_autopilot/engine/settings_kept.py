"""The settings a run began with, kept in its folder: whoever goes on with it later is told what has changed."""

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress

from ..core.errors import AutopilotError
from ..files import read_bytes, write_atomic
from ..project.config import Config
from ..project.open import Project
from ..project.settings_file import config_from_bytes
from ..project.toml import MAX_TOML
from .lane import Lane
from .policy import checks_of

NAME = "settings.toml"
MAX_SHOWN = 80

# What says nothing about how agents work and are judged, or is meant to be changed while a run waits.
_APART = ("path", "diagnostics", "board", "base_branch", "stale_days", "standing", "unattended")
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
    old, new = _told(before), _told(after)
    return [
        f"{name}: {old[name][:MAX_SHOWN]} → {new[name][:MAX_SHOWN]}"
        + (" (this run keeps its workflow)" if name in _FROZEN else "")
        for name in new
        if old[name] != new[name]
    ]


def with_settings(lane: Lane, project: Project) -> Lane:
    """The lane by the present settings. Its workflow stays, and so do the caps that somebody has named for it."""
    config = project.config
    return lane._replace(
        max_rounds=config.max_review_rounds,
        max_fixes=config.max_check_fixes,
        retrospective=config.retrospective,
        human_checkpoint=config.human_checkpoint,
        checks=checks_of(project) if lane.scope != "workflow" else (),
        unprotected=config.unprotected,
    )


def _told(config: Config) -> dict[str, str]:
    return {name: _text(value) for name, value in config._asdict().items() if name not in _APART}


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {_text(inner)}" for name, inner in sorted(value.items())) or "nothing"
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        set_ = {name: inner for name, inner in value._asdict().items() if inner not in (None, "", ())}
        return _text(set_)
    if isinstance(value, tuple):
        return ", ".join(map(_text, value)) or "nothing"
    return "nothing" if value is None else str(value)
