"""`.autopilot/config` of the bash autopilot: KEY=VALUE lines. Its known keys are read, nothing is executed."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import Place
from ..files import read_text

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

_LINE = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)")


class AutopilotConfig(NamedTuple):
    values: Mapping[str, str | int]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def base_branch(self) -> str | None:
        """The branch to merge into; `auto` and nothing leave it to be worked out."""
        name = str(self.values.get("AUTOPILOT_BASE_BRANCH", ""))
        return name if name not in ("", "auto") else None


def read_autopilot_config(path: str) -> AutopilotConfig:
    values: dict[str, str | int] = {}
    notes: list[Diagnostic] = []
    for number, raw in enumerate(read_text(path, limit=MAX_CONFIG).text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        problem = _read_line(line, values)
        if problem is not None:
            notes.append(Diagnostic(Severity.WARNING, problem[0], problem[1], Place(path, number)))
    return AutopilotConfig(values, tuple(notes))


def _read_line(line: str, values: dict[str, str | int]) -> tuple[str, str] | None:
    """Take one line into `values`, or give the code and the words of what is wrong with it."""
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
    """What git would take: no leading dash, no shell text, no `..`."""
    return name == "" or (re.fullmatch(r"[\w.][\w./@+-]{0,200}", name) is not None and ".." not in name)
