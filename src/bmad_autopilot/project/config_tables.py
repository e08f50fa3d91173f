"""Validates the larger tables of the settings: standing answers, unattended, [depends], workflows, flows."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from ..core.errors import Diagnostic, FileError, Location, Severity
from ..core.keys import normalize_number
from ..core.step_output import StepOutput
from ..core.stop_causes import ALL, CAUSE_MENUS, allowed_choices
from ..io.files import TextFile, read_bytes, read_text
from ..io.patterns import PROMPT_PLACEHOLDERS, placeholder_names
from ..io.toml_reader import MAX_TOML, find_line
from .config import MAX_STEPS, Config, CustomStep, FlowFile
from .config_reader import ReadFile, config_error, format_value, suggest_name
from .config_schema import KEYS, STEPS, ConfigKey

MAX_STANDING_ANSWERS = 50
MAX_PATTERN = 500

CheckValue = Callable[[TextFile, str, ConfigKey, object], object]

# `(a+)+` backtracks for hours on a text that nearly matches.
_NESTED_REPEAT = re.compile(r"[+*}]\)[+*{]")


def check_array(
    text: TextFile, name: str, value: object, check_value: CheckValue
) -> tuple[dict[str, object], ...]:
    """Each table's values by field name. Raises a FileError with the line of a wrong one."""
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise config_error(
            text, name, f"`{name}` must stand in double brackets", f"[[{name}]]", format_value(value)
        )
    if len(value) > MAX_STANDING_ANSWERS:
        raise config_error(
            text, name, f"too many tables in `{name}`", f"at most {MAX_STANDING_ANSWERS}", str(len(value))
        )
    return tuple(_check_row(text, name, number, row, check_value) for number, row in enumerate(value))


def _check_row(
    text: TextFile, name: str, number: int, row: Mapping[str, object], check_value: CheckValue
) -> dict[str, object]:
    known = {key.name: key for key in KEYS if key.table == name}
    found: dict[str, object] = {}
    for word, value in row.items():
        full = f"{name}.{word}"
        with _locate_error(text, name, number, word):
            if word not in known:
                hint = suggest_name(word, {one: one for one in known}) or f"here stand: {', '.join(known)}"
                raise config_error(text, full, f"unknown key `{full}`", "", "", hint)
            found[known[word].field] = check_value(text, full, known[word], value)
            if word == "question":
                _check_pattern(text, full, str(value))
    for word in ("question", "answer"):
        with _locate_error(text, name, number, ""):
            if word not in row:
                raise config_error(text, f"{name}.{word}", f"`{name}` has no `{word}`", f'{word} = "…"', "")
    return found


@contextmanager
def _locate_error(text: TextFile, table: str, number: int, key: str) -> Iterator[None]:
    """Set an error's line to this table: all tables of an array have the same keys."""
    try:
        yield
    except FileError as error:
        error.location = Location(text.path, _line_in_table(text.text, table, number, key))
        raise


def _check_pattern(text: TextFile, full: str, pattern: str) -> None:
    if len(pattern) > MAX_PATTERN:
        found = f"{len(pattern)} characters"
        raise config_error(text, full, f"`{full}` is a long pattern", f"at most {MAX_PATTERN} characters", found)
    if _NESTED_REPEAT.search(pattern):
        hint = "repeat what is inside the brackets, or the brackets"
        raise config_error(text, full, f"`{full}` repeats what repeats itself", "", format_value(pattern), hint)
    try:
        fits_all = re.compile(pattern).fullmatch("") is not None
    except (re.error, RecursionError, OverflowError) as error:
        expected = "a regular expression"
        raise config_error(
            text, full, f"`{full}` cannot be read: {error}", expected, format_value(pattern)
        ) from None
    if fits_all:
        raise config_error(
            text, full, f"`{full}` fits any question", "words of the question", format_value(pattern)
        )


def check_unattended(text: TextFile, policy: Mapping[str, str]) -> None:
    known = {ALL: ALL, **{str(cause): str(cause) for cause in CAUSE_MENUS}}
    for cause, choice in policy.items():
        full = f"unattended.{cause}"
        if cause not in known:
            hint = suggest_name(cause, known) or "docs/humans.md lists them"
            raise config_error(
                text, full, f"nobody is ever asked because of `{cause}`", ", ".join(known), "", hint
            )
        allowed = allowed_choices(cause)
        if choice not in allowed:
            alike = suggest_name(choice, {word: word for word in allowed})
            raise config_error(
                text, full, f"`{full}` has an unknown value", ", ".join(allowed), format_value(choice), alike
            )


def _line_in_table(text: str, table: str, number: int, key: str) -> int | None:
    """The line of a key in the array's table `number`, else of that table's header. For messages only."""
    count, head = -1, None
    for at, line in enumerate(text.splitlines(), 1):
        line = line.strip()[:500]
        if line.startswith("["):
            count += line.replace(" ", "").startswith(f"[[{table}]]")
            if count == number and head is None:
                head = at
            elif head is not None:
                return head
        elif head is not None and key and re.match(rf"""["']?{re.escape(key)}["']?\s*=""", line):
            return at
    return head


# The table [depends]: which epics wait for which others.

DEPENDS_TABLE = "depends"
MAX_EPICS = 1000

_EPIC = re.compile(r"(?:epic[-_ ]?)?([a-z0-9](?:[a-z0-9._-]{0,38}[a-z0-9])?)", re.IGNORECASE)


def normalize_depends(text: TextFile, config: Config) -> Config:
    """Normalize epics to numbers from `2.5`, `2-5` or `epic-2-5`. Raises a FileError with the line."""
    if len(config.depends) > MAX_EPICS:
        found = f"{len(config.depends)} epics"
        raise config_error(
            text, DEPENDS_TABLE, f"too much in `{DEPENDS_TABLE}`", f"at most {MAX_EPICS} epics", found
        )
    numbers: dict[str, tuple[str, ...]] = {}
    for name, ons in config.depends.items():
        number = _epic_number(text, name, name)
        if number in numbers:
            raise _depends_error(text, name, f"`{DEPENDS_TABLE}` names an epic twice", "", format_value(name))
        numbers[number] = tuple(dict.fromkeys(_epic_number(text, name, on) for on in ons))
    return config._replace(depends=numbers)


def depends_location(config: Config, epic: str) -> Location:
    """The location of this epic's entry in [depends]; without a line if the settings come from a commit."""
    path = config.path or ""
    try:
        return Location(path, _line_of_epic(read_text(path, limit=MAX_TOML).text, epic))
    except FileError:
        return Location(path)


def _epic_number(text: TextFile, name: str, epic: str) -> str:
    number = _parse_epic(epic)
    if not number:
        expected = '"3" = ["1", "2.5"]'
        raise _depends_error(
            text, name, f"`{DEPENDS_TABLE}` holds what is no epic's number", expected, format_value(epic)
        )
    return number


def _parse_epic(epic: str) -> str:
    match = _EPIC.fullmatch(epic.strip())
    return normalize_number(match[1]) if match else ""


def _depends_error(text: TextFile, name: str, message: str, expected: str, found: str) -> FileError:
    error = config_error(text, DEPENDS_TABLE, message, expected, found)
    error.location = Location(text.path, _line_of_epic(text.text, name))
    return error


def _line_of_epic(text: str, epic: str) -> int | None:
    """The last line that sets the epic, else the table's line. For messages only, like toml_reader.line_of."""
    here, found = "", None
    for number, line in enumerate(text.splitlines(), 1):
        head = re.match(r"\[\s*([^\[\]]+?)\s*\]", line.strip()[:500])
        name = re.match(r"""\s*["']?([^"'=]+?)["']?\s*=""", line[:500])
        if head is not None:
            here = head[1]
        elif (
            name is not None
            and here == DEPENDS_TABLE
            and (name[1] == epic or _parse_epic(name[1]) == _parse_epic(epic) != "")
        ):
            found = number
    return found or find_line(text, "", DEPENDS_TABLE)


# The project's workflows and steps: their rules, and prompts read from files.

MAX_PROMPT = 20_000


def read_project_file(path: str, name: str) -> bytes:
    """Read a file of the project whose settings are at `path`. A symbolic link may not lead out of the project."""
    top = os.path.realpath(os.path.dirname(path))
    target = os.path.realpath(os.path.join(top, name))
    if not target.startswith(f"{top.rstrip(os.sep)}{os.sep}"):
        raise FileError("leads out of the project", location=Location(name))
    return read_bytes(target, limit=MAX_PROMPT * 4)


def read_referenced_file(text: TextFile, full: str, path: str, read: ReadFile) -> TextFile:
    """Read the text file of the project that the setting `full` names."""
    parts = path.split("/")
    if path.startswith(("/", "~")) or ".." in parts or any(char < " " or char in "\\\x7f" for char in path):
        raise config_error(
            text, full, f"`{full}` is outside the project", "a path from the project's top", format_value(path)
        )
    try:
        return TextFile(path, read(path))
    except FileError as error:
        expected = "a text file of the project"
        raise config_error(
            text, full, f"`{full}`: {error.message}", expected, format_value(path), error.hint
        ) from None


def load_workflows(text: TextFile, config: Config, read: ReadFile) -> Config:
    """Load the prompt files and check steps and workflows. Raises a FileError with the line."""
    steps = {name: _read_prompt(text, name, own, read) for name, own in config.steps.items()}
    for name, own in steps.items():
        _check_step(text, name, own)
    config = config._replace(steps=steps)
    for name in config.workflows:
        _check_workflow(text, config, name)
    return config._replace(diagnostics=(*config.diagnostics, *_unreviewed_workflows(text, config)))


def _read_prompt(text: TextFile, name: str, own: CustomStep, read: ReadFile) -> CustomStep:
    path, full = own.prompt_file, f"steps.{name}.prompt_file"
    if path is None:
        return own
    if own.prompt is not None:
        raise config_error(
            text, full, f"`steps.{name}` has both a `prompt` and a `prompt_file`", "one of them", ""
        )
    prompt = read_referenced_file(text, full, path, read).text
    if not prompt.strip() or len(prompt) > MAX_PROMPT:
        expected = f"1 to {MAX_PROMPT} characters"
        raise config_error(text, full, f"`{full}` holds no prompt", expected, f"{len(prompt)} characters")
    return own._replace(prompt=prompt)


def _check_step(text: TextFile, name: str, own: CustomStep) -> None:
    table = f"steps.{name}"
    if own.skill is None and own.prompt is None:
        raise config_error(text, f"{table}.prompt", f"`{table}` needs a `skill` or a `prompt`", 'prompt = "…"', "")
    if own.skill is not None:
        _check_skill(text, f"{table}.skill", own.skill)
    if own.prompt is not None:
        _check_prompt(text, f"{table}.{'prompt_file' if own.prompt_file else 'prompt'}", own.prompt)
    if own.owes == StepOutput.VERDICT and own.after is not None:
        hint = "leave it out: the verdict sets the status"
        raise config_error(text, f"{table}.after", f"`{table}.after` stands beside a verdict", "", "", hint)


def _check_skill(text: TextFile, full: str, skill: str) -> None:
    plain = skill.removeprefix("/").removeprefix("bmad-")
    if plain != skill or not all(part.isalnum() and part.isascii() for part in skill.split("-")):
        hint = f'write it as BMAD calls it, without `bmad-`: "{plain}"' if plain != skill else None
        expected = "letters, digits and -, such as `code-review`"
        raise config_error(text, full, f"`{full}` is no skill's name", expected, format_value(skill), hint)


def _check_prompt(text: TextFile, full: str, prompt: str) -> None:
    if prompt.lstrip().startswith("-"):  # some clients get the prompt as an argument
        raise config_error(
            text, full, f"`{full}` begins like an option", "a sentence", format_value(prompt.lstrip())
        )
    known = {name: f"{{{name}}}" for name in PROMPT_PLACEHOLDERS}
    for name in placeholder_names((prompt,)):
        hint = None if name in known else suggest_name(name, known)
        if hint:
            expected = ", ".join(known.values())
            raise config_error(text, full, f"`{full}` has an unknown placeholder", expected, f"{{{name}}}", hint)


def _check_workflow(text: TextFile, config: Config, name: str) -> None:
    steps, full = config.workflows[name].steps, f"workflows.{name}.steps"
    known = {step: step for step in (*STEPS, *config.steps)}
    if not 0 < len(steps) <= MAX_STEPS:
        raise config_error(
            text, full, f"`{full}` must name 1 to {MAX_STEPS} steps", '["dev", "…"]', str(len(steps))
        )
    for step in steps:
        if step not in known:
            expected = ", ".join(f'"{word}"' for word in known)
            hint = suggest_name(step, known) or f"describe it: [steps.{format_value(step)[1:-1]}]"
            raise config_error(text, full, f"`{full}` names an unknown step", expected, format_value(step), hint)
    twice = next((step for index, step in enumerate(steps) if step in steps[:index]), None)
    if twice is not None:
        raise config_error(text, full, f"`{full}` names a step twice", "each step once", format_value(twice))
    owed = [_required_output(config, step) for step in steps]
    if StepOutput.CODE not in owed:
        hint = 'add "dev", or a step of yours with owes = "code"'
        raise config_error(
            text, full, f"`{full}` has no step that writes code", "", format_value(list(steps)), hint
        )
    if StepOutput.VERDICT in owed[:-1]:
        first = steps[owed.index(StepOutput.VERDICT)]
        raise config_error(
            text,
            full,
            f"in `{full}` a step follows the verdict",
            f'"{first}" as the last one',
            format_value(first),
        )


def _required_output(config: Config, step: str) -> str:
    return STEPS[step][1] if step in STEPS else config.steps[step].owes


def _unreviewed_workflows(text: TextFile, config: Config) -> Iterator[Diagnostic]:
    for name, own in config.workflows.items():
        if StepOutput.VERDICT not in [_required_output(config, step) for step in own.steps]:
            message = f"no step of the workflow `{name}` reviews: a story is done once its checks pass"
            location = Location(text.path, find_line(text.text, f"workflows.{name}", "steps"))
            hint = 'to have it reviewed: add "code-review" as the last step'
            yield Diagnostic(Severity.NOTE, "no-review", message, location, hint)


# The table [flows]: files of the project that describe its flows.

FLOW_FILES_KEY = "flows.files"
MAX_FLOWS = 20


def load_flow_files(text: TextFile, config: Config, read: ReadFile) -> Config:
    """Load the flow files from the same source as the settings. They are parsed only when flows are needed."""
    paths = config.flow_files
    if len(paths) > MAX_FLOWS:
        raise config_error(
            text,
            FLOW_FILES_KEY,
            f"`{FLOW_FILES_KEY}` names too many files",
            f"at most {MAX_FLOWS}",
            str(len(paths)),
        )
    odd = next((path for path in paths if not path.endswith((".yaml", ".yml"))), None)
    if odd is not None:
        raise config_error(
            text,
            FLOW_FILES_KEY,
            f"`{FLOW_FILES_KEY}` names what is no flow's file",
            "a file that ends with .yaml",
            format_value(odd),
        )
    files = (
        FlowFile(path, read_referenced_file(text, FLOW_FILES_KEY, path, read).raw) for path in dict.fromkeys(paths)
    )
    return config._replace(flows=tuple(files))
