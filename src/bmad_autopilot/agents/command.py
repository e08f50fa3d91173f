"""The agent that is any command: a template of words from the project's settings, judged by how it ended."""

import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ..core.errors import UsageError
from ..project.custom import EVIDENCE, CustomAgent
from ..project.placeholders import fill, used
from .events import ERROR, JSON, TEXT, Event
from .judging import MAX_CLOSING, by_ending, clip
from .outcomes import Outcome, Spend, Verdict
from .protocol import Call, Ending, Request
from .shim import endings
from .told_spend import tells_only_spend, told_spend

MAX_WORD = 128 * 1024 - 1  # Linux: the longest single argument
MAX_METADATA = 1024 * 1024


@dataclass(frozen=True)
class Command:
    """`[agents.NAME]` as an agent like the others."""

    name: str
    settings: CustomAgent

    @property
    def program(self) -> str:
        return "sh" if self.settings.shell else self.settings.command[0]

    @property
    def variables(self) -> tuple[str, ...]:
        """What it needs beyond the allow-list, the user names in environment.pass."""
        return ()

    @property
    def completion(self) -> str:
        return self.settings.completion

    def call(self, request: Request) -> Call:
        words = self.settings.command
        stdin = "" if "prompt" in used(words) else request.prompt
        return Call(self._argv(words, request), stdin, outlived=self.settings.completion == EVIDENCE)

    def stop(self, request: Request) -> tuple[str, ...]:
        """What ends the work that the command has only begun, from whatever folder; nothing where the settings
        have no such command."""
        if not self.settings.stop:
            return ()
        return ("sh", "-c", 'cd "$0" && exec "$@"', request.worktree, *self._argv(self.settings.stop, request))

    def judge(self, events: Iterable[Event], ending: Ending, before: Spend) -> Verdict:
        """Its own words decide nothing. Exit code 0 sends us to the evidence; anything else is a crash. Only what
        it cost is taken from its last line, where that says so."""
        said: deque[str] = deque(maxlen=200)
        complaints: list[str] = []
        last = None
        for event in events:
            if event.kind in (TEXT, JSON):
                last = event
            if event.kind == TEXT:
                said.append(event.data)
            elif event.kind == ERROR and len(complaints) < 20:
                complaints.append(event.data)
        is_good = ending.by == endings.EXIT and ending.code == 0
        verdict = Verdict(Outcome.COMPLETED) if is_good else by_ending(ending, complaints)
        spend = told_spend(last.data) if last and last.kind == JSON else Spend()
        return replace(verdict, closing="\n".join(said)[-MAX_CLOSING:], spend=spend)

    def lines(self, event: Event) -> list[str]:
        if event.kind == JSON and tells_only_spend(event.data):
            return []
        text = json.dumps(event.data, ensure_ascii=False) if event.kind == JSON else str(event.data)
        shown = clip(text)
        return [shown] if shown else []

    def _argv(self, words: tuple[str, ...], request: Request) -> tuple[str, ...]:
        values = _values(request)
        argv = script_words(words[0], values) if self.settings.shell else _words(words, values)
        if any("\0" in word for word in argv):
            raise UsageError(f"a NUL byte cannot be part of an argument of {self.name}")
        if any(len(word.encode("utf-8", "surrogateescape")) > MAX_WORD for word in argv):
            hint = f"leave {{prompt}} out of agents.{self.name}.command: it then comes on standard input"
            raise UsageError(f"the prompt is too long for an argument of {self.name}", hint=hint)
        return argv


def _values(request: Request) -> dict[str, str]:
    return {
        "prompt": request.prompt,
        "name": request.name,
        "branch": request.branch,
        "story": request.story,
        "model": request.model or "",
        "session": request.resume or request.session,
        "worktree": request.worktree,
    }


def _words(words: tuple[str, ...], values: dict[str, str]) -> tuple[str, ...]:
    """Each word stays one word. `--model {model}` vanishes where no model is set."""
    argv: list[str] = []
    for word in words:
        is_empty = any(word == f"{{{name}}}" and not value for name, value in values.items())
        if not is_empty:
            argv.append(fill(word, values.__getitem__))
        elif len(argv) > 1 and argv[-1].startswith("-") and "=" not in argv[-1]:
            argv.pop()
    return tuple(argv)


def script_words(script: str, values: Mapping[str, str]) -> tuple[str, ...]:
    """A value never becomes a part of the script, which would need quoting that holds everywhere: the script has
    "${1}" in its place, and `sh` is given the value."""
    names = used([script])
    numbered = fill(script, lambda name: f'"${{{names.index(name) + 1}}}"')
    return ("sh", "-c", numbered, "sh", *(values[name] for name in names))


def keep_purpose(before: bytes | None, after: bytes | None) -> bytes | None:
    """What `.claude-metadata.json` must hold so that its purpose survives a command that rewrote, broke or removed
    the file; None where it is well as it is."""
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
