"""What must hold between settings: names that refer to a table are there, commands can be put together."""

import re
from collections.abc import Iterable, Mapping

from ..files import Text
from .config import ALL, Config
from .custom import MAX_ANSWER, MAX_ANSWERS
from .handed_on import is_forges, is_name
from .placeholders import AGENT, LAUNCHER, quoted, used
from .schema import AGENTS, KEYS, STEPS, WORKFLOWS, Key
from .settings_errors import refusal, shown, suggest

MAX_TABLES = 50

# Such names become parts of file names and of other programs' arguments.
_NAME = r"[a-z0-9][a-z0-9_-]{0,39}"
# Of such tables: what one is called, and the names that are taken.
_TAKEN = {
    "agents": ("an agent", AGENTS),
    "workflows": ("a workflow", WORKFLOWS),
    "steps": ("a step", (*STEPS, "fix", "retrospective")),
}
_TARGET = r"[A-Za-z0-9][A-Za-z0-9._@:/-]*"


def check_name(text: Text, table: str, name: str, beside: list[str]) -> str:
    full = f"{table}.{name}"
    if len(beside) > MAX_TABLES:
        raise refusal(text, full, f"too many tables in `{table}`", f"at most {MAX_TABLES}", str(len(beside)))
    if not re.fullmatch(_NAME, name):
        expected = "a small letter or digit, then up to 39 of a-z, 0-9, - and _"
        raise refusal(text, full, f"`{table}` has a name that cannot be used", expected, shown(name))
    what, taken = _TAKEN.get(table, ("", ()))
    if name in taken:
        hint = f"give yours another name: [{table}.my-{name}]"
        raise refusal(text, full, f"`{name}` is {what} that is known already", "", "", hint)
    return name


def check_rules(text: Text, config: Config, values: Mapping[str, object]) -> None:
    _check_references(text, config, values)
    for name in config.passed:
        full = "environment.pass"
        if not is_name(name):
            expected = "NAME or PREFIX_*"
            raise refusal(text, full, f"`{full}` holds what is no variable's name", expected, shown(name))
        if is_forges(name):
            hint = "pushes and pull requests are made by bmad itself; take it out"
            raise refusal(text, full, f"`{full}` holds what is not handed to agents", "", shown(name), hint)
    _check_globs(text, "gates.allow", config.unprotected)
    _check_globs(text, "worktrees.copy", config.worktrees.copy)
    _check_post_create(text, config.worktrees.post_create or ())
    _check_answers(text, config)
    if config.unattended:
        from .settings_people import check_unattended

        check_unattended(text, config.unattended)
    if config.story_timeout > config.story_timeout_cap:
        hint = f"set story_timeout_cap to {config.story_timeout} or more"
        found = f"{config.story_timeout}, and a cap of {config.story_timeout_cap}"
        spot = "story_timeout" if "story_timeout" in values else "story_timeout_cap"
        raise refusal(text, spot, "`story_timeout` is above its cap", "", found, hint)
    for name in config.agents:
        _check_agent(text, config, name)
    for name in config.launchers:
        _check_launcher(text, config, name)


def _check_references(text: Text, config: Config, values: Mapping[str, object]) -> None:
    tables: dict[str, Iterable[str]] = {
        "agents": config.agents,
        "launchers": config.launchers,
        "workflows": config.workflows,
    }
    for key in KEYS:
        for name in _full_names(key, config) if key.refers else ():
            allowed = [*key.allowed, *tables[key.refers]]
            if name in values and values[name] not in allowed:
                found = shown(values[name])
                expected = ", ".join(f'"{word}"' for word in allowed) or f"the name of a [{key.refers}.NAME] table"
                hint = suggest(str(values[name]), {word: word for word in allowed})
                raise refusal(text, name, f"`{name}` has an unknown value", expected, found, hint)


def _full_names(key: Key, config: Config) -> list[str]:
    if key.table == "agents.NAME":
        return [f"agents.{name}.{key.name}" for name in config.agents]
    return [key.full_name]


def _check_globs(text: Text, full: str, globs: tuple[str, ...]) -> None:
    for glob in globs:
        if glob.startswith(("/", "~", "!")) or "\\" in glob or ".." in glob.split("/"):
            expected = "a glob from the project's top, as `.github/workflows/*`"
            raise refusal(text, full, f"`{full}` holds what names no file of the project", expected, shown(glob))


def _check_post_create(text: Text, commands: tuple[str, ...]) -> None:
    from shlex import split

    full = "worktrees.post_create"
    for line in commands:
        try:
            words = split(line)
        except ValueError as error:
            raise refusal(text, full, f"`{full}` cannot be read: {error}", '["npm ci"]', shown(line)) from None
        if any(word in ("&&", "||", "|", ";", "&") for word in words):
            hint = "no shell reads it: make each command a text of its own, or write \"sh -c '…'\""
            raise refusal(text, full, f"`{full}` holds a line for a shell", "one command", shown(line), hint)


def _check_answers(text: Text, config: Config) -> None:
    """An answer that is never told, or cut short, would be worse than none."""
    skills = [
        *(skill for skill, _ in STEPS.values()),
        "retrospective",
        *(own.skill for own in config.steps.values()),
    ]
    known = dict.fromkeys([ALL, *(skill for skill in skills if skill)])
    for skill, answers in config.answers.items():
        full = f"answers.{skill}"
        if skill not in known:
            hint = suggest(skill, {word: word for word in known})
            raise refusal(text, full, f"no step calls the skill `{skill}`", ", ".join(known), "", hint)
        if any(len(answer) > MAX_ANSWER for answer in answers):
            longest = max(map(len, answers))
            expected = f"at most {MAX_ANSWER} characters each"
            raise refusal(text, full, f"`{full}` holds a long answer", expected, f"{longest} characters")
        told = len(config.answers_of(None if skill == ALL else skill))
        if told > MAX_ANSWERS:
            expected = f"at most {MAX_ANSWERS}, those of `{ALL}` included"
            raise refusal(text, full, f"`{full}` holds too many answers", expected, str(told))


def _check_agent(text: Text, config: Config, name: str) -> None:
    agent = config.agents[name]
    if not agent.command:
        full = f"agents.{name}.command"
        raise refusal(text, full, f"`{full}` is needed", '["program", "{prompt}"]', "")
    for part, words in (("command", agent.command), ("stop", agent.stop)):
        full = f"agents.{name}.{part}"
        # What stops a call may be asked for when its prompt is no longer at hand.
        _check_words(text, full, words, AGENT if part == "command" else AGENT[1:], shell=agent.shell)


def _check_launcher(text: Text, config: Config, name: str) -> None:
    launcher, table = config.launchers[name], f"launchers.{name}"
    if launcher.kind is None and not launcher.argv:
        raise refusal(text, f"{table}.kind", f"`{table}` needs a `kind` or an `argv`", 'kind = "docker"', "")
    for part, words in (("argv", launcher.argv), ("stop", launcher.stop)):
        _check_words(text, f"{table}.{part}", words, LAUNCHER)
    full, target = f"{table}.target", launcher.target
    wanted = launcher.kind in ("docker", "ssh") or "target" in used((*launcher.argv, *launcher.stop))
    if wanted and target is None:
        raise refusal(text, full, f"`{full}` is needed", "a container or a host", "")
    # It stands where an option could: one that begins with a dash would be taken for it.
    if target is not None and not re.fullmatch(_TARGET, target):
        expected = "letters and digits, and . _ @ : / - after the first"
        raise refusal(text, full, f"`{full}` is no name of a container or host", expected, shown(target))


def _check_words(
    text: Text, full: str, words: tuple[str, ...], known: tuple[str, ...], *, shell: bool = False
) -> None:
    for name in used(words):
        if name not in known:
            hint = suggest(name, {word: f"{{{word}}}" for word in known})
            expected = ", ".join(f"{{{word}}}" for word in known)
            raise refusal(text, full, f"`{full}` has an unknown placeholder", expected, f"{{{name}}}", hint)
    if shell:
        _check_script(text, full, words)
    elif used(words[:1]):
        hint = "write each word as a text of its own, or set shell = true"
        raise refusal(text, full, f"`{full}` begins with no program", '["program", "…"]', shown(words[0]), hint)


def _check_script(text: Text, full: str, words: tuple[str, ...]) -> None:
    if len(words) > 1:
        raise refusal(text, full, f"`{full}` must be one text where shell = true", '"…"', shown(list(words)))
    inside = quoted(words[0]) if words else None
    if inside:
        hint = f"write {{{inside}}} without quotes: it always becomes one word"
        raise refusal(text, full, f"`{{{inside}}}` stands inside quotes", "", "", hint)
