"""The custom-command agent: a command template from the project's settings, judged by its exit code."""

import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..core.errors import UsageError
from ..io.patterns import fill_placeholders, placeholder_names
from ..project.config import EVIDENCE, CustomAgent
from .adapter import (
    ERROR,
    JSON,
    TEXT,
    AgentCommand,
    AgentRequest,
    AttemptVerdict,
    Event,
    Outcome,
    ProcessEnding,
    Spend,
    Tokens,
)
from .event_parsing import MAX_CLOSING, as_count, as_line, as_number, get_dict, verdict_from_ending
from .shim import attempt_files

# A command may report its cost in the form of Claude Code's result: `{"total_cost_usd": 0.42,
# "usage": {"input_tokens": 1200, "output_tokens": 300}}`.

DOLLARS_KEY, USAGE_KEY = "total_cost_usd", "usage"
MAX_DOLLARS = 1_000_000.0  # a larger amount is a mistake, and must not count towards a budget
MAX_TOKENS = 1_000_000_000_000
_TOKEN_KEYS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def parse_usage(data: dict[str, Any]) -> Spend:
    """The reported spend; missing or invalid amounts are left out."""
    dollars, usage = as_number(data.get(DOLLARS_KEY)), get_dict(data, USAGE_KEY)
    is_amount = dollars is not None and 0 <= dollars < MAX_DOLLARS
    return Spend(dollars if is_amount else None, Tokens(*(_tokens(usage.get(name)) for name in _TOKEN_KEYS)))


def has_only_usage(data: dict[str, Any]) -> bool:
    """Whether the event contains nothing but usage, so the live view can skip it."""
    return bool(data) and data.keys() <= {DOLLARS_KEY, USAGE_KEY}


def _tokens(value: object) -> int:
    found = as_count(value)
    return found if found < MAX_TOKENS else 0


MAX_ARGUMENT = 128 * 1024 - 1  # Linux: the longest single argument
MAX_METADATA = 1024 * 1024


@dataclass(frozen=True)
class CommandAgent:
    """Adapter for a custom agent, `[agents.NAME]`."""

    name: str
    settings: CustomAgent

    @property
    def program(self) -> str:
        return "sh" if self.settings.shell else self.settings.command[0]

    @property
    def variables(self) -> tuple[str, ...]:
        """None: what it needs beyond the allow-list, the user lists in environment.pass."""
        return ()

    @property
    def completion(self) -> str:
        return self.settings.completion

    def call(self, request: AgentRequest) -> AgentCommand:
        words = self.settings.command
        stdin = "" if "prompt" in placeholder_names(words) else request.prompt
        return AgentCommand(self._argv(words, request), stdin, is_detached=self.settings.completion == EVIDENCE)

    def stop_command(self, request: AgentRequest) -> tuple[str, ...]:
        """The command that stops work the agent's command has only started. It works from any folder, and is
        empty if the settings define none."""
        if not self.settings.stop:
            return ()
        return ("sh", "-c", 'cd "$0" && exec "$@"', request.worktree, *self._argv(self.settings.stop, request))

    def judge(self, events: Iterable[Event], ending: ProcessEnding, prior_spend: Spend) -> AttemptVerdict:
        """The output decides nothing: exit code 0 means that the gates check the evidence, anything else is a
        crash. Only the cost is read from the last line, if it is usage JSON."""
        output: deque[str] = deque(maxlen=200)
        errors: list[str] = []
        last = None
        for event in events:
            if event.kind in (TEXT, JSON):
                last = event
            if event.kind == TEXT:
                output.append(event.data)
            elif event.kind == ERROR and len(errors) < 20:
                errors.append(event.data)
        is_good = ending.cause == attempt_files.EXIT and ending.code == 0
        verdict = AttemptVerdict(Outcome.COMPLETED) if is_good else verdict_from_ending(ending, errors)
        spend = parse_usage(last.data) if last and last.kind == JSON else Spend()
        return replace(verdict, closing="\n".join(output)[-MAX_CLOSING:], spend=spend)

    def format_event(self, event: Event) -> list[str]:
        if event.kind == JSON and has_only_usage(event.data):
            return []
        text = json.dumps(event.data, ensure_ascii=False) if event.kind == JSON else str(event.data)
        shown = as_line(text)
        return [shown] if shown else []

    def _argv(self, words: tuple[str, ...], request: AgentRequest) -> tuple[str, ...]:
        values = _values(request)
        argv = script_argv(words[0], values) if self.settings.shell else _fill_words(words, values)
        if any("\0" in word for word in argv):
            raise UsageError(f"a NUL byte cannot be part of an argument of {self.name}")
        if any(len(word.encode("utf-8", "surrogateescape")) > MAX_ARGUMENT for word in argv):
            hint = f"leave {{prompt}} out of agents.{self.name}.command: it then comes on standard input"
            raise UsageError(f"the prompt is too long for an argument of {self.name}", hint=hint)
        return argv


def _values(request: AgentRequest) -> dict[str, str]:
    return {
        "prompt": request.prompt,
        "name": request.name,
        "branch": request.branch,
        "story": request.story,
        "model": request.model or "",
        "session": request.resume or request.session,
        "worktree": request.worktree,
    }


def _fill_words(words: tuple[str, ...], values: dict[str, str]) -> tuple[str, ...]:
    """Each word stays one argument. `--model {model}` is dropped if no model is set."""
    argv: list[str] = []
    for word in words:
        is_empty = any(word == f"{{{name}}}" and not value for name, value in values.items())
        if not is_empty:
            argv.append(fill_placeholders(word, values.__getitem__))
        elif len(argv) > 1 and argv[-1].startswith("-") and "=" not in argv[-1]:
            argv.pop()
    return tuple(argv)


def script_argv(script: str, values: Mapping[str, str]) -> tuple[str, ...]:
    """A value never becomes part of the script, which would need quoting that is safe in every context: the script
    has "${1}" in its place, and `sh` receives the value as an argument."""
    names = placeholder_names([script])
    numbered = fill_placeholders(script, lambda name: f'"${{{names.index(name) + 1}}}"')
    return ("sh", "-c", numbered, "sh", *(values[name] for name in names))


def metadata_with_purpose(before: bytes | None, after: bytes | None) -> bytes | None:
    """The content of `.claude-metadata.json` that keeps its purpose after a command rewrote, broke or removed the
    file; None if the file needs no change."""
    old, new = _metadata(before), _metadata(after)
    purpose = old.get("purpose") if old else None
    if not isinstance(purpose, str) or not purpose.strip():
        return None
    if new is None:
        return before
    if new.get("purpose") == purpose:
        return None
    return json.dumps({**new, "purpose": purpose}, indent=2, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _metadata(raw: bytes | None) -> dict[str, object] | None:
    if raw is None or len(raw) > MAX_METADATA:
        return None
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
