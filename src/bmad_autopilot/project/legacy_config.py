"""Reads `.autopilot/config` of the bash autopilot: KEY=VALUE lines with known keys. Nothing is executed."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..core.errors import Diagnostic, Location, Severity
from ..io.files import read_text
from .config import MAX_PARALLEL, Config, GitHubSettings

MAX_CONFIG = 256 * 1024
MAX_NUMBER = 1_000_000

NUMBERS = (
    "AUTOPILOT_DEBUG",
    "AUTOPILOT_VERBOSE",
    "MAX_TURNS",
    "CHECK_INTERVAL",
    "MAX_CHECK_WAIT",
    "MAX_COPILOT_WAIT",
    "AUTOPILOT_RUN_MOBILE_NATIVE",
    "PARALLEL_MODE",
    "PARALLEL_CHECK_INTERVAL",
    "MAX_PENDING_PRS",
)
TEXTS = ("AUTOPILOT_BASE_BRANCH",)

# The limits of our settings. config_schema.py has the same ones, but takes longer to import.
BOUNDS = {
    "check_interval": (5, 3600),
    "review_patience": (1, 10080),
    "check_patience": (1, 10080),
    "max_pending": (1, 100),
}

_DEFAULT_POLLS, _DEFAULT_INTERVAL = 60, 30  # the bash autopilot's defaults
_LINE = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)")


class LegacyConfig(NamedTuple):
    values: Mapping[str, str | int]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def base_branch(self) -> str | None:
        """The branch to merge into; None for `auto` or empty: it is detected."""
        name = str(self.values.get("AUTOPILOT_BASE_BRANCH", ""))
        return name if name not in ("", "auto") else None

    def apply_to(self, config: Config, set_keys: frozenset[str] = frozenset()) -> Config:
        """Apply the values that the project's settings do not set. `set_keys`: the keys in those settings; such a
        key keeps its value even if that is the default."""
        parallel = config.parallel
        if not parallel and "parallel" not in set_keys:
            parallel = min(int(self.values.get("PARALLEL_MODE", 0)), MAX_PARALLEL)
        interval = int(self.values.get("CHECK_INTERVAL", 0))
        polls = int(self.values.get("PARALLEL_CHECK_INTERVAL", 0)) if parallel else 0
        minutes = {
            "review_patience": self._wait_minutes("MAX_COPILOT_WAIT", interval),
            "check_patience": self._wait_minutes("MAX_CHECK_WAIT", interval),
        }
        pending = int(self.values.get("MAX_PENDING_PRS", 0))
        found = {"check_interval": polls or interval, "max_pending": pending, **minutes}
        found = {name: min(max(value, BOUNDS[name][0]), BOUNDS[name][1]) for name, value in found.items() if value}
        usual = GitHubSettings()
        kept: dict[str, Any] = {
            name: value
            for name, value in found.items()
            if f"github.{name}" not in set_keys and getattr(config.github, name) == getattr(usual, name)
        }
        return config._replace(
            base_branch=config.base_branch or self.base_branch,
            parallel=parallel,
            github=config.github._replace(**kept),
            diagnostics=(*config.diagnostics, *self.diagnostics),
        )

    def _wait_minutes(self, name: str, interval: int) -> int:
        """The number of polls times their interval, in minutes. 0: not set."""
        polls = int(self.values.get(name, 0) or self.values.get("MAX_CHECK_WAIT", 0))
        if not polls and not interval:
            return 0
        return max(1, round((polls or _DEFAULT_POLLS) * (interval or _DEFAULT_INTERVAL) / 60))


def read_legacy_config(path: str) -> LegacyConfig:
    values: dict[str, str | int] = {}
    notes: list[Diagnostic] = []
    for number, raw in enumerate(read_text(path, limit=MAX_CONFIG).text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        problem = _read_line(line, values)
        if problem is not None:
            notes.append(Diagnostic(Severity.WARNING, problem[0], problem[1], Location(path, number)))
    return LegacyConfig(values, tuple(notes))


def _read_line(line: str, values: dict[str, str | int]) -> tuple[str, str] | None:
    """Parse one line into `values`, or return the code and message of its problem."""
    match = _LINE.fullmatch(line)
    if match is None:
        return "not-a-setting", f"is not KEY=VALUE, and is ignored: {line[:60]}"
    key, value = match[1], _unquote(match[2])
    if key in NUMBERS:
        if not re.fullmatch(r"\d{1,7}", value, re.ASCII) or int(value) > MAX_NUMBER:
            return "not-a-number", f"`{key}` must be a whole number, and is ignored: {value[:60]}"
        values[key] = int(value)
    elif key in TEXTS:
        if not _is_branch(value):
            return "not-a-branch", f"`{key}` is no branch name, and is ignored: {value[:60]}"
        values[key] = value
    else:
        return "unknown-key", f"unknown key `{key}`, and is ignored"
    return None


def _unquote(value: str) -> str:
    quoted = re.fullmatch(r"""(["'])(.*?)\1\s*(?:#.*)?""", value)
    if quoted:
        return quoted[2]
    return re.split(r"\s+#", value, maxsplit=1)[0].strip()


def _is_branch(name: str) -> bool:
    """Whether git accepts the name: no leading dash, no shell text, no `..`."""
    return name == "" or (re.fullmatch(r"[\w.][\w./@+-]{0,200}", name) is not None and ".." not in name)
