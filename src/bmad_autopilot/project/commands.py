"""Detects the project's install, check, test and build commands from its files. It never guesses a command whose
tool or target the project does not name."""

import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from ..core.errors import FileError
from ..io.files import read_text
from ..io.toml_reader import Table, read_toml
from .config import Commands, CommandSettings

# JavaScript, Deno, Python, make: their commands depend on the content of files.

MAX_FILE = 2 * 1024 * 1024

INSTALL, CHECK, TEST, BUILD = "install", "check", "test", "build"
DetectedCommand: TypeAlias = tuple[str, str]  # kind and command


class _Manager(NamedTuple):
    """A package manager: the file that proves its use, its install command, its run command."""

    name: str
    file: str
    install: str
    run: str


_JAVASCRIPT = (
    _Manager("pnpm", "pnpm-lock.yaml", "pnpm install --frozen-lockfile", "pnpm run {}"),
    _Manager("bun", "bun.lock", "bun install --frozen-lockfile", "bun run {}"),
    _Manager("bun", "bun.lockb", "bun install --frozen-lockfile", "bun run {}"),
    _Manager("yarn", "yarn.lock", "yarn install --frozen-lockfile", "yarn run {}"),
    _Manager("npm", "package-lock.json", "npm ci", "npm run {}"),
    _Manager("npm", "npm-shrinkwrap.json", "npm ci", "npm run {}"),
    _Manager("npm", "package.json", "npm install", "npm run {}"),
)
_PYTHON = (
    _Manager("uv", "uv.lock", "uv sync", "uv run {}"),
    _Manager("poetry", "poetry.lock", "poetry install", "poetry run {}"),
    _Manager("pdm", "pdm.lock", "pdm install", "pdm run {}"),
    _Manager("pipenv", "Pipfile.lock", "pipenv sync --dev", "pipenv run {}"),
    _Manager("pip", "requirements.txt", "pip install -r requirements.txt", "{}"),
)

_DEV_REQUIREMENTS = (
    *("requirements-dev.txt", "requirements_dev.txt", "dev-requirements.txt"),
    *("requirements-test.txt", "requirements_test.txt", "test-requirements.txt"),
)
_EXTRAS = ("dev", "develop", "development", "test", "tests", "testing")

_SCRIPTS = {
    "lint": CHECK,
    "typecheck": CHECK,
    "type-check": CHECK,
    "check-types": CHECK,
    "format:check": CHECK,
    "test": TEST,
    "build": BUILD,
}
_TEST_PLACEHOLDER = "no test specified"  # the script that `npm init` writes
_MAKE_TARGETS = {"install": INSTALL, "lint": CHECK, "typecheck": CHECK, "test": TEST, "build": BUILD}


def javascript_commands(checkout: str, names: frozenset[str]) -> Iterator[DetectedCommand]:
    package = _json(f"{checkout}/package.json") if "package.json" in names else None
    if package is None:
        return
    manager = _javascript_manager(package, names)
    yield INSTALL, manager.install
    scripts = package.get("scripts")
    for name, kind in _SCRIPTS.items():
        script = scripts.get(name) if isinstance(scripts, dict) else None
        if isinstance(script, str) and _TEST_PLACEHOLDER not in script:
            yield kind, manager.run.format(name)


def _javascript_manager(package: Table, names: frozenset[str]) -> _Manager:
    """The manager that package.json names, else the one whose lock file exists."""
    present = [manager for manager in _JAVASCRIPT if manager.file in names]
    named = str(package.get("packageManager", "")).partition("@")[0]
    manager = next((manager for manager in present if manager.name == named), present[0])
    if manager.name == "yarn" and ".yarnrc.yml" in names:  # yarn 2 and later
        return manager._replace(install="yarn install --immutable")
    return manager


def deno_commands(checkout: str, names: frozenset[str]) -> Iterator[DetectedCommand]:
    file = next((name for name in ("deno.json", "deno.jsonc") if name in names), None)
    if file is None:
        return
    settings = _json(f"{checkout}/{file}") or {}
    tasks = settings.get("tasks")
    for name, kind in _SCRIPTS.items():
        if isinstance(tasks, dict) and name in tasks:
            yield kind, f"deno task {name}"
        elif name in ("lint", "test"):
            yield kind, f"deno {name}"


def python_commands(checkout: str, names: frozenset[str]) -> Iterator[DetectedCommand]:
    project = _toml(f"{checkout}/pyproject.toml") if "pyproject.toml" in names else {}
    manager = next((manager for manager in _PYTHON if manager.file in names), None)
    if manager is not None:
        yield INSTALL, manager.install + (_dev_requirements(names) if manager.name == "pip" else "")
    elif "project" in project:
        yield INSTALL, f"pip install -e {_editable_target(project['project'])}"
    run = manager.run if manager is not None else "{}"
    tools = project.get("tool")
    tools = tools if isinstance(tools, dict) else {}
    if "ruff" in tools or names & {"ruff.toml", ".ruff.toml"}:
        yield CHECK, run.format("ruff check")
    if "mypy" in tools or names & {"mypy.ini", ".mypy.ini"}:
        yield CHECK, run.format("mypy" if _lists_its_files(tools.get("mypy")) else "mypy .")
    if "pytest" in tools or names & {"pytest.ini", ".pytest.ini", "conftest.py"}:
        yield TEST, run.format("pytest")
    elif "tox.ini" in names or "tox" in tools:
        yield TEST, run.format("tox")
    elif "noxfile.py" in names:
        yield TEST, run.format("nox")


def _dev_requirements(names: frozenset[str]) -> str:
    """The tools of the checks: nothing else installs them into a lane's own virtual environment."""
    return "".join(f" -r {name}" for name in _DEV_REQUIREMENTS if name in names)


def _editable_target(project: object) -> str:
    extras = project.get("optional-dependencies") if isinstance(project, dict) else None
    wanted = [name for name in _EXTRAS if isinstance(extras, dict) and name in extras]
    return f"'.[{','.join(wanted)}]'" if wanted else "."


def _lists_its_files(settings: object) -> bool:
    return isinstance(settings, dict) and any(key in settings for key in ("files", "packages", "modules"))


def make_commands(checkout: str, names: frozenset[str]) -> Iterator[DetectedCommand]:
    file = next((name for name in ("GNUmakefile", "makefile", "Makefile") if name in names), None)
    if file is None:
        return
    try:
        text = read_text(f"{checkout}/{file}", limit=MAX_FILE).text
    except FileError:
        return
    targets = set(re.findall(r"^([A-Za-z][\w-]*)[ \t]*:(?!=)", text, re.MULTILINE))
    for target, kind in _MAKE_TARGETS.items():
        if target in targets:
            yield kind, f"make {target}"


def _json(path: str) -> Table | None:
    """A JSON object, or None if the file cannot be read."""
    import json

    try:
        data = json.loads(read_text(path, limit=MAX_FILE).text)
    except (FileError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _toml(path: str) -> Table:
    try:
        return read_toml(path)
    except FileError:
        return {}


MAX_ENTRIES = 5000
NO_CHECKS = (
    "no check commands were found: the work is committed and merged on the review alone "
    "(set `test` under [commands] in bmad-autopilot.toml)"
)


class _Tool(NamedTuple):
    """A file that proves the use of a tool, and the command to run."""

    file: str  # a name, or `*.ext`
    kind: str
    command: str
    unless: str = ""  # a file of the same tool that takes precedence


_TOOLS = (
    _Tool("Cargo.toml", CHECK, "cargo check --all-targets"),
    _Tool("Cargo.toml", TEST, "cargo test"),
    _Tool("Cargo.toml", BUILD, "cargo build"),
    _Tool("go.mod", CHECK, "go vet ./..."),
    _Tool("go.mod", TEST, "go test ./..."),
    _Tool("go.mod", BUILD, "go build ./..."),
    _Tool("gradlew", CHECK, "./gradlew check -x test"),
    _Tool("gradlew", TEST, "./gradlew test"),
    _Tool("gradlew", BUILD, "./gradlew assemble"),
    _Tool("mvnw", TEST, "./mvnw --batch-mode test"),
    _Tool("mvnw", BUILD, "./mvnw --batch-mode package -DskipTests"),
    _Tool("pom.xml", TEST, "mvn --batch-mode test", unless="mvnw"),
    _Tool("pom.xml", BUILD, "mvn --batch-mode package -DskipTests", unless="mvnw"),
    _Tool("*.sln", INSTALL, "dotnet restore"),
    _Tool("*.sln", TEST, "dotnet test"),
    _Tool("*.sln", BUILD, "dotnet build"),
    _Tool("*.csproj", INSTALL, "dotnet restore", unless="*.sln"),
    _Tool("*.csproj", BUILD, "dotnet build", unless="*.sln"),
    _Tool("composer.json", INSTALL, "composer install"),
    _Tool("phpunit.xml", TEST, "vendor/bin/phpunit"),
    _Tool("phpunit.xml.dist", TEST, "vendor/bin/phpunit", unless="phpunit.xml"),
    _Tool("phpstan.neon", CHECK, "vendor/bin/phpstan analyse"),
    _Tool("phpstan.neon.dist", CHECK, "vendor/bin/phpstan analyse", unless="phpstan.neon"),
    _Tool("mix.exs", INSTALL, "mix deps.get"),
    _Tool("mix.exs", CHECK, "mix format --check-formatted"),
    _Tool("mix.exs", TEST, "mix test"),
    _Tool("mix.exs", BUILD, "mix compile --warnings-as-errors"),
    _Tool("Gemfile", INSTALL, "bundle install"),
    _Tool(".rubocop.yml", CHECK, "bundle exec rubocop"),
    _Tool(".rspec", TEST, "bundle exec rspec"),
)


def detect_commands(checkout: str) -> Commands:
    """Detect the commands from the project's files. Makefile targets count only for kinds that no language's files
    cover: they mostly call the same tools."""
    names = _file_names(checkout)
    found = [
        *javascript_commands(checkout, names),
        *deno_commands(checkout, names),
        *python_commands(checkout, names),
        *_commands_from_table(names),
    ]
    covered = {kind for kind, _ in found}
    found += [(kind, command) for kind, command in make_commands(checkout, names) if kind not in covered]
    return Commands(
        " && ".join(_commands_of_kind(found, INSTALL)) or None,
        _commands_of_kind(found, CHECK),
        _commands_of_kind(found, TEST),
        _commands_of_kind(found, BUILD),
    )


def resolve_commands(checkout: str, settings: CommandSettings) -> Commands:
    """The commands of a project: those set in its settings file, key by key; the rest is detected. An empty list
    counts as set: there are no commands of that kind."""
    given = {name: value for name, value in settings._asdict().items() if value is not None}
    if len(given) == len(settings):
        return Commands(**given)
    return detect_commands(checkout)._replace(**given)


def _commands_of_kind(found: Iterable[DetectedCommand], kind: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(command for which, command in found if which == kind))


def _commands_from_table(names: frozenset[str]) -> Iterator[DetectedCommand]:
    for tool in _TOOLS:
        if tool.file in names and tool.unless not in names:
            yield tool.kind, tool.command


def _file_names(folder: str) -> frozenset[str]:
    """The names of the files at the project's top, each also as `*.ext`."""
    names: set[str] = set()
    try:
        with os.scandir(folder) as entries:
            for entry, _ in zip(entries, range(MAX_ENTRIES), strict=False):
                if entry.is_file():
                    names |= {entry.name, f"*{os.path.splitext(entry.name)[1]}"}
    except OSError:
        pass
    return frozenset(names)
