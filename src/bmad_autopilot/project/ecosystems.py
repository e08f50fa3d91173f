"""Commands of the languages whose files must be opened to know: JavaScript, Deno, Python, make."""

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from ..core.errors import FileError
from ..files import read_text
from .toml import Table, read_toml

MAX_FILE = 2 * 1024 * 1024

INSTALL, CHECK, TEST, BUILD = "install", "check", "test", "build"
Found: TypeAlias = tuple[str, str]  # kind and command


class _Manager(NamedTuple):
    """A package manager: the file that shows it is used, how it installs, how it runs something."""

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

_DEVELOPERS = (
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
_NO_TEST = "no test specified"  # what `npm init` leaves behind
_MAKE_TARGETS = {"install": INSTALL, "lint": CHECK, "typecheck": CHECK, "test": TEST, "build": BUILD}


def javascript(checkout: str, names: frozenset[str]) -> Iterator[Found]:
    package = _json(f"{checkout}/package.json") if "package.json" in names else None
    if package is None:
        return
    manager = _javascript_manager(package, names)
    yield INSTALL, manager.install
    scripts = package.get("scripts")
    for name, kind in _SCRIPTS.items():
        script = scripts.get(name) if isinstance(scripts, dict) else None
        if isinstance(script, str) and _NO_TEST not in script:
            yield kind, manager.run.format(name)


def _javascript_manager(package: Table, names: frozenset[str]) -> _Manager:
    """The one package.json names, else the one whose lock file is there."""
    present = [manager for manager in _JAVASCRIPT if manager.file in names]
    named = str(package.get("packageManager", "")).partition("@")[0]
    manager = next((manager for manager in present if manager.name == named), present[0])
    if manager.name == "yarn" and ".yarnrc.yml" in names:  # yarn 2 and later
        return manager._replace(install="yarn install --immutable")
    return manager


def deno(checkout: str, names: frozenset[str]) -> Iterator[Found]:
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


def python(checkout: str, names: frozenset[str]) -> Iterator[Found]:
    project = _toml(f"{checkout}/pyproject.toml") if "pyproject.toml" in names else {}
    manager = next((manager for manager in _PYTHON if manager.file in names), None)
    if manager is not None:
        yield INSTALL, manager.install + (_for_developers(names) if manager.name == "pip" else "")
    elif "project" in project:
        yield INSTALL, f"pip install -e {_with_extras(project['project'])}"
    run = manager.run if manager is not None else "{}"
    tools = project.get("tool")
    tools = tools if isinstance(tools, dict) else {}
    if "ruff" in tools or names & {"ruff.toml", ".ruff.toml"}:
        yield CHECK, run.format("ruff check")
    if "mypy" in tools or names & {"mypy.ini", ".mypy.ini"}:
        yield CHECK, run.format("mypy" if _names_its_files(tools.get("mypy")) else "mypy .")
    if "pytest" in tools or names & {"pytest.ini", ".pytest.ini", "conftest.py"}:
        yield TEST, run.format("pytest")
    elif "tox.ini" in names or "tox" in tools:
        yield TEST, run.format("tox")
    elif "noxfile.py" in names:
        yield TEST, run.format("nox")


def _for_developers(names: frozenset[str]) -> str:
    """The tools of the checks: nothing else brings them into a lane's own virtual environment."""
    return "".join(f" -r {name}" for name in _DEVELOPERS if name in names)


def _with_extras(project: object) -> str:
    extras = project.get("optional-dependencies") if isinstance(project, dict) else None
    wanted = [name for name in _EXTRAS if isinstance(extras, dict) and name in extras]
    return f"'.[{','.join(wanted)}]'" if wanted else "."


def _names_its_files(settings: object) -> bool:
    return isinstance(settings, dict) and any(key in settings for key in ("files", "packages", "modules"))


def make(checkout: str, names: frozenset[str]) -> Iterator[Found]:
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
    """A JSON object, or None: what cannot be read tells nothing about commands."""
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
