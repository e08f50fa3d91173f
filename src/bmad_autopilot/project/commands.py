"""The project's own commands, worked out from the files that say so. Only what is evident: a command whose
tool or target the project does not name is not guessed."""

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .config import Commands, CommandSettings
from .ecosystems import BUILD, CHECK, INSTALL, TEST, Found, deno, javascript, make, python

MAX_ENTRIES = 5000
NO_CHECKS = (
    "no check commands were found: the work is committed and merged on the review alone "
    "(set `test` under [commands] in bmad-autopilot.toml)"
)


class _Tool(NamedTuple):
    """A file that makes a tool evident, and what the tool is then told to do."""

    file: str  # a name, or `*.ext`
    kind: str
    command: str
    unless: str = ""  # a file that speaks for the same tool and comes first


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
    """What the project's files say. Targets of a Makefile stand in only where nothing closer to the language
    speaks: they mostly call the same tools."""
    names = _names(checkout)
    found = [
        *javascript(checkout, names),
        *deno(checkout, names),
        *python(checkout, names),
        *_by_table(names),
    ]
    spoken = {kind for kind, _ in found}
    found += [(kind, command) for kind, command in make(checkout, names) if kind not in spoken]
    return Commands(
        " && ".join(_of(found, INSTALL)) or None, _of(found, CHECK), _of(found, TEST), _of(found, BUILD)
    )


def commands_of(checkout: str, settings: CommandSettings) -> Commands:
    """The commands of a project: what its settings file sets, key by key, and for the rest what its files say. An
    empty list in the settings is set: there are no commands of that kind."""
    given = {name: value for name, value in settings._asdict().items() if value is not None}
    if len(given) == len(settings):
        return Commands(**given)
    return detect_commands(checkout)._replace(**given)


def _of(found: Iterable[Found], kind: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(command for which, command in found if which == kind))


def _by_table(names: frozenset[str]) -> Iterator[Found]:
    for tool in _TOOLS:
        if tool.file in names and tool.unless not in names:
            yield tool.kind, tool.command


def _names(folder: str) -> frozenset[str]:
    """The files at the top of the project, each also as `*.ext`."""
    names: set[str] = set()
    try:
        with os.scandir(folder) as entries:
            for entry, _ in zip(entries, range(MAX_ENTRIES), strict=False):
                if entry.is_file():
                    names |= {entry.name, f"*{os.path.splitext(entry.name)[1]}"}
    except OSError:
        pass
    return frozenset(names)
