"""Checks rules across settings: references to tables resolve, placeholders of commands are known."""

import re
from collections.abc import Iterable, Mapping

from ..io.files import TextFile
from ..io.patterns import (
    AGENT_PLACEHOLDERS,
    LAUNCHER_PLACEHOLDERS,
    find_quoted_placeholder,
    is_forge_variable,
    is_variable_name,
    placeholder_names,
)
from .config import ALL, MAX_ANSWER, MAX_ANSWERS, Config
from .config_reader import config_error, format_value, suggest_name
from .config_schema import AGENTS, KEYS, STEPS, WORKFLOWS, ConfigKey

MAX_TABLES = 50

# Names of user tables become parts of file names and of other programs' arguments.
_NAME = r"[a-z0-9][a-z0-9_-]{0,39}"
# Per table: what an entry is called, and the built-in names.
_RESERVED_NAMES = {
    "agents": ("an agent", AGENTS),
    "workflows": ("a workflow", WORKFLOWS),
    "steps": ("a step", (*STEPS, "fix", "retrospective")),
}
_TARGET = r"[A-Za-z0-9][A-Za-z0-9._@:/-]*"


def check_name(text: TextFile, table: str, name: str, siblings: list[str]) -> str:
    full = f"{table}.{name}"
    if len(siblings) > MAX_TABLES:
        raise config_error(
            text, full, f"too many tables in `{table}`", f"at most {MAX_TABLES}", str(len(siblings))
        )
    if not re.fullmatch(_NAME, name):
        expected = "a small letter or digit, then up to 39 of a-z, 0-9, - and _"
        raise config_error(text, full, f"`{table}` has a name that cannot be used", expected, format_value(name))
    what, taken = _RESERVED_NAMES.get(table, ("", ()))
    if name in taken:
        hint = f"give yours another name: [{table}.my-{name}]"
        raise config_error(text, full, f"`{name}` is {what} that is known already", "", "", hint)
    return name


def check_config(text: TextFile, config: Config, values: Mapping[str, object]) -> None:
    _check_references(text, config, values)
    for name in config.passed:
        full = "environment.pass"
        if not is_variable_name(name):
            expected = "NAME or PREFIX_*"
            raise config_error(
                text, full, f"`{full}` holds what is no variable's name", expected, format_value(name)
            )
        if is_forge_variable(name):
            hint = "pushes and pull requests are made by bmad itself; take it out"
            raise config_error(
                text, full, f"`{full}` holds what is not handed to agents", "", format_value(name), hint
            )
    _check_globs(text, "gates.allow", config.unprotected)
    _check_globs(text, "worktrees.copy", config.worktrees.copy)
    _check_post_create(text, config.worktrees.post_create or ())
    _check_answers(text, config)
    if config.unattended:
        from .config_tables import check_unattended

        check_unattended(text, config.unattended)
    if config.story_timeout > config.story_timeout_cap:
        hint = f"set story_timeout_cap to {config.story_timeout} or more"
        found = f"{config.story_timeout}, and a cap of {config.story_timeout_cap}"
        spot = "story_timeout" if "story_timeout" in values else "story_timeout_cap"
        raise config_error(text, spot, "`story_timeout` is above its cap", "", found, hint)
    for name in config.agents:
        _check_agent(text, config, name)
    for name in config.launchers:
        _check_launcher(text, config, name)


def _check_references(text: TextFile, config: Config, values: Mapping[str, object]) -> None:
    tables: dict[str, Iterable[str]] = {
        "agents": config.agents,
        "launchers": config.launchers,
        "workflows": config.workflows,
    }
    for key in KEYS:
        for name in _full_names(key, config) if key.refers_to else ():
            allowed = [*key.allowed, *tables[key.refers_to]]
            if name in values and values[name] not in allowed:
                found = format_value(values[name])
                expected = (
                    ", ".join(f'"{word}"' for word in allowed) or f"the name of a [{key.refers_to}.NAME] table"
                )
                hint = suggest_name(str(values[name]), {word: word for word in allowed})
                raise config_error(text, name, f"`{name}` has an unknown value", expected, found, hint)


def _full_names(key: ConfigKey, config: Config) -> list[str]:
    if key.table == "agents.NAME":
        return [f"agents.{name}.{key.name}" for name in config.agents]
    return [key.full_name]


def _check_globs(text: TextFile, full: str, globs: tuple[str, ...]) -> None:
    for glob in globs:
        if glob.startswith(("/", "~", "!")) or "\\" in glob or ".." in glob.split("/"):
            expected = "a glob from the project's top, as `.github/workflows/*`"
            raise config_error(
                text, full, f"`{full}` holds what names no file of the project", expected, format_value(glob)
            )


def _check_post_create(text: TextFile, commands: tuple[str, ...]) -> None:
    from shlex import split

    full = "worktrees.post_create"
    for line in commands:
        try:
            words = split(line)
        except ValueError as error:
            raise config_error(
                text, full, f"`{full}` cannot be read: {error}", '["npm ci"]', format_value(line)
            ) from None
        if any(word in ("&&", "||", "|", ";", "&") for word in words):
            hint = "no shell reads it: make each command a text of its own, or write \"sh -c '…'\""
            raise config_error(
                text, full, f"`{full}` holds a line for a shell", "one command", format_value(line), hint
            )


def _check_answers(text: TextFile, config: Config) -> None:
    """Refuse an answer that would never reach an agent, or only cut short."""
    skills = [
        *(skill for skill, _ in STEPS.values()),
        "retrospective",
        *(own.skill for own in config.steps.values()),
    ]
    known = dict.fromkeys([ALL, *(skill for skill in skills if skill)])
    for skill, answers in config.answers.items():
        full = f"answers.{skill}"
        if skill not in known:
            hint = suggest_name(skill, {word: word for word in known})
            raise config_error(text, full, f"no step calls the skill `{skill}`", ", ".join(known), "", hint)
        if any(len(answer) > MAX_ANSWER for answer in answers):
            longest = max(map(len, answers))
            expected = f"at most {MAX_ANSWER} characters each"
            raise config_error(text, full, f"`{full}` holds a long answer", expected, f"{longest} characters")
        count = len(config.answers_of(None if skill == ALL else skill))
        if count > MAX_ANSWERS:
            expected = f"at most {MAX_ANSWERS}, those of `{ALL}` included"
            raise config_error(text, full, f"`{full}` holds too many answers", expected, str(count))


def _check_agent(text: TextFile, config: Config, name: str) -> None:
    agent = config.agents[name]
    if not agent.command:
        full = f"agents.{name}.command"
        raise config_error(text, full, f"`{full}` is needed", '["program", "{prompt}"]', "")
    for part, words in (("command", agent.command), ("stop", agent.stop)):
        full = f"agents.{name}.{part}"
        # A call may be stopped when its prompt is no longer available.
        _check_placeholders(
            text,
            full,
            words,
            AGENT_PLACEHOLDERS if part == "command" else AGENT_PLACEHOLDERS[1:],
            shell=agent.shell,
        )


def _check_launcher(text: TextFile, config: Config, name: str) -> None:
    launcher, table = config.launchers[name], f"launchers.{name}"
    if launcher.kind is None and not launcher.argv:
        raise config_error(text, f"{table}.kind", f"`{table}` needs a `kind` or an `argv`", 'kind = "docker"', "")
    for part, words in (("argv", launcher.argv), ("stop", launcher.stop)):
        _check_placeholders(text, f"{table}.{part}", words, LAUNCHER_PLACEHOLDERS)
    full, target = f"{table}.target", launcher.target
    wanted = launcher.kind in ("docker", "ssh") or "target" in placeholder_names((*launcher.argv, *launcher.stop))
    if wanted and target is None:
        raise config_error(text, full, f"`{full}` is needed", "a container or a host", "")
    # A target that begins with a dash would be parsed as an option.
    if target is not None and not re.fullmatch(_TARGET, target):
        expected = "letters and digits, and . _ @ : / - after the first"
        raise config_error(
            text, full, f"`{full}` is no name of a container or host", expected, format_value(target)
        )


def _check_placeholders(
    text: TextFile, full: str, words: tuple[str, ...], known: tuple[str, ...], *, shell: bool = False
) -> None:
    for name in placeholder_names(words):
        if name not in known:
            hint = suggest_name(name, {word: f"{{{word}}}" for word in known})
            expected = ", ".join(f"{{{word}}}" for word in known)
            raise config_error(text, full, f"`{full}` has an unknown placeholder", expected, f"{{{name}}}", hint)
    if shell:
        _check_script(text, full, words)
    elif placeholder_names(words[:1]):
        hint = "write each word as a text of its own, or set shell = true"
        raise config_error(
            text, full, f"`{full}` begins with no program", '["program", "…"]', format_value(words[0]), hint
        )


def _check_script(text: TextFile, full: str, words: tuple[str, ...]) -> None:
    if len(words) > 1:
        raise config_error(
            text, full, f"`{full}` must be one text where shell = true", '"…"', format_value(list(words))
        )
    inside = find_quoted_placeholder(words[0]) if words else None
    if inside:
        hint = f"write {{{inside}}} without quotes: it always becomes one word"
        raise config_error(text, full, f"`{{{inside}}}` stands inside quotes", "", "", hint)
