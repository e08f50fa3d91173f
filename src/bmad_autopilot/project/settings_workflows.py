"""A project's own workflows and steps: what must hold of them, and the prompts that stand in files."""

import os
from collections.abc import Iterator

from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import FileError, Place
from ..core.owes import Owes
from ..files import Text, read_bytes
from .config import Config
from .custom import MAX_STEPS, CustomStep
from .placeholders import PROMPT, used
from .schema import STEPS
from .settings_errors import refusal, shown, suggest
from .settings_file import ReadFile
from .toml import line_of

MAX_PROMPT = 20_000


def read_beside(path: str, name: str) -> bytes:
    """A file of the project whose settings lie at `path`. A link may not lead out of it."""
    top = os.path.realpath(os.path.dirname(path))
    target = os.path.realpath(os.path.join(top, name))
    if not target.startswith(f"{top.rstrip(os.sep)}{os.sep}"):
        raise FileError("leads out of the project", place=Place(name))
    return read_bytes(target, limit=MAX_PROMPT * 4)


def read_named(text: Text, full: str, path: str, read: ReadFile) -> Text:
    """A text file of the project that the setting `full` names."""
    parts = path.split("/")
    if path.startswith(("/", "~")) or ".." in parts or any(char < " " or char in "\\\x7f" for char in path):
        raise refusal(text, full, f"`{full}` is outside the project", "a path from the project's top", shown(path))
    try:
        return Text(path, read(path))
    except FileError as error:
        expected = "a text file of the project"
        raise refusal(text, full, f"`{full}`: {error.message}", expected, shown(path), error.hint) from None


def with_workflows(text: Text, config: Config, read: ReadFile) -> Config:
    """With the prompts read, or a FileError with the line of what cannot be used."""
    steps = {name: _read_prompt(text, name, own, read) for name, own in config.steps.items()}
    for name, own in steps.items():
        _check_step(text, name, own)
    config = config._replace(steps=steps)
    for name in config.workflows:
        _check_workflow(text, config, name)
    return config._replace(diagnostics=(*config.diagnostics, *_unreviewed(text, config)))


def _read_prompt(text: Text, name: str, own: CustomStep, read: ReadFile) -> CustomStep:
    path, full = own.prompt_file, f"steps.{name}.prompt_file"
    if path is None:
        return own
    if own.prompt is not None:
        raise refusal(text, full, f"`steps.{name}` has both a `prompt` and a `prompt_file`", "one of them", "")
    prompt = read_named(text, full, path, read).text
    if not prompt.strip() or len(prompt) > MAX_PROMPT:
        expected = f"1 to {MAX_PROMPT} characters"
        raise refusal(text, full, f"`{full}` holds no prompt", expected, f"{len(prompt)} characters")
    return own._replace(prompt=prompt)


def _check_step(text: Text, name: str, own: CustomStep) -> None:
    table = f"steps.{name}"
    if own.skill is None and own.prompt is None:
        raise refusal(text, f"{table}.prompt", f"`{table}` needs a `skill` or a `prompt`", 'prompt = "…"', "")
    if own.skill is not None:
        _check_skill(text, f"{table}.skill", own.skill)
    if own.prompt is not None:
        _check_prompt(text, f"{table}.{'prompt_file' if own.prompt_file else 'prompt'}", own.prompt)
    if own.owes == Owes.VERDICT and own.after is not None:
        hint = "leave it out: the verdict sets the status"
        raise refusal(text, f"{table}.after", f"`{table}.after` stands beside a verdict", "", "", hint)


def _check_skill(text: Text, full: str, skill: str) -> None:
    plain = skill.removeprefix("/").removeprefix("bmad-")
    if plain != skill or not all(part.isalnum() and part.isascii() for part in skill.split("-")):
        hint = f'write it as BMAD calls it, without `bmad-`: "{plain}"' if plain != skill else None
        expected = "letters, digits and -, such as `code-review`"
        raise refusal(text, full, f"`{full}` is no skill's name", expected, shown(skill), hint)


def _check_prompt(text: Text, full: str, prompt: str) -> None:
    if prompt.lstrip().startswith("-"):  # some clients are given it as an argument
        raise refusal(text, full, f"`{full}` begins like an option", "a sentence", shown(prompt.lstrip()))
    known = {name: f"{{{name}}}" for name in PROMPT}
    for name in used((prompt,)):
        hint = None if name in known else suggest(name, known)
        if hint:
            expected = ", ".join(known.values())
            raise refusal(text, full, f"`{full}` has an unknown placeholder", expected, f"{{{name}}}", hint)


def _check_workflow(text: Text, config: Config, name: str) -> None:
    steps, full = config.workflows[name].steps, f"workflows.{name}.steps"
    known = {step: step for step in (*STEPS, *config.steps)}
    if not 0 < len(steps) <= MAX_STEPS:
        raise refusal(text, full, f"`{full}` must name 1 to {MAX_STEPS} steps", '["dev", "…"]', str(len(steps)))
    for step in steps:
        if step not in known:
            expected = ", ".join(f'"{word}"' for word in known)
            hint = suggest(step, known) or f"describe it: [steps.{shown(step)[1:-1]}]"
            raise refusal(text, full, f"`{full}` names an unknown step", expected, shown(step), hint)
    twice = next((step for index, step in enumerate(steps) if step in steps[:index]), None)
    if twice is not None:
        raise refusal(text, full, f"`{full}` names a step twice", "each step once", shown(twice))
    owed = [_owes(config, step) for step in steps]
    if Owes.CODE not in owed:
        hint = 'add "dev", or a step of yours with owes = "code"'
        raise refusal(text, full, f"`{full}` has no step that writes code", "", shown(list(steps)), hint)
    if Owes.VERDICT in owed[:-1]:
        first = steps[owed.index(Owes.VERDICT)]
        raise refusal(
            text, full, f"in `{full}` a step follows the verdict", f'"{first}" as the last one', shown(first)
        )


def _owes(config: Config, step: str) -> str:
    return STEPS[step][1] if step in STEPS else config.steps[step].owes


def _unreviewed(text: Text, config: Config) -> Iterator[Diagnostic]:
    for name, own in config.workflows.items():
        if Owes.VERDICT not in [_owes(config, step) for step in own.steps]:
            message = f"no step of the workflow `{name}` reviews: a story is done once its checks pass"
            place = Place(text.path, line_of(text.text, f"workflows.{name}", "steps"))
            hint = 'to have it reviewed: add "code-review" as the last step'
            yield Diagnostic(Severity.NOTE, "no-review", message, place, hint)
