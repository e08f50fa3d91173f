"""How each agent CLI is called with a prompt and nobody at the keyboard."""

from collections.abc import Callable

Argv = list[str]


def _claude(prompt: str, model: str | None) -> Argv:
    quiet = ["--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits"]
    return ["claude", "-p", prompt, *quiet, *_model("--model", model)]


def _codex(prompt: str, model: str | None) -> Argv:
    return ["codex", "exec", "--json", "-s", "workspace-write", *_model("-m", model), prompt]


def _opencode(prompt: str, model: str | None) -> Argv:
    """opencode expands a skill by `--command NAME ARGUMENTS`, not by a slash in the prompt."""
    start = ["opencode", "run", "--format", "json", *_model("-m", model)]
    if prompt.startswith("--command "):
        return [*start, *prompt.split(" ", 2)]
    return [*start, prompt]


def _gemini(prompt: str, model: str | None) -> Argv:
    return ["gemini", "-p", prompt, "-o", "stream-json", "--skip-trust", *_model("-m", model)]


def _copilot(prompt: str, model: str | None) -> Argv:
    return ["copilot", "-p", prompt, "--output-format", "json", *_model("--model", model)]


def _cursor(prompt: str, model: str | None) -> Argv:
    return ["cursor-agent", "-p", prompt, "--output-format", "stream-json", *_model("--model", model)]


def _model(flag: str, model: str | None) -> Argv:
    return [flag, model] if model else []


CALLS: dict[str, Callable[[str, str | None], Argv]] = {
    "claude": _claude,
    "codex": _codex,
    "opencode": _opencode,
    "gemini": _gemini,
    "copilot": _copilot,
    "cursor": _cursor,
}
PROGRAMS = {agent: call("", None)[0] for agent, call in CALLS.items()}
